"""Constraints: resolved by name, and everything that no network satisfies refused with its reason."""

import doctest
import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credibn.errors import FileFormatError, OptionError
from credibn.scores import constraints as constraints_module
from credibn.scores.constraints import (
    edge_of,
    find_cycle,
    position_of,
    read_tiers,
    resolve_constraints,
)

NAMES = ("rain", "sprinkler", "wet", "slippery")


def allows(constraints, child, parents):
    return (
        parents.isdisjoint(constraints.forbidden[child])
        and parents >= constraints.required[child]
        and len(parents) <= constraints.max_parents[child]
    )


def test_examples_in_docstrings():
    assert doctest.testmod(constraints_module).failed == 0


def test_nothing_asked_nothing_constrained():
    free = resolve_constraints(NAMES)
    assert free.describe() == {}
    assert free.max_parents == (3, 3, 3, 3)
    assert free.forbidden == free.required == (frozenset(),) * 4
    assert resolve_constraints(["one"]).describe() == {}


def test_edges_in_every_spelling():
    expected = resolve_constraints(NAMES, forbidden_edges=[("wet", "rain")])
    assert expected.forbidden == (frozenset({2}), frozenset(), frozenset(), frozenset())
    spellings = ["wet->rain", ["wet->rain"], [(2, 0)], [("wet", 0)], [["wet", "rain"]], {("wet", "rain")}]
    for edges in [*spellings, [" wet -> rain "], np.array([[2, 0]]), iter([("wet", "rain")])]:
        assert resolve_constraints(NAMES, forbidden_edges=edges) == expected


def test_arrows_inside_names():
    names = ["a", "a->b", "b", "c"]
    assert edge_of(names, "a->b->c") == (1, 3)
    assert edge_of(["a", "b->c"], "a->b->c") == (0, 1)
    with pytest.raises(OptionError, match="as a \\(parent, child\\) pair"):
        edge_of(["a", "a->b", "b->c", "c"], "a->b->c")


def test_tiers_forbid_later_to_earlier():
    tiered = resolve_constraints(NAMES, tiers=[["rain"], ["wet", "sprinkler"]])
    assert tiered.forbidden == (frozenset({1, 2}), frozenset(), frozenset(), frozenset())
    assert tiered.describe() == {"tiers": [["rain"], ["wet", "sprinkler"]]}


def test_limits():
    assert resolve_constraints(NAMES, max_parents=2).max_parents == (2, 2, 2, 2)
    assert resolve_constraints(NAMES, max_parents=np.int64(99)).max_parents == (3, 3, 3, 3)
    assert resolve_constraints(NAMES, max_parents={"wet": 1, 0: 0}).max_parents == (0, 3, 1, 3)
    assert resolve_constraints(NAMES, max_parents={"wet": 3, "": 1, "rain": 0}).max_parents == (0, 1, 3, 1)
    assert resolve_constraints(NAMES, max_parents=0).describe() == {"max_parents": 0}
    assert resolve_constraints(NAMES, max_parents={"wet": 1}).describe() == {"max_parents": {"wet": 1}}


def test_describe_is_json_and_resolves_to_the_same():
    asked = resolve_constraints(
        NAMES,
        forbidden_edges=["slippery->rain", "wet->rain"],
        required_edges=["rain->wet"],
        tiers=[["rain"], ["wet"]],
        max_parents={"wet": 1},
    )
    described = json.loads(json.dumps(asked.describe()))
    assert described == {
        "forbidden_edges": [["slippery", "rain"]],
        "required_edges": [["rain", "wet"]],
        "tiers": [["rain"], ["wet"]],
        "max_parents": {"wet": 1},
    }
    assert resolve_constraints(NAMES, **described) == asked


