"""The superset rules, one at a time: each is safe, each saves work, and each inequality holds by brute force.

Rule 1 defines the answer (test_scoring.py); the others may change only how many local scores are evaluated.
The inequalities are those of cpp/scoring/rules.hpp, tried on tables made to break them: exclusive ors, copies, near
copies, few rows, states that never occur, large equivalent sample sizes.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_scores as naive
import oracle
import strategies
from credibn import AIC, BIC, BDeu, EdgeLogOdds, EdgePenalty
from credibn._run import Run
from credibn.options import ScoreOptions, resolve_epsilon
from credibn.scores import scoring
from credibn.scores.estimate import estimate_problem
from credibn.scores.setup import make_problem
from profiles import examples, sampled

ENGINES = ("table", "descent")
PENALISED = ("penalty", "configurations", "parent_entropy", "suffix_floor", "few_parents")
SAMPLE_SIZES = (0.1, 1.0, 10.0, 100.0)
EVERY_CASE = [(score, rule) for score in (BIC(), AIC()) for rule in PENALISED] + [
    (BDeu(ess), rule) for ess in SAMPLE_SIZES for rule in ("cells", "suffix_floor", "splits")
]
each_case = pytest.mark.parametrize(
    ("score", "rule"),
    EVERY_CASE,
    ids=[f"{s.name}-{getattr(s, 'equivalent_sample_size', '')}-{r}" for s, r in EVERY_CASE],
)


def evaluate(table, rules, engine, n_threads=1, **options):
    """The candidates, as a set of (node, cost, mask), and the number of local scores evaluated for them."""
    problem = make_problem(
        table.dataset(), ScoreOptions.of(options), resolve_epsilon(options.get("bayes_factor"), options.get("epsilon"))
    )
    scored = scoring._score(problem, estimate_problem(problem, engine), Run(n_threads=n_threads), rules)
    nodes, costs, masks, n_scored = scored.candidates
    found = set(zip(nodes.tolist(), costs.tolist(), map(tuple, masks.tolist()), strict=True))
    assert len(found) == len(nodes)
    return found, n_scored


# ------------------------------------------------------------------------------ one rule changes no candidate


@each_case
@examples(25)
@given(st.data(), strategies.coded_tables(min_columns=2, max_weight=2), strategies.epsilons())
def test_a_rule_alone_changes_nothing(score, rule, draws, table, epsilon):
    limits = draws.draw(st.just({}) | strategies.constraints(table))
    prior = draws.draw(st.none() | strategies.priors(table.n))
    for engine in ENGINES:
        options = {"score": score, "epsilon": epsilon, "prior": prior, "engine": engine, **limits}
        plain, n_plain = evaluate(table, (), **options)
        found, n_scored = evaluate(table, (rule,), **options)
        assert found == plain
        assert n_scored <= n_plain


@each_case
@examples(12)
@given(st.data(), strategies.functional_tables(min_columns=4, max_columns=7), strategies.epsilons())
def test_a_rule_alone_changes_nothing_where_columns_depend(score, rule, draws, table, epsilon):
    limits = draws.draw(st.just({}) | strategies.constraints(table))
    prior = draws.draw(st.none() | strategies.priors(table.n))
    for engine in ENGINES:
        options = {"score": score, "epsilon": epsilon, "prior": prior, "engine": engine, **limits}
        plain, n_plain = evaluate(table, (), **options)
        found, n_scored = evaluate(table, (rule,), **options)
        assert found == plain
        assert n_scored <= n_plain


@pytest.mark.parametrize("score", [BIC(), AIC(), *map(BDeu, SAMPLE_SIZES)], ids=str)
@examples(12)
@given(st.data(), strategies.functional_tables(min_columns=5, max_columns=8, max_arity=4), strategies.epsilons())
def test_all_rules_together_change_nothing(score, draws, table, epsilon):
    prior = draws.draw(st.none() | strategies.priors(table.n))
    options = {"score": score, "epsilon": epsilon, "prior": prior}
    plain, _ = evaluate(table, (), "table", **options)
    for engine in ENGINES:
        assert evaluate(table, scoring.RULES, engine, **options)[0] == plain
        assert evaluate(table, scoring.RULES, engine, n_threads=2, **options)[0] == plain


def test_rules_of_one_score_do_not_touch_another():
    """Rules 2 to 5 and 8 hold for penalised likelihoods, rules 6 and 9 for BDeu."""
    rng = np.random.default_rng(0)
    table = strategies.CodedTable(rng.integers(0, 2, (50, 7)), (2,) * 7, np.ones(50, dtype=np.int64))
    of_likelihoods = ("penalty", "configurations", "parent_entropy", "few_parents")
    for score, foreign in ((BDeu(1.0), of_likelihoods), (BIC(), ("cells", "splits"))):
        for engine in ENGINES:
            assert evaluate(table, foreign, engine, score=score) == evaluate(table, (), engine, score=score)


def test_unknown_rules_are_refused():
    table = strategies.CodedTable(np.array([[0, 1], [1, 0]]), (2, 2), np.array([1, 1]))
    with pytest.raises(ValueError, match="unknown rule"):
        evaluate(table, ("pruning",), "table", score=BIC())


# ---------------------------------------------------------------------------------------- one rule saves work


def noise_table(n=10, n_rows=60, arity=2):
    """Parents that tell nothing: every rule should see that."""
    rng = np.random.default_rng(1)
    return strategies.CodedTable(rng.integers(0, arity, (n_rows, n)), (arity,) * n, np.ones(n_rows, dtype=np.int64))


def skewed_table(n=10, n_rows=200):
    """Columns of little entropy: what a parent can tell is less than it costs."""
    rng = np.random.default_rng(2)
    return strategies.CodedTable(
        (rng.random((n_rows, n)) < 0.02).astype(np.int64), (2,) * n, np.ones(n_rows, dtype=np.int64)
    )


def half_skewed_table(n=10, n_rows=100):
    """Children of little entropy with parents that make many cells."""
    rng = np.random.default_rng(3)
    limits = np.where(np.arange(n) < n // 2, 0.05, 0.5)
    return strategies.CodedTable(
        (rng.random((n_rows, n)) < limits).astype(np.int64), (2,) * n, np.ones(n_rows, dtype=np.int64)
    )


def uneven_table(n=9, n_rows=300, arity=2, seed=4):
    """Columns with one common state each, some of which depend on others."""
    rng = np.random.default_rng(seed)
    rare = rng.random((n_rows, n)) < rng.uniform(0.05, 0.4, n)
    codes = np.where(rare, rng.integers(1, arity, (n_rows, n)), 0)
    for child in range(n // 2, n):
        parents = rng.choice(n // 2, 2, replace=False)
        copied = rng.random(n_rows) < 0.7
        codes[:, child] = np.where(copied, codes[:, parents].sum(1) % arity, codes[:, child])
    return strategies.CodedTable(codes, (arity,) * n, np.ones(n_rows, dtype=np.int64))


@pytest.mark.parametrize(
    ("rule", "score", "engine", "table"),
    [
        ("penalty", BIC(), "table", noise_table()),
        ("penalty", BIC(), "descent", noise_table()),
        ("penalty", AIC(), "table", noise_table()),
        ("configurations", BIC(), "table", noise_table(arity=4)),
        ("configurations", BIC(), "descent", noise_table()),
        ("parent_entropy", BIC(), "descent", skewed_table()),
        ("cells", BDeu(1.0), "table", noise_table()),
        ("cells", BDeu(1.0), "descent", half_skewed_table()),
        ("cells", BDeu(100.0), "table", noise_table(arity=4)),
        ("suffix_floor", BIC(), "descent", noise_table()),
        ("suffix_floor", AIC(), "descent", noise_table(n_rows=200)),
        ("suffix_floor", BDeu(1.0), "descent", noise_table()),
        ("few_parents", BIC(), "descent", uneven_table()),
        ("few_parents", AIC(), "descent", uneven_table()),
        ("few_parents", BIC(), "descent", uneven_table(arity=3)),
        ("splits", BDeu(1.0), "descent", noise_table()),
        ("splits", BDeu(1.0), "descent", uneven_table()),
        ("splits", BDeu(10.0), "descent", uneven_table(arity=3)),
    ],
)
def test_a_rule_saves_work(rule, score, engine, table):
    plain, n_plain = evaluate(table, (), engine, score=score, bayes_factor=3)
    found, n_scored = evaluate(table, (rule,), engine, score=score, bayes_factor=3)
    assert found == plain
    assert n_scored < n_plain


@pytest.mark.parametrize("score", [BIC(), AIC(), BDeu(1.0), BDeu(10.0)], ids=str)
@pytest.mark.parametrize("arity", [2, 3])
def test_leaves_are_dropped_only_when_dominated(score, arity):
    """Many sets from which the search goes no further, some of them credible, at several epsilons."""
    rng = np.random.default_rng(arity)
    codes = rng.integers(0, arity, (90, 9))
    for child in range(5, 9):  # each depends on three columns and a little noise
        codes[:, child] = np.where(
            rng.random(90) < 0.1, codes[:, child], codes[:, child - 5 : child - 2].sum(1) % arity
        )
    table = strategies.CodedTable(codes, (arity,) * 9, np.ones(90, dtype=np.int64))
    for epsilon in (0.0, 3.0, 15.0):
        plain, _ = evaluate(table, (), "table", score=score, epsilon=epsilon)
        found, _ = evaluate(table, scoring.RULES, "descent", score=score, epsilon=epsilon)
        assert found == plain


@pytest.mark.parametrize("score", [BIC(), AIC()], ids=str)
@pytest.mark.parametrize("arity", [2, 3])
@pytest.mark.parametrize("seed", sampled(3, range(30)))
def test_few_parents_with_common_states_lose_nothing(score, arity, seed):
    table = uneven_table(n_rows=150, arity=arity, seed=seed)
    for options in ({"epsilon": 0.0}, {"epsilon": 4.0, "max_parents": 3}, {"epsilon": 20.0}):
        plain, _ = evaluate(table, (), "table", score=score, **options)
        for rules in (("few_parents",), scoring.RULES):
            assert evaluate(table, rules, "descent", score=score, **options)[0] == plain


@pytest.mark.parametrize("ess", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("arity", [2, 3])
@pytest.mark.parametrize("seed", sampled(3, range(30)))
def test_splits_of_common_patterns_lose_nothing(ess, arity, seed):
    table = uneven_table(n_rows=150, arity=arity, seed=seed)
    rewards = EdgeLogOdds(np.random.default_rng(seed).normal(0.0, 2.0, (9, 9)) * (1 - np.eye(9)))
    for options in ({"epsilon": 0.0}, {"epsilon": 4.0, "max_parents": 3}, {"epsilon": 20.0, "prior": rewards}):
        plain, _ = evaluate(table, (), "table", score=BDeu(ess), **options)
        for rules in (("splits",), scoring.RULES):
            assert evaluate(table, rules, "descent", score=BDeu(ess), **options)[0] == plain


def test_splits_save_work_beside_the_other_rules():
    table = uneven_table(n=14, n_rows=400)
    others = tuple(rule for rule in scoring.RULES if rule != "splits")
    plain, n_plain = evaluate(table, others, "descent", score=BDeu(1.0), bayes_factor=20)
    found, n_scored = evaluate(table, scoring.RULES, "descent", score=BDeu(1.0), bayes_factor=20)
    assert found == plain
    assert n_scored < n_plain


def test_two_columns_that_tell_all_together_are_kept():
    """i = l xor j in the rare rows too: each alone tells nothing, and rule 8 must allow for what both tell."""
    row = np.arange(400)
    codes = np.column_stack([row % 2 ^ (row // 2 % 2), row % 2, row // 2 % 2, row % 7 == 0, row % 5 == 0])
    table = strategies.CodedTable(codes.astype(np.int64), (2,) * 5, np.ones(400, dtype=np.int64))
    found, _ = evaluate(table, scoring.RULES, "descent", score=BIC(), epsilon=0.0)
    assert found == evaluate(table, (), "table", score=BIC(), epsilon=0.0)[0]
    assert (0b00110,) in {mask for node, _, mask in found if node == 0}


def test_a_rare_parent_that_tells_all_it_can_is_kept():
    """j differs in one row, and i = l xor j: given l, j tells its whole entropy, just more than its penalty."""
    row = np.arange(60)
    codes = np.column_stack([row % 2 ^ (row == 0), row % 2, row == 0]).astype(np.int64)
    table = strategies.CodedTable(codes, (2, 2, 2), np.ones(60, dtype=np.int64))
    plain, _ = evaluate(table, (), "table", score=BIC(), epsilon=0.0)
    assert (0b110,) in {mask for node, _, mask in plain if node == 0}
    assert evaluate(table, scoring.RULES, "descent", score=BIC(), epsilon=0.0)[0] == plain


def test_rule_four_gives_way_to_a_prior_that_rewards_edges():
    """A reward pays for any number of useless parents."""
    table = noise_table(n=6, n_rows=20)
    reward = EdgeLogOdds(1000.0 * (1 - np.eye(6)))
    for engine in ENGINES:
        found, _ = evaluate(table, scoring.RULES, engine, score=BIC(), prior=reward, epsilon=0.0)
        assert {sum(map(int.bit_count, mask)) for _, _, mask in found} >= {5}
        charge, _ = evaluate(table, scoring.RULES, engine, score=BIC(), prior=EdgePenalty(1000.0), epsilon=0.0)
        assert {mask for _, _, mask in charge} == {(0,)}


# -------------------------------------------------------------------------------- the inequalities themselves


def entropy(rows, node, given_):
    """N * H(node | given), from counts."""
    joint = Counter((tuple(row[v] for v in given_), row[node]) for row in rows)
    alone = Counter(tuple(row[v] for v in given_) for row in rows)
    return -math.fsum(n * math.log(n / alone[cell]) for (cell, _), n in joint.items())


def n_cells(rows, members):
    return len({tuple(row[v] for v in members) for row in rows})


def is_mixed(rows, node, given_):
    """For each seen configuration of `given_`, whether the node takes two or more values in it."""
    seen = {}
    for row in rows:
        seen.setdefault(tuple(row[v] for v in given_), set()).add(row[node])
    return {cell: len(values) > 1 for cell, values in seen.items()}


def supersets(n, node, parents):
    rest = [v for v in range(n) if v != node and v not in parents]
    for size in range(len(rest) + 1):
        for more in itertools.combinations(rest, size):
            yield tuple(sorted((*parents, *more)))


def tables_for_bounds():
    return strategies.coded_tables(min_columns=2, max_columns=4, max_rows=25) | strategies.functional_tables(
        max_columns=4, min_rows=5, max_rows=60
    )


def nontrivial_families(table):
    """(node, P, all U that hold P) over the columns that take part: those with two or more states."""
    for node, parents in ((c, p) for c in range(table.n) for p in oracle.all_parent_sets(table.n, c)):
        if min(table.arities[v] for v in (node, *parents)) > 1:
            above = supersets(table.n, node, parents)
            yield node, parents, [u for u in above if min((table.arities[v] for v in u), default=2) > 1]


@pytest.mark.parametrize("definition", [naive.naive_bic, naive.naive_aic])
@examples(40)
@given(table=tables_for_bounds())
def test_rule_two_bounds_every_superset(definition, table):
    """cost(U) >= w * t(P) + N * H(i | all others)."""
    rows, arities = table.rows, table.arities
    w = math.log(len(rows)) / 2 if definition is naive.naive_bic else 1.0
    for node, parents, above in nontrivial_families(table):
        floor = entropy(rows, node, [v for v in range(table.n) if v != node])
        bound = w * (arities[node] - 1) * math.prod(arities[p] for p in parents) + floor
        for larger in above:
            assert definition(rows, arities, node, larger) >= bound - 1e-9


@pytest.mark.parametrize("definition", [naive.naive_bic, naive.naive_aic])
@examples(40)
@given(table=tables_for_bounds(), epsilon=strategies.epsilons())
def test_rules_three_and_four_put_out_proper_supersets(definition, table, epsilon):
    """If w * t(P) > N ln r_i + eps, all proper supersets cost over eps more than P: also for N < 8."""
    rows, arities = table.rows, table.arities
    w = math.log(len(rows)) / 2 if definition is naive.naive_bic else 1.0
    for node, parents, above in nontrivial_families(table):
        penalty = w * (arities[node] - 1) * math.prod(arities[p] for p in parents)
        if penalty > len(rows) * math.log(arities[node]) + epsilon + 1e-9:
            cost = definition(rows, arities, node, parents)
            for larger in above:
                assert larger == parents or definition(rows, arities, node, larger) > cost + epsilon


@pytest.mark.parametrize("definition", [naive.naive_bic, naive.naive_aic])
@examples(40)
@given(table=tables_for_bounds(), epsilon=strategies.epsilons())
def test_rule_five_puts_out_a_parent_that_tells_too_little(definition, table, epsilon):
    """The entropy of j within the configurations of P where the child is mixed bounds what j can tell."""
    rows, arities = table.rows, table.arities
    w = math.log(len(rows)) / 2 if definition is naive.naive_bic else 1.0
    for node, parents, _ in nontrivial_families(table):
        mixed = is_mixed(rows, node, parents)
        left = [row for row in rows if mixed[tuple(row[p] for p in parents)]]
        penalty = w * (arities[node] - 1) * math.prod(arities[p] for p in parents)
        for j in range(table.n):
            if j == node or j in parents or arities[j] == 1:
                continue
            if entropy(left, j, parents) + epsilon + 1e-9 < (arities[j] - 1) * penalty:
                for larger in supersets(table.n, node, tuple(sorted((*parents, j)))):
                    if min(arities[v] for v in larger) == 1:
                        continue
                    without = tuple(v for v in larger if v != j)
                    assert definition(rows, arities, node, larger) > definition(rows, arities, node, without) + epsilon


@pytest.mark.parametrize("definition", [naive.naive_bic, naive.naive_aic])
@examples(25)
@given(table=tables_for_bounds(), epsilon=strategies.epsilons())
def test_rule_five_holds_with_what_a_subset_of_the_parents_says(definition, table, epsilon):
    """Q <= P: the entropy of j within the mixed configurations of Q, and the penalty of P."""
    rows, arities = table.rows, table.arities
    w = math.log(len(rows)) / 2 if definition is naive.naive_bic else 1.0
    for node, subset, above in nontrivial_families(table):
        mixed = is_mixed(rows, node, subset)
        left = [row for row in rows if mixed[tuple(row[p] for p in subset)]]
        tells = {j: entropy(left, j, subset) for j in range(table.n) if j != node and arities[j] > 1}
        for parents in above:
            penalty = w * (arities[node] - 1) * math.prod(arities[p] for p in parents)
            for j in tells.keys() - set(parents):
                if tells[j] + epsilon + 1e-9 < (arities[j] - 1) * penalty:
                    larger = tuple(sorted((*parents, j)))
                    gap = definition(rows, arities, node, larger) - definition(rows, arities, node, parents)
                    assert gap > epsilon


def loss(rows, node, given_, q):
    """Of N * H(node | given_), what at most is lost with all rows but those of one state of q in each cell."""
    cells = {}
    for row in rows:
        cells.setdefault(tuple(row[v] for v in given_), []).append(row)
    lost = 0.0
    for cell in cells.values():
        totals = Counter(row[node] for row in cell)
        lost += entropy(cell, node, ()) * min(
            max(1 - sum(row[node] == k and row[q] == state for row in cell) / totals[k] for k in totals)
            for state in {row[q] for row in cell}
        )
    return lost


@pytest.mark.parametrize("definition", [naive.naive_bic, naive.naive_aic])
@examples(40)
@given(table=tables_for_bounds())
def test_rule_eight_bounds_supersets_by_what_each_parent_takes_alone(definition, table):
    """With m >= 2 more: cost >= w * t(S) * (2^m + 2 * sum of (r_q - 2)) + N * H(i | S) - the sum of the losses."""
    rows, arities = table.rows, table.arities
    w = math.log(len(rows)) / 2 if definition is naive.naive_bic else 1.0
    for node, parents, above in nontrivial_families(table):
        penalty = w * (arities[node] - 1) * math.prod(arities[p] for p in parents)
        rest = entropy(rows, node, parents)
        losses = {q: loss(rows, node, parents, q) for q in {v for larger in above for v in larger} - set(parents)}
        for larger in above:
            added = set(larger) - set(parents)
            remains = rest - sum(losses[q] for q in added)
            assert entropy(rows, node, larger) >= remains - 1e-9
            if len(added) >= 2:
                configurations = 2 ** len(added) + 2 * sum(arities[q] - 2 for q in added)
                assert definition(rows, arities, node, larger) >= penalty * configurations + remains - 1e-9


@pytest.mark.parametrize("ess", [1e-6, 0.1, 1.0, 3.0, 10.0, 100.0, 1e4])
@examples(25)
@given(table=tables_for_bounds())
def test_rule_six_bounds_every_superset(ess, table):
    """cost(U) >= cells(P + i) * ln r_i for any ess; plus N * H(i | all others) where ess / q_U <= 1/3."""
    rows, arities = table.rows, table.arities
    for node, parents, above in nontrivial_families(table):
        everything = tuple(v for v in range(table.n) if v != node)
        floor = entropy(rows, node, everything)
        bound = n_cells(rows, (*parents, node)) * math.log(arities[node])
        for larger in above:
            cost = naive.naive_bdeu(rows, arities, node, larger, ess)
            assert cost >= bound - 1e-9 * max(1.0, ess)
            if ess / math.prod(arities[p] for p in larger) <= 1 / 3:
                assert cost >= floor + bound - 1e-9 * max(1.0, ess)


@pytest.mark.parametrize("ess", [1e-6, 0.1, 1.0, 3.0, 10.0])
@examples(25)
@given(table=tables_for_bounds())
def test_rule_seven_bounds_every_superset_within_a_suffix(ess, table):
    """P <= U <= M: H(i | M), and each cell of P that holds a mixed cell of M costs ln((1 + a) / 4a) more."""
    rows, arities = table.rows, table.arities
    for node, parents, above in nontrivial_families(table):
        for most in above:
            floor = entropy(rows, node, most)
            places = [most.index(p) for p in parents]
            mixed_cells = {
                tuple(cell[k] for k in places) for cell, mixed in is_mixed(rows, node, most).items() if mixed
            }
            bound = n_cells(rows, (*parents, node)) * math.log(arities[node]) + floor
            for larger in above:
                a = ess / math.prod(arities[p] for p in larger)
                if not set(larger) <= set(most) or a > 1 / 3:
                    continue
                cost = naive.naive_bdeu(rows, arities, node, larger, ess)
                assert cost >= bound + len(mixed_cells) * math.log((1 + a) / (4 * a)) - 1e-8


def excess(a, counts):
    """G_a of the guarantees: what a cell costs at least beside ln r for each value seen."""
    return sum(map(math.log, (a + j for j in range(sum(counts))))) - sum(
        math.log(a + j) for n in counts for j in range(n)
    )


def split_bound(rows, arities, node, parents, addable, ess):
    """Rule 9, as the guarantees define it: the bound, and the unused capacity of each variable."""
    r, a = arities[node], ess / math.prod(arities[p] for p in parents)
    mixing = {q: math.log(arities[q]) - math.log((1 + a) / (1 + a / arities[q])) for q in addable}
    capacity, bound, weights = dict.fromkeys(addable, 0.0), 0.0, []
    cells = {}
    for row in rows:
        cells.setdefault(tuple(row[p] for p in parents), []).append(row)
    for members in cells.values():
        patterns = [tuple(row[q] for q in addable) for row in members]
        common = max(sorted(set(patterns)), key=patterns.count)
        differences = [{q for q, x, y in zip(addable, pattern, common, strict=True) if x != y} for pattern in patterns]
        values = [row[node] for row in members]
        center = [sum(v == k and not d for v, d in zip(values, differences, strict=True)) for k in range(r)]
        weight = [0.0] * r
        for k in set(values):
            more = values.count(k) - center[k]
            if more > 0:
                with_all = [values.count(k) if v == k else n for v, n in enumerate(center)]
                weight[k] = (excess(a, with_all) - excess(a, center)) / more
        bound += len(set(values)) * math.log(r) + excess(a, center)
        weights += [(d, weight[k]) for d, k in zip(differences, values, strict=True) if d]
        for k in set(values):
            varying, is_first = set(), True
            for d in sorted((d for d, v in zip(differences, values, strict=True) if v == k), key=len):
                if d - varying and not is_first:
                    capacity[min(d - varying, key=addable.index)] += math.log(r)
                varying, is_first = varying | d, False
        for q in addable:
            capacity[q] += mixing[q] * (sum(n > 0 for n in center) > 1)
            alone = [
                (p[addable.index(q)], v) for p, d, v in zip(patterns, differences, values, strict=True) if d == {q}
            ]
            for state in {state for state, _ in alone}:
                counts = [alone.count((state, k)) for k in range(r)]
                capacity[q] += excess(a, counts) + mixing[q] * (sum(n > 0 for n in counts) > 1)
    for d, weight in sorted(weights, key=lambda pair: len(pair[0])):
        paid = min(weight, *(capacity[q] for q in d))
        bound += paid
        for q in d:
            capacity[q] -= paid
    return bound, capacity


@pytest.mark.parametrize("ess", [1e-6, 0.1, 1.0, 3.0, 100.0])
@examples(25)
@given(table=tables_for_bounds())
def test_rule_nine_bounds_every_superset_within_a_suffix(ess, table):
    """cost(S + Q) is at least the bound, and the unused part of the capacities of Q."""
    rows, arities = table.rows, table.arities
    for node, parents, above in nontrivial_families(table):
        for most in above:
            addable = tuple(q for q in most if q not in parents)
            bound, rest = split_bound(rows, arities, node, parents, addable, ess)
            for larger in above:
                if set(larger) <= set(most):
                    cost = naive.naive_bdeu(rows, arities, node, larger, ess)
                    due = math.fsum(rest[q] for q in larger if q not in parents)
                    assert cost >= bound + due - 1e-8 * max(1.0, ess)


def dirichlet_cost(a, r, counts):
    """Cost of one parent configuration of prior mass a, with the counts of the child's r states."""
    return (
        math.lgamma(a + sum(counts))
        - math.lgamma(a)
        - math.fsum(math.lgamma(a / r + n) - math.lgamma(a / r) for n in counts)
    )


