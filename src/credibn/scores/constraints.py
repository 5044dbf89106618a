"""What a network may look like: forbidden and required edges, tiers, limits on the number of parents.

A caller states constraints with names; `resolve_constraints` turns them once into positions, for each child, and
refuses whatever no network could satisfy. Constraints take effect *before* pruning: a parent set that is not allowed
must not dominate one that is.

Beyond a plain contradiction only required edges can be infeasible: if they form no cycle, the network with exactly
these edges satisfies every constraint. Cost: linear in the edges, quadratic in the sizes of the tiers.
"""

import operator
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from os import PathLike
from typing import Any

from credibn._base.checks import decoded, file_path
from credibn.data.suggesting import suggestion
from credibn.errors import FileFormatError, Option, OptionError, Phrase

_EDGE_FORMS = "a (parent, child) pair of names, or a string like 'parent->child'"

_TIER_NAME = re.compile(r'\s*"(?P<quoted>(?:[^"]|"")*)"\s*(?=,|$|(?<=\s)#)|(?P<plain>(?:(?!(?:^|\s)#)[^,])*)')
"""A name in a file of tiers, up to the comma, the comment or the end of the line."""


@dataclass(frozen=True)
class Constraints:
    """Constraints in terms of positions; made by `resolve_constraints`."""

    names: tuple[str, ...]
    forbidden: tuple[frozenset[int], ...]  # for each child, the positions that may not be among its parents
    required: tuple[frozenset[int], ...]  # those that must be
    max_parents: tuple[int, ...]  # n - 1 where there is no limit
    tiers: tuple[tuple[int, ...], ...] = ()  # their edges are in `forbidden`; stored to describe them briefly

    def without_parents(self, nodes: Collection[int]) -> "Constraints":
        """Return the constraints under which some nodes have no parents, whatever was said of them."""
        return replace(
            self,
            required=tuple(frozenset() if v in nodes else above for v, above in enumerate(self.required)),
            max_parents=tuple(0 if v in nodes else most for v, most in enumerate(self.max_parents)),
        )

    def describe(self) -> dict[str, object]:
        """Return the constraints by name, ready for JSON; empty when there are none."""
        names, described = self.names, dict[str, object]()
        implied = set(_tier_edges(self.tiers))
        forbidden = [edge for edge in _edges(self.forbidden) if edge not in implied]
        if forbidden:
            described["forbidden_edges"] = [[names[p], names[c]] for p, c in forbidden]
        if any(self.required):
            described["required_edges"] = [[names[p], names[c]] for p, c in _edges(self.required)]
        if self.tiers:
            described["tiers"] = [[names[v] for v in tier] for tier in self.tiers]
        limited = {names[v]: k for v, k in enumerate(self.max_parents) if k < len(names) - 1}
        if limited:
            is_global = len(limited) == len(names) and len(set(limited.values())) == 1
            described["max_parents"] = self.max_parents[0] if is_global else limited
        return described


def resolve_constraints(
    names: Sequence[str],
    *,
    forbidden_edges: Iterable[object] | None = None,
    required_edges: Iterable[object] | None = None,
    tiers: Iterable[Iterable[str | int]] | None = None,
    max_parents: int | Mapping[str, int] | None = None,
    unavailable: Iterable[str | int] = (),
) -> Constraints:
    """Turn constraints stated by name into positions, and refuse what no network can satisfy.

    Edges are (parent, child) pairs of names or positions, or strings such as ``"rain->wet"``. No edge may point from a
    later tier to an earlier one; names in no tier are unconstrained. No edge may touch an `unavailable` variable, such
    as a constant column, which takes no part in the search.
    """
    names = tuple(names)
    left_out = {position_of(names, name) for name in unavailable}
    banned = _resolve_edges(names, forbidden_edges, Option("forbidden_edges"), left_out)
    needed = _resolve_edges(names, required_edges, Option("required_edges"), left_out)
    layers = _resolve_tiers(names, tiers, left_out)
    limits = _resolve_limits(names, max_parents)
    _check_not_both(names, needed, banned, layers)
    required = _by_child(len(names), needed)
    cycle = find_cycle(dict(enumerate(required)))
    if cycle is not None:
        path = " -> ".join(repr(names[v]) for v in cycle)
        raise OptionError(f"the required edges form a cycle, {path}; drop one of these edges")
    for child, parents in enumerate(required):
        if len(parents) > limits[child]:
            listed = ", ".join(repr(names[v]) for v in sorted(parents))
            raise OptionError(
                "{!r} has {} required parents ({}) but {} allows {}: raise that limit or drop required edges",
                names[child],
                len(parents),
                listed,
                Option("max_parents"),
                limits[child],
            )
    forbidden = _by_child(len(names), banned | set(_tier_edges(layers)))
    return Constraints(names, forbidden, required, limits, layers)


