"""The scoring stage against brute force: the candidates, their scores, and that nothing but data and options decides.

A parent set is kept exactly if no allowed subset is cheaper by more than epsilon. Sets within 1e-7 of that
boundary are left out of comparisons with naive costs, which round otherwise; exact ties have their own tests.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import naive_scores as naive
import oracle
import strategies
from credibn import (
    AIC,
    BIC,
    BDeu,
    EdgeLogOdds,
    EdgePenalty,
    estimate_scoring,
    read_data,
    score_parent_sets,
)
from credibn._run import Run
from credibn.errors import CredibnError, DataError, OptionError, TooLargeError
from credibn.options import ScoreOptions, resolve_epsilon
from credibn.scores import scoring
from credibn.scores.estimate import MOST_TABLE_BYTES, estimate_problem
from credibn.scores.sets import _blocks_of, _members
from credibn.scores.setup import make_problem
from credibn.scores.table import parent_positions
from profiles import examples, sampled

ENGINES = ("table", "descent")
BOUNDARY = 1e-7
UNPRUNED = 1e9
SCORES = {
    "bic": BIC(),
    "aic": AIC(),
    "bdeu-0.1": BDeu(0.1),
    "bdeu-1": BDeu(1.0),
    "bdeu-10": BDeu(10.0),
    "bdeu-100": BDeu(100.0),
}
each_score = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES.keys())
each_engine = pytest.mark.parametrize("engine", ENGINES)


def naive_cost(table, score):
    """cost(child, parents) from the definition of the score."""
    rows, arities = table.rows, table.arities
    if isinstance(score, BDeu):
        return lambda child, parents: naive.naive_bdeu(rows, arities, child, parents, score.equivalent_sample_size)
    definition = naive.naive_bic if isinstance(score, BIC) else naive.naive_aic
    return lambda child, parents: definition(rows, arities, child, parents)


def naive_costs(table, score, constraints=None, prior=None):
    matrix = strategies.log_prior(prior, table.n)
    return oracle.local_costs(table.arities, naive_cost(table, score), constraints, matrix)


def set_function(table, score):
    """F of each subset of the columns, by mask."""
    if isinstance(score, BDeu):
        of_counts = oracle.dirichlet(score.equivalent_sample_size)
    else:
        of_counts = oracle.penalised_likelihood(score.penalty_weight(int(table.weights.sum())))
    return oracle.set_costs_by_mask(table.codes, table.weights, table.arities, of_counts)


def candidates(scored):
    """For each node a dict from parent set, as positions, to log score."""
    found = []
    for node in range(scored.n_variables):
        rows = slice(int(scored.offsets[node]), int(scored.offsets[node + 1]))
        members = map(tuple, parent_positions(scored.masks[rows]))
        found.append(dict(zip(members, scored.scores[rows].tolist(), strict=True)))
    return found


def assert_same_bytes(one, other):
    for array in ("offsets", "scores", "masks"):
        assert getattr(one, array).tobytes() == getattr(other, array).tobytes()
    assert one.same_as(other)


def assert_rule_one(scored, costs, epsilon):
    """The table holds what rule 1 keeps of these costs, with these costs."""
    for node, kept in enumerate(candidates(scored)):
        assert oracle.rule_one(costs[node], epsilon - BOUNDARY) <= kept.keys()
        assert kept.keys() <= oracle.rule_one(costs[node], epsilon + BOUNDARY)
        for parents, log_score in kept.items():
            assert -log_score == pytest.approx(costs[node][parents], rel=1e-9, abs=digits_left(costs))


def digits_left(costs):
    """1e-8; more where the costs of one network add up to numbers so large that a double has no more digits left."""
    return max(1e-8, 4e-15 * sum(max(by_parents.values()) for by_parents in costs if len(by_parents) <= 2))


def assert_rule_one_by_mask(scored, set_costs, epsilon, n_rows=1):
    """As above; costs are differences of sums of up to N ln N, whose size decides how many digits are left."""
    lost = 2e-12 * max(float(np.abs(set_costs).max()), n_rows * math.log(n_rows))
    margin = BOUNDARY + lost
    for node, kept in enumerate(candidates(scored)):
        by_mask = {sum(1 << v for v in parents): -log_score for parents, log_score in kept.items()}
        wide = oracle.rule_one_by_mask(set_costs, node, epsilon + margin)
        assert oracle.rule_one_by_mask(set_costs, node, epsilon - margin).keys() <= by_mask.keys()
        assert by_mask.keys() <= wide.keys()
        for mask, cost in by_mask.items():
            assert cost == pytest.approx(wide[mask], rel=1e-9, abs=1e-8 + lost)


def run_both(table, **options):
    """Both engines on the table, which must agree to the last bit."""
    data = table.dataset()
    by_table, by_descent = (score_parent_sets(data, engine=engine, n_threads=1, **options) for engine in ENGINES)
    assert_same_bytes(by_table, by_descent)
    return by_table


# ----------------------------------------------------------------------------------------- the oracle itself


@pytest.mark.parametrize(("n", "count"), [(1, 1), (2, 3), (3, 25), (4, 543)])
def test_the_oracle_knows_all_networks(n, count):
    dags = oracle.all_dags(n)
    assert len(set(dags)) == len(dags) == count
    every = itertools.product(*(oracle.all_parent_sets(n, child) for child in range(n)))
    assert set(dags) == {dag for dag in every if oracle.is_acyclic(dag)}


@pytest.mark.slow
def test_the_oracle_knows_all_networks_of_five():
    assert len(set(oracle.all_dags(5))) == 29281


def test_the_oracle_by_mask_is_the_plain_one():
    rng = np.random.default_rng(0)
    table = strategies.CodedTable(rng.integers(0, 2, (30, 4)), (2, 3, 2, 2), rng.integers(1, 4, 30))
    for score in SCORES.values():
        costs, by_mask = naive_costs(table, score), set_function(table, score)
        for child in range(4):
            plain = oracle.rule_one(costs[child], 2.0)
            masks = oracle.rule_one_by_mask(by_mask, child, 2.0)
            assert {sum(1 << p for p in parents) for parents in plain} == masks.keys()
            for parents in plain:
                mask = sum(1 << p for p in parents)
                assert masks[mask] == pytest.approx(costs[child][parents], rel=1e-9)


# -------------------------------------------------------------------------- the candidates, against brute force


@each_score
@examples(50)
@given(table=strategies.coded_tables(max_weight=3), epsilon=strategies.epsilons())
def test_candidates_are_those_of_rule_one(score, table, epsilon):
    assert_rule_one(run_both(table, score=score, epsilon=epsilon), naive_costs(table, score), epsilon)


@each_score
@examples(20)
@given(table=strategies.functional_tables(), epsilon=strategies.epsilons())
def test_candidates_are_those_of_rule_one_where_columns_depend(score, table, epsilon):
    assert_rule_one(run_both(table, score=score, epsilon=epsilon), naive_costs(table, score), epsilon)


@each_score
@examples(40)
@given(st.data(), strategies.coded_tables(min_columns=2), strategies.epsilons())
def test_constraints_and_priors_apply_before_rule_one(score, draws, table, epsilon):
    limits = draws.draw(strategies.constraints(table))
    prior = draws.draw(strategies.priors(table.n))
    scored = run_both(table, score=score, epsilon=epsilon, prior=prior, **limits)
    assert_rule_one(scored, naive_costs(table, score, limits, prior), epsilon)


@each_score
@examples(12)
@given(st.data(), strategies.functional_tables(min_columns=4), strategies.epsilons())
def test_constraints_and_priors_where_columns_depend(score, draws, table, epsilon):
    limits = draws.draw(strategies.constraints(table))
    prior = draws.draw(strategies.priors(table.n))
    scored = run_both(table, score=score, epsilon=epsilon, prior=prior, **limits)
    assert_rule_one(scored, naive_costs(table, score, limits, prior), epsilon)


def assert_no_credible_network_lost(table, score, epsilon, limits, prior, slack):
    costs = naive_costs(table, score, limits, prior)
    kept = candidates(run_both(table, score=score, epsilon=epsilon, prior=prior, **limits))
    for dag in oracle.credible_dags(table.n, costs, epsilon + slack):
        assert all(parents in kept[child] for child, parents in enumerate(dag))


@each_score
@examples(15)
@given(st.data(), strategies.coded_tables(max_columns=4), strategies.epsilons())
def test_no_credible_network_is_lost(score, draws, table, epsilon):
    limits = draws.draw(st.just({}) | strategies.constraints(table))
    prior = draws.draw(st.none() | strategies.priors(table.n))
    assert_no_credible_network_lost(table, score, epsilon, limits, prior, -BOUNDARY)


@each_score
@examples(15)
@given(table=strategies.coded_tables(max_columns=4, max_rows=16))
def test_no_optimal_network_is_lost(score, table):
    """With epsilon 0 all networks that tie with the best stay possible: naive costs tie up to 1e-10."""
    assert_no_credible_network_lost(table, score, 0.0, {}, None, 1e-10)


@pytest.mark.slow
@each_score
@examples(10)
@given(st.data(), strategies.coded_tables(min_columns=5, max_columns=5), strategies.epsilons())
def test_no_credible_network_of_five_is_lost(score, draws, table, epsilon):
    limits = draws.draw(st.just({}) | strategies.constraints(table))
    prior = draws.draw(st.none() | strategies.priors(table.n))
    assert_no_credible_network_lost(table, score, epsilon, limits, prior, -BOUNDARY)


# ------------------------------------------------------------------------------------------------------- ties


@each_engine
@each_score
def test_one_row_ties_everything(score, engine):
    """Of one row no parent tells anything: all parent sets of a node cost the same (AIC charges)."""
    table = strategies.CodedTable(np.array([[0, 1, 1, 0]]), (2, 3, 3, 2), np.array([1]))
    scored = score_parent_sets(table.dataset(), score=score, epsilon=0.0, engine=engine)
    assert scored.counts.tolist() == ([1] * 4 if isinstance(score, AIC) else [8] * 4)


@each_engine
@pytest.mark.parametrize("ess", [0.1, 1.0, 3.0, 10.0])
def test_parents_that_tell_all_rows_apart_tie(ess, engine):
    """BDeu: once each row is alone in its configuration, all further parents cost nothing."""
    codes = np.column_stack([np.arange(6), np.arange(6) // 2, np.arange(6) % 3, np.arange(6) % 2])
    table = strategies.CodedTable(codes, (6, 3, 3, 2), np.ones(6, dtype=np.int64))
    costs = naive_costs(table, BDeu(ess))
    scored = score_parent_sets(table.dataset(), score=BDeu(ess), epsilon=0.0, engine=engine)
    for child, kept in enumerate(candidates(scored)):
        assert kept.keys() == oracle.rule_one(costs[child], 1e-10)


@pytest.mark.few(1)
@each_engine
@pytest.mark.parametrize("N", sampled(2, [2, 4, 16]))
def test_bic_ties_where_all_costs_are_multiples_of_ln_two(N, engine):
    """With N = 2^k and counts that are powers of two, a penalty can equal what a parent tells."""
    w = Fraction(int(math.log2(N)), 2)
    n_found = 0
    for arity, other in itertools.product(range(2, 14), repeat=2):
        codes = np.column_stack([np.arange(N) % 2, np.arange(N) % 2, np.arange(N) // 2 % 2])
        table = strategies.CodedTable(codes, (2, arity, other), np.ones(N, dtype=np.int64))
        cost = {(): N + w, (1,): w * arity}  # of column 0, in units of ln 2; column 2 tells nothing
        scored = score_parent_sets(table.dataset(), epsilon=0.0, engine=engine)
        kept = candidates(scored)[0]
        assert ((1,) in kept) == (cost[1,] <= cost[()])
        n_found += cost[1,] == cost[()]
    assert n_found


@each_engine
def test_ties_at_a_bayes_factor_stay(engine):
    """BIC of nine rows charges ln 3 for each parameter, so a useless binary parent costs exactly ln 3."""
    codes = np.zeros((9, 2), dtype=np.int64)
    table = strategies.CodedTable(codes, (2, 2), np.ones(9, dtype=np.int64))
    scored = score_parent_sets(table.dataset(), bayes_factor=3, engine=engine)
    assert scored.counts.tolist() == [2, 2]


# --------------------------------------------------------------------- nothing but data and options decides


@each_score
@examples(12)
@given(st.data(), strategies.coded_tables(min_columns=2, max_weight=4), strategies.epsilons())
def test_threads_row_order_and_weights_change_nothing(score, draws, table, epsilon):
    options = {"score": score, "epsilon": epsilon}
    first = run_both(table, **options)
    for engine, n_threads in itertools.product(ENGINES, (2, 3)):
        assert_same_bytes(score_parent_sets(table.dataset(), engine=engine, n_threads=n_threads, **options), first)
    shuffled = np.random.default_rng(draws.draw(st.integers(0, 99))).permutation(table.repeated)
    assert_same_bytes(
        first,
        run_both(strategies.CodedTable(shuffled, table.arities, np.ones(len(shuffled), int)), **options),
    )


def relabelled(scored, order):
    """The candidates of a table with permuted columns, in the positions of the original."""
    by_new = candidates(scored)
    by_old = [{}] * len(order)
    for new, old in enumerate(order):
        by_old[old] = {tuple(sorted(order[p] for p in parents)): s for parents, s in by_new[new].items()}
    return by_old


@each_score
@examples(15)
@given(st.data(), strategies.coded_tables(min_columns=2, max_columns=6), strategies.epsilons())
def test_column_order_changes_nothing_but_names(score, draws, table, epsilon):
    order = draws.draw(st.permutations(range(table.n)))
    scored = run_both(table, score=score, epsilon=epsilon)
    again = run_both(table.take(order), score=score, epsilon=epsilon)
    assert relabelled(again, order) == candidates(scored)


@each_engine
def test_rows_read_from_a_table_in_any_order_give_the_same_bytes(engine):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (200, 6))
    first = score_parent_sets(codes, engine=engine)
    assert_same_bytes(first, score_parent_sets(rng.permutation(codes), engine=engine))
    frame = {f"X{v}": codes[:, v] for v in range(6)}
    pandas = pytest.importorskip("pandas")
    weighted = pandas.DataFrame(frame).value_counts().rename("many").reset_index()
    assert_same_bytes(first, score_parent_sets(weighted, weights="many", engine=engine))


# ----------------------------------------------------------------------------------------- score equivalence


@each_score
@each_engine
@examples(8)
@given(table=strategies.coded_tables(min_columns=2, max_columns=4, max_weight=3))
def test_equivalent_networks_score_the_same_to_the_last_bit(score, engine, table):
    scored = score_parent_sets(table.dataset(), score=score, epsilon=UNPRUNED, engine=engine)
    local = [{parents: Fraction(s) for parents, s in found.items()} for found in candidates(scored)]

    def total(dag):
        return sum(local[child][parents] for child, parents in enumerate(dag))

    constant = [v for v in range(table.n) if table.arities[v] == 1]
    for dag in oracle.all_dags(table.n):
        if any(dag[v] or any(v in parents for parents in dag) for v in constant):
            continue
        for turned in oracle.covered_reversals(dag):
            assert total(turned) == total(dag)
            assert sum(map(float, map(dict.__getitem__, local, turned))) == sum(
                map(float, map(dict.__getitem__, local, dag))
            )


@each_score
@each_engine
def test_equivalent_networks_score_the_same_with_many_configurations(score, engine):
    """Penalties far above the likelihood: few rows, many states, nothing pruned."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 37, (30, 4))
    table = strategies.CodedTable(codes, (37, 41, 53, 90), np.ones(30, dtype=np.int64))
    scored = score_parent_sets(table.dataset(), score=score, epsilon=UNPRUNED, engine=engine)
    local = [{parents: Fraction(s) for parents, s in found.items()} for found in candidates(scored)]
    for dag in oracle.all_dags(4)[::7]:
        for turned in oracle.covered_reversals(dag):
            difference = sum(local[child][turned[child]] - local[child][parents] for child, parents in enumerate(dag))
            assert difference == 0