def rule_6b_slack(a, r, counts):
    """How far the cost lies above the bound of rule 6b, for counts of the states that are seen."""
    N, v = sum(counts), len(counts)
    entropy_ = -math.fsum(n * math.log(n / N) for n in counts)
    mixing = math.log((1 + a) / (4 * a)) if v >= 2 else 0.0
    return dirichlet_cost(a, r, counts) - entropy_ - v * math.log(r) - mixing


@examples(60)
@given(st.data(), st.floats(1e-9, 1e4), st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 5))
def test_a_cell_costs_its_floor_however_it_is_split(draws, a, counts, n_parts):
    """What a leaf is dropped by: parts of prior mass a cost ln r for each value seen, and no entropy is negative."""
    r = max(2, len(counts) + draws.draw(st.integers(0, 3)))
    parts = [[0] * len(counts) for _ in range(n_parts)]
    for k, n in enumerate(counts):
        for part in draws.draw(st.lists(st.integers(0, n_parts - 1), min_size=n, max_size=n)):
            parts[part][k] += 1
    cost = math.fsum(dirichlet_cost(a, r, part) for part in parts)
    assert cost >= len(counts) * math.log(r) - 1e-9 * (1 + a) * sum(counts)


MASSES = [1e-12, 1e-6, 1e-3, 0.03, 0.1, 0.2, 0.3, 0.33, 1 / 3]


