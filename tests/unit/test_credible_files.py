"""Saved credible sets: what is read is what was written, to the last bit, or is refused."""

import json
import math
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from credibn import CredibleSet, average_models, fit_network, k_best_networks, learn
from credibn.credible import family_files
from credibn.credible.structures import Structures
from credibn.errors import FileFormatError, OptionError
from credibn.scores.arrow_files import write_arrow
from credibn.search import exact_scores
from profiles import examples

FACTS = (
    "optimal_score",
    "epsilon",
    "complete",
    "stopped_because",
    "unexplored_bound",
    "n_requested",
    "n_tied_at_boundary",
    "log_total_mass",
    "log_mass",
    "settings",
    "provenance",
    "n_networks",
    "n_classes",
    "grouping",
    "names",
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 60)
    return np.column_stack([x, x, rng.integers(0, 2, 60), (x + (rng.random(60) < 0.2)) % 2])


def assert_same(one, other):
    for name in FACTS:
        assert getattr(one, name) == getattr(other, name), name
    for name in ("choices", "scores", "sizes", "class_of"):
        mine, theirs = getattr(one.rows, name), getattr(other.rows, name)
        assert (mine is None) is (theirs is None)
        if mine is not None:
            assert (mine.dtype, mine.shape, mine.tobytes()) == (theirs.dtype, theirs.shape, theirs.tobytes())
    assert (one.edges_over_all is None) is (other.edges_over_all is None)
    assert one.edges_over_all is None or one.edges_over_all.tobytes() == other.edges_over_all.tobytes()
    assert one.score_table.same_as(other.score_table)
    assert one.score_table.scores.tobytes() == other.score_table.scores.tobytes()
    assert one.score_table.provenance == other.score_table.provenance
    assert_same_families(one.families, other.families)


def assert_same_families(one, other):
    assert (one is None) is (other is None)
    if one is None:
        return
    for name in ("names", "states", "cuts", "n_rows", "units"):
        assert getattr(one, name) == getattr(other, name), name
    assert [*map(type, one.states)] == [*map(type, other.states)]
    assert list(one.families) == list(other.families)
    for family, mine in one.families.items():
        for name in ("cells", "counts", "means", "scatters"):
            assert getattr(mine, name).tobytes() == getattr(other.families[family], name).tobytes()


@pytest.mark.few(7)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unit": "networks"},
        {"max_parents": 1},
        {"max_networks": 1},
        {"max_networks": 4},
        {"max_classes": 2},
        {"score": "bdeu", "forbidden_edges": ["X0->X1"]},
    ],
    ids=str,
)
def test_what_is_read_is_what_was_written(engine, data, tmp_path, options):
    found = learn(data, epsilon=6, engine=engine, **options)
    path = tmp_path / "set.credibn"
    found.save(path)
    read = CredibleSet.load(path)
    assert_same(read, found)
    read.save(tmp_path / "again.credibn")
    assert (tmp_path / "again.credibn").read_bytes() == path.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["again.credibn", "set.credibn"]


@examples(20)
@given(table=strategies.coded_tables(max_columns=4, max_rows=20), epsilon=strategies.epsilons(), k=st.integers(1, 50))
def test_any_set(engine, tmp_path_factory, table, epsilon, k):
    folder = tmp_path_factory.mktemp("sets")
    for number, found in enumerate(
        [
            learn(table.dataset(), epsilon=epsilon, engine=engine),
            k_best_networks(table.dataset(), k, engine=engine),
        ]
    ):
        found.save(folder / str(number))
        assert_same(CredibleSet.load(folder / str(number)), found)


def test_partial_sets(engine, data, tmp_path):
    found = learn(data, epsilon=6, engine=engine)
    for bound in (found.optimal_score, math.inf):
        partial = replace(found, complete=False, stopped_because="time_limit", unexplored_bound=bound)
        partial.save(tmp_path / "partial")
        assert_same(CredibleSet.load(tmp_path / "partial"), partial)
    empty = replace(partial, structures=found.rows.first(0), families=None)
    empty.save(tmp_path / "empty")
    assert_same(CredibleSet.load(tmp_path / "empty"), empty)


