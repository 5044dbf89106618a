"""The same input gives the same bytes: for any number of threads, order of rows, engine and names of states; and, for
categories, any order of columns up to the names.

What is promised, and why, is in docs/guarantees.md under "Numbers".
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from credibn import (
    AIC,
    BIC,
    BDeu,
    BGe,
    ConditionalGaussianBIC,
    GaussianBIC,
    exact_posterior,
    learn,
    score_parent_sets,
)
from credibn.scores.table import parent_positions
from profiles import examples

pytestmark = pytest.mark.filterwarnings("ignore:.*column.* constant")
DISCRETE = [BIC(), AIC(), BDeu(1.0), BDeu(7.3)]
SCORING_ENGINES = ["table", "descent"]
SEARCH_ENGINES = ["dynamic_programming", "integer_program"]
tables = strategies.coded_tables(min_columns=2, max_columns=6, max_rows=60, max_arity=4)
seeds = st.integers(0, 2**32 - 1)


def bytes_of_table(table):
    return table.names, table.offsets.tobytes(), table.scores.tobytes(), table.masks.tobytes()


def bytes_of_set(found):
    """Everything that is computed; not the time that it took, nor what an engine counted on the way."""
    rows = found.rows
    averages = found.averages()
    return (
        bytes_of_table(found.score_table),
        rows.choices.tobytes(),
        rows.scores.tobytes(),
        rows.sizes.tobytes(),
        None if rows.class_of is None else rows.class_of.tobytes(),
        (found.optimal_score, found.epsilon, found.complete, found.unexplored_bound, found.log_total_mass),
        averages.parent_sets.edges.tobytes(),
        averages.parent_sets.probabilities.tobytes(),
        averages.blankets.tobytes(),
        averages.ancestors.tobytes(),
        found.class_weights.tobytes(),
    )


def candidates_by_name(table):
    """Each candidate's score by the names of its node and parents: what does not depend on the order of columns."""
    return {(name, frozenset(parents)): score for name in table.names for score, parents in table.parent_sets(name)}


def networks_by_name(found):
    """Each network as its edges, with its score and the number of those in its class."""
    listed = {}
    for masks, scores in found.networks_masks():
        for network, score in zip(masks, scores.tolist(), strict=True):
            edges = frozenset(
                (found.names[parent], found.names[child])
                for child, parents in enumerate(parent_positions(network))
                for parent in parents
            )
            listed[edges] = score
    return listed


# ----------------------------------------------------------------- threads and engines


@pytest.mark.parametrize("score", DISCRETE, ids=str)
@examples(8)
@given(draws=st.data(), table=tables, epsilon=strategies.epsilons())
def test_scores_have_the_same_bytes_for_any_threads_and_engine(score, draws, table, epsilon):
    options = draws.draw(strategies.constraints(table)) | {"prior": draws.draw(strategies.priors(table.n))}
    found = {
        bytes_of_table(
            score_parent_sets(
                table.dataset(), score=score, epsilon=epsilon, engine=engine, n_threads=n_threads, **options
            )
        )
        for engine in SCORING_ENGINES
        for n_threads in (1, 2, 5)
    }
    assert len(found) == 1


@pytest.mark.parametrize("unit", ["classes", "networks"])
@pytest.mark.parametrize("score", [BIC(), BDeu(1.0)], ids=str)
@examples(6)
@given(table=tables, epsilon=st.sampled_from([0.0, 1.0, math.log(20)]))
def test_sets_have_the_same_bytes_for_any_threads_and_engine(score, unit, table, epsilon):
    scored = score_parent_sets(table.dataset(), score=score, epsilon=epsilon)
    found = {
        bytes_of_set(
            learn(scores=scored, epsilon=epsilon, unit=unit, engine=engine, n_threads=n_threads, posterior_share=False)
        )
        for engine in SEARCH_ENGINES
        for n_threads in (1, 2, 5)
    }
    assert len(found) == 1


@pytest.mark.parametrize("limit", [{"max_networks": 5}, {"max_classes": 3}, {"max_networks": 40, "max_classes": 9}])
@examples(5)
@given(table=tables, unit=st.sampled_from(["classes", "networks"]))
def test_what_a_quota_leaves_does_not_depend_on_threads(limit, table, unit):
    scored = score_parent_sets(table.dataset(), bayes_factor=150)
    found = {
        bytes_of_set(learn(scores=scored, bayes_factor=150, unit=unit, engine=engine, n_threads=n_threads, **limit))
        for engine in SEARCH_ENGINES
        for n_threads in (1, 2, 5)
    }
    assert len(found) == 1