def position_of(names: Sequence[str], node: object, what: str | Phrase = "variable") -> int:
    """Return the position of a variable given by name or by position."""
    if isinstance(node, str):
        if node in names:
            return names.index(node)
        raise OptionError("unknown {} {!r}: {}", what, node, suggestion(node, names), value=node)
    try:
        position = operator.index(node)  # type: ignore[arg-type]
    except TypeError:
        position = -1
    if isinstance(node, bool) or not 0 <= position < len(names):
        raise OptionError(
            "unknown {} {!r}: give a name, or a position from 0 to {}", what, node, len(names) - 1, value=node
        )
    return position


def edge_of(names: Sequence[str], edge: Any, option: str | Option = "edge") -> tuple[int, int]:
    """Return the positions (parent, child) of an edge given as a pair or as a string."""
    ends = _split_arrow(names, edge, option) if isinstance(edge, str) else edge
    try:
        parent, child = ends
    except (TypeError, ValueError):
        raise OptionError("{}: {!r} is not an edge; give {}", option, edge, _EDGE_FORMS, value=edge) from None
    source, target = (position_of(names, end, Phrase("variable in {}", option)) for end in (parent, child))
    if source == target:
        raise OptionError("{}: {!r} is a self-loop; name two different variables", option, edge, value=edge)
    return source, target


def find_cycle(parents: Mapping[int, Iterable[int]]) -> list[int] | None:
    """Return one directed cycle, first node repeated at the end, or None when there is none."""
    try:
        TopologicalSorter({child: sorted(above) for child, above in parents.items()}).prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1][:-1]
        start = cycle.index(min(cycle))
        return [*cycle[start:], *cycle[:start], cycle[start]]
    return None


def read_tiers(path: str | PathLike[str]) -> list[list[str]]:
    r"""Read tiers from a text file: one tier per line, names separated by commas, ``#`` starts a comment.

    A ``#`` inside a name is part of the name; a comment starts a line or follows a blank. A name may stand in double
    quotes, and must if it has a comma: two of them inside stand for one.

    Raises
    ------
    FileFormatError
        Naming the line, when the file cannot be read, lists an empty name, repeats a name or holds no tier.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tiers.txt"
    ...     _ = path.write_text("age, sex  # known first\nincome\n")
    ...     read_tiers(path)
    [['age', 'sex'], ['income']]
    """
    try:
        content = file_path(path).read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error}); check the path") from error
    text = decoded(path, content)
    tiers, line_of = list[list[str]](), dict[str, int]()
    for number, line in enumerate(text.split("\n"), start=1):
        tier = _names_in(line)
        for name in tier:
            if not name:
                raise FileFormatError(
                    f"{path}, line {number}: found an empty name in {line.strip()[:60]!r}; remove the extra comma"
                )
            if name in line_of:
                raise FileFormatError(
                    f"{path}, line {number}: {name[:60]!r} is already listed on line {line_of[name]}; "
                    "list every name once"
                )
            line_of[name] = number
        if tier:
            tiers.append(tier)
    if not tiers:
        raise FileFormatError(f"{path}: found no tier; expected one tier per line, names separated by commas")
    return tiers


def _names_in(line: str) -> list[str]:
    """Return the names in a line of a file of tiers; none where it is blank or a comment."""
    names, at = list[str](), 0
    if re.match(r"\s*(#|$)", line):
        return names
    while found := _TIER_NAME.match(line, at):
        names.append(found["plain"].strip() if found["quoted"] is None else found["quoted"].replace('""', '"'))
        at = found.end() + 1
        if line[found.end() : at] != ",":
            break
    return names


def _split_arrow(names: Sequence[str], edge: str, option: str | Option) -> tuple[str, str]:
    """Split at the one arrow that leaves two known names: names may hold arrows themselves."""
    arrows = [at for at in range(len(edge)) if edge.startswith("->", at)]
    splits = [(edge[:at].strip(), edge[at + 2 :].strip()) for at in arrows]
    if not splits:
        raise OptionError("{}: {!r} is not an edge; give {}", option, edge, _EDGE_FORMS, value=edge)
    known = [split for split in splits if split[0] in names and split[1] in names]
    if len(known) > 1:
        raise OptionError("{}: {!r} can be read as {}; give the edge as a (parent, child) pair", option, edge, known)
    return known[0] if known else splits[0]


