"""What the report calls undecided, and what it says would decide it."""

from credibn.report.pairs import Pair
from credibn.report.undecided import undecided_parts

NAMES = ("rain", "wet", "sprinkler")


def pair(first, second, joined, forward, reversible, direction):
    return Pair(first, second, joined, forward, joined - forward, reversible, direction, joined == 1, None)


def test_directions_that_differ_within_a_class_need_knowledge_or_an_experiment():
    (part,) = undecided_parts(NAMES, [pair(0, 1, 1.0, 0.6, 1.0, 0)])
    assert part.heading == "1 direction that observations cannot decide"
    assert part.pairs == ("rain — wet, open in 100 % of the set",)
    assert "tiers (--tiers)" in part.advice
    assert "experiment" in part.advice


def test_directions_on_which_classes_disagree_need_more_rows():
    (part,) = undecided_parts(NAMES, [pair(0, 1, 1.0, 0.6, 0.0, 0)])
    assert part.heading == "1 direction on which classes disagree"
    assert part.pairs == ("rain — wet: 60.0 % → wet, 40.0 % → rain",)


def test_edges_that_some_networks_lack_are_listed_the_least_certain_first():
    pairs = [pair(0, 1, 0.9, 0.9, 0.0, 1), pair(0, 2, 0.45, 0.0, 0.0, -1), pair(1, 2, 0.02, 0.02, 0.0, 1)]
    (part,) = undecided_parts(NAMES, pairs)
    assert part.heading == "2 edges that some networks have and others lack"
    assert part.pairs == ("rain ← sprinkler: 45.0 %", "rain → wet: 90.0 %")


def test_what_is_certain_is_not_listed():
    assert undecided_parts(NAMES, [pair(0, 1, 1.0, 1.0, 0.0, 1)]) == []


def test_long_lists_say_how_many_more_there_are():
    names = [f"v{v}" for v in range(20)]
    (part,) = undecided_parts(names, [pair(v, v + 1, 0.5 + v / 100, 0.5 + v / 100, 0.0, 1) for v in range(19)])
    assert (len(part.pairs), part.n_more) == (12, 7)