@pytest.mark.parametrize("a", MASSES)
def test_rule_6b_of_one_configuration_exhaustively(a):
    for v in range(1, 5):
        for counts in itertools.combinations_with_replacement(range(1, 13), v):
            for r in {v, v + 1, 2 * v, 20} - {1}:
                assert rule_6b_slack(a, r, counts) >= -1e-10


@examples(400)
@given(
    st.floats(1e-15, 1 / 3),
    st.lists(st.integers(1, 8) | st.integers(1, 10**6), min_size=1, max_size=30),
    st.sampled_from([0, 1, 2, 10, 1000]),
)
def test_rule_6b_of_one_configuration(a, counts, unseen):
    r = max(2, len(counts) + unseen)
    assert rule_6b_slack(a, r, counts) >= -1e-13 * (1 + sum(n * math.log(n + 1) for n in counts)) - 1e-10


def test_rule_6b_needs_its_guard():
    """Just above a prior mass of 1/3 the floor alone fails; at 0.4 the whole bound does."""
    a = 0.34
    assert rule_6b_slack(a, 2, (1, 1)) + math.log((1 + a) / (4 * a)) < -0.01
    assert rule_6b_slack(0.4, 4, (1, 1, 1, 1)) < -0.2


def test_without_the_guard_candidates_would_be_lost():
    """The floor of rule 6b, applied where prior masses are large, exceeds costs by several nats."""
    rng = np.random.default_rng(3)
    table = strategies.CodedTable(rng.integers(0, 4, (12, 3)), (4,) * 3, np.ones(12, dtype=np.int64))
    rows, excess = table.rows, 0.0
    for node in range(3):
        others = tuple(v for v in range(3) if v != node)
        bound = entropy(rows, node, others) + n_cells(rows, (*others, node)) * math.log(4)
        excess = max(excess, bound - naive.naive_bdeu(rows, table.arities, node, others, 100.0))
    assert excess > 0
