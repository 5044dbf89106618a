"""Pictures of graphs: what an edge looks like is true, and files, axes and notebooks show the same."""

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

from credibn import CPDAG, learn
from credibn.errors import CredibnError
from credibn.examples import example_network, sample_asia
from credibn.report import network_svg, plot_difference, plot_network
from credibn.report.drawing import (
    difference_drawing,
    drawing_of,
    drawing_of_edges,
    joined_pairs,
    stroke_of,
    widest_stroke,
)
from credibn.report.figures import ALERT, MARK
from credibn.report.graph_axes import draw_on_axes
from credibn.report.graph_files import drawing_svg, label_places

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def asia():
    return learn(sample_asia(), bayes_factor=150)


def test_an_edge_has_a_head_exactly_where_the_threshold_graph_has_an_arrow(asia):
    graph = asia.threshold_graph(0.1)
    arrows = {(a, b) for a, b, directed in graph.edges(data="directed") if directed}
    lines = {frozenset((a, b)) for a, b, directed in graph.edges(data="directed") if not directed}
    named = [(tuple(asia.names[end] for end in edge.ends), edge.stroke) for edge in drawing_of(asia, 0.1).edges]
    assert {ends for ends, stroke in named if stroke.has_head} == arrows
    assert {frozenset(ends) for ends, stroke in named if not stroke.has_head} == lines


def test_an_edge_that_every_class_can_reverse_has_no_head():
    x = np.arange(80) // 40
    found = learn(np.column_stack([x, x]), bayes_factor=20)
    (edge,) = drawing_of(found).edges
    assert (edge.stroke.has_head, edge.stroke.colour, edge.label) == (False, ALERT, "1.00")


def test_probable_edges_are_wider_and_only_sure_ones_solid():
    looks = [stroke_of(p, True) for p in (0.1, 0.49, 0.5, 0.94, 0.95, 1.0)]
    assert [look.width for look in looks] == sorted({look.width for look in looks})
    assert [len(set(look.dashes)) for look in looks] == [2, 2, 2, 2, 0, 0]
    assert looks[0].dashes == looks[1].dashes != looks[2].dashes == looks[3].dashes
    assert {stroke_of(p, False).dashes for p in (0.95, 1.0)} == {()}


def test_edges_of_a_dense_graph_are_thinner_and_still_tell_their_probability():
    assert widest_stroke(45, 23) == widest_stroke(46, 23) > widest_stroke(47, 23)
    thin = [stroke_of(probability, True, widest_stroke(68, 23)).width for probability in (0.1, 0.5, 1.0)]
    assert thin == [1.1, 1.5, 2.0]


def test_decided_and_open_differ_without_colour():
    assert stroke_of(0.8, True)._replace(colour="") != stroke_of(0.8, False)._replace(colour="")


def test_pairs_are_those_of_the_table(asia):
    frame = asia.pair_probabilities()
    for pair in joined_pairs(asia, least=0.0):
        row = frame[(frame["first"] == asia.names[pair.first]) & (frame["second"] == asia.names[pair.second])].iloc[0]
        assert (pair.forward, pair.backward) == pytest.approx((row["forward"], row["backward"]))
    assert len(joined_pairs(asia, least=0.0)) == (frame["forward"] + frame["backward"] > 0).sum()


def test_svg_and_axes_show_the_same_edges_nodes_and_legend(asia):
    drawing = drawing_of(asia)
    root = ET.fromstring(asia.graph_svg())
    axes = asia.plot_graph()
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    shown = [text.text for text in root.iter(f"{SVG}text")]
    assert shown == [*asia.names, *words]
    assert words == ["direction decided", "direction open", "below 50%"]
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles[: len(drawing.edges)] == [edge.title for edge in reversed(drawing.edges)]
    n_heads = sum(edge.stroke.has_head for edge in drawing.edges)
    assert len(list(root.iter(f"{SVG}polygon"))) == n_heads + 1  # and in the legend
    assert [text.get_text() for text in axes.texts] == list(asia.names)
    places = {text.get_text(): text.get_position() for text in axes.texts}
    for name, box in zip(asia.names, drawing.layout.boxes, strict=True):
        assert places[name] == (box.x, box.y)