def test_names_of_any_kind(engine, tmp_path):
    table = pa.table({"a b": ["x", "y"] * 10, 'q"\n,é': ["u", "v"] * 10})
    found = learn(table, engine=engine)
    found.save(tmp_path / "set")
    assert CredibleSet.load(tmp_path / "set").names == ("a b", 'q"\n,é')


def test_a_failure_leaves_the_old_file(engine, data, tmp_path, monkeypatch):
    found = learn(data, engine=engine)
    path = tmp_path / "set"
    found.save(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OptionError, match="cannot be written"):
        found.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["set"]
    with pytest.raises(OptionError, match="cannot be written"):
        found.save(tmp_path / "none" / "set")


# ----------------------------------------------------------------------------------------- counts for prediction


def patients(n=90):
    rng = np.random.default_rng(5)
    dose = rng.normal(1e6, 3, n)
    group = rng.choice(["a", "b", "c"], n)
    seen = np.array([date(2020, 1, 1), date(2021, 1, 1)], dtype=object)[rng.integers(0, 2, n)]
    return pd.DataFrame(
        {
            "group": group,
            "dose": dose,
            "effect": 0.01 * (dose - 1e6) * (group == "a") + rng.normal(0, 1e-3, n),
            "flag": rng.random(n) < 0.3,
            "seen": seen,
            "number": rng.integers(0, 3, n),
            "bins": pd.cut(rng.random(n), 2),
            "constant": 7.5,
        }
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("names", "score"),
    [
        (["group", "flag", "seen", "number", "bins"], "bdeu"),
        (["dose", "effect", "constant"], "gaussian-bic"),
        (["group", "dose", "effect", "flag", "constant"], "conditional-gaussian-bic"),
    ],
)
@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
def test_a_saved_result_predicts_like_the_table_to_the_last_bit(tmp_path, names, score):
    table = patients()[names]
    found = learn(table, score=score, n_threads=1)
    found.save(tmp_path / "set")
    saved = CredibleSet.load(tmp_path / "set")
    rows = table.assign(bins=table["bins"].astype(str)) if "bins" in table else table
    models = average_models(found, table), average_models(found), average_models(saved)
    for column in names:
        with_table, of_set = (model.predict(table, column).tolist() for model in models[:2])
        assert with_table == of_set
        if column == "bins":  # an Interval is read again as its text
            with_table = [str(label) for label in with_table]
        assert models[2].predict(rows, column).tolist() == with_table
    assert models[0].log_likelihood(table).tolist() == models[2].log_likelihood(rows).tolist()
    best = found.most_probable_class().representative
    one, other = fit_network(best, table, columns="mixed" if score != "bdeu" else "discrete"), fit_network(best, saved)
    assert one.log_likelihood(table).tolist() == other.log_likelihood(rows).tolist()


