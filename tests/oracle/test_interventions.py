"""Rows in which variables were set from outside: scores, credible sets and classes against brute force."""

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_scores
import oracle
from credibn import (
    CredibleSet,
    ScoreTable,
    average_models,
    exact_posterior,
    k_best_classes,
    learn,
    read_data,
    score_parent_sets,
)
from credibn.credible.structures import class_numbers, separated_edges
from credibn.errors import DataError, OptionError
from credibn.report import write_learning_page
from profiles import examples

ARITIES = (2, 3, 2, 2)
NAMES = tuple(f"v{k}" for k in range(4))
STATES = {name: [f"s{k}" for k in range(r)] for name, r in zip(NAMES, ARITIES, strict=True)}


def random_experiments(seed, n_rows=70, n_sets=3):
    """A table of categories, and what was set in each row."""
    rng = np.random.default_rng(seed)
    subsets = [subset for size in range(4) for subset in itertools.combinations(range(4), size)]
    family = [subsets[k] for k in rng.choice(len(subsets), n_sets, replace=False)]
    which = rng.integers(n_sets, size=n_rows)
    targets = [set(family[k]) for k in which]
    for v in range(4):  # somewhere each variable is not set
        targets[v].discard(v)
    codes = np.zeros((n_rows, 4), dtype=int)
    for v, r in enumerate(ARITIES):
        codes[:, v] = rng.integers(0, r, n_rows)
        if v:
            follows = (rng.random(n_rows) < 0.7) & np.array([v not in one for one in targets])
            codes[follows, v] = codes[follows, rng.integers(v)] % r
    table = pd.DataFrame({name: [f"s{code}" for code in codes[:, v]] for v, name in enumerate(NAMES)})
    table["set"] = [",".join(NAMES[v] for v in sorted(one)) or None for one in targets]
    return table, codes, targets


def costs_by_hand(codes, targets, cost):
    """Local costs, each child on the rows where it was not set."""
    rows = [[tuple(row) for row, one in zip(codes.tolist(), targets, strict=True) if v not in one] for v in range(4)]
    return oracle.local_costs(ARITIES, lambda child, parents: cost(rows[child], child, parents))


def by_naive_score(name):
    scores = {"bic": naive_scores.naive_bic, "aic": naive_scores.naive_aic, "bdeu": naive_scores.naive_bdeu}
    return lambda rows, child, parents: scores[name](rows, ARITIES, child, parents)


def interventional_key(dag, targets):
    """Skeleton, v-structures, and the skeleton that is left under each experiment (Hauser and Buehlmann 2012)."""
    left = []
    for one in sorted(map(tuple, map(sorted, targets))):
        cut = tuple(() if v in one else parents for v, parents in enumerate(dag))
        left.append(frozenset(frozenset(edge) for edge in oracle.edges_of(cut)))
    return (*oracle.markov_key(dag), tuple(left))


def with_intervention_nodes(dag, targets):
    """The network with one more node for each experiment, a parent of what it sets."""
    n, sets = len(dag), sorted(map(tuple, map(sorted, targets)))
    widened = [(*parents, *(n + k for k, one in enumerate(sets) if v in one)) for v, parents in enumerate(dag)]
    return (*widened, *[()] * len(sets))


def dag_of(network):
    return tuple(tuple(sorted(NAMES.index(parent) for parent in network.predecessors(name))) for name in NAMES)