def test_numbers_stand_on_their_edges_and_apart(asia):
    drawing = drawing_of(asia, 0.02)
    places = label_places(drawing)
    assert [edge.label for edge, _ in places] == [f"{pair.joined:.2f}" for pair in joined_pairs(asia, least=0.02)]
    assert "0.19" in drawing_svg(drawing, has_labels=True)
    assert "0.19" not in re.sub(r"<title>.*?</title>", "", drawing_svg(drawing))
    axes = asia.plot_graph(0.02, labels=True)
    assert len(axes.texts) == len(asia.names) + len(places)


def test_the_same_set_gives_the_same_svg(asia):
    assert asia.graph_svg(labels=True) == asia.graph_svg(labels=True)


def test_a_layout_is_shared_by_two_pictures(asia):
    other = learn(sample_asia(300), bayes_factor=20)
    layout = asia.graph_layout()
    first, second = asia.plot_graph(layout=layout), other.plot_graph(layout=layout)
    assert [text.get_position() for text in first.texts] == [text.get_position() for text in second.texts]
    assert [text.get_position() for text in other.plot_graph().texts] != [text.get_position() for text in first.texts]


def test_axes_of_a_figure_of_ones_own_are_used(asia):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4))
    left, _ = figure.subplots(1, 2)
    assert asia.plot_graph(ax=left) is left
    figure.canvas.draw()


def test_highlighted_variables_have_a_thick_border(asia):
    text = asia.graph_svg(highlight=["lung", "smoke"])
    assert text.count('stroke-width="2.6"/><text') == 2
    assert asia.graph_svg(highlight="lung").count('stroke-width="2.6"/><text') == 1
    with pytest.raises(CredibnError, match="'lang'"):
        asia.graph_svg(highlight=["lang"])


def test_required_edges_are_marked():
    found = learn(sample_asia(), bayes_factor=3, required_edges=["smoke->lung"])
    edges = drawing_of(found).edges
    assert [edge.ends for edge in edges if edge.stroke.has_dot] == [
        (found.names.index("smoke"), found.names.index("lung"))
    ]
    assert found.graph_svg().count("<circle") == 2  # the edge, and the legend
    assert "required by the constraints" in [text.get_text() for text in found.plot_graph().get_legend().get_texts()]


def test_names_are_text_and_no_formula(tmp_path):
    found = learn(pa.table({"$x_{": ["a", "b"] * 20, "<b>&": ["a", "b"] * 20}))
    assert {text.text for text in ET.fromstring(found.graph_svg()).iter(f"{SVG}text")} >= {"$x_{", "<b>&"}
    found.plot_graph(labels=True).figure.savefig(tmp_path / "graph.pdf")
    assert (tmp_path / "graph.pdf").read_bytes().startswith(b"%PDF")


def test_a_set_without_networks_or_edges_has_a_picture(asia):
    nothing = replace(
        asia, structures=asia.rows.first(0), complete=False, stopped_because="interrupted", unexplored_bound=math.inf
    )
    for found in (nothing, learn(pa.table({"coin": ["head", "tail"] * 5}))):
        assert drawing_of(found).edges == ()
        assert len(found.plot_graph().texts) == len(found.names)
        assert "<svg" in found.graph_svg()


def test_counted_sets_have_a_picture():
    listed = learn(sample_asia(), bayes_factor=20)
    counted = learn(sample_asia(), bayes_factor=20, engine="factored")
    shown = {frozenset(edge.ends): edge for edge in drawing_of(listed).edges}
    for edge in drawing_of(counted).edges:
        assert edge.label == shown.pop(frozenset(edge.ends)).label
    assert shown == {}


