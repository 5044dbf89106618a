"""Every array that crosses into the compiled core is checked there: nothing out of range is ever counted."""

from typing import Any

import numpy as np
import pytest

from credibn import _core


def arguments(n: int = 3, rows: int = 5) -> dict[str, Any]:
    return {
        "codes": np.ascontiguousarray(np.arange(n * rows).reshape(n, rows) % 2, dtype=np.uint16),
        "arities": np.full(n, 2, dtype=np.int64),
        "weights": np.ones(rows, dtype=np.int64),
        "is_bdeu": False,
        "parameter": 1.0,
        "epsilon": 1.0,
        "allowed": np.ones((n, n), dtype=np.uint8),
        "required": np.zeros((n, n), dtype=np.uint8),
        "max_parents": np.full(n, n - 1, dtype=np.int64),
        "edge_costs": np.zeros((n, n)),
        "engine": "table",
        "rules": ["penalty"],
        "n_threads": 2,
        "watch": None,
    }


def changed(**changes: Any) -> dict[str, Any]:
    return arguments() | changes


def test_the_arguments_are_accepted_as_they_are() -> None:
    found = _core.score_discrete(**arguments())
    assert found is not None
    nodes, costs, masks, n_scored = found
    assert nodes.shape == costs.shape == (len(masks),)
    assert n_scored >= len(nodes) >= 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codes": np.full((3, 5), 2, dtype=np.uint16)}, "not below the number of states"),
        ({"arities": np.array([2, 1, 2])}, "2 to 65535 states"),
        ({"arities": np.array([2, 2])}, "one row for each arity"),
        ({"arities": np.array([2, 70000, 2])}, "2 to 65535 states"),
        ({"weights": np.array([1, 1, 0, 1, 1])}, "row weight"),
        ({"weights": np.array([1, 1, -4, 1, 1])}, "row weight"),
        ({"weights": np.array([1, 1, 2**33, 1, 1])}, "row weight"),
        ({"weights": np.full(5, 2**31, dtype=np.int64)}, "less than 2\\^32"),
        ({"weights": np.ones(4, dtype=np.int64)}, "one column for each weight"),
        ({"parameter": float("nan")}, "finite and positive"),
        ({"parameter": 0.0, "is_bdeu": True}, "finite and positive"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"allowed": np.ones((2, 2), dtype=np.uint8)}, "one row and column"),
        ({"required": np.ones((3, 2), dtype=np.uint8)}, "one row and column"),
        ({"max_parents": np.array([1])}, "one row and column"),
        ({"edge_costs": np.zeros((4, 3))}, "one row and column"),
        ({"required": np.ones((3, 3), dtype=np.uint8), "max_parents": np.zeros(3, dtype=np.int64)}, "required parents"),
        ({"engine": "guess"}, "'table' or 'descent'"),
        ({"rules": ["penalty", "luck"]}, "unknown rule"),
    ],
)
def test_wrong_values_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.score_discrete(**changed(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"codes": np.zeros((3, 5), dtype=np.int64)},
        {"codes": np.zeros(15, dtype=np.uint16)},
        {"codes": np.zeros((5, 3), dtype=np.uint16).T},
        {"weights": np.ones(5)},
        {"edge_costs": np.zeros((3, 3), dtype=np.float32)},
        {"codes": None},
        {"rules": 5},
    ],
)
def test_wrong_types_and_layouts_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        _core.score_discrete(**changed(**changes))


def test_more_variables_than_masks_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="1 to 255"):
        _core.score_discrete(**arguments(n=256, rows=2))


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="no rows"):
        _core.score_discrete(**arguments(rows=0))


def test_set_costs_of_the_wrong_length_are_refused() -> None:
    given = arguments()
    common = {name: given[name] for name in ("epsilon", "allowed", "required", "max_parents", "edge_costs")}
    bounds = {"floors": np.full(3, -np.inf), "size_penalties": np.zeros(4), "allowance": 0.0}
    levels = [np.zeros(1), np.zeros(3), np.zeros(3), np.zeros(1)]
    assert _core.prune_set_costs(levels, 3, **common, **bounds, n_threads=1, watch=None) is not None
    with pytest.raises(ValueError, match="wrong length"):
        _core.prune_set_costs([*levels[:2], np.zeros(2), levels[3]], 3, **common, **bounds, n_threads=1, watch=None)
    with pytest.raises(ValueError, match="missing"):
        _core.prune_set_costs(levels[:3], 3, **common, **bounds, n_threads=1, watch=None)
    with pytest.raises(ValueError, match="too short"):
        _core.prune_set_costs(levels, 3, **common, **bounds | {"floors": np.zeros(2)}, n_threads=1, watch=None)


