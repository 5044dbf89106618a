"""Divide numeric columns into bins.

A rule finds the edges of the bins from the sorted distinct values and their counts, so that distinct rows with weights
get the same bins as all the rows they stand for. Edges ``a < b < ...`` make the half-open bins ``< a``, ``[a, b)``,
..., ``>= last``.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credibn.errors import Option, OptionError, Phrase

_COUNT_DIGITS = 9
"""A longer number of bins is too large, and Python refuses to read a number of thousands of digits."""
_REMEDY = (
    "write 'equal_width:3', 'equal_frequency:4', 'mean', 'median', or a sequence of increasing bin edges "
    "such as [18, 65]"
)


@dataclass(frozen=True)
class BinRule:
    """How to divide one column: a method with its number of bins, or the edges themselves."""

    method: str
    n_bins: int = 2
    edges: tuple[float, ...] = ()


def parse_bin_rule(spec: object, where: str | None = None) -> BinRule:
    """Return the rule written as "equal_width:3", ("equal_width", 3) or [18, 65]; `where` is the column it is for."""
    option = Option("discretise")
    at = Phrase("{}", option) if where is None else Phrase("{} of {!r}", option, where)
    if isinstance(spec, str):
        method, _, size = spec.partition(":")
        is_count = size.isdecimal() and len(size) <= _COUNT_DIGITS
        return _rule_of_method(method, int(size) if is_count else (size or None), spec, at)
    if not isinstance(spec, Iterable) or isinstance(spec, bytes):
        raise OptionError("{}: {!r} is not a rule for bins; {}", at, spec, _REMEDY)
    items = list(spec)
    if items and isinstance(items[0], str):
        if len(items) > 2:
            raise OptionError("{}: {!r} is not a pair of method and number of bins; {}", at, spec, _REMEDY)
        return _rule_of_method(items[0], items[1] if len(items) == 2 else None, spec, at)
    return BinRule("edges", len(items) + 1, _check_edges(items, spec, at))


def _rule_of_method(method: str, n_bins: object, spec: object, where: Phrase) -> BinRule:
    if method in ("mean", "median") and n_bins is None:
        return BinRule(method)
    if method in ("equal_width", "equal_frequency"):
        if isinstance(n_bins, int | np.integer) and 2 <= n_bins <= 65_535:
            return BinRule(method, int(n_bins))
        raise OptionError("{}: {!r} needs a whole number of bins from 2 to 65535; {}", where, spec, _REMEDY)
    raise OptionError("{}: {!r} is not a rule for bins; {}", where, spec, _REMEDY)


def _check_edges(items: list[object], spec: object, where: Phrase) -> tuple[float, ...]:
    are_numbers = all(isinstance(item, numbers.Real) and not isinstance(item, bool) for item in items)
    try:
        edges = tuple(float(item) for item in items) if are_numbers else ()  # type: ignore[arg-type]
    except OverflowError:  # a whole number beyond all floats
        edges = ()
    is_increasing = all(low < high for low, high in itertools.pairwise(edges))
    if not edges or not is_increasing or not all(math.isfinite(edge) for edge in edges):
        raise OptionError("{}: {!r} must hold finite, strictly increasing bin edges; {}", where, spec, _REMEDY)
    return edges


def bin_edges(
    rule: BinRule, values: NDArray[np.float64], counts: NDArray[np.int64]
) -> tuple[tuple[float, ...], str | None]:
    """Return the edges between the bins of a column, and a note where the bins are not those that the rule asks for.

    ``values`` are distinct and increasing, ``counts`` their numbers of rows. Quantiles interpolate linearly between the
    two nearest rows (``numpy.quantile`` on all rows). An edge with no row below it moves up to the second smallest
    value, and of several edges with the same rows below them the first stays: so each bin of equal frequency holds
    rows, at the price of fewer bins where many rows tie. Bins of equal width, and those of the caller's own edges, stay
    even where they are empty.
    """
    if rule.method == "edges":
        return rule.edges, None
    if values.size == 1:
        return (), f"has the single value {float(values[0])!r} and becomes one bin"
    low, high = float(values[0]), float(values[-1])
    if rule.method == "equal_width":
        shares = [k / rule.n_bins for k in range(1, rule.n_bins)]
        widths = (low * (1 - share) + high * share for share in shares)
        edges = sorted({edge for edge in widths if low < edge <= high})
        n_seen = np.unique(np.searchsorted(edges, values, side="right")).size
        n_empty = len(edges) + 1 - n_seen
        note = f"has {n_empty} empty bin(s) of equal width, which stay as unobserved states" if n_empty else None
        return tuple(edges), note
    if rule.method == "mean":
        fractions = counts / counts.sum()
        unit = 1.0 if math.isfinite(high - low) else 0.5  # halves: the range itself may be beyond all floats
        wanted = [(unit * low + float(np.sum((unit * values - unit * low) * fractions))) / unit]
    else:
        wanted = _quantiles(values, counts, rule.n_bins)
    edges = _with_rows_between(wanted, values)
    n_bins = len(edges) + 1
    note = f"has too many ties for {rule.n_bins} bins of equal frequency and gets {n_bins}"
    return tuple(edges), note if n_bins < rule.n_bins else None


def _quantiles(values: NDArray[np.float64], counts: NDArray[np.int64], n_bins: int) -> list[float]:
    last_row_of = np.cumsum(counts) - 1
    n_last = int(last_row_of[-1])
    quantiles = []
    for k in range(1, n_bins):
        row, remainder = divmod(n_last * k, n_bins)
        here, above = (float(values[np.searchsorted(last_row_of, r)]) for r in (row, min(row + 1, n_last)))
        share = remainder / n_bins
        quantiles.append(here if here == above else here * (1 - share) + above * share)
    return quantiles


def _with_rows_between(wanted: list[float], values: NDArray[np.float64]) -> list[float]:
    edge_above: dict[int, float] = {}
    for edge in wanted:
        n_below = int(np.searchsorted(values, edge, side="left"))
        if n_below == 0:
            n_below, edge = 1, float(values[1])
        edge_above.setdefault(min(n_below, values.size - 1), min(edge, float(values[-1])))
    return sorted(edge_above.values())


def bin_labels(edges: tuple[float, ...]) -> tuple[str, ...]:
    """Return the labels of the bins; whole edges are written in full, others with six digits or as many as differ."""
    if not edges:
        return ("all",)
    texts: list[str] = []
    for digits in range(6, 18):
        texts = [_number_text(edge, digits) for edge in edges]
        if len(set(texts)) == len(edges):
            break
    between = (f"{low}..{high}" for low, high in itertools.pairwise(texts))
    return (f"<{texts[0]}", *between, f">={texts[-1]}")


def _number_text(number: float, digits: int) -> str:
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return f"{number:.{digits}g}"