@pytest.mark.parametrize("threshold", [-0.1, 1.5, True])
def test_a_threshold_that_is_no_probability_is_refused(asia, threshold):
    with pytest.raises(CredibnError, match="threshold"):
        asia.graph_svg(threshold)


def test_a_layout_that_is_none_is_refused(asia):
    with pytest.raises(CredibnError, match="graph_layout"):
        asia.plot_graph(layout="circle")


def test_one_graph_is_drawn_without_a_legend_of_probabilities():
    drawing = drawing_of_edges("abc", [("a", "b")], [("b", "c")], "a graph")
    assert [(edge.ends, edge.stroke.has_head) for edge in drawing.edges] == [((0, 1), True), ((1, 2), False)]
    assert [words for _, words in drawing.legend] == ["direction decided", "direction open"]
    assert drawing_of_edges("ab", [("a", "b")], [], "a graph").legend == ()


def test_what_two_results_disagree_on(asia):
    few = learn(sample_asia(300), bayes_factor=20)
    drawing = difference_drawing(few, asia)
    before, after = few.adjacency_probabilities(), asia.adjacency_probabilities()
    for edge in drawing.edges:
        a, b = (few.names[end] for end in edge.ends)
        change = after.loc[a, b] - before.loc[a, b]
        if abs(change) >= 0.1:
            assert edge.stroke.colour == (MARK if change > 0 else ALERT)
            assert float(edge.label.replace("−", "-")) == pytest.approx(change, abs=0.0051)
        else:
            assert edge.label == ""
    assert [words for _, words in drawing.legend][:2] == ["more probable in second", "less probable in second"]
    axes = plot_difference(few, asia, ("300 rows", "1,000 rows"))
    assert "less probable in 1,000 rows" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_result_does_not_differ_from_itself_with_its_columns_in_another_order(asia):
    table = sample_asia()
    turned = learn(table.select(table.column_names[::-1]), bayes_factor=150)
    drawing = difference_drawing(asia, turned)
    assert [words for _, words in drawing.legend] == ["no difference"]
    assert {edge.label for edge in drawing.edges} == {""}


def test_results_on_other_variables_are_not_compared(asia):
    with pytest.raises(CredibnError, match="'xray' is only in one of them"):
        plot_difference(asia, learn(sample_asia().drop_columns(["xray"])))


def test_a_direction_that_one_result_decides_is_shown(asia):
    tiers = [["smoke"], ["lung", "tub", "bronc", "asia", "either", "xray", "dysp"]]
    told = learn(sample_asia(), bayes_factor=150, tiers=tiers)
    drawing = difference_drawing(asia, told)
    turned = {
        frozenset(drawing.layout.names[end] for end in edge.ends)
        for edge in drawing.edges
        if "#1b" in edge.stroke.colour
    }
    assert frozenset(("smoke", "lung")) in turned
    draw_on_axes(drawing)


def test_networks_classes_and_graphs_are_drawn_alike():
    network = example_network("asia")
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "b")])
    assert network_svg(network).count("<polygon") == 8
    assert network_svg(graph).count("<polygon") == 1 + 1  # b -- c is undirected; the legend has an arrow
    assert network_svg(CPDAG(("a", "b", "c"), (("a", "b"),), (("b", "c"),))) == network_svg(graph)
    assert [text.get_text() for text in plot_network(network).texts] == list(network.names)
    with pytest.raises(CredibnError, match="the network is a list"):
        plot_network([("a", "b")])


def test_a_name_with_characters_that_xml_forbids_gives_a_file_that_can_be_read():
    graph = nx.DiGraph([("bell\x07", "escape\x1b[31m"), ("bell\x07", "no character \ufffe")])
    texts = [text.text for text in ET.fromstring(network_svg(graph)).iter(f"{SVG}text")]
    assert {r"bell\x07", r"escape\x1b[31m", "no character \N{REPLACEMENT CHARACTER}"} <= set(texts)
