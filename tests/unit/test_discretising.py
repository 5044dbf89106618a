"""Bin edges: each rule against its definition on the repeated rows, ties, weights, labels and errors."""

import contextlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credibn.data import read_data
from credibn.data.discretising import BinRule, bin_edges, bin_labels, parse_bin_rule
from credibn.errors import CredibnWarning, DataError, OptionError
from profiles import examples

VALUES = st.lists(st.integers(-20, 20).map(lambda number: number / 4), min_size=1, max_size=40)


def counted(rows):
    values, counts = np.unique(np.array(rows, dtype=float), return_counts=True)
    return values, counts.astype(np.int64)


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ("equal_width:3", BinRule("equal_width", 3)),
        (("equal_width", 3), BinRule("equal_width", 3)),
        (["equal_frequency", np.int64(4)], BinRule("equal_frequency", 4)),
        ("mean", BinRule("mean")),
        (("median",), BinRule("median")),
        ([18, 65], BinRule("edges", 3, (18.0, 65.0))),
        (np.array([0.5]), BinRule("edges", 2, (0.5,))),
    ],
)
def test_specs_are_read(spec, rule):
    assert parse_bin_rule(spec) == rule


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("quantile:3", r"discretise: 'quantile:3' is not a rule for bins; write 'equal_width:3'"),
        ("equal_width", "needs a whole number of bins"),
        ("equal_width:1", "needs a whole number of bins"),
        ("equal_width:2.5", "needs a whole number of bins"),
        (("equal_frequency", True), "needs a whole number of bins"),
        (("equal_width", 3, 4), "not a pair"),
        ("mean:3", "not a rule for bins"),
        (3, "not a rule for bins"),
        ([], "strictly increasing"),
        ([2, 1], "strictly increasing"),
        ([1, 1], "strictly increasing"),
        ([1, float("inf")], "finite"),
        ([1, None], "finite"),
        ([True], "finite"),
    ],
)
def test_wrong_specs_say_what_to_write(spec, message):
    with pytest.raises(OptionError, match=message):
        parse_bin_rule(spec)


@given(VALUES, st.integers(2, 6))
def test_equal_frequency_edges_are_quantiles_of_all_rows(rows, n_bins):
    values, counts = counted(rows)
    cuts, note = bin_edges(BinRule("equal_frequency", n_bins), values, counts)
    quantiles = np.quantile(rows, [k / n_bins for k in range(1, n_bins)])
    for cut in cuts:
        assert np.isclose(quantiles, cut).any() or cut == values[1]
    sizes = np.bincount(np.searchsorted(cuts, rows, side="right"), minlength=len(cuts) + 1)
    assert (sizes > 0).all(), "each bin holds rows"
    assert (note is None) == (len(cuts) == n_bins - 1)


@given(VALUES, st.integers(2, 6))
def test_equal_width_bins_are_equal(rows, n_bins):
    values, counts = counted(rows)
    cuts, _ = bin_edges(BinRule("equal_width", n_bins), values, counts)
    if values.size > 1:
        assert np.allclose(cuts, np.linspace(min(rows), max(rows), n_bins + 1)[1:-1])
    else:
        assert cuts == ()


@given(VALUES, st.sampled_from(["mean", "median"]))
def test_splits_leave_rows_on_both_sides(rows, method):
    values, counts = counted(rows)
    cuts, note = bin_edges(BinRule(method), values, counts)
    if values.size == 1:
        assert cuts == ()
        assert "single value" in note
        return
    wanted = np.mean(rows) if method == "mean" else np.median(rows)
    assert cuts[0] == pytest.approx(wanted) or (wanted == values[0] and cuts[0] == values[1])
    assert 0 < sum(row < cuts[0] for row in rows) < len(rows)


@examples(30)
@given(VALUES, st.sampled_from(["equal_width:3", "equal_frequency:3", "mean", "median"]))
def test_weights_give_the_bins_of_repeated_rows(rows, spec):
    values, counts = counted(rows)
    frame = pa.table({"x": values, "n": counts})
    with pytest.warns(CredibnWarning) if _warns(values, counts, spec) else contextlib.nullcontext():
        weighted = read_data(frame, weights="n", discretise={"x": spec})
    with pytest.warns(CredibnWarning) if _warns(values, counts, spec) else contextlib.nullcontext():
        repeated = read_data(pa.table({"x": rows}), discretise={"x": spec})
    assert weighted.fingerprint == repeated.fingerprint


def _warns(values, counts, spec):
    cuts, note = bin_edges(parse_bin_rule(spec), values, counts)
    return note is not None or not cuts


