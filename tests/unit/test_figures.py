"""The figures: the curve goes through every network, the heat map shows every edge, and nothing global changes."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from credibn import learn, read_data
from credibn.credible.structures import Structures
from credibn.examples import sample_asia, tic_tac_toe
from credibn.report import edge_heat_map, gap_curve, overview
from credibn.report.figures import BAYES_FACTORS, figure_svg, networks_within, share_by_gap


@pytest.fixture(scope="module")
def asia():
    return learn(sample_asia(), bayes_factor=150)


def corners(figure):
    """The line of the curve: log10 of the number of networks, and the gap."""
    line = next(line for line in figure.axes[0].lines if len(line.get_xdata()) > 2)
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def made_rows(log_sizes, scores):
    """Rows of one node whose classes have about these sizes."""
    sizes = [int(math.exp(size)) if size < 700 else 1 << int(size / math.log(2)) for size in log_sizes]
    words = max(1, max(size.bit_length() for size in sizes) // 64 + 1)
    packed = np.frombuffer(b"".join(size.to_bytes(8 * words, "little") for size in sizes), dtype="<u8")
    choices = np.zeros((len(sizes), 1), dtype=np.uint32)
    return Structures(choices, np.array(scores), packed.reshape(-1, words).astype(np.uint64), None)


@pytest.mark.parametrize("unit", ["classes", "networks"])
def test_the_curve_goes_through_every_network(unit):
    result = learn(tic_tac_toe(), bayes_factor=20, unit=unit)
    across, gaps = corners(gap_curve(result))
    starts, ends, levels = across[::2], across[1::2], gaps[::2]
    assert np.array_equal(levels, gaps[1::2])
    for k, network in enumerate(result.networks(), start=1):
        inside = (starts - 1e-9 <= math.log10(k)) & (math.log10(k) <= ends + 1e-9)
        gap = result.optimal_score - network.graph["score"]
        assert np.abs(levels[inside] - gap).min() < 1e-9
    assert across[-1] == pytest.approx(math.log10(result.n_networks))


def test_many_rows_are_thinned_to_points_of_the_curve():
    result = learn(pa.table({"coin": ["head", "tail"] * 5}))
    scores = result.optimal_score - np.linspace(0, 3, 20_000)
    many = replace(result, structures=made_rows([1.1] * 20_000, scores))
    across, gaps = corners(gap_curve(many))
    assert len(across) < 2_000
    assert across[-1] == pytest.approx(math.log10(many.n_networks))
    assert gaps[-1] == pytest.approx(3.0)
    assert (np.diff(across) >= 0).all()
    assert (np.diff(gaps) >= 0).all()
    number = np.rint(10 ** across[1::2]) / 3 - 1  # each class has three members
    assert np.allclose(gaps[1::2], 3 * number / 19_999, atol=1e-9)


def test_counts_beyond_any_float_have_a_curve():
    result = learn(pa.table({"coin": ["head", "tail"] * 5}))
    huge = replace(result, structures=made_rows([0.0, 900.0, 901.0], result.optimal_score - np.array([0.0, 1.0, 2.0])))
    across, _ = corners(gap_curve(huge))
    assert across[-1] == pytest.approx(math.log10(huge.n_networks))
    labels = [label.get_text() for label in gap_curve(huge).axes[0].get_xticklabels()]
    assert labels[0] == "1"
    assert any(label.startswith("10") and "⁰" <= label[-1] <= "⁹" for label in labels)


def test_the_curve_marks_bayes_factors_and_where_networks_may_be_missing(asia):
    def labels(result):
        return {text.get_text(): text.get_position()[1] for text in gap_curve(result).axes[0].texts}

    assert labels(asia) == {f"Bayes factor {factor}": pytest.approx(math.log(factor)) for factor in BAYES_FACTORS}
    stopped = replace(
        asia, complete=False, stopped_because="time_limit", unexplored_bound=asia.optimal_score - math.log(20)
    )
    assert labels(stopped)["above this line networks may be missing"] == pytest.approx(math.log(20))
    unproven = replace(asia, complete=False, stopped_because="time_limit", unexplored_bound=math.inf)
    assert labels(unproven) == labels(asia)


def test_networks_within_a_factor_are_counted_exactly(asia):
    gaps = [asia.optimal_score - network.graph["score"] for network in asia.networks()]
    for factor, networks, _ in networks_within(asia):
        assert networks == f"{sum(gap <= math.log(int(factor)) + 1e-9 for gap in gaps):,} networks"
    assert [factor for factor, *_ in networks_within(learn(sample_asia(), bayes_factor=20))] == ["3", "20"]


def test_the_heat_map_shows_the_edge_probabilities(asia):
    axes = edge_heat_map(asia).axes[0]
    edges = asia.edge_probabilities().to_numpy()
    assert np.array_equal(np.asarray(axes.images[0].get_array()), edges)
    assert [label.get_text() for label in axes.get_yticklabels()] == list(asia.names)
    assert len(axes.texts) == np.count_nonzero(edges)


def test_dollars_in_names_are_no_mathematics(tmp_path):
    result = learn(pa.table({"$x_{": ["a", "b"] * 20, "cost $": ["a", "b"] * 20}))
    overview(result).savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1_000


def test_a_set_without_networks_has_figures(asia):
    nothing = replace(
        asia, structures=asia.rows.first(0), complete=False, stopped_because="interrupted", unexplored_bound=math.inf
    )
    assert len(overview(nothing).axes) == 3  # with the scale of colours
    assert networks_within(nothing) == []


def test_svg_is_the_same_whatever_the_users_style(asia):
    import matplotlib

    first = figure_svg(gap_curve, asia, "curve", "A curve")
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.fonttype": "path"}):
        assert figure_svg(gap_curve, asia, "curve", "A curve") == first
    other = figure_svg(gap_curve, asia, "other", "A curve")
    assert "<text" in first
    assert "var(--mark)" in first
    assert "Bayes factor 20" in first
    assert 'id="curve-' in first
    assert 'id="curve-' not in other


def test_data_given_to_the_page_do_not_change_the_figure(asia, tmp_path):
    from credibn.report import write_learning_page

    write_learning_page(asia, tmp_path / "page.html", read_data(sample_asia()))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    label = f"The gap to the best score for {asia.n_networks:,} networks, the best first"
    assert figure_svg(gap_curve, asia, "curve", label) in page


def test_a_set_plots_itself(asia):
    figure = asia.plot()
    assert [axes.get_xlabel() for axes in figure.axes[:2]] == ["Child", "Networks, the best first"]
    assert [axes.get_xlabel() for axes in overview(asia).axes[:2]] == ["Child", "Networks, the best first"]


def test_the_share_within_each_factor_is_that_of_a_smaller_search(asia):
    gaps, shares = share_by_gap(asia)
    for factor in (3, 20, 150):
        inside = gaps <= math.log(factor) * (1 + 1e-12)
        assert shares[inside].max() == pytest.approx(learn(sample_asia(), bayes_factor=factor).posterior_share)
    assert (np.diff(gaps) >= 0).all()
    assert (np.diff(shares) >= 0).all()


def test_many_steps_of_the_share_are_thinned():
    result = learn(pa.table({"coin": ["head", "tail"] * 5}))
    scores = result.optimal_score - np.linspace(0, 3, 20_000)
    many = replace(result, structures=made_rows([1.1] * 20_000, scores), epsilon=3.0, log_total_mass=None)
    gaps, shares = share_by_gap(many)
    assert len(gaps) < 2_000
    assert (gaps[-1], shares[-1]) == (pytest.approx(3.0), pytest.approx(1.0))


def test_the_axis_says_what_the_share_is_of(asia):
    assert asia.plot_share().get_ylabel() == "Share of the posterior of all networks"
    assert [label.get_text() for label in asia.plot_share().get_xticklabels()] == ["1", "3", "20", "150"]
    unknown = replace(asia, log_total_mass=None)
    assert "unknown" in unknown.plot_share().get_ylabel()
    assert share_by_gap(unknown)[1][-1] == pytest.approx(1.0)


def test_curves_are_drawn_on_axes_that_are_given(asia):
    from matplotlib.figure import Figure

    left, right = Figure().subplots(1, 2)
    assert asia.plot_gaps(ax=left) is left
    assert asia.plot_share(ax=right) is right
    nothing = replace(
        asia, structures=asia.rows.first(0), complete=False, stopped_because="interrupted", unexplored_bound=math.inf
    )
    assert nothing.plot_share().get_ylim() == (0, 1)