def test_bins_of_the_training_table_are_those_of_new_rows(tmp_path):
    table = pd.DataFrame({"x": np.linspace(0, 1, 60), "y": np.arange(60) // 30})
    learn(table, score="bic", discretise={"x": [0.25, 0.5]}, n_threads=1).save(tmp_path / "set")
    model = average_models(CredibleSet.load(tmp_path / "set"))
    assert model.cuts == {"x": (0.25, 0.5)}
    assert model.predict(pd.DataFrame({"x": [0.1, 0.9]}), "y").tolist() == [0, 1]


@pytest.mark.filterwarnings("ignore::credibn.CredibnWarning")
def test_new_rows_are_read_as_the_training_file_was(tmp_path):
    rows = "".join(f"{row % 7},{row % 5};{'größer' if row % 7 > 3 else 'klein'}\n" for row in range(80))
    (tmp_path / "old.csv").write_bytes(f"# clinic\nwert;art\n{rows}".encode("latin-1"))
    learn(tmp_path / "old.csv", encoding="latin-1", comment="#", missing_values=["-"], n_threads=1).save(
        tmp_path / "set"
    )
    (tmp_path / "new.csv").write_bytes(b"# more\nart;wert\n-;5,1\n;0,4\n")
    model = average_models(CredibleSet.load(tmp_path / "set"))
    assert model.predict(tmp_path / "new.csv", "art").tolist() == ["größer", "klein"]


def test_a_result_holds_counts_and_no_rows():
    table = pd.DataFrame({"x": ["a", "b"] * 40, "y": ["u", "u", "v", "v"] * 20})
    found = learn(table, score="bic", n_threads=1)
    held = {family: one.counts.tolist() for family, one in found.families.families.items()}
    assert held == {(0, ()): [40, 40], (1, ()): [40, 40], (1, (0,)): [20] * 4}  # one member stands for its class


def test_counts_are_left_out_on_request(tmp_path):
    table = patients()[["group", "flag"]]
    found = learn(table, score="bic", keep_counts=False, n_threads=1)
    assert found.families is None
    assert found.settings["keep_counts"] is False
    with pytest.raises(OptionError, match="holds no counts of its training table"):
        average_models(found)
    assert average_models(found, table).names == ("group", "flag")
    found.save(tmp_path / "without")
    assert CredibleSet.load(tmp_path / "without").families is None
    assert b'"training": null' in (tmp_path / "without").read_bytes()


def test_a_network_that_the_result_does_not_have_needs_the_table():
    table = patients()[["group", "flag", "number"]]
    found = learn(table, score="bic", bayes_factor=1, n_threads=1)
    with pytest.raises(OptionError, match=r"no counts of 'group' with the parents 'flag', 'number'.*give the training"):
        fit_network(["flag->group", "number->group"], found)
    with pytest.raises(OptionError, match="missing cannot change how the result was read"):
        average_models(found, missing="drop")


def test_too_many_counts_are_not_stored(monkeypatch):
    monkeypatch.setattr("credibn.credible.families.MOST_NUMBERS", 3)
    assert learn(patients()[["group", "flag"]], score="bic", n_threads=1).families is None


# ----------------------------------------------------------------------------------------- files that are wrong


def read_parts(path):
    """The facts and the arrays of a file."""
    with pa.ipc.open_file(path) as reader:
        metadata = dict(reader.schema.metadata)
        return metadata, reader.read_all()


def write_parts(path, metadata, table):
    """Write a file with the right checksum, as one does who alters a result on purpose."""
    (batch,) = table.cast(table.schema.with_metadata(metadata)).to_batches()
    with open(path, "wb") as sink:
        write_arrow(batch, sink)


def write_without_checksum(path, metadata, table):
    """Write a file as versions 1 to 3 did."""
    schema = table.schema.with_metadata(metadata)
    with pa.ipc.new_file(path, schema) as writer:
        writer.write_table(table.cast(schema))


@pytest.fixture(scope="module")
def classes(engine, data):
    return learn(data, epsilon=6, engine=engine)


@pytest.fixture(scope="module")
def networks(engine, data):
    return learn(data, epsilon=6, engine=engine, unit="networks")


@pytest.fixture
def saved(classes, tmp_path):
    path = tmp_path / "set.credibn"
    classes.save(path)
    return path


@pytest.fixture
def saved_networks(networks, tmp_path):
    path = tmp_path / "networks.credibn"
    networks.save(path)
    return path


def refuse(path, message):
    with pytest.raises(FileFormatError, match=message) as caught:
        CredibleSet.load(path)
    assert str(path) in str(caught.value)


def test_files_of_another_kind(saved, tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    refuse(tmp_path / "empty", "the file is empty")
    (tmp_path / "text").write_text("a,b\n1,2\n")
    refuse(
        tmp_path / "text",
        r"another kind: it is not a complete Arrow file \(the end is missing\)\. Restore it",
    )
    refuse(tmp_path / "none", "cannot be read")
    footer = b"\xff\xff\xff\x7f" * 4  # points far beyond the file
    (tmp_path / "offsets").write_bytes(footer + (16).to_bytes(4, "little") + b"ARROW1")
    refuse(tmp_path / "offsets", r"not a complete Arrow file \(an offset points outside the file\)")
    refuse(tmp_path, "cannot be read|another kind")
    with pa.ipc.new_file(str(tmp_path / "other"), pa.schema([("x", pa.int64())])) as writer:
        writer.write_table(pa.table({"x": [1]}))
    refuse(tmp_path / "other", "found none; upgrade")
    whole = saved.read_bytes()
    for length in (10, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:length])
        refuse(tmp_path / "cut", "damaged or of another kind: it is not a complete Arrow file .*Restore it")


def test_a_later_version(saved):
    metadata, table = read_parts(saved)
    for write in (write_parts, write_without_checksum):
        write(saved, metadata | {b"credibn.credible_set": b"7"}, table)
        refuse(saved, "expected version 1 to 6 of credibn's credible sets, found '7'; upgrade credibn")


def without_what_came_later(metadata, table):
    """The parts of a file as versions 1 to 4 had them."""
    facts = json.loads(metadata[b"credibn.facts"])
    del facts["training"]
    older = table.drop_columns(["edges_over_all", *family_files.COLUMNS])
    return metadata | {b"credibn.facts": json.dumps(facts).encode()}, older


def test_earlier_versions_are_read(saved):
    found = replace(CredibleSet.load(saved), edges_over_all=None, families=None)
    metadata, table = without_what_came_later(*read_parts(saved))
    write_parts(saved, metadata | {b"credibn.credible_set": b"4"}, table)
    assert_same(CredibleSet.load(saved), found)
    with pytest.raises(OptionError, match=r"holds no counts .* an earlier version\): give the table as data"):
        average_models(CredibleSet.load(saved))
    write_without_checksum(saved, metadata | {b"credibn.credible_set": b"3"}, table)
    assert_same(CredibleSet.load(saved), found)
    how_it_went = {"engine": "some", "timings": {"total": 1.5}, "statistics": {"n_steps": 3}}
    facts = json.loads(metadata[b"credibn.facts"]) | how_it_went
    second = {b"credibn.facts": json.dumps(facts).encode(), b"credibn.credible_set": b"2"}
    write_without_checksum(saved, metadata | second, table)
    again = CredibleSet.load(saved)
    assert_same(again, found)
    assert {name: getattr(again, name) for name in how_it_went} == how_it_went
    facts.pop("log_total_mass")
    old = {b"credibn.facts": json.dumps(facts).encode(), b"credibn.credible_set": b"1"}
    write_without_checksum(saved, metadata | old, table)
    assert_same(CredibleSet.load(saved), replace(found, log_total_mass=None))
    write_without_checksum(saved, metadata | old | {b"credibn.credible_set": b"2"}, table)
    refuse(saved, r"missing or unknown: \['log_total_mass'\]")


@pytest.mark.few(20)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ["a", "a", "b", "c"]}, "appears twice"),
        ({"names": ["a"]}, "items in"),
        ({"names": "abcd"}, "'names' cannot be"),
        ({"complete": False}, "of another kind"),
        ({"complete": "yes"}, "'complete' cannot be"),
        ({"by_class": False}, "items in 'class_of'"),
        ({"by_class": None}, "'by_class' cannot be"),
        ({"size_words": 2}, "items in 'sizes'"),
        ({"size_words": -1}, "'size_words' cannot be"),
        ({"optimal_score": -1e9}, "beats the optimum"),
        ({"optimal_score": 0}, "not credible"),
        ({"optimal_score": "best"}, "'optimal_score' cannot be"),
        ({"epsilon": 0.0}, "not credible"),
        ({"epsilon": -1.0}, "'epsilon' cannot be"),
        ({"stopped_because": "time_limit"}, "of another kind"),
        ({"unexplored_bound": True}, "'unexplored_bound' cannot be"),
        ({"settings": []}, "'settings' cannot be"),
        ({"engine": "some"}, r"missing or unknown: \['engine'\]"),
        ({"log_total_mass": "much"}, "'log_total_mass' cannot be"),
        ({"log_total_mass": -1e9}, "more mass than all networks"),
        ({"n_requested": -3}, "'n_requested' cannot be"),
        ({"extra": 1}, r"missing or unknown: \['extra'\]"),
    ],
    ids=str,
)
def test_wrong_facts(saved, change, message):
    metadata, table = read_parts(saved)
    facts = json.loads(metadata[b"credibn.facts"]) | change
    write_parts(saved, metadata | {b"credibn.facts": json.dumps(facts).encode()}, table)
    refuse(saved, message)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"[" * 100000])