@pytest.mark.few(1)
@pytest.mark.parametrize("score", ["bic", "bdeu", "aic"])
@given(seed=st.integers(0, 10**6), epsilon=st.sampled_from([0.0, 1.0, 3.0]))
@examples(4)
def test_every_credible_network_is_found_and_grouped_by_interventional_class(score, seed, epsilon):
    table, codes, targets = random_experiments(seed)
    costs = costs_by_hand(codes, targets, by_naive_score(score))
    found = learn(
        table, score=score, epsilon=epsilon + 1e-9, interventions="set", state_names=STATES, posterior_share=False
    )
    expected = set(oracle.credible_dags(4, costs, epsilon + 1e-9))
    assert {dag_of(network) for network in found.networks()} == expected
    key_of = {dag: interventional_key(dag, targets) for dag in oracle.all_dags(4)}
    keys, members_of = {}, {}
    for network, number in zip(found.networks(), found.structures.class_of.tolist(), strict=True):
        keys.setdefault(key_of[dag_of(network)], set()).add(number)
        members_of.setdefault(number, []).append(dag_of(network))
        assert -network.graph["score"] == pytest.approx(oracle.network_cost(dag_of(network), costs), abs=1e-8)
    assert sorted(min(numbers) for numbers in keys.values()) == list(range(found.n_classes))
    assert all(len(numbers) == 1 for numbers in keys.values())
    for number, one in enumerate(found.classes()[:20]):
        members = members_of[number]
        same_class = [dag for dag, key in key_of.items() if key == key_of[members[0]]]
        assert sorted(members) == sorted(same_class), "members of an interventional class score the same"
        directed, undirected = oracle.cpdag(members)
        assert {(NAMES.index(a), NAMES.index(b)) for a, b in one.graph.directed} == directed
        assert {frozenset((NAMES.index(a), NAMES.index(b))) for a, b in one.graph.undirected} == undirected


@given(seed=st.integers(0, 10**6), epsilon=st.sampled_from([0.0, 2.0]), engine=st.sampled_from(["table", "descent"]))
@examples(4)
def test_rule_one_on_the_rows_of_each_child_decides_which_parent_sets_are_listed(seed, epsilon, engine):
    table, codes, targets = random_experiments(seed)
    costs = costs_by_hand(codes, targets, by_naive_score("bic"))
    scored = score_parent_sets(
        table, epsilon=epsilon, interventions="set", state_names=STATES, engine=engine, score="bic"
    )
    for child, name in enumerate(NAMES):
        listed = {tuple(NAMES.index(p) for p in parents): score for score, parents in scored.parent_sets(name)}
        assert set(listed) == oracle.rule_one(costs[child], epsilon)
        assert all(-score == pytest.approx(costs[child][parents], abs=1e-8) for parents, score in listed.items())


@pytest.mark.few(1)
@pytest.mark.parametrize("score", ["gaussian-bic", "bge"])
@given(seed=st.integers(0, 10**6))
@examples(3)
def test_numbers_are_scored_on_the_rows_where_they_were_not_set(score, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(30, 3))
    values[:, 1] += values[:, 0]
    is_set = rng.random((30, 3)) < 0.3
    is_set[:8] = False
    frame = pd.DataFrame(values, columns=list("abc"))
    table = score_parent_sets(frame, score=score, interventions=is_set, epsilon=50.0)
    for child, name in enumerate("abc"):
        alone = score_parent_sets(frame[~is_set[:, child]], score=score, epsilon=50.0)
        expected = {parents: value for value, parents in alone.parent_sets(name)}
        assert {parents: value for value, parents in table.parent_sets(name)} == pytest.approx(expected, abs=1e-8)
        if score == "gaussian-bic":
            rows = [tuple(row) for row in values[~is_set[:, child]]]
            for parents, value in expected.items():
                by_hand = naive_scores.naive_gaussian_bic(rows, child, [list("abc").index(p) for p in parents])
                assert -value == pytest.approx(by_hand, abs=1e-6)