def _resolve_edges(
    names: tuple[str, ...], edges: Iterable[object] | None, option: Option, left_out: set[int]
) -> set[tuple[int, int]]:
    if edges is None:
        return set()
    if isinstance(edges, str):
        edges = [edges]
    if not isinstance(edges, Iterable):
        raise OptionError.refusing(option.name, edges, f"give a list of edges, each {_EDGE_FORMS}")
    resolved = set()
    for edge in edges:
        parent, child = edge_of(names, edge, option)
        for end in (parent, child):
            if end in left_out:
                raise OptionError(
                    "{}: {!r} -> {!r} involves {!r}, which is constant and left out of the search; drop the edge",
                    option,
                    names[parent],
                    names[child],
                    names[end],
                )
        resolved.add((parent, child))
    return resolved


def _resolve_tiers(
    names: tuple[str, ...], tiers: Iterable[Iterable[str | int]] | None, left_out: set[int]
) -> tuple[tuple[int, ...], ...]:
    if tiers is None:
        return ()
    if isinstance(tiers, str) or not isinstance(tiers, Iterable):
        raise OptionError.refusing("tiers", tiers, "give a list of lists of names, or read a file with read_tiers")
    tier_of, layers = dict[int, int](), list[tuple[int, ...]]()
    for number, tier in enumerate(tiers, start=1):
        if isinstance(tier, str) or not isinstance(tier, Iterable):
            raise OptionError(f"tier {number} is {tier!r}; a tier is a list of names: write [{tier!r}]")
        members = [position_of(names, name, f"variable in tier {number}") for name in tier]
        for v in members:
            if v in tier_of:
                raise OptionError(
                    "{}: {!r} is in tier {} and again in tier {}; list it once",
                    Option("tiers"),
                    names[v],
                    tier_of[v],
                    number,
                )
            tier_of[v] = number
        layers.append(tuple(v for v in members if v not in left_out))
    return tuple(layers)


def _resolve_limits(names: tuple[str, ...], max_parents: Any) -> tuple[int, ...]:
    limits, option = [len(names) - 1] * len(names), Option("max_parents")
    if max_parents is None:
        return tuple(limits)
    if isinstance(max_parents, Mapping):
        if "" in max_parents:
            limits = [_limit(max_parents[""], Phrase("{}", option), limits[0])] * len(names)
        for name, limit in max_parents.items():
            if name == "":
                continue
            child = position_of(names, name, Phrase("variable in {}", option))
            limits[child] = _limit(limit, Phrase("{} of {!r}", option, names[child]), len(names) - 1)
        return tuple(limits)
    return (_limit(max_parents, Phrase("{}", option), len(names) - 1),) * len(names)


def _limit(value: Any, what: Phrase, unlimited: int) -> int:
    try:
        limit = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        limit = -1
    if limit < 0:
        raise OptionError("{} is {!r}; give a whole number, 0 or more, or None for no limit", what, value, value=value)
    return min(limit, unlimited)


def _check_not_both(
    names: tuple[str, ...],
    needed: set[tuple[int, int]],
    banned: set[tuple[int, int]],
    layers: tuple[tuple[int, ...], ...],
) -> None:
    tier_of = {v: number for number, tier in enumerate(layers, start=1) for v in tier}
    for parent, child in sorted(needed):
        edge = f"{names[parent]!r} -> {names[child]!r}"
        if (parent, child) in banned:
            raise OptionError(f"{edge} is both required and forbidden; drop one of the two")
        if tier_of.get(parent, 0) > tier_of.get(child, len(layers)):
            raise OptionError(
                f"{edge} is required, but the tiers forbid it ({names[parent]!r} is in tier "
                f"{tier_of[parent]}, {names[child]!r} in tier {tier_of[child]}); drop the edge or a tier"
            )


def _tier_edges(layers: tuple[tuple[int, ...], ...]) -> Iterable[tuple[int, int]]:
    for later, members in enumerate(layers):
        earlier = [v for tier in layers[:later] for v in tier]
        yield from ((parent, child) for parent in members for child in earlier)


def _by_child(n_variables: int, edges: Iterable[tuple[int, int]]) -> tuple[frozenset[int], ...]:
    parents: list[set[int]] = [set() for _ in range(n_variables)]
    for parent, child in edges:
        parents[child].add(parent)
    return tuple(map(frozenset, parents))


def _edges(parents: tuple[frozenset[int], ...]) -> list[tuple[int, int]]:
    return sorted((parent, child) for child, above in enumerate(parents) for parent in above)