def test_facts_that_are_no_json(saved, text):
    metadata, table = read_parts(saved)
    write_parts(saved, metadata | {b"credibn.facts": text}, table)
    refuse(saved, "JSON|facts")


def edited(table, name, change):
    """The table with one array changed by a function."""
    at = table.schema.get_field_index(name)
    values = np.array(table.column(at).chunk(0).flatten())
    changed = change(values.copy())
    items = pa.array(changed, type=table.schema.field(at).type.value_type)
    offsets = pa.array([0, len(items)], pa.int64())
    return table.set_column(
        at, table.schema.field(at), pa.LargeListArray.from_arrays(offsets, items, type=table.schema.field(at).type)
    )


def repeat_row(values, width=4):
    rows = values.reshape(-1, width)
    rows[1] = rows[0]
    return rows.ravel()


@pytest.mark.few(16)
@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("choices", lambda v: v + 1000, "uses a candidate that is not in the score table"),
        ("choices", lambda v: v[:-1], "items in 'choices'"),
        ("scores", lambda v: v[::-1], "not the sum"),
        ("choices", repeat_row, "not the sum|twice"),
        ("choices", lambda v: np.where(np.arange(len(v)) < 4, 0, v), "not the sum|cycle"),
        ("scores", lambda v: v + 1e-3, "not the sum"),
        ("scores", lambda v: v * np.nan, "not the sum"),
        ("sizes", lambda v: v * 0, "its true size"),
        ("sizes", lambda v: v + 1, "its true size"),
        ("candidate_scores", lambda v: v + 1.0, "not the sum|beats"),
        ("candidate_scores", lambda v: v[::-1], "of another kind"),
        ("candidate_masks", lambda v: v | np.uint64(1), "of another kind"),
        ("offsets", lambda v: v * 0, "of another kind"),
        ("edges_over_all", lambda v: v[:-1], "a probability for each of 16 edges"),
        ("edges_over_all", lambda v: v + 0.5, "a probability for each of 16 edges"),
        ("edges_over_all", lambda v: v * np.nan, "a probability for each of 16 edges"),
    ],
)
def test_wrong_arrays(saved, name, change, message):
    metadata, table = read_parts(saved)
    write_parts(saved, metadata, edited(table, name, change))
    refuse(saved, message)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("class_of", lambda v: v + 1, "classes are wrong"),
        ("class_of", lambda v: v * 0, "classes are wrong"),
        ("class_of", lambda v: v - 5, "classes are wrong"),
        ("scores", lambda v: v - 1e-3, "not the sum"),
        ("scores", lambda v: v * np.inf, "not finite"),
    ],
)
def test_wrong_arrays_of_networks(saved_networks, name, change, message):
    metadata, table = read_parts(saved_networks)
    write_parts(saved_networks, metadata, edited(table, name, change))
    refuse(saved_networks, message)