def test_huge_values_do_not_overflow():
    values, counts = counted([-1.7e308, 1.7e308])
    for method in ("equal_width", "equal_frequency"):
        cuts, _ = bin_edges(BinRule(method, 2), values, counts)
        assert cuts == (0.0,)


@pytest.mark.parametrize(
    ("cuts", "labels"),
    [
        ((), ("all",)),
        ((18.0, 65.0), ("<18", "18..65", ">=65")),
        ((-1.5,), ("<-1.5", ">=-1.5")),
        ((1 / 3, 1234567.0), ("<0.333333", "0.333333..1234567", ">=1234567")),
        ((1.0, 1.0000001), ("<1", "1..1.0000001", ">=1.0000001")),
        ((1e300,), ("<1e+300", ">=1e+300")),
    ],
)
def test_labels_are_readable_and_distinct(cuts, labels):
    assert bin_labels(cuts) == labels


def test_bins_are_half_open():
    data = read_data(pa.table({"age": [17, 18, 64, 65]}), discretise={"age": [18, 65]})
    assert data.states == (("<18", "18..65", ">=65"),)
    assert data.columns[0].tolist() == [0, 1, 2]
    assert data.weights.tolist() == [1, 2, 1]
    assert dict(data.cuts) == {"age": (18.0, 65.0)}


def test_one_rule_discretises_all_fractional_columns_only():
    table = pa.table({"x": [0.5, 1.5, 2.5], "y": [0.0, 0.5, 1.0], "i": [1, 2, 3], "s": ["a", "b", "c"]})
    data = read_data(table, discretise="median")
    assert dict(data.cuts) == {"x": (1.5,), "y": (0.5,)}
    assert data.states[2:] == ((1, 2, 3), ("a", "b", "c"))


def test_text_file_columns_are_discretised_by_value(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,i,code\n0.5,9,01\n10,10,02\n1e1,11,01\n")
    data = read_data(path, discretise={"x": "mean", "i": [10]})
    assert data.states == (("<6.83333", ">=6.83333"), ("<10", ">=10"), ("01", "02"))
    assert dict(read_data(path, discretise="median").cuts) == {"x": (10.0,)}


def test_declared_edges_keep_empty_bins():
    data = read_data(pa.table({"x": [1.0, 2.0]}), discretise={"x": [0, 1.5, 9]})
    assert data.arities.tolist() == [4]


def test_empty_bins_of_equal_width_are_kept_with_a_warning():
    with pytest.warns(CredibnWarning, match=r"column 'x' has 1 empty bin\(s\) of equal width"):
        data = read_data(pa.table({"x": [0.0, 0.5, 9.0]}), discretise={"x": "equal_width:3"})
    assert data.states == (("<3", "3..6", ">=6"),)


def test_ties_merge_bins_with_a_warning():
    table = pa.table({"x": [0.0] * 8 + [1.0, 2.0]})
    with pytest.warns(CredibnWarning, match="'x' has too many ties for 4 bins of equal frequency and gets 2"):
        data = read_data(table, discretise={"x": "equal_frequency:4"})
    assert data.states == (("<1", ">=1"),)
    assert data.weights.tolist() == [8, 2]


def test_a_constant_column_becomes_one_bin():
    with pytest.warns(CredibnWarning) as caught:
        data = read_data(pa.table({"x": [2.5, 2.5]}), discretise={"x": "median"})
    assert ["single value 2.5" in str(w.message) for w in caught] == [True, False]
    assert data.states == (("all",),)
    assert data.constant_columns == ("x",)


def test_missing_values_become_the_last_state():
    data = read_data(pa.table({"x": [0.5, None, 1.5]}), discretise={"x": "mean"}, missing="state")
    assert data.states == (("<1", ">=1", None),)
    assert data.columns[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b"], r"column 'x' cannot be discretised: it holds 'a', which is not a number"),
        ([True, False], "cannot be discretised"),
        ([1.0, float("inf")], r"column 'x' holds inf in 1 row\(s\): numbers must be finite"),
    ],
)
def test_only_finite_numbers_are_discretised(values, message):
    with pytest.raises(DataError, match=message):
        read_data(pa.table({"x": values}), discretise={"x": "mean"})


def test_a_text_column_of_a_file_names_the_value_that_is_no_number(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n2\nlarge\n")
    with pytest.raises(DataError, match="it holds 'large'"):
        read_data(path, discretise={"x": "mean"})


def test_a_column_without_values_cannot_be_discretised():
    table = pa.table({"x": pa.array([None, None], pa.float64())})
    with pytest.raises(DataError, match="only missing values"):
        read_data(table, discretise={"x": "mean"}, missing="state")