@each_score
def test_engines_agree_with_many_configurations(score):
    """As above: whatever the size of the penalty, both engines must give the same bytes."""
    rng = np.random.default_rng(3)
    table = strategies.CodedTable(rng.integers(0, 50, (40, 5)), (50,) * 5, np.ones(40, dtype=np.int64))
    run_both(table, score=score, epsilon=UNPRUNED)


@pytest.mark.parametrize("score", [BIC(), AIC(), BDeu(1.0)], ids=lambda score: score.name)
@pytest.mark.parametrize("most", [1, 3])
def test_engines_agree_on_many_columns_of_two_states(score, most):
    # Many sets below each set of two, and cells of many rows: these are counted bit by bit.
    rng = np.random.default_rng(5)
    hidden = rng.integers(0, 2, (300, 3))
    codes = hidden[:, rng.integers(0, 3, 15)] ^ (rng.random((300, 15)) < 0.3)
    table = strategies.CodedTable(codes, (2,) * 15, rng.integers(1, most + 1, 300))
    found = [score_parent_sets(table.dataset(), score=score, bayes_factor=20, engine=engine) for engine in ENGINES]
    assert found[0].scores.tobytes() == found[1].scores.tobytes()
    assert found[0].masks.tobytes() == found[1].masks.tobytes()