def families_of_targets(n, rng, count):
    subsets = [subset for size in range(n + 1) for subset in itertools.combinations(range(n), size)]
    for _ in range(count):
        yield [subsets[k] for k in rng.choice(len(subsets), rng.integers(1, 5), replace=False)]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_classes_are_those_of_hauser_and_buehlmann_for_all_networks(n):
    """Also those of networks with a node for each experiment, and of reversals that no experiment can tell."""
    dags = oracle.all_dags(n)
    sets = [(v, parents) for v in range(n) for parents in oracle.all_parent_sets(n, v)]
    names = [f"v{k}" for k in range(n)]
    masks = np.array([[sum(1 << p for p in parents)] for _, parents in sets], dtype=np.uint64)
    nodes = np.array([v for v, _ in sets], dtype=np.int64)
    for targets in families_of_targets(n, np.random.default_rng(n), 6):
        provenance = {"interventions": [[names[v] for v in one] for one in targets]}
        table = ScoreTable.from_arrays(names, nodes, np.zeros(len(nodes)), masks, provenance)
        position = {}
        for v in range(n):
            own = table.masks[table.offsets[v] : table.offsets[v + 1], 0].tolist()
            position |= {(v, mask): at for at, mask in enumerate(own)}
        choices = np.array(
            [[position[v, sum(1 << p for p in parents)] for v, parents in enumerate(dag)] for dag in dags], np.uint32
        )
        numbers = class_numbers(table, choices).tolist()
        first = {}
        assert numbers == [first.setdefault(interventional_key(dag, targets), len(first)) for dag in dags]
        first = {}
        widened = [oracle.markov_key(with_intervention_nodes(dag, targets)) for dag in dags]
        assert numbers == [first.setdefault(key, len(first)) for key in widened]
        number_of = dict(zip(dags, numbers, strict=True))
        separated = separated_edges(table)
        reached = {}
        for dag in dags:  # reversing covered edges that no experiment separates leads through the whole class
            if number_of[dag] in reached:
                assert dag in reached[number_of[dag]]
                continue
            seen, todo = {dag}, [dag]
            while todo:
                here = todo.pop()
                for other in oracle.covered_reversals(here):
                    ((u, v),) = {tuple(sorted(edge)) for edge in oracle.edges_of(other) - oracle.edges_of(here)}
                    if not separated[u, v] and other not in seen:
                        seen.add(other)
                        todo.append(other)
            reached[number_of[dag]] = seen
        assert all({number_of[dag] for dag in members} == {number} for number, members in reached.items())


def test_without_experiments_the_scores_are_the_same_bytes():
    table, *_ = random_experiments(3)
    plain = score_parent_sets(table[list(NAMES)], score="bic")
    table["set"] = None
    nothing = score_parent_sets(table, score="bic", interventions="set")
    np.testing.assert_array_equal(plain.scores, nothing.scores)
    assert (
        learn(table, score="bic", interventions="set").n_networks == learn(table[list(NAMES)], score="bic").n_networks
    )


def test_a_column_a_boolean_table_and_a_mapping_say_the_same():
    table, _, targets = random_experiments(5)
    plain = table[list(NAMES)]
    is_set = np.array([[v in one for v in range(4)] for one in targets])
    expected = read_data(table, interventions="set")
    labelled = plain.set_index(pd.Index([f"row {k}" for k in range(len(plain))]))
    by_label = {f"row {k}": [NAMES[v] for v in one] for k, one in enumerate(targets) if one}
    for found in (
        read_data(plain, interventions=is_set),
        read_data(plain, interventions=pd.DataFrame(is_set[:, ::-1], columns=NAMES[::-1])),
        read_data(labelled, interventions=by_label),
        read_data(table.assign(set=table["set"].fillna("none").str.replace(",", " + ")), interventions="set"),
        read_data(table.assign(set=table["set"].astype("category")), interventions="set"),
    ):
        assert found.fingerprint == expected.fingerprint
        assert found.interventions.targets == expected.interventions.targets
    assert expected.fingerprint != read_data(plain).fingerprint
    assert expected.names == NAMES


def test_a_mapping_that_names_no_column_is_refused():
    table = pd.DataFrame({"a": ["x", "y"], "b": ["u", "w"]}, index=["one", "two"])
    with pytest.raises(OptionError, match=r"^interventions says that 'bb' was set in row 'two', which is not a column"):
        read_data(table, interventions={"two": ["a", "bb"]})


