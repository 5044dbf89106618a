"""Layouts: nodes never overlap, edges pass through no other node, the same edges give the same layout."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credibn.report.layers import Link, shortest_layers
from credibn.report.layout import Layout, label_width, lay_out, n_crossings, shortened
from credibn.report.routes import Box, Point, arrowhead, boxes_hit, curve_points, route_around
from profiles import examples


def random_links(n, n_edges, seed):
    """Links of a random network of which most join nodes that are near each other in an order."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a, b in itertools.combinations(range(n), 2) if b - a < 6]
    chosen = rng.permutation(len(pairs))[:n_edges]
    order = rng.permutation(n).tolist()
    return [Link(order[pairs[at][0]], order[pairs[at][1]]) for at in sorted(chosen.tolist())]


def overlapping(boxes):
    return [
        (a, b)
        for (a, one), (b, other) in itertools.combinations(enumerate(boxes), 2)
        if abs(one.x - other.x) < (one.width + other.width) / 2
        and abs(one.y - other.y) < (one.height + other.height) / 2
    ]


def passed_through(layout, ends):
    """The nodes that the curve of an edge passes through, other than its ends."""
    hit = np.flatnonzero(boxes_hit(np.array(layout.boxes), curve_points(layout.route(*ends)), -1.0))
    return set(hit.tolist()) - set(ends)


def test_a_chain_stands_in_one_column_or_line():
    layout = lay_out("abc", [Link(0, 1), Link(1, 2)])
    across, down = np.ptp([box.x for box in layout.boxes]), np.ptp([box.y for box in layout.boxes])
    assert min(across, down) < 1
    assert n_crossings(layout.routes) == 0


def test_layers_follow_the_links_and_span_as_few_as_they_can():
    links = [Link(0, 1), Link(1, 2), Link(0, 2), Link(3, 2)]
    assert shortest_layers(links, range(4)) == {0: 0, 1: 1, 2: 2, 3: 1}


def test_a_heavy_link_is_kept_short():
    links = [Link(0, 1), Link(1, 2), Link(2, 3), Link(4, 3, 1.0), Link(0, 4, 9.0)]
    layers = shortest_layers(links, range(5))
    assert layers[4] - layers[0] == 1


def test_a_link_that_closes_a_cycle_is_turned():
    layout = lay_out("abc", [Link(0, 1), Link(1, 2), Link(2, 0)])
    assert set(layout.routes) == {(0, 1), (1, 2), (0, 2)}


@pytest.mark.parametrize(("n", "n_edges", "seed"), [(5, 6, 0), (12, 20, 1), (23, 68, 2), (30, 40, 3), (40, 70, 4)])
def test_nodes_do_not_overlap_and_edges_go_around_them(n, n_edges, seed):
    links = random_links(n, n_edges, seed)
    layout = lay_out([f"variable {v}" for v in range(n)], links)
    assert overlapping(layout.boxes) == []
    assert {link: found for link in links if (found := passed_through(layout, link[:2]))} == {}


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), density=st.floats(0, 1))
@examples(25)
def test_everything_stays_inside_the_picture(seed, n, density):
    links = random_links(n, int(density * 2 * n), seed)
    layout = lay_out([f"v{v}" for v in range(n)], links)
    assert overlapping(layout.boxes) == []
    for box in layout.boxes:
        assert 0 <= box.x - box.width / 2 < box.x + box.width / 2 <= layout.width
        assert 0 <= box.y - box.height / 2 < box.y + box.height / 2 <= layout.height
    for route in layout.routes.values():
        for x, y in curve_points(route):
            assert -0.1 <= x <= layout.width + 0.1
            assert -0.1 <= y <= layout.height + 0.1


def test_the_same_links_give_the_same_layout():
    links = random_links(20, 40, 7)
    assert lay_out(range(20), links) == lay_out(range(20), links)


def test_ways_start_and_end_at_the_borders_of_nodes():
    layout = lay_out(["a", "b", "c"], [Link(0, 1), Link(0, 2), Link(1, 2)])
    for (a, b), route in layout.routes.items():
        for box, point in ((layout.boxes[a], route[0]), (layout.boxes[b], route[-1])):
            aside, away = abs(point.x - box.x) / (box.width / 2), abs(point.y - box.y) / (box.height / 2)
            assert max(aside, away) == pytest.approx(1, abs=0.01)
        assert layout.route(b, a) == route[::-1]


def test_crossings_are_counted():
    square = {
        (0, 1): (Point(0, 0), Point(2, 2)),
        (2, 3): (Point(0, 2), Point(2, 0)),
        (4, 5): (Point(5, 0), Point(5, 9)),
    }
    assert n_crossings(square) == 1
    assert n_crossings({(0, 1): square[0, 1], (1, 2): square[2, 3]}) == 0  # they share an end


def test_an_edge_goes_around_what_stands_in_its_way():
    boxes = [Box(0, 0, 40, 30), Box(150, 0, 40, 30), Box(300, 0, 40, 30)]
    assert len(route_around(boxes, 0, 1)) == 2
    bent = curve_points(route_around(boxes, 0, 2))
    assert not boxes_hit(np.array(boxes[1:2]), bent, 0.0).any()


def test_an_arrowhead_has_its_tip_at_the_end_and_the_line_ends_inside_it():
    (tip, *corners), line = arrowhead((Point(0, 0), Point(100, 0)), 2.0)
    assert tip == (100, 0)
    assert {corner.x for corner in corners} == {corners[0].x}
    assert corners[0].y == -corners[1].y
    assert corners[0].x < line[-1].x < 100


def test_a_graph_that_would_take_too_long_gets_simple_places():
    links, names = random_links(60, 120, 1), [f"v{v}" for v in range(60)]
    simple = lay_out(names, links, seconds=0.1)
    assert simple.is_simple
    assert not lay_out("abc", [Link(0, 1)], seconds=0.1).is_simple
    assert overlapping(simple.boxes) == []
    for link in links:
        assert len(simple.route(*link[:2])) == 2
        assert simple.boxes[link.above].y < simple.boxes[link.below].y
    assert max(simple.width, simple.height) < 2000
    assert simple.for_names(names[::-1]).is_simple


def test_variables_without_edges_stand_below():
    layout = lay_out("abcd", [Link(0, 1)])
    assert min(layout.boxes[2].y, layout.boxes[3].y) > max(layout.boxes[0].y, layout.boxes[1].y)
    nothing = lay_out("ab", [])
    assert overlapping(nothing.boxes) == []
    assert nothing.routes == {}


def test_a_layout_is_reused_for_other_names_in_another_order():
    layout = lay_out(["a", "b", "c"], [Link(0, 1), Link(1, 2)])
    other = layout.for_names(("c", "new", "a"))
    assert isinstance(other, Layout)
    assert other.boxes[0] == layout.boxes[2]
    assert other.boxes[2] == layout.boxes[0]
    assert other.boxes[1].y > max(box.y for box in layout.boxes)
    assert layout.for_names(("a", "b", "c")) is layout
    turned = layout.for_names(("c", "b", "a"))
    assert turned.route(2, 1) == layout.route(0, 1)


def test_long_names_are_cut_and_wide_letters_take_more_room():
    assert shortened("x" * 30) == "x" * 21 + "…"
    assert label_width("iiiiiiii") < label_width("oooooooo") < label_width("漢漢漢漢漢漢漢漢")