@each_score
def test_engines_agree_when_many_wide_parents_are_required(score):
    rng = np.random.default_rng(4)
    for seed in range(5):
        arities = tuple(rng.integers(20, 90, 6).tolist())
        codes = np.random.default_rng(seed).integers(0, 20, (50, 6))
        table = strategies.CodedTable(codes, arities, np.ones(50, dtype=np.int64))
        required = [(p, c) for c in (4, 5) for p in range(4)]
        scored = run_both(table, score=score, required_edges=required)
        assert_rule_one(scored, naive_costs(table, score, {"required_edges": required}), math.log(20))


@each_score
@pytest.mark.parametrize("scale", [1e3, 1e6, 1e9])
def test_large_priors_do_not_depend_on_engine_or_column_order(score, scale):
    rng = np.random.default_rng(5)
    n = 5
    table = strategies.CodedTable(rng.integers(0, 2, (20, n)), (2,) * n, np.ones(20, dtype=np.int64))
    odds = rng.normal(size=(n, n)) * scale
    np.fill_diagonal(odds, 0.0)
    order = [3, 1, 4, 0, 2]
    scored = run_both(table, score=score, prior=EdgeLogOdds(odds))
    again = run_both(table.take(order), score=score, prior=EdgeLogOdds(odds[np.ix_(order, order)]))
    assert relabelled(again, order) == candidates(scored)


