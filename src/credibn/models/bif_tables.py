"""What the blocks of a BIF file mean: from blocks to a network."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credibn.data.suggesting import suggestion
from credibn.models.bayesian_network import BayesianNetwork
from credibn.models.bif_syntax import BifBlocks, BifSyntax, ProbabilityBlock, Row
from credibn.models.local_models import SUM_TOLERANCE, TableModel
from credibn.scores.constraints import find_cycle

__all__ = ["network_of"]

_SCALED_UP_TO = 1e-2
_DEFAULT_NUMBERS = 1 << 22
"""All `default` lines together stand for at most so many numbers: a short file must not take all memory."""
_MOST_PARENTS = 31
"""A table has an axis for each and one for the child, and some functions of NumPy know 32 axes at most."""


def network_of(syntax: BifSyntax, blocks: BifBlocks) -> tuple[BayesianNetwork, str | None]:
    """Return the network that blocks describe, and a note if probabilities had to be scaled.

    Raises
    ------
    FileFormatError
        Naming the file, the line, what was expected and what was found.

    Examples
    --------
    >>> from credibn.models.bif_syntax import parse_bif
    >>> syntax = BifSyntax("coin.bif", "variable c { type discrete [2] { h, t }; } probability (c) { table .5 .5; }")
    >>> network_of(syntax, parse_bif(syntax))
    (BayesianNetwork(1 variable, 0 edges, 1 parameter), None)
    """
    positions = dict[str, int]()
    for v, variable in enumerate(blocks.variables):
        name = variable.name
        if name.text in positions:
            syntax.fail_at(name, "a new name of a variable; rename this one or the one before")
        if not name.text:
            syntax.fail_at(name, "a name that is not empty")
        positions[name.text] = v
    if not positions:
        syntax.fail(len(syntax.text), "at least one variable", "none")
    names = tuple(positions)
    states = tuple(tuple(state.text for state in variable.states) for variable in blocks.variables)
    codes = tuple({label: code for code, label in enumerate(labels)} for labels in states)
    families = _families(syntax, blocks, positions)
    _check_defaults(syntax, families, codes)
    models, scaled = list[TableModel](), list[str]()
    for family in families:
        table = _table(syntax, family, codes)
        order = np.argsort(family.parents, kind="stable")
        turned = np.ascontiguousarray(table.probabilities.transpose(*order, len(order)))
        models.append(TableModel(tuple(sorted(family.parents)), turned))
        if table.is_scaled:
            scaled.append(names[family.child])
    note = None
    if scaled:
        listed = ", ".join(map(repr, scaled[:5])) + (f" and {len(scaled) - 5} more" if len(scaled) > 5 else "")
        note = f"{syntax.source}: probabilities of {listed} did not sum to 1 and were scaled; check the file"
    return BayesianNetwork(names, states, tuple(models)), note


@dataclass(frozen=True)
class _Family:
    """A probability block and the positions of its variables, in the file's order."""

    child: int
    parents: tuple[int, ...]
    block: ProbabilityBlock


@dataclass(frozen=True)
class _Table:
    probabilities: NDArray[np.float64]
    is_scaled: bool


def _families(syntax: BifSyntax, blocks: BifBlocks, positions: Mapping[str, int]) -> list[_Family]:
    """Return the probability block of each variable."""
    found = dict[int, _Family]()
    for block in blocks.probabilities:
        for word in (block.child, *block.parents):
            if word.text not in positions:
                syntax.fail_at(word, f"the name of a variable of this file ({_likely(word.text, positions)})")
        child, parents = positions[block.child.text], tuple(positions[word.text] for word in block.parents)
        if child in found:
            syntax.fail_at(block.child, "one probability block for each variable; drop this one or the one before")
        seen = {child}
        for at, word in enumerate(block.parents):
            if parents[at] in seen:
                syntax.fail_at(word, f"parents of {block.child.text!r} other than itself, each once")
            seen.add(parents[at])
        if len(parents) > _MOST_PARENTS:
            expected = f"at most {_MOST_PARENTS} parents of {block.child.text!r}; drop some"
            syntax.fail_at(block.parents[_MOST_PARENTS], expected)
        found[child] = _Family(child, parents, block)
    for variable in blocks.variables:
        if positions[variable.name.text] not in found:
            expected = f"a block 'probability ( {variable.name.text} ... )' for this variable"
            syntax.fail(variable.name.position, expected, "none in the file")
    families = [found[v] for v in range(len(positions))]
    cycle = find_cycle({family.child: family.parents for family in families})
    if cycle is not None:
        path = " -> ".join(repr(blocks.variables[v].name.text) for v in cycle)
        position = found[cycle[0]].block.child.position
        syntax.fail(position, "parents without a directed cycle; drop one of these edges", path)
    return families


def _likely(text: str, known: Iterable[str]) -> str:
    """Name the likely intended word, in short time also for absurd files."""
    return suggestion(text[:60], [name for name in itertools.islice(known, 500) if len(name) <= 60])