def test_a_cycle_is_refused(engine, data, tmp_path):
    found = learn(data, epsilon=6, engine=engine)
    table = found.score_table
    both = np.zeros((1, 4), dtype=np.uint32)
    for node, other in ((0, 1), (1, 0)):
        masks = table.masks[table.offsets[node] : table.offsets[node + 1], 0]
        both[0, node] = np.flatnonzero(masks == 1 << other)[0]
    for node in (2, 3):
        masks = table.masks[table.offsets[node] : table.offsets[node + 1], 0]
        both[0, node] = np.flatnonzero(masks == 0)[0]
    scores = exact_scores(table, both)
    rows = Structures(both, scores, np.ones((1, 1), dtype=np.uint64), None)
    replace(found, structures=rows, optimal_score=float(scores[0])).save(tmp_path / "cycle")
    refuse(tmp_path / "cycle", "directed cycle")


# ----------------------------------------------------------------------------------------- the checksum


@pytest.mark.slow
def test_every_changed_byte_is_noticed(data, tmp_path):
    path = tmp_path / "set.credibn"
    learn(data, epsilon=0, max_parents=1).save(path)
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        refuse(path, "the file is damaged")


def test_bytes_that_are_added_or_missing_are_noticed(saved):
    whole = saved.read_bytes()
    for length in [*range(50), *range(50, len(whole) - 50, 25), *range(len(whole) - 50, len(whole))]:
        saved.write_bytes(whole[:length])
        refuse(saved, "the file is damaged|is empty")
    for added in (b"\0", b"ARROW1", whole[-10:], whole[-2000:], whole):
        for changed in (whole + added, added + whole, whole[:8] + added + whole[8:]):
            saved.write_bytes(changed)
            refuse(saved, "the file is damaged")