def test_an_error_in_the_callback_comes_back() -> None:
    rng = np.random.default_rng(0)
    big = arguments(n=25, rows=2000) | {"codes": rng.integers(0, 2, (25, 2000)).astype(np.uint16), "is_bdeu": True}

    def fail(fraction: float) -> bool:
        raise RuntimeError(f"at {fraction}")

    for engine in ("table", "descent"):
        with pytest.raises(RuntimeError, match="at "):
            _core.score_discrete(**big | {"watch": fail, "engine": engine})


def test_the_callback_can_stop_the_work() -> None:
    rng = np.random.default_rng(0)
    big = arguments(n=25, rows=2000) | {"codes": rng.integers(0, 2, (25, 2000)).astype(np.uint16), "is_bdeu": True}
    for engine in ("table", "descent"):
        assert _core.score_discrete(**big | {"watch": lambda fraction: False, "engine": engine}) is None


OFFSETS, SCORES = np.array([0, 2, 3]), np.array([-1.0, -2.0, -3.0])


def test_row_scores_and_their_order_are_checked() -> None:
    rows = np.array([[0, 0], [1, 0]], dtype=np.uint32)
    assert _core.row_scores(OFFSETS, SCORES, rows).tolist() == [-4.0, -5.0]
    assert _core.row_scores(OFFSETS, SCORES, rows[:0]).tolist() == []
    assert _core.rows_in_order(np.array([-4.0, -5.0]), rows)
    for row in ([2, 0], [0, 1], [2**32 - 1, 0]):
        with pytest.raises(ValueError, match="candidate that does not exist"):
            _core.row_scores(OFFSETS, SCORES, np.array([row], dtype=np.uint32))
    for offsets in ([0, 3], [0, 2, 4], [1, 2, 3], [0, 4, 3]):
        with pytest.raises(ValueError, match="offsets must run from 0"):
            _core.row_scores(np.array(offsets), SCORES, rows)
    with pytest.raises(ValueError, match="a score for each row"):
        _core.rows_in_order(np.array([-4.0]), rows)
    with pytest.raises(TypeError):
        _core.rows_in_order(np.array([-4.0, -5.0]), rows.astype(np.int64))  # type: ignore[arg-type]


def sliced(**changes: Any) -> Any:
    given = changed(**changes)
    return _core.DiscreteProblem(**{name: given[name] for name in list(given)[:10]}, rules=given["rules"])


@pytest.mark.parametrize(
    "changes",
    [
        {"codes": np.full((3, 5), 2, dtype=np.uint16)},
        {"arities": np.array([2, 1, 2])},
        {"weights": np.array([1, 1, 0, 1, 1])},
        {"parameter": float("nan")},
        {"epsilon": -1.0},
        {"max_parents": np.array([1])},
        {"rules": ["magic"]},
    ],
)
def test_a_problem_to_be_cut_is_checked_likewise(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        sliced(**changes)


def test_slices_that_are_not_there_are_refused() -> None:
    problem = sliced()
    for first, last in [(0, 0), (1, 0), (0, 1000)]:
        for run in (problem.descent_slice, problem.table_slice):
            with pytest.raises(ValueError, match="no such slice"):
                run(first, last, None)


def test_parts_that_do_not_fit_are_refused() -> None:
    problem = sliced()
    costs, cells = problem.table_slice(0, len(problem.table_weights()), None)
    assert (len(costs), len(cells)) == (8, 0)
    assert problem.join_table(costs, cells, 1, None) is not None
    with pytest.raises(ValueError, match="one cost for each set"):
        problem.join_table(costs[1:], cells, 1, None)
    with pytest.raises(ValueError, match="one cost for each set"):
        problem.join_table(costs, np.ones(8, dtype=np.uint32), 1, None)
    nodes, costs, masks, n_scored = problem.descent_slice(0, len(problem.descent_weights()), None)
    assert problem.join_descent(nodes, costs, masks, n_scored, 1, None) is not None
    with pytest.raises(ValueError, match="one node, one cost and one mask"):
        problem.join_descent(nodes, costs[1:], masks, n_scored, 1, None)
    for wrong in (-1, 3):
        with pytest.raises(ValueError, match="out of range"):
            problem.join_descent(np.full_like(nodes, wrong), costs, masks, n_scored, 1, None)


def test_slices_heed_their_watch() -> None:
    problem = sliced()
    assert problem.descent_slice(0, 1, lambda fraction: False) is None
    assert problem.table_slice(0, 1, lambda fraction: False) is None