def _table(syntax: BifSyntax, family: _Family, codes: Sequence[Mapping[str, int]]) -> _Table:
    """Return the probabilities with one axis for each parent, in the file's order, and the child's last."""
    block, n_states = family.block, len(codes[family.child])
    shape = tuple(len(codes[v]) for v in family.parents)
    if block.table is not None:
        return _from_table(syntax, block, block.table, shape, n_states)
    n_cells = math.prod(shape)
    by_cell = dict[int, Row]()
    for row in block.rows:
        if len(row.cell) != len(shape):
            syntax.fail(row.position, f"one state of each of the {len(shape)} parents", f"{len(row.cell)}")
        if len(row.values) != n_states:
            found = f"{len(row.values)}"
            syntax.fail(row.position, f"{n_states} probabilities, one for each state of {block.child.text!r}", found)
        cell = 0
        for word, v, parent in zip(row.cell, family.parents, block.parents, strict=True):
            if word.text not in codes[v]:
                syntax.fail_at(word, f"a state of {parent.text!r} ({_likely(word.text, codes[v])})")
            cell = cell * len(codes[v]) + codes[v][word.text]
        if cell in by_cell:
            syntax.fail(row.position, "each combination of the parents' states once", "this one again")
        by_cell[cell] = row
    if len(by_cell) < n_cells:
        _check_filled(syntax, family, by_cell, n_cells, n_states, codes)
    default = block.default or Row((), [math.nan] * n_states, block.child.position)
    rows = [by_cell.get(cell, default) for cell in range(n_cells)]
    values = np.array([row.values for row in rows], dtype=np.float64)
    is_scaled = _check_sums(syntax, values, [row.position for row in rows])
    return _Table(values.reshape(*shape, n_states), is_scaled)


def _check_defaults(syntax: BifSyntax, families: Iterable[_Family], codes: Sequence[Mapping[str, int]]) -> None:
    """Raise if default lines stand for more numbers than is sensible, before any table is made."""
    n_numbers = 0
    for family in families:
        if family.block.default is not None:
            n_cells = math.prod(len(codes[v]) for v in family.parents)
            n_numbers += max(0, n_cells - len(family.block.rows)) * len(codes[family.child])
            if n_numbers > _DEFAULT_NUMBERS:
                expected = f"default lines that stand for at most {_DEFAULT_NUMBERS:,} probabilities; drop parents"
                syntax.fail(family.block.default.position, expected, f"{n_numbers:,}")


def _check_filled(
    syntax: BifSyntax,
    family: _Family,
    by_cell: Mapping[int, Row],
    n_cells: int,
    n_states: int,
    codes: Sequence[Mapping[str, int]],
) -> None:
    """Raise unless a default line fills the cells that have no line of their own."""
    block = family.block
    if block.default is None:
        cell, labels = next(cell for cell in range(n_cells) if cell not in by_cell), list[str]()
        for v in reversed(family.parents):
            cell, code = divmod(cell, len(codes[v]))
            labels.append(list(codes[v])[code])
        missing = f"only {len(by_cell):,}: none for ({', '.join(reversed(labels))})"
        expected = f"a line for each of the {n_cells:,} combinations of the parents' states, or a 'default' line"
        syntax.fail(block.child.position, expected, missing)
    if len(block.default.values) != n_states:
        found = f"{len(block.default.values)}"
        expected = f"{n_states} probabilities, one for each state of {block.child.text!r}"
        syntax.fail(block.default.position, expected, found)


def _from_table(
    syntax: BifSyntax, block: ProbabilityBlock, table: Row, shape: tuple[int, ...], n_states: int
) -> _Table:
    if block.rows or block.default is not None:
        syntax.fail(table.position, f"either 'table' or other lines in the block of {block.child.text!r}", "both")
    n_numbers = math.prod(shape) * n_states
    if len(table.values) != n_numbers:
        expected = f"{n_numbers:,} probabilities, one for each state of {block.child.text!r}"
        if shape:
            expected += " and combination of the parents' states"
        syntax.fail(table.position, expected, f"{len(table.values):,}")
    values = np.array(table.values).reshape(n_states, -1).T.copy()  # the child's states change slowest
    is_scaled = _check_sums(syntax, values, [table.position] * len(values))
    return _Table(values.reshape(*shape, n_states), is_scaled)


def _check_sums(syntax: BifSyntax, values: NDArray[np.float64], positions: Sequence[int]) -> bool:
    """Scale, in place, rows that miss the sum 1 by little; raise for others. Return whether any was scaled."""
    is_wrong = ~((values >= 0) & np.isfinite(values)).all(axis=1)
    with np.errstate(over="ignore"):
        sums = values.sum(axis=1)
    gaps = np.abs(np.where(is_wrong, 1.0, sums) - 1)
    if is_wrong.any():
        at = int(is_wrong.argmax())
        wrong = next(value for value in values[at].tolist() if not (value >= 0 and math.isfinite(value)))
        syntax.fail(positions[at], "probabilities of 0 or more", repr(wrong))
    if (gaps > _SCALED_UP_TO).any():
        at = int((gaps > _SCALED_UP_TO).argmax())
        syntax.fail(positions[at], "probabilities that sum to 1", f"the sum {sums[at]:.6g}")
    needs_scaling = gaps > SUM_TOLERANCE
    values[needs_scaling] /= sums[needs_scaling, None]
    return bool(needs_scaling.any())
