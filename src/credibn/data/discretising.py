"""Cut numeric columns into intervals.

A rule gives the cut points from the sorted distinct values and their counts, so that a table of distinct rows
with weights is cut exactly like the table of all its rows. Cuts ``a < b < ...`` make the half-open bins
``< a``, ``[a, b)``, ..., ``>= last``.
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

__all__ = ["CutRule", "bin_labels", "cut_points", "parse_cut_rule"]

_COUNT_DIGITS = 9
"""Longer numbers of bins are too large, and Python refuses to read those of thousands of digits."""
_REMEDY = (
    "write 'equal_width:3', 'equal_frequency:4', 'mean', 'median', or a sequence of increasing cut points "
    "such as [18, 65]"
)


@dataclass(frozen=True)
class CutRule:
    """How to cut one column: a method with its number of bins, or the cut points themselves."""

    method: str
    n_bins: int = 2
    points: tuple[float, ...] = ()


def parse_cut_rule(spec: object, where: str | None = None) -> CutRule:
    """Return the rule that ``spec`` writes as text, as a pair ``(method, n_bins)`` or as cut points.

    Parameters
    ----------
    spec : str, pair or sequence of numbers
        For example ``"equal_width:3"``, ``("equal_frequency", 4)``, ``"median"`` or ``[18, 65]``.
    where : str, optional
        The column that the rule is for, for messages.

    Raises
    ------
    OptionError
        If ``spec`` is none of these.

    Examples
    --------
    >>> parse_cut_rule("equal_width:3")
    CutRule(method='equal_width', n_bins=3, points=())
    """
    option = Option("discretise")
    at = Phrase("{}", option) if where is None else Phrase("{} of {!r}", option, where)
    if isinstance(spec, str):
        method, _, size = spec.partition(":")
        is_count = size.isdecimal() and len(size) <= _COUNT_DIGITS
        return _rule_of_method(method, int(size) if is_count else (size or None), spec, at)
    if not isinstance(spec, Iterable) or isinstance(spec, bytes):
        raise OptionError("{}: {!r} is not a way to cut a column; {}", at, spec, _REMEDY)
    items = list(spec)
    if items and isinstance(items[0], str):
        if len(items) > 2:
            raise OptionError("{}: {!r} is not a pair of method and number of bins; {}", at, spec, _REMEDY)
        return _rule_of_method(items[0], items[1] if len(items) == 2 else None, spec, at)
    return CutRule("points", len(items) + 1, _check_points(items, spec, at))


def _rule_of_method(method: str, n_bins: object, spec: object, where: Phrase) -> CutRule:
    if method in ("mean", "median") and n_bins is None:
        return CutRule(method)
    if method in ("equal_width", "equal_frequency"):
        if isinstance(n_bins, int | np.integer) and 2 <= n_bins <= 65_535:
            return CutRule(method, int(n_bins))
        raise OptionError("{}: {!r} needs a whole number of bins from 2 to 65535; {}", where, spec, _REMEDY)
    raise OptionError("{}: {!r} is not a way to cut a column; {}", where, spec, _REMEDY)


def _check_points(items: list[object], spec: object, where: Phrase) -> tuple[float, ...]:
    are_numbers = all(isinstance(item, numbers.Real) and not isinstance(item, bool) for item in items)
    try:
        points = tuple(float(item) for item in items) if are_numbers else ()  # type: ignore[arg-type]
    except OverflowError:  # a whole number beyond all floats
        points = ()
    is_increasing = all(low < high for low, high in itertools.pairwise(points))
    if not points or not is_increasing or not all(math.isfinite(point) for point in points):
        raise OptionError("{}: {!r} must hold finite, strictly increasing cut points; {}", where, spec, _REMEDY)
    return points


def cut_points(
    rule: CutRule, values: NDArray[np.float64], counts: NDArray[np.int64]
) -> tuple[tuple[float, ...], str | None]:
    """Return the cut points of a column, and a note where the bins are not what the rule asked for.

    Quantiles interpolate linearly between the two nearest rows (``numpy.quantile`` on all rows). A cut with
    no row below it moves up to the second smallest value, and of several cuts with the same rows below them
    the first stays: so each bin of an equal-frequency cut holds rows, at the price of fewer bins where many
    rows tie. Bins of equal width and of the caller's own cut points are all kept, also the empty ones.

    Parameters
    ----------
    rule : CutRule
        How to cut.
    values : ndarray of float64
        The column's distinct values in increasing order; at least one.
    counts : ndarray of int64
        Number of rows with each value.

    Returns
    -------
    cuts : tuple of float
        Strictly increasing; empty if the rule finds no cut in a constant column.
    note : str or None
        What the caller should be warned of.

    Examples
    --------
    >>> cut_points(CutRule("median"), np.array([1.0, 2.0, 4.0]), np.array([1, 1, 2]))
    ((3.0,), None)
    """
    if rule.method == "points":
        return rule.points, None
    if values.size == 1:
        return (), f"has the single value {float(values[0])!r} and becomes one bin"
    low, high = float(values[0]), float(values[-1])
    if rule.method == "equal_width":
        shares = [k / rule.n_bins for k in range(1, rule.n_bins)]
        widths = (low * (1 - share) + high * share for share in shares)
        cuts = sorted({cut for cut in widths if low < cut <= high})
        n_seen = np.unique(np.searchsorted(cuts, values, side="right")).size
        n_empty = len(cuts) + 1 - n_seen
        note = f"has {n_empty} empty bin(s) of equal width, kept as unobserved states" if n_empty else None
        return tuple(cuts), note
    if rule.method == "mean":
        fractions = counts / counts.sum()
        unit = 1.0 if math.isfinite(high - low) else 0.5  # halves: the range itself may be beyond all floats
        wanted = [(unit * low + float(np.sum((unit * values - unit * low) * fractions))) / unit]
    else:
        wanted = _quantiles(values, counts, rule.n_bins)
    cuts = _with_rows_between(wanted, values)
    n_bins = len(cuts) + 1
    note = f"has too many ties for {rule.n_bins} bins of equal frequency and gets {n_bins}"
    return tuple(cuts), note if n_bins < rule.n_bins else None


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
    cut_above: dict[int, float] = {}
    for cut in wanted:
        n_below = int(np.searchsorted(values, cut, side="left"))
        if n_below == 0:
            n_below, cut = 1, float(values[1])
        cut_above.setdefault(min(n_below, values.size - 1), min(cut, float(values[-1])))
    return sorted(cut_above.values())


def bin_labels(cuts: tuple[float, ...]) -> tuple[str, ...]:
    """Return a readable label for each bin, in order.

    Whole cut points are written in full, others with six digits or as many as tell them apart.

    Examples
    --------
    >>> bin_labels((18.0, 65.0))
    ('<18', '18..65', '>=65')
    """
    if not cuts:
        return ("all",)
    texts: list[str] = []
    for digits in range(6, 18):
        texts = [_number_text(cut, digits) for cut in cuts]
        if len(set(texts)) == len(cuts):
            break
    between = (f"{low}..{high}" for low, high in itertools.pairwise(texts))
    return (f"<{texts[0]}", *between, f">={texts[-1]}")


def _number_text(number: float, digits: int) -> str:
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return f"{number:.{digits}g}"