def test_the_error_says_what_is_wrong_and_what_to_do(saved):
    whole = saved.read_bytes()
    saved.write_bytes(whole.replace(b"credibn.facts", b"credibn.factz"))
    refuse(
        saved,
        r"set.credibn: the file is damaged or was altered \(its content does not match its checksum\); restore it "
        "from a good copy, or create it again",
    )
    saved.write_bytes(whole)
    write_without_checksum(saved, *read_parts(saved))
    refuse(saved, r"set.credibn: the file is damaged or was altered \(its checksum is missing\)")


def test_a_checksum_is_checked_whatever_version_the_file_claims(saved):
    version = b"5\0\0\0\x14\0\0\0credibn.credible_set"
    whole = saved.read_bytes()
    assert whole.count(version) == 2  # at the start and in the footer
    saved.write_bytes(whole.replace(version, b"3" + version[1:]))
    refuse(saved, "does not match its checksum")


def test_any_program_that_knows_arrow_opens_a_result(saved):
    with pa.ipc.open_file(saved) as reader:
        assert reader.num_record_batches == 1
        assert reader.schema.names[0] == "offsets"


def altered(saved, change_facts=None, change_arrays=None):
    """Write the file again with other facts of the training table, or other arrays, and the right checksum."""
    metadata, table = read_parts(saved)
    facts = json.loads(metadata[b"credibn.facts"])
    facts["training"] = change_facts(facts["training"]) if change_facts else facts["training"]
    for name, change in (change_arrays or {}).items():
        items = change(np.array(table.column(name)[0].as_py(), dtype=family_files.COLUMNS[name]))
        at = table.schema.get_field_index(name)
        field = table.schema.field(name)
        table = table.set_column(at, field, pa.array([items.tolist()], field.type))
    write_parts(saved, metadata | {b"credibn.facts": json.dumps(facts).encode()}, table)


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("facts", "arrays", "message"),
    [
        (lambda _: None, {}, "it has counts of no table"),
        (lambda known: {"states": known["states"]}, {}, "not described by its parts"),
        (lambda known: known | {"n_rows": 59}, {}, "do not add up to the rows"),
        (lambda known: known | {"n_rows": True}, {}, "the number of rows is wrong"),
        (lambda known: known | {"states": known["states"][1:]}, {}, "not those of the variables"),
        (lambda known: known | {"states": [[0, 0], *known["states"][1:]]}, {}, "no states, or one twice"),
        (lambda known: known | {"states": [[0, {"pickle": "x"}], *known["states"][1:]]}, {}, "of the type 'pickle'"),
        (lambda known: known | {"states": [[0, [1]], *known["states"][1:]]}, {}, "a state is a list"),
        (lambda known: known | {"states": [None, *known["states"][1:]]}, {}, "wrong: "),
        (lambda known: known | {"cuts": {"X0": [2.0, 1.0]}}, {}, "bin edges of 'X0' are wrong"),
        (lambda known: known | {"cuts": 7}, {}, "bin edges are wrong"),
        (None, {"cells": lambda cells: cells + 100}, "a cell is wrong"),
        (None, {"counts": lambda counts: -counts}, "do not add up"),
        (None, {"n_cells": lambda n: n[1:]}, "not the counts of each family"),
        (None, {"cells": lambda cells: cells[1:]}, "not the counts of each cell"),
        (None, {"moments": lambda _: np.ones(1)}, "the moments are wrong"),
        (None, {"units": lambda _: np.ones(3)}, "not the unit of each variable"),
    ],
)
def test_counts_that_contradict_the_networks_are_refused(data, tmp_path, facts, arrays, message):
    path = tmp_path / "set.credibn"
    learn(data, score="bic", epsilon=6, n_threads=1).save(path)
    altered(path, facts, arrays)
    refuse(path, f"what it holds of the training table is wrong: .*{message.removeprefix('wrong: ')}.*create it again")
