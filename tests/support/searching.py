"""Searches by integer programming on local costs as the oracle has them, and their networks as DAGs."""

import numpy as np

import oracle
from credibn import ScoreTable, _core
from credibn._run import Run
from credibn.search import SearchProblem, exploration
from credibn.search.integer_program import IntegerProgram

TOLERANCE = 1e-9


def arrays(costs):
    """Offsets, costs and masks of local costs given as in the oracle, the cheapest first."""
    n = len(costs)
    ordered = [sorted((cost, sum(1 << p for p in parents)) for parents, cost in of_child.items()) for of_child in costs]
    offsets = np.cumsum([0, *map(len, ordered)]).astype(np.int64)
    flat = [pair for of_child in ordered for pair in of_child]
    masks = np.array([[mask >> 64 * w & (1 << 64) - 1 for w in range((n + 63) // 64)] for _, mask in flat], np.uint64)
    return offsets, np.array([cost for cost, _ in flat]), masks


def table_of(costs, **provenance):
    """The same costs as a table of scores, with what is known of them."""
    listed = [[(-cost, parents) for parents, cost in of_node.items()] for of_node in costs]
    names = [f"v{v}" for v in range(len(costs))]
    return ScoreTable.from_candidates(names, listed, {"tolerance": TOLERANCE, **provenance})


def random_costs(n, random, *, has_ties=False, share=1.0):
    """Unrelated local costs; with ties they are small integers; only a share of the parent sets are candidates."""
    return [
        {
            parents: float(random.integers(0, 4)) if has_ties else float(random.normal(0, 3))
            for parents in oracle.all_parent_sets(n, child)
            if random.random() < share or not parents
        }
        for child in range(n)
    ]


def equivalent_costs(n, random, has_ties=False):
    """Costs that are differences of one set function: score equivalent."""
    F = random.integers(0, 3, 1 << n).astype(float) if has_ties else random.normal(0, 2, 1 << n)
    mask = {parents: sum(1 << p for p in parents) for child in range(n) for parents in oracle.all_parent_sets(n, child)}
    return [
        {parents: F[mask[parents] | 1 << child] - F[mask[parents]] for parents in oracle.all_parent_sets(n, child)}
        for child in range(n)
    ]


def search(costs, epsilon, *, by_class=False, watch=None, n_threads=2, executor=None, checkpoint=None, **options):
    names = tuple(f"v{v}" for v in range(len(costs)))
    unit = "classes" if by_class else "networks"
    run = Run(watch, n_threads=n_threads, executor=executor, store=checkpoint)
    return IntegerProgram().search(SearchProblem(names, *arrays(costs), epsilon, TOLERANCE, unit, **options, run=run))


def dags_of(found, costs):
    offsets, _, masks = arrays(costs)
    n = len(costs)
    return [
        tuple(tuple(p for p in range(n) if int(masks[offsets[v] + k, 0]) >> p & 1) for v, k in enumerate(row.tolist()))
        for row in found.choices
    ]


def class_of(dag):
    """All networks that covered reversals reach."""
    members, new = {dag}, [dag]
    while new:
        new = [other for member in new for other in oracle.covered_reversals(member) if other not in members]
        new = list(dict.fromkeys(new))
        members.update(new)
    return frozenset(members)


def complete_problem(n, random):
    costs = equivalent_costs(n, random)
    offsets, flat, masks = arrays(costs)
    return costs, offsets, flat, masks, _core.SearchProblem(offsets, flat, masks)


def dag_positions(n, offsets, masks):
    """For each DAG, the position of each node's parent set among all candidates."""
    place = [{int(masks[at, 0]): at for at in range(offsets[v], offsets[v + 1])} for v in range(n)]
    return np.array([[place[v][sum(1 << p for p in ps)] for v, ps in enumerate(dag)] for dag in oracle.all_dags(n)])


def dense_row(problem, row, size):
    at, coefficients, rhs = problem.cut(row)
    dense = np.zeros(size)
    dense[at] = coefficients
    return dense, rhs


def leave_a_gap(monkeypatch, **changes):
    """Let the relaxation close no gap and listings give up at once, so that every search must branch."""
    settings = {
        "MOST_SUBSET_SECONDS": -1.0,
        "FIRST_STEPS": 3,
        "STEPS_BEFORE_SPREADING": 3,
        "STAGE": 1,
        "ROOT_ROUNDS": 1,
        "BRANCH_ROUNDS": 1,
        "CLOSED": -1.0,
    }
    for name, value in (settings | changes).items():
        monkeypatch.setattr(exploration, name, value)
