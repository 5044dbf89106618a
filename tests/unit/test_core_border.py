"""Every array that crosses into the compiled core is checked there: nothing out of range is ever counted.

`core_calls.py` lists every exported function with valid arguments. Here each argument of each is corrupted: the core
refuses it with a TypeError or a ValueError, or, where it does no harm, gives the same answer.
"""

import contextlib
import math

import numpy as np
import pytest

from core_calls import (
    CALLS,
    descent_parts,
    planned,
    pruning_arguments,
    scoring_arguments,
    table_parts,
)
from credibn import _core

REFUSALS = (TypeError, ValueError)
DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float32", "float64", "complex128", "O", "S4"]
ARGUMENTS = [(name, argument) for name, call in CALLS.items() for argument in call.arguments()]


def exported():
    """The names of all functions, classes and methods of the core."""
    for name, item in vars(_core).items():
        if name.startswith("_"):
            continue
        yield name
        if isinstance(item, type):
            yield from (f"{name}.{method}" for method in vars(item) if not method.startswith("_"))


def same(first, second):
    if isinstance(first, np.ndarray):
        return isinstance(second, np.ndarray) and first.dtype == second.dtype and np.array_equal(first, second)
    if isinstance(first, (tuple, list)):
        return len(first) == len(second) and all(map(same, first, second))
    if type(first).__module__.endswith("_core"):
        return type(first) is type(second)
    return first == second


def run(call, **changes):
    return call.run(**call.arguments() | changes)


def test_every_export_is_listed():
    assert sorted(exported()) == sorted(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_the_arguments_are_accepted_as_they_are(name):
    answer = run(CALLS[name])
    assert same(answer, run(CALLS[name]))


def layouts_of(array):
    """The same values under another type, number of dimensions or layout in memory."""
    for dtype in DTYPES:
        if array.dtype != dtype:
            with np.errstate(all="ignore"):
                yield array.astype(dtype)
    yield array.astype(array.dtype.newbyteorder())
    yield array[np.newaxis]
    yield array[..., np.newaxis]
    yield array.ravel()
    yield np.asfortranarray(array)
    yield np.repeat(array, 2, axis=-1)[..., ::2]
    yield np.flip(np.flip(array).copy())
    unaligned = np.frombuffer(b"\0" + array.tobytes(), dtype=np.uint8)[1:].view(array.dtype)
    yield unaligned.reshape(array.shape)
    yield array.tolist()
    yield array.tobytes()


def lengths_of(array, axis):
    if not array.shape[axis]:
        return
    yield np.ascontiguousarray(np.delete(array, -1, axis=axis))
    yield np.repeat(array, 2, axis=axis)
    yield np.ascontiguousarray(np.take(array, range(0), axis=axis))


def refused(call, argument, value):
    try:
        run(call, **{argument: value})
    except REFUSALS:
        return True
    return False


def is_refused_or_harmless(call, argument, value, answer):
    try:
        return same(run(call, **{argument: value}), answer)
    except REFUSALS:
        return True


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_other_types_and_layouts(name, argument):
    call = CALLS[name]
    valid, answer = call.arguments()[argument], run(call)
    values = [object(), "text", b"", -1, 2**70, float("nan"), 1.5, [], {}, None, np.zeros(0), np.zeros((2, 2, 2, 2))]
    if isinstance(valid, np.ndarray):
        values = [object(), "text", 5, [], {}, None, np.zeros((2, 2, 2, 2)), *layouts_of(valid)]
    elif isinstance(valid, bool):
        values = [object(), "text", 5, 2.5, [], None]
    elif argument in call.unbounded:
        values = [object(), "text", -1, 2**70, 1.5, [], None]
    elif argument == "limit":  # None is fine, and any number
        values = [object(), "text", [], {}, 1j]
    elif argument in ("watch", "max_steps", "max_entries", "max_networks", "max_bytes", "last"):  # or None
        values = [object(), "text", -1, 1.5, [], {}]
    elif isinstance(valid, float):
        values = [object(), "text", [], {}, None, 1j]
    for value in values:
        assert is_refused_or_harmless(call, argument, value, answer), f"{argument}={value!r} was taken"


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_other_lengths(name, argument):
    call = CALLS[name]
    valid, answer = call.arguments()[argument], run(call)
    if not isinstance(valid, np.ndarray):
        return
    for axis in range(valid.ndim):
        for value in lengths_of(valid, axis):
            if (argument, axis) in call.free:
                assert_lives(call, argument, value)
            else:
                assert is_refused_or_harmless(call, argument, value, answer), f"shape {value.shape} was taken"


def assert_lives(call, argument, value):
    """Whatever the core says to this, it says it in words."""
    with contextlib.suppress(*REFUSALS, RuntimeError):  # the last: candidates that hold a class in part only
        run(call, **{argument: value})


def extremes_of(array):
    """The array with one value at an end of its type, or beyond all numbers."""
    if array.dtype.kind == "f":
        values = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0]
    else:
        limits = np.iinfo(array.dtype)
        values = [limits.min, limits.max, limits.max // 2 + 1, 0, 1, 2, 255, 256]
        values = [value for value in values if value <= limits.max]
    for at in {0, array.size // 2, array.size - 1} if array.size else ():
        for value in values:
            copy = array.copy()
            copy.flat[at] = value
            yield copy
    for value in values:
        yield np.full_like(array, value)


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_extreme_values(name, argument):
    call = CALLS[name]
    valid = call.arguments()[argument]
    if isinstance(valid, np.ndarray):
        values = list(extremes_of(valid))
    elif isinstance(valid, float):
        values = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0]
    elif isinstance(valid, int) and argument not in call.unbounded:
        values = [0, 1, 63, 64, 65, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**31)]
    else:
        values = []
    for value in values:
        assert_lives(call, argument, value)


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, call in CALLS.items() for argument in call.refused]
)
def test_wrong_values_are_refused(name, argument):
    for value in CALLS[name].refused[argument]:
        assert refused(CALLS[name], argument, value), f"{argument}={value!r} was taken"