def test_a_large_set_has_the_same_bytes_for_any_threads():
    """Batches, quotas and the order of ties only matter where there are thousands of networks."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, (40, 7))
    scored = score_parent_sets(rows, bayes_factor=60)
    for limit in ({}, {"max_networks": 3000}):
        found = [
            learn(scores=scored, bayes_factor=60, unit="networks", engine=engine, n_threads=n_threads, **limit)
            for engine in SEARCH_ENGINES
            for n_threads in (1, 2, 5)
        ]
        assert len({bytes_of_set(one) for one in found}) == 1
        assert found[0].n_networks > 2000


@examples(5)
@given(table=tables)
def test_the_posterior_has_the_same_bytes_for_any_threads(table):
    found = {
        (one.log_mass, one.parent_sets.probabilities.tobytes(), one.parent_sets.edges.tobytes())
        for one in (exact_posterior(table.dataset(), n_threads=n_threads) for n_threads in (1, 2, 5))
    }
    assert len(found) == 1


# ----------------------------------------------------------------- rows and states


def text_of(codes, label):
    """Rows of codes as columns of text."""
    return {f"v{v}": [label(v, code) for code in column] for v, column in enumerate(codes.T.tolist())}


@pytest.mark.parametrize("score", [BIC(), BDeu(1.0)], ids=str)
@examples(6)
@given(table=tables, seed=seeds)
def test_the_order_of_rows_changes_nothing(score, table, seed):
    import pandas as pd

    frame = pd.DataFrame(text_of(table.codes, lambda v, code: f"s{code}"))
    shuffled = frame.iloc[np.random.default_rng(seed).permutation(len(frame))]
    assert bytes_of_set(learn(frame, score=score)) == bytes_of_set(learn(shuffled, score=score))


@examples(6)
@given(table=strategies.coded_tables(min_columns=2, max_columns=5, max_rows=30, max_weight=9), seed=seeds)
def test_weights_are_repeated_rows(table, seed):
    import pandas as pd

    weighted = pd.DataFrame(text_of(table.codes, lambda v, code: f"s{code}")).assign(count=table.weights)
    repeated = pd.DataFrame(text_of(table.repeated, lambda v, code: f"s{code}"))
    repeated = repeated.iloc[np.random.default_rng(seed).permutation(len(repeated))]
    assert bytes_of_set(learn(weighted, weights="count")) == bytes_of_set(learn(repeated))


@pytest.mark.few(1)
@pytest.mark.parametrize("score", [BIC(), BDeu(1.0)], ids=str)
@examples(6)
@given(table=tables, seed=seeds)
def test_the_names_of_states_change_nothing(score, table, seed):
    """Names that keep the order of the states, and names that turn it about: the counts are the same."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    turned = [rng.permutation(arity) for arity in table.arities]
    plain, kept, changed = (
        bytes_of_set(learn(pd.DataFrame(text_of(table.codes, label)), score=score))
        for label in (
            lambda v, code: f"s{code}",
            lambda v, code: f"state {code:03d} of column {v}",
            lambda v, code: f"s{turned[v][code]}",
        )
    )
    assert plain == kept == changed


# ----------------------------------------------------------------- columns


@pytest.mark.parametrize("engine", SCORING_ENGINES)
@pytest.mark.parametrize("score", DISCRETE, ids=str)
@examples(8)
@given(draws=st.data(), table=tables, epsilon=strategies.epsilons())
def test_the_order_of_columns_changes_no_score(score, engine, draws, table, epsilon):
    plain = table.dataset()
    order = draws.draw(st.permutations(range(table.n)))
    options = {"score": score, "epsilon": epsilon, "engine": engine}
    here = score_parent_sets(plain, **options)
    there = score_parent_sets(permuted(plain, order), **options)
    assert candidates_by_name(here) == candidates_by_name(there)


def permuted(data, order):
    """The data set with its columns in another order, and its rows in the order that reading would give them."""
    from credibn import Dataset

    columns = [data.columns[v] for v in order]
    rows = np.lexsort(columns[::-1])
    return Dataset(
        tuple(data.names[v] for v in order),
        tuple(column[rows] for column in columns),
        tuple(data.states[v] for v in order),
        data.weights[rows],
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("unit", ["classes", "networks"])
@pytest.mark.parametrize("score", DISCRETE, ids=str)
@examples(8)
@given(draws=st.data(), table=tables, epsilon=st.sampled_from([0.0, 1.0, math.log(20)]))
def test_the_order_of_columns_changes_no_network(score, unit, draws, table, epsilon):
    """Networks, their scores and class sizes are the same to the last bit; averages but for the order of ties."""
    plain = table.dataset()
    order = draws.draw(st.permutations(range(table.n)))
    here, there = (
        learn(data, score=score, epsilon=epsilon, unit=unit, posterior_share=True)
        for data in (plain, permuted(plain, order))
    )
    assert networks_by_name(here) == networks_by_name(there)
    assert here.optimal_score == there.optimal_score
    assert here.n_classes == there.n_classes
    assert sorted(member.size for member in here.classes()) == sorted(member.size for member in there.classes())
    edges = there.edge_probabilities().loc[list(here.names), list(here.names)]
    np.testing.assert_allclose(here.edge_probabilities(), edges, rtol=1e-12, atol=1e-15)
    assert math.isclose(here.log_total_mass, there.log_total_mass, rel_tol=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize("score", [GaussianBIC(), BGe(), ConditionalGaussianBIC()], ids=lambda score: score.name)
@examples(8)
@given(seed=seeds, n=st.integers(2, 5), n_rows=st.integers(8, 40))
def test_numbers_depend_on_columns_by_rounding_only(score, seed, n, n_rows):
    import pandas as pd

    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, n)) @ rng.normal(size=(n, n))
    frame = pd.DataFrame(values, columns=[f"v{v}" for v in range(n)])
    if score.name == "conditional-gaussian-bic":
        frame["v0"] = np.where(frame["v0"] > 0, "high", "low")
    options = {"score": score, "epsilon": 5.0}
    here = score_parent_sets(frame, **options)
    rows_moved = score_parent_sets(frame.iloc[rng.permutation(n_rows)], **options)
    assert bytes_of_table(here) == bytes_of_table(rows_moved)
    columns_moved = score_parent_sets(frame.iloc[:, rng.permutation(n)], **options)
    first, second = candidates_by_name(here), candidates_by_name(columns_moved)
    for candidate in first.keys() & second.keys():
        assert abs(first[candidate] - second[candidate]) <= here.tolerance
    assert len(first.keys() ^ second.keys()) <= 1  # a set that is worse than a subset by epsilon but for rounding


def test_more_threads_than_are_of_use():
    rows = np.random.default_rng(4).integers(0, 2, (30, 5))
    assert bytes_of_set(learn(rows, n_threads=10**6)) == bytes_of_set(learn(rows, n_threads=1))