def test_constant_columns_take_no_part():
    limits = resolve_constraints(NAMES, tiers=[["rain"], ["wet", "sprinkler"]], unavailable=["wet"])
    assert limits.forbidden[0] == {1}
    for option in ("forbidden_edges", "required_edges"):
        with pytest.raises(OptionError, match=f"{option}: 'rain' -> 'wet' involves 'wet', which is constant"):
            resolve_constraints(NAMES, unavailable=[2], **{option: ["rain->wet"]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forbidden_edges": ["rian->wet"]}, "'rian'.*did you mean 'rain'"),
        ({"forbidden_edges": ["zzz->wet"]}, "'zzz'.*known names: 'rain', 'sprinkler'"),
        ({"forbidden_edges": [("rain", 4)]}, "unknown variable in forbidden_edges 4.*0 to 3"),
        ({"forbidden_edges": ["rain-wet"]}, "'rain-wet' is not an edge"),
        ({"forbidden_edges": [("rain", "wet", "x")]}, "is not an edge"),
        ({"forbidden_edges": [7]}, "7 is not an edge"),
        ({"forbidden_edges": 7}, "forbidden_edges is 7"),
        ({"forbidden_edges": [(None, "rain")]}, "unknown variable in forbidden_edges None"),
        ({"required_edges": ["rain->rain"]}, "self-loop"),
        ({"required_edges": ["rain->wet"], "forbidden_edges": ["rain->wet"]}, "both required and forbidden"),
        (
            {"required_edges": ["wet->rain"], "tiers": [["rain"], ["wet"]]},
            "'wet' is in tier 2, 'rain' in tier 1",
        ),
        (
            {"required_edges": ["wet->slippery", "rain->wet", "slippery->rain"]},
            "cycle, 'rain' -> 'wet' -> 'slippery' -> 'rain'",
        ),
        ({"required_edges": ["rain->wet", "sprinkler->wet"], "max_parents": 1}, "2 required parents"),
        ({"required_edges": ["rain->wet"], "max_parents": {"wet": 0}}, "1 required parents \\('rain'\\)"),
        ({"max_parents": -1}, "max_parents is -1"),
        ({"max_parents": 1.5}, "max_parents is 1.5"),
        ({"max_parents": True}, "max_parents is True"),
        ({"max_parents": "2"}, "max_parents is '2'"),
        ({"max_parents": {"wet": -2}}, "max_parents of 'wet' is -2"),
        ({"max_parents": {"wett": 2}}, "variable in max_parents 'wett'.*'wet'"),
        ({"tiers": [["rain"], ["wet", "rain"]]}, "'rain' is in tier 1 and again in tier 2"),
        ({"tiers": [["rain", "rain"]]}, "again in tier 1"),
        ({"tiers": [["rain"], ["wat"]]}, "variable in tier 2 'wat'.*'wet'"),
        ({"tiers": ["rain", "wet"]}, r"write \['rain'\]"),
        ({"tiers": "rain"}, "list of lists"),
        ({"tiers": [3]}, "tier 1 is 3"),
        ({"unavailable": ["x"]}, "unknown variable 'x'"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(OptionError, match=message):
        resolve_constraints(NAMES, **options)


def test_position_of():
    assert position_of(NAMES, "wet") == position_of(NAMES, 2) == position_of(NAMES, np.uint8(2)) == 2
    with pytest.raises(OptionError, match=r"known names: '0', .*'9' and \d+ more"):
        position_of([str(i) for i in range(12)], "zz")


EDGES = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda e: e[0] != e[1]), max_size=6)


@given(EDGES)
def test_cycles_are_found_exactly_when_no_order_exists(edges):
    parents = {v: [p for p, c in edges if c == v] for v in range(4)}
    orders = itertools.permutations(range(4))
    is_acyclic = any(all(order.index(p) < order.index(c) for p, c in edges) for order in orders)
    cycle = find_cycle(parents)
    assert (cycle is None) == is_acyclic
    if cycle is not None:
        assert cycle[0] == cycle[-1]
        assert set(itertools.pairwise(cycle)) <= edges


@given(EDGES, EDGES, st.lists(st.integers(0, 2), min_size=4, max_size=4), st.integers(0, 3))
def test_resolved_constraints_are_feasible_and_allow_what_they_say(forbidden, required, tier_of, limit):
    tiers = [[v for v in range(4) if tier_of[v] == t] for t in (0, 1)]  # tier 2: not listed
    banned = forbidden | {(p, c) for p in tiers[1] for c in tiers[0]}
    counts = [sum(c == v for _, c in required) for v in range(4)]
    feasible = (
        not banned & required
        and max(counts) <= limit
        and find_cycle({v: [p for p, c in required if c == v] for v in range(4)}) is None
    )
    options = {"forbidden_edges": forbidden, "required_edges": required, "tiers": tiers, "max_parents": limit}
    if not feasible:
        with pytest.raises(OptionError):
            resolve_constraints(NAMES, **options)
        return
    resolved = resolve_constraints(NAMES, **options)
    for child in range(4):
        for size in range(4):
            for parents in itertools.combinations([v for v in range(4) if v != child], size):
                edges = {(p, child) for p in parents}
                needed = {(p, c) for p, c in required if c == child}
                allowed = not edges & banned and needed <= edges and size <= limit
                assert allows(resolved, child, frozenset(parents)) == allowed


def test_read_tiers(tmp_path):
    path = tmp_path / "tiers.txt"
    path.write_text(
        "\ufeff# in order of time\n\nage, sex\t# known first\r\nC#, two words\n  # the end\nincome", "utf-8"
    )
    assert read_tiers(path) == [["age", "sex"], ["C#", "two words"], ["income"]]
    assert read_tiers(str(path)) == read_tiers(path)


def test_names_in_a_tiers_file_may_stand_in_quotes(tmp_path):
    path = tmp_path / "tiers.txt"
    path.write_text('"Yes, maybe", plain  # a comment\n"say ""hi""","#1" # "quoted"\n 5" disk , "a"b\n""\n', "utf-8")
    with pytest.raises(FileFormatError, match="line 4: found an empty name"):
        read_tiers(path)
    path.write_text('"Yes, maybe", plain  # a comment\n"say ""hi""","#1" # "quoted"\n 5" disk , "a"b\n', "utf-8")
    assert read_tiers(path) == [["Yes, maybe", "plain"], ['say "hi"', "#1"], ['5" disk', '"a"b']]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a,b\nc,,d\n", "line 2: found an empty name"),
        (b"a,b,\n", "line 1: found an empty name"),
        (b"a,b\n\n# x\nc,a\n", "line 4: 'a' is already listed on line 1"),
        (b"# nothing\n\n", "found no tier"),
        (b"", "found no tier"),
        (b"a\xff\n", "line 1: expected UTF-8 text"),
    ],
)
def test_tier_files_refused(tmp_path, text, message):
    path = tmp_path / "tiers.txt"
    path.write_bytes(text)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_tiers(path)
    assert str(path) in str(caught.value)


def test_missing_tier_file(tmp_path):
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_tiers(tmp_path / "none.txt")


@given(st.text())
def test_any_text_gives_tiers_or_a_format_error(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "fuzz-tiers.txt"
    path.write_text(text, "utf-8", errors="replace")
    try:
        tiers = read_tiers(path)
    except FileFormatError:
        return
    names = [name for tier in tiers for name in tier]
    assert names
    assert all(names)
    assert len(set(names)) == len(names)