def test_a_boolean_table_of_other_rows_is_refused():
    table, _, targets = random_experiments(5)
    plain = table[list(NAMES)]
    is_set = pd.DataFrame([[v in one for v in range(4)] for one in targets], columns=NAMES)
    turned = is_set.iloc[::-1]
    with pytest.raises(OptionError, match=r"interventions has other row labels .* such as \.reindex\(table\.index\)"):
        read_data(plain, interventions=turned)
    found = read_data(plain, interventions=turned.reindex(plain.index))
    assert found.fingerprint == read_data(plain, interventions=is_set).fingerprint


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda table: {"data": table.assign(set="v9"), "interventions": "set"},
            "'v9' was set, which is not a variable",
        ),
        (lambda table: {"data": table.assign(set="v1"), "interventions": "set"}, "'v1' was set in every row"),
        (lambda table: {"data": table, "interventions": "sett"}, "which is not a column: did you mean 'set'"),
        (lambda table: {"data": table, "interventions": np.zeros((3, 5), bool)}, "has the shape"),
        (lambda table: {"data": table, "interventions": {"akt": "v1"}}, "not in the index of the DataFrame"),
        (lambda table: {"data": table, "interventions": 7}, "give the name of a column"),
        (
            lambda table: {"data": "a.csv", "interventions": {"akt": "v1"}},
            "must name a column where the table is a file",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(change, message):
    table, *_ = random_experiments(5)
    with pytest.raises((DataError, OptionError), match=message):
        read_data(**change(table))


def test_a_number_that_varies_only_where_another_was_set_is_refused():
    frame = pd.DataFrame(
        {"a": [0.5, 0.5, 0.5, 1.5, 2.5], "b": [1.5, 2.5, 0.5, 3.5, 1.0], "set": ["", "", "", "b", "b"]}
    )
    with pytest.raises(DataError, match="'a' has one value in all rows where 'b' was not set"):
        learn(frame, interventions="set")


def test_a_result_with_experiments_is_saved_and_the_posterior_and_the_best_classes_agree(tmp_path):
    table, codes, targets = random_experiments(8)
    found = learn(table, interventions="set", state_names=STATES, bayes_factor=100)
    assert "interventional equivalence class" in found.summary()
    write_learning_page(found, tmp_path / "page.html")
    assert "one interventional equivalence class" in (tmp_path / "page.html").read_text(encoding="utf-8")
    counted = learn(table, interventions="set", state_names=STATES, bayes_factor=100, engine="factored")
    assert counted.n_networks == found.n_networks
    assert counted.log_mass == pytest.approx(found.log_mass)
    found.save(tmp_path / "found.credibn")
    loaded = CredibleSet.load(tmp_path / "found.credibn")
    assert loaded.n_classes == found.n_classes
    assert loaded.families.n_rows == len(table)
    costs = costs_by_hand(codes, targets, by_naive_score("bic"))
    weights = {dag: math.exp(-oracle.network_cost(dag, costs) - found.optimal_score) for dag in oracle.all_dags(4)}
    edge = math.fsum(w for dag, w in weights.items() if 0 in dag[1]) / math.fsum(weights.values())
    posterior = exact_posterior(table, interventions="set", state_names=STATES)
    assert posterior.edge_probabilities().loc["v0", "v1"] == pytest.approx(edge, abs=1e-6)
    best = k_best_classes(table, 3, interventions="set", state_names=STATES)
    assert [one.score for one in best.classes()[:3]] == pytest.approx([one.score for one in found.classes()[:3]])


def test_parameters_and_effects_come_from_the_rows_that_tell_them():
    table, codes, targets = random_experiments(2, 120)
    found = learn(table, interventions="set", state_names=STATES)
    for (child, parents), family in found.families.families.items():
        by_hand = Counter()
        for row, one in zip(codes.tolist(), targets, strict=True):
            if child not in one:
                cell = np.ravel_multi_index(
                    [row[v] for v in (*parents, child)], [ARITIES[v] for v in (*parents, child)]
                )
                by_hand[int(cell)] += 1
        assert dict(zip(family.cells.tolist(), family.counts.tolist(), strict=True)) == by_hand
    assert average_models(found).predict_proba(table, "v1").shape == (len(table), 3)
    usable = np.array([one <= {0} for one in targets])
    plain = found.effects(table, cause="v0", outcome="v1")
    alone = found.effects(table[usable].assign(set=None), cause="v0", outcome="v1", allow_other_data=True)
    assert plain.mean == pytest.approx(alone.mean)


def test_a_run_that_is_stopped_while_scoring_still_scores_each_child_on_its_rows(recwarn):
    table, codes, targets = random_experiments(6)
    found = learn(table, interventions="set", state_names=STATES, progress=lambda stage, fraction: False)
    assert not found.complete
    costs = costs_by_hand(codes, targets, by_naive_score("bic"))
    for network in found.networks():
        assert -network.graph["score"] == pytest.approx(oracle.network_cost(dag_of(network), costs), abs=1e-8)


def entropy(weights):
    weights = np.array([w for w in weights if w > 0])
    return float(-(weights / weights.sum() * np.log2(weights / weights.sum())).sum())


@pytest.mark.parametrize("options", [{}, {"interventions": "set"}, {"forbidden_edges": ["v0->v2"]}])
@given(seed=st.integers(0, 10**6))
@examples(4)
def test_an_experiment_is_worth_the_entropy_of_the_parents_within_classes(options, seed):
    table, _, targets = random_experiments(seed)
    if "interventions" not in options:
        table, targets = table[list(NAMES)], [set()]
    found = learn(table, bayes_factor=20, posterior_share=False, **options)
    listed = [(math.exp(network.graph["score"] - found.optimal_score), dag_of(network)) for network in found.networks()]
    total = math.fsum(w for w, _ in listed)
    classes = {}
    for weight, dag in listed:
        classes.setdefault(interventional_key(dag, targets), []).append((weight / total, dag))
    doubt = sum(math.fsum(w for w, _ in one) * entropy([w for w, _ in one]) for one in classes.values())
    frame = found.most_informative_interventions().set_index("variable")
    for v, name in enumerate(NAMES):
        gain = 0.0
        for members in classes.values():
            by_rows = {}  # the classes that rows with v set tell apart
            for weight, dag in members:
                key = interventional_key(dag, [*targets, {v}])
                by_rows[key] = by_rows.get(key, 0.0) + weight
            gain += math.fsum(by_rows.values()) * entropy(by_rows.values())
        assert frame.loc[name, "bits"] == pytest.approx(gain, abs=1e-9)
        assert frame.loc[name, "share"] == pytest.approx(gain / doubt if doubt > 1e-12 else 0.0, abs=1e-6)


def _three_columns(names):
    a = np.arange(120) % 2
    b = np.where(np.arange(120) % 5, a, 1 - a)
    return pd.DataFrame(dict(zip(names, (a, b, np.where(np.arange(120) % 7, b, 1 - b)), strict=True)))


def test_names_with_spaces_may_be_set_together():
    table = _three_columns(["blood pressure", "b", "c"])
    labels = np.where(np.arange(120) % 3, "", "blood pressure, b")
    found = learn(table.assign(set=labels), interventions="set")
    assert sorted(map(sorted, found.score_table.provenance["interventions"])) == [[], ["b", "blood pressure"]]
    by_spaces = np.where(np.arange(120) % 3, "", "b c")
    found = learn(table.assign(set=by_spaces), interventions="set")
    assert sorted(map(sorted, found.score_table.provenance["interventions"])) == [[], ["b", "c"]]


@pytest.mark.parametrize("named", [0, "0", [0], np.array([0])], ids=["number", "text", "list", "array"])
def test_a_mapping_may_name_columns_that_are_numbers(named):
    table = _three_columns([0, 1, 2]).set_index(np.where(np.arange(120) % 3, "seen", "set"))
    found = learn(table, interventions={"set": named})
    assert sorted(found.score_table.provenance["interventions"]) == [[], ["0"]]


def test_all_effects_leave_open_what_no_row_tells(tmp_path):
    table = _three_columns(["a", "b", "c"])
    is_set = np.zeros((120, 3), dtype=bool)
    is_set[:40, 0] = is_set[40:, 2] = True
    found = learn(table, interventions=is_set)
    effects = found.effects(table, interventions=is_set)
    is_known = effects.strengths.notna() | (effects.paths == 0)
    assert is_known.loc[["a", "c"]].to_numpy().all()
    assert not is_known.loc["b"].all()
    listed = effects.strongest(9)
    assert listed["strength"].isna().tolist() == sorted(listed["strength"].isna())
    assert len(listed) == (effects.paths.to_numpy() > 0).sum()
    data = read_data(table, interventions=is_set)
    write_learning_page(found, tmp_path / "page.html", data, effects=True)
    page = (tmp_path / "page.html").read_text()
    assert "cannot be told" in page
    assert '<th scope="row">Set from outside</th><td>a; c</td>' in page