# ------------------------------------------------------------------------------------------------- edge cases


@pytest.mark.few(52)
@each_score
@pytest.mark.parametrize(
    ("codes", "arities"),
    [
        ([[0]], (2,)),
        ([[0], [1], [1]], (2,)),
        ([[0, 0]], (2, 2)),
        ([[0, 0], [1, 1]], (2, 2)),
        ([[0, 1], [1, 0]], (2, 3)),
        ([[0, 0, 0], [1, 1, 1], [0, 0, 1]], (2, 2, 2)),
        ([[0, 0, 0]] * 5, (2, 2, 2)),
        ([[0, 0, 0]] * 5, (1, 1, 2)),
        ([[0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 0, 0]] * 3, (1, 2, 2)),
        ([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]] * 4, (2, 2, 2)),
        ([[k, k // 2, k % 2, k % 9] for k in range(18)], (18, 9, 2, 9)),
        ([[k, k, 0] for k in range(17)], (17, 17, 2)),
        ([[7, 8, 6], [0, 0, 0], [7, 0, 6], [7, 8, 6]], (8, 9, 7)),
    ],
)
@pytest.mark.parametrize("epsilon", [0.0, math.log(20)])
def test_small_and_degenerate_tables(score, codes, arities, epsilon):
    table = strategies.CodedTable(np.array(codes), arities, np.ones(len(codes), dtype=np.int64))
    assert_rule_one(run_both(table, score=score, epsilon=epsilon), naive_costs(table, score), epsilon)


@each_engine
@each_score
def test_all_constant(score, engine):
    table = strategies.CodedTable(np.zeros((4, 3), dtype=np.int64), (1, 1, 1), np.ones(4, dtype=np.int64))
    scored = score_parent_sets(table.dataset(), score=score, engine=engine)
    assert candidates(scored) == [{(): 0.0}] * 3
    assert estimate_scoring(table.dataset(), score=score).n_searched == 0


@each_score
@examples(15)
@given(
    seed=st.integers(0, 2**32 - 1),
    arities=st.lists(
        st.sampled_from([2, 3, 7, 8, 9, 15, 16, 17, 18, 33, 60, 255, 256, 257, 300]), min_size=2, max_size=5
    ),
    epsilon=strategies.epsilons(),
)
def test_columns_of_many_states_among_small_ones(score, seed, arities, epsilon):
    """States on both sides of every limit in the core: 8 (lanes), 16 (floors), 256 (code type)."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2, 60))
    base = rng.integers(0, 4, n_rows)
    columns = [np.where(rng.random(n_rows) < 0.6, base % arity, rng.integers(0, arity, n_rows)) for arity in arities]
    table = strategies.CodedTable(np.column_stack(columns), tuple(arities), rng.integers(1, 3, n_rows))
    assert_rule_one(run_both(table, score=score, epsilon=epsilon), naive_costs(table, score), epsilon)


def test_three_hundred_states_are_read_when_asked_for():
    codes = np.column_stack([np.arange(600) % 300, np.arange(600) // 300])
    with pytest.raises(CredibnError, match="300"):
        score_parent_sets(codes, score="bic")
    scored = score_parent_sets(codes, score="bic", max_states=300)
    assert scored.n_candidates == 2


@each_score
@examples(8)
@given(
    table=strategies.coded_tables(min_columns=3, max_columns=5, max_arity=10, max_weight=5),
    largest=st.sampled_from([2000, 65535, 10**6]),
    epsilon=strategies.epsilons(),
)
def test_large_weights(score, table, largest, epsilon):
    """Counts on both sides of 65,535, where the lanes widen and the tabulated terms end."""
    rng = np.random.default_rng(len(table.codes))
    weights = rng.integers(1, largest + 1, len(table.codes))
    weights[0] = largest
    heavy = strategies.CodedTable(table.codes, table.arities, weights)
    scored = run_both(heavy, score=score, epsilon=epsilon)
    assume(min(table.arities) > 1)
    assert_rule_one_by_mask(scored, set_function(heavy, score), epsilon, int(weights.sum()))


@each_score
@pytest.mark.parametrize("total", [65534, 65535, 65536, 65537])
def test_totals_where_the_lanes_widen(score, total):
    rng = np.random.default_rng(6)
    codes = np.unique(rng.integers(0, 3, (20, 4)), axis=0)
    weights = np.ones(len(codes), dtype=np.int64)
    weights[3] = total - (len(codes) - 1)
    table = strategies.CodedTable(codes, (3,) * 4, weights)
    scored = run_both(table, score=score)
    assert_rule_one_by_mask(scored, set_function(table, score), math.log(20), total)


@each_score
@pytest.mark.parametrize("total", [65535, 10**6])
def test_scores_of_many_rows_keep_their_digits(score, total):
    """1e-9 relative or 1e-8 absolute, as for few rows: also where a cost is far below N ln N."""
    rng = np.random.default_rng(15)
    codes = np.unique(rng.integers(0, 3, (20, 3)), axis=0)
    weights = np.ones(len(codes), dtype=np.int64)
    weights[3] = total - (len(codes) - 1)
    table = strategies.CodedTable(codes, (3,) * 3, weights)
    set_costs = set_function(table, score)
    for child, kept in enumerate(candidates(run_both(table, score=score, epsilon=UNPRUNED))):
        for parents, log_score in kept.items():
            mask = sum(1 << p for p in parents)
            cost = set_costs[mask | 1 << child] - set_costs[mask]
            assert -log_score == pytest.approx(cost, rel=1e-9, abs=1e-8)


@each_engine
def test_more_rows_than_the_core_can_count_are_refused_politely(engine):
    table = strategies.CodedTable(np.array([[0, 0], [1, 1]]), (2, 2), np.array([2**32, 5]))
    with pytest.raises(CredibnError):
        score_parent_sets(table.dataset(), engine=engine)


@each_engine
@pytest.mark.parametrize("ess", [1e-6, 1e4, 1e6])
def test_extreme_sample_sizes(ess, engine):
    """Scores stay close to the definition, which itself loses digits: lnGamma(ess) is about ess * ln(ess)."""
    rng = np.random.default_rng(7)
    table = strategies.CodedTable(rng.integers(0, 2, (30, 4)), (2, 2, 3, 2), np.ones(30, dtype=np.int64))
    noise = 1e-14 * ess * math.log(ess + 2)
    costs = naive_costs(table, BDeu(ess))
    scored = score_parent_sets(table.dataset(), score=BDeu(ess), epsilon=1.0, engine=engine)
    for child, kept in enumerate(candidates(scored)):
        assert oracle.rule_one(costs[child], 1.0 - BOUNDARY - noise) <= kept.keys()
        assert kept.keys() <= oracle.rule_one(costs[child], 1.0 + BOUNDARY + noise)
        for parents, log_score in kept.items():
            assert -log_score == pytest.approx(costs[child][parents], rel=1e-9, abs=1e-8 + noise)


def wide_table(n, n_rows, seed, arity=3):
    """Many columns, each a noisy copy of one a few places before it."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, arity, (n_rows, n))
    for v in range(1, n):
        source = codes[:, max(0, v - int(rng.integers(1, 4)))]
        codes[:, v] = np.where(rng.random(n_rows) < 0.55, source, codes[:, v])
    return strategies.CodedTable(codes, (arity,) * n, np.ones(n_rows, dtype=np.int64))


def assert_sampled_families(table, score, scored, epsilon, max_parents, n_samples):
    """Kept or not, and the cost, of random parent sets of random nodes, from their definition."""
    rng = np.random.default_rng(8)
    cost, found = naive_cost(table, score), candidates(scored)
    for _ in range(n_samples):
        child = int(rng.integers(table.n))
        kept = list(found[child])
        if rng.random() < 0.5:
            parents = kept[rng.integers(len(kept))]
        else:
            others = np.delete(np.arange(table.n), child)
            parents = tuple(sorted(rng.choice(others, max_parents, replace=False).tolist()))
        subsets = [s for size in range(len(parents)) for s in itertools.combinations(parents, size)]
        own = cost(child, parents)
        excess = own - min((cost(child, s) for s in subsets), default=math.inf) - epsilon
        if abs(excess) > BOUNDARY:
            assert (parents in found[child]) == (excess < 0)
        if parents in found[child]:
            assert -found[child][parents] == pytest.approx(own, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("score", [BIC(), BDeu(1.0)], ids=["bic", "bdeu"])
@pytest.mark.parametrize(("n", "max_parents"), [(130, 1), (70, 2), (64, 2), (65, 1)])
def test_more_variables_than_a_word_has_bits(score, n, max_parents):
    table = wide_table(n, 60, n)
    scored = run_both(table, score=score, max_parents=max_parents)
    assert scored.masks.shape[1] == -(-n // 64)
    assert_sampled_families(table, score, scored, math.log(20), max_parents, 400)


@pytest.mark.parametrize("score", [BIC(), AIC(), BDeu(1.0)], ids=["bic", "aic", "bdeu"])
def test_more_configurations_than_any_integer_holds(score):
    """60 columns of 50 states: 50^60 configurations."""
    rng = np.random.default_rng(9)
    codes = rng.integers(0, 50, (100, 60))
    table = strategies.CodedTable(codes, (50,) * 60, np.ones(100, dtype=np.int64))
    scored = run_both(table, score=score, max_parents=1)
    assert_sampled_families(table, score, scored, math.log(20), 1, 100)
    if not isinstance(score, BDeu):  # whose sets of parents that tell all rows apart tie, without end
        unlimited = score_parent_sets(table.dataset(), score=score, engine="descent")
        assert_sampled_families(table, score, unlimited, math.log(20), 2, 100)


@each_score
@pytest.mark.parametrize("n", sampled(1, [8, 10, 12]))
def test_larger_tables(score, n):
    for seed in range(2 if n < 12 else 1):
        rng = np.random.default_rng(100 * n + seed)
        arities = tuple(rng.choice([2, 2, 3, 4, 10], n).tolist())
        codes = np.column_stack([rng.integers(0, arity, 80) for arity in arities])
        for v in range(2, n):
            source = (codes[:, v - 1] + codes[:, v - 2]) % arities[v]
            codes[:, v] = np.where(rng.random(80) < 0.7, source, codes[:, v])
        table = strategies.CodedTable(codes, arities, rng.integers(1, 3, 80))
        set_costs = set_function(table, score)
        for epsilon in (0.0, math.log(20)):
            assert_rule_one_by_mask(run_both(table, score=score, epsilon=epsilon), set_costs, epsilon)


# ------------------------------------------------------------------------------------- scores of other kinds


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_subsets_come_in_the_order_of_their_ranks(n):
    for size in range(n + 1):
        listed = np.concatenate(list(_members(_blocks_of(n, size))))
        expected = sorted(itertools.combinations(range(n), size), key=lambda members: members[::-1])
        assert [tuple(row) for row in listed.tolist()] == expected


class Wrapped:
    """A user's score that happens to be a known one."""

    name, columns = "wrapped", "discrete"

    def __init__(self, score):
        self.score = score

    def settings(self):
        return {}

    def set_costs(self, data, sets):
        return self.score.set_costs(data, sets)


@each_score
@examples(15)
@given(st.data(), strategies.coded_tables(min_columns=2), strategies.epsilons())
def test_a_users_set_score_is_treated_like_a_built_in_one(score, draws, table, epsilon):
    limits = draws.draw(strategies.constraints(table))
    prior = draws.draw(strategies.priors(table.n))
    options = {"epsilon": epsilon, "prior": prior, **limits}
    scored = score_parent_sets(table.dataset(), score=Wrapped(score), **options)
    assert_rule_one(scored, naive_costs(table, score, limits, prior), epsilon)
    assert scored.provenance["engine"] == "sets"


class K2:
    """Cooper & Herskovits (1992): a uniform prior in each parent configuration; not score equivalent."""

    name, columns = "k2", "discrete"

    def settings(self):
        return {}

    def local_cost(self, data, node, parents):
        counts = {}
        for row, weight in enumerate(data.weights.tolist()):
            states = counts.setdefault(tuple(int(data.columns[p][row]) for p in parents), {})
            value = int(data.columns[node][row])
            states[value] = states.get(value, 0) + weight
        r = int(data.arities[node])
        return sum(
            math.lgamma(r + sum(states.values()))
            - math.lgamma(r)
            - sum(math.lgamma(1 + count) for count in states.values())
            for states in counts.values()
        )


def naive_k2(table):
    """As the product of predictions, row after row."""

    def cost(child, parents):
        total, seen, both = 0.0, {}, {}
        for row in table.rows:
            configuration = tuple(row[p] for p in parents)
            family = (*configuration, row[child])
            total -= math.log((both.get(family, 0) + 1) / (seen.get(configuration, 0) + table.arities[child]))
            seen[configuration] = seen.get(configuration, 0) + 1
            both[family] = both.get(family, 0) + 1
        return total

    return cost


@examples(40)
@given(st.data(), strategies.coded_tables(max_weight=2), strategies.epsilons())
def test_a_local_score(draws, table, epsilon):
    limits = draws.draw(strategies.constraints(table))
    prior = draws.draw(strategies.priors(table.n))
    scored = score_parent_sets(table.dataset(), score=K2(), epsilon=epsilon, prior=prior, **limits)
    matrix = strategies.log_prior(prior, table.n)
    costs = oracle.local_costs(table.arities, naive_k2(table), limits, matrix)
    assert_rule_one(scored, costs, epsilon)
    assert scored.provenance["score_equivalent"] is False


def numbers(seed, n_rows, n):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, n))
    for v in range(1, n):
        values[:, v] += rng.choice([0.0, 0.5, 2.0]) * values[:, v - 1]
    return np.round(values, 3)


@pytest.mark.parametrize("score", ["gaussian-bic", "bge"])
@examples(12)
@given(st.data(), st.integers(0, 999), st.integers(1, 4), strategies.epsilons())
def test_scores_of_numbers(score, draws, seed, n, epsilon):
    values = numbers(seed, draws.draw(st.integers(n + 2, 25 if score == "gaussian-bic" else 12)), n)
    shape = strategies.CodedTable(np.zeros((1, n)), (2,) * n, np.array([1]))
    limits, prior = draws.draw(strategies.constraints(shape)), draws.draw(strategies.priors(n))
    rows = [tuple(row) for row in values.tolist()]
    definition = naive.naive_gaussian_bic if score == "gaussian-bic" else naive.naive_bge
    matrix = strategies.log_prior(prior, n)
    costs = oracle.local_costs(shape.arities, lambda c, parents: definition(rows, c, parents), limits, matrix)
    scored = score_parent_sets(values, score=score, epsilon=epsilon, prior=prior, **limits)
    assert_rule_one(scored, costs, epsilon)


@examples(25)
@given(st.data(), st.integers(0, 999), strategies.epsilons())
def test_a_score_of_mixed_columns(draws, seed, epsilon):
    table = draws.draw(strategies.coded_tables(min_columns=1, max_columns=2, min_rows=5))
    assume(min(table.arities) > 1)
    assume(all(len(np.unique(column)) == arity for column, arity in zip(table.codes.T, table.arities, strict=True)))
    values = numbers(seed, len(table.codes), 2) + table.codes[:, :1]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({f"d{v}": column for v, column in enumerate(table.codes.T)})
    frame[["x", "y"]] = values
    rows = [(*codes, *numbers_) for codes, numbers_ in zip(table.codes.tolist(), values.tolist(), strict=True)]
    arities = (*table.arities, 0, 0)
    shape = strategies.CodedTable(np.zeros((1, len(arities))), (2,) * len(arities), np.array([1]))
    prior = draws.draw(strategies.priors(len(arities)))
    costs = oracle.local_costs(
        shape.arities,
        lambda child, parents: naive.naive_conditional_gaussian(rows, arities, child, parents),
        None,
        strategies.log_prior(prior, len(arities)),
    )
    options = {"score": "conditional-gaussian-bic", "prior": prior, "epsilon": epsilon}
    assert_rule_one(score_parent_sets(frame, **options), costs, epsilon)


def test_few_rows_and_required_parents_of_a_gaussian_score():
    """Four rows carry regressions on two parents; a third, though required, cannot be scored."""
    values = numbers(3, 4, 5)
    with pytest.raises(CredibnError):
        score_parent_sets(values, score="gaussian-bic", required_edges=[(0, 4), (1, 4), (2, 4)])


@pytest.mark.parametrize(
    "costs",
    [
        lambda sets: np.full(len(sets), np.nan),
        lambda sets: np.full(len(sets), np.inf),
        lambda sets: np.zeros(len(sets) + 1),
        lambda sets: np.zeros((len(sets), 1)),
        lambda sets: 0.0,
    ],
    ids=["nan", "inf", "too long", "two dimensions", "scalar"],
)
def test_a_set_score_that_misbehaves_is_refused(costs):
    score = Wrapped(BIC())
    score.set_costs = lambda data, sets: costs(sets)
    with pytest.raises(DataError, match="'wrapped'"):
        score_parent_sets(np.array([[0, 1], [1, 0], [1, 1]]), score=score)


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_a_local_score_that_misbehaves_is_refused(value):
    score = K2()
    score.local_cost = lambda data, node, parents: value if parents else 1.0
    with pytest.raises(DataError, match="'k2'"):
        score_parent_sets(np.array([[0, 1], [1, 0], [1, 1]]), score=score)


# --------------------------------------------------------------- progress, limits, refusals, estimates


def busy_table():
    rng = np.random.default_rng(10)
    return strategies.CodedTable(rng.integers(0, 2, (400, 17)), (2,) * 17, np.ones(400, dtype=np.int64))


@each_engine
def test_progress_is_reported_and_can_stop(engine):
    calls = []
    data = busy_table().dataset()
    options = {"engine": engine, "epsilon": 30.0, "max_parents": 9}
    scored = score_parent_sets(data, progress=lambda *words: calls.append(words), **options)
    assert {stage for stage, _ in calls} == {"score"}
    fractions = [fraction for _, fraction in calls]
    assert all(0 <= fraction <= 1 for fraction in fractions)
    assert fractions == sorted(fractions)
    assert_same_bytes(scored, score_parent_sets(data, **options))
    with pytest.raises(KeyboardInterrupt):
        score_parent_sets(data, progress=lambda stage, fraction: False, **options)


@pytest.mark.parametrize("score", [Wrapped(BIC()), K2()], ids=["sets", "local"])
def test_progress_of_users_scores(score):
    data = np.random.default_rng(11).integers(0, 2, (20, 5))
    fractions = []
    score_parent_sets(data, score=score, progress=lambda stage, fraction: fractions.append(fraction))
    assert fractions
    assert all(0 <= fraction <= 1 for fraction in fractions)
    with pytest.raises(KeyboardInterrupt):
        score_parent_sets(data, score=score, progress=lambda stage, fraction: False)


@each_engine
def test_an_error_in_the_callback_is_the_callers(engine):
    def fail(stage, fraction):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        score_parent_sets(busy_table().dataset(), progress=fail, engine=engine, epsilon=30.0, max_parents=9)


@pytest.mark.slow
def test_too_large():
    rng = np.random.default_rng(12)

    def coins(n):
        return strategies.CodedTable(rng.integers(0, 2, (50, n)), (2,) * n, np.ones(50, dtype=np.int64)).dataset()

    with pytest.raises(TooLargeError, match="256 columns vary; at most 255"):
        score_parent_sets(coins(256), max_parents=1)
    hundred = coins(100)
    with pytest.raises(TooLargeError, match=r"needs .* sets and about .* GiB"):
        score_parent_sets(hundred, score="bdeu", engine="table")
    with pytest.raises(TooLargeError):
        score_parent_sets(rng.normal(size=(100, 60)), score="bge")
    assert estimate_scoring(hundred, score="bdeu", engine="table").memory_bytes > MOST_TABLE_BYTES
    assert score_parent_sets(coins(255), max_parents=1, engine="descent").n_variables == 255


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "k2"}, "unknown score 'k2'"),
        ({"score": 3}, "score is 3"),
        ({"score": None}, "score is None"),
        ({"engine": "fast"}, "unknown engine 'fast'"),
        ({"n_threads": 0}, "n_threads is 0"),
        ({"n_threads": 1.5}, "n_threads is 1.5"),
        ({"n_threads": True}, "n_threads is True"),
        ({"epsilon": -1.0}, "epsilon is -1.0"),
        ({"epsilon": math.nan}, "epsilon is nan"),
        ({"epsilon": math.inf}, "epsilon is inf"),
        ({"epsilon": "x"}, "epsilon is 'x'"),
        ({"bayes_factor": 0.5}, "bayes_factor is 0.5"),
        ({"bayes_factor": math.nan}, "bayes_factor is nan"),
        ({"bayes_factor": 3, "epsilon": 1.0}, "both bayes_factor=3 and epsilon=1.0"),
        ({"equivalent_sample_size": 1.0}, "equivalent_sample_size=1.0 .*'bdeu'"),
        ({"score": "bdeu", "equivalent_sample_size": 0}, "sample size is 0"),
        ({"score": "bdeu", "equivalent_sample_size": math.inf}, "sample size is inf"),
        ({"max_parents": -1}, "max_parents is -1"),
        ({"forbidden_edges": ["X0->X7"]}, "'X7'"),
        ({"required_edges": ["X0->X1", "X1->X0"]}, "cycle"),
        ({"prior": "uniform"}, "unknown prior 'uniform'"),
    ],
)
def test_options_refused(options, message):
    with pytest.raises(OptionError, match=message):
        score_parent_sets(np.array([[0, 1], [1, 0], [1, 1]]), **options)