@pytest.mark.parametrize("name", CALLS)
def test_arrays_that_cannot_be_written_to_are_read(name):
    arguments = CALLS[name].arguments()
    for value in arguments.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    assert same(CALLS[name].run(**arguments), run(CALLS[name]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codes": np.full((3, 5), 2, dtype=np.uint16)}, "not below the number of states"),
        ({"arities": np.array([2, 1, 2])}, "2 to 65535 states"),
        ({"arities": np.array([2, 2])}, "one row for each arity"),
        ({"weights": np.array([1, 1, 0, 1, 1])}, "row weight"),
        ({"weights": np.full(5, 2**31, dtype=np.int64)}, "less than 2\\^32"),
        ({"weights": np.ones(4, dtype=np.int64)}, "one column for each weight"),
        ({"parameter": float("nan")}, "finite and not negative"),
        ({"parameter": 0.0, "is_bdeu": True}, "between 1e-300 and 1e300"),
        ({"parameter": 1e308}, "too large for double precision"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"allowed": np.ones((2, 2), dtype=np.uint8)}, "one row and column"),
        ({"edge_costs": np.full((3, 3), np.nan)}, "edge costs must be finite"),
        ({"required": np.ones((3, 3), dtype=np.uint8), "max_parents": np.zeros(3, dtype=np.int64)}, "required parents"),
        ({"rules": ["penalty", "luck"]}, "unknown rule"),
    ],
)
def test_refusals_say_why(changes, message):
    with pytest.raises(ValueError, match=message):
        _core.DiscreteProblem(**{**scoring_arguments(), "rules": []} | changes)


def test_more_variables_than_masks_hold_are_refused():
    with pytest.raises(ValueError, match="1 to 255"):
        _core.DiscreteProblem(**scoring_arguments(n=256, rows=2), rules=[])


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="no rows"):
        _core.DiscreteProblem(**scoring_arguments(rows=0), rules=[])


def test_set_costs_of_the_wrong_length_are_refused():
    given = pruning_arguments()
    levels = given["set_costs"]
    for changes, message in [
        ({"set_costs": [*levels[:2], np.zeros(2), levels[3]]}, "wrong length"),
        ({"set_costs": levels[:3]}, "missing"),
        ({"floors": np.zeros(2)}, "too short"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.prune_set_costs(**given | changes)


def run_slow_tasks(engine, watch):
    codes = np.random.default_rng(0).integers(0, 2, (25, 2000)).astype(np.uint16)
    problem = _core.DiscreteProblem(**scoring_arguments(n=25, rows=2000) | {"codes": codes, "is_bdeu": True}, rules=[])
    if engine == "table":
        return problem.run_table_tasks(0, len(problem.table_weights()), watch)
    return problem.run_descent_tasks(0, len(problem.descent_weights()), watch)


@pytest.mark.parametrize("engine", ["table", "descent"])
def test_an_error_in_the_callback_comes_back(engine):
    def fail(fraction):
        raise RuntimeError(f"at {fraction}")

    with pytest.raises(RuntimeError, match="at "):
        run_slow_tasks(engine, fail)


@pytest.mark.parametrize("engine", ["table", "descent"])
def test_the_callback_can_stop_the_work(engine):
    assert run_slow_tasks(engine, lambda fraction: False) is None


def test_rows_that_do_not_exist_have_no_score():
    offsets, scores = np.array([0, 2, 3]), np.array([-1.0, -2.0, -3.0])
    rows = np.array([[0, 0], [1, 0]], dtype=np.uint32)
    assert _core.network_scores(offsets, scores, rows).tolist() == [-4.0, -5.0]
    assert _core.network_scores(offsets, scores, rows[:0]).tolist() == []
    assert _core.networks_in_order(np.array([-4.0, -5.0]), rows)
    assert not _core.networks_in_order(np.array([-5.0, -4.0]), rows)
    with pytest.raises(ValueError, match="candidate that does not exist"):
        _core.network_scores(offsets, scores, np.array([[0, 1]], dtype=np.uint32))
    with pytest.raises(ValueError, match="a score for each network"):
        _core.networks_in_order(np.array([-4.0]), rows)


def test_tasks_that_do_not_exist_are_refused():
    for first, last in [(0, 0), (1, 0), (0, 1000)]:
        for run_tasks in (planned().run_descent_tasks, planned().run_table_tasks):
            with pytest.raises(ValueError, match="must select tasks that exist"):
                run_tasks(first, last, None)


def test_parts_that_do_not_fit_are_refused():
    problem, parts = planned(), table_parts()
    with pytest.raises(ValueError, match="one cost for each set"):
        problem.join_table(**parts | {"costs": parts["costs"][1:]})
    with pytest.raises(ValueError, match="one cost for each set"):
        problem.join_table(**parts | {"cells": np.ones(8, dtype=np.uint32)})
    parts = descent_parts()
    with pytest.raises(ValueError, match="one node, one cost and one mask"):
        problem.join_descent(**parts | {"costs": parts["costs"][1:]})


def test_tasks_obey_their_watch():
    assert planned().run_descent_tasks(0, 1, lambda fraction: False) is None
    assert planned().run_table_tasks(0, 1, lambda fraction: False) is None