def test_estimates_are_the_numbers_of_a_plain_count():
    rng = np.random.default_rng(13)
    codes = np.column_stack([rng.integers(0, 2, (60, 6)), np.zeros(60, dtype=np.int64)])
    data = strategies.CodedTable(codes, (2,) * 6 + (1,), np.ones(60, dtype=np.int64)).dataset()
    estimate = estimate_scoring(data, score="bdeu")
    assert (estimate.n_variables, estimate.n_searched, estimate.n_rows) == (7, 6, 60)
    assert estimate.n_distinct == len(np.unique(codes, axis=0))
    assert (estimate.largest_parent_set, estimate.n_sets, estimate.n_local_scores) == (5, 2**6, 6 * 2**5)
    two = estimate_scoring(data, score="bdeu", max_parents=2, engine="descent")
    assert two.engine == "descent"
    assert (two.n_sets, two.n_local_scores) == (1 + 6 + 15 + 20, 6 * (1 + 5 + 10))
    assert estimate_scoring(data, score=K2()).engine == "local"
    assert estimate_scoring(data, score=Wrapped(BIC())).engine == "sets"
    assert estimate_scoring(data, score="bdeu", engine="table").memory_bytes >= 12 * 2**6
    # Rule 4: (ln 60)/2 * 2^k > 60 ln 2 + ln 20 holds for k = 5 and no sooner.
    assert estimate_scoring(data, bayes_factor=20).largest_parent_set == 5
    assert estimate_scoring(data, bayes_factor=1).largest_parent_set == 5


@pytest.mark.parametrize(
    "limits",
    [
        {"max_parents": {0: 1}},
        {"required_edges": [(0, 1)]},
        {"forbidden_edges": [(0, 1), (2, 1)]},
        {"tiers": [[0, 1], [2, 3]]},
    ],
    ids=lambda limits: next(iter(limits)),
)
def test_estimates_know_the_constraints(limits):
    codes = np.random.default_rng(14).integers(0, 2, (60, 5))
    data = strategies.CodedTable(codes, (2,) * 5, np.ones(60, dtype=np.int64)).dataset()
    options = {"score": "bdeu", "engine": "table", **limits}
    assert estimate_scoring(data, **options).n_local_scores == n_evaluated(data, rules=(), **options)


def n_evaluated(data, rules, engine, **options):
    """How many local scores the engine evaluates with only these rules."""
    return evaluate(data, rules, engine, **options)[3]


def evaluate(data, rules, engine, **options):
    problem = make_problem(data, ScoreOptions.of(options), resolve_epsilon(epsilon=options.get("epsilon")))
    return scoring._score(problem, estimate_problem(problem, engine), Run(), rules).candidates


@pytest.mark.parametrize("n_rows", [2, 3, 7, 20, 100])
def test_rule_four_limits_no_less_than_it_may(n_rows):
    """The estimate's largest parent set is never below the largest that rule 1 keeps."""
    rng = np.random.default_rng(n_rows)
    for _ in range(10):
        table = strategies.CodedTable(rng.integers(0, 2, (n_rows, 5)), (2, 2, 3, 2, 2), np.ones(n_rows, dtype=np.int64))
        for epsilon in (0.0, 3.0):
            costs = naive_costs(table, BIC())
            largest = max(len(p) for of in costs for p in oracle.rule_one(of, epsilon - BOUNDARY))
            assert estimate_scoring(table.dataset(), epsilon=epsilon).largest_parent_set >= largest


def test_provenance():
    data = read_data(np.array([[0, 1, 0], [1, 0, 0], [1, 1, 1]]))
    scored = score_parent_sets(
        data,
        score="bdeu",
        equivalent_sample_size=2,
        bayes_factor=3,
        forbidden_edges=["X0->X1"],
        prior=EdgePenalty(1),
    )
    known = scored.provenance
    assert known["score"] == "bdeu"
    assert known["equivalent_sample_size"] == 2.0
    assert known["epsilon"] == scored.epsilon == math.log(3)
    assert known["n_rows"] == 3
    assert known["data_fingerprint"] == data.fingerprint
    assert known["constraints"] == {"forbidden_edges": [["X0", "X1"]]}
    assert known["prior"] == {"kind": "edge penalty", "log_penalty": 1.0}
    assert known["score_equivalent"] is True
    assert known["complete"] is True
    odds = EdgeLogOdds({("X0", "X1"): 1.0})
    assert score_parent_sets(data, prior=odds).provenance["score_equivalent"] is False


@examples(5)
@given(table=strategies.coded_tables(min_columns=3))
def test_automatic_choice_of_engine_changes_nothing(table):
    assert_same_bytes(score_parent_sets(table.dataset()), run_both(table))
