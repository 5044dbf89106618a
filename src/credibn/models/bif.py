r"""Networks of discrete variables in the Bayesian interchange format, ``.bif``.

The format of the Bayesian Network Repository and of many programs (Cozman 1998, version 0.15)::

    network asia { }
    variable smoke { type discrete [ 2 ] { yes, no }; }
    variable lung { type discrete [ 2 ] { yes, no }; }
    probability ( smoke ) { table 0.5, 0.5; }
    probability ( lung | smoke ) {
      (yes) 0.1, 0.9;
      (no) 0.01, 0.99;
    }

Read: comments (``//`` to the end of the line, ``/* */``) where a word could start; ``property ...;`` in any block,
skipped; names and states as words or in double quotes; blanks instead of commas and of the bar; ``default`` for the
cells without a line of their own; ``table`` with parents, where the child's states change slowest and those of the last
parent fastest. A word is any text without blanks and without ``{ } ( ) [ ] , ; | "``. Values stay as printed when they
sum to 1 up to 1e-5, are scaled to sum to 1 with a warning when they are off by up to 0.01, and are refused otherwise.

Written: probabilities as the shortest decimals that read back as the same number, states as text, in quotes unless they
form a word. There is no way to write a double quote or a line break in a name.

The parser is written by hand: any word, keywords included, may be a name, errors say what was expected in the terms of
the format, and a line of probabilities is converted as a whole, which is fast.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from credibn._base.atomic import replacing
from credibn._base.checks import file_path
from credibn.data.suggesting import suggestion
from credibn.errors import OptionError, warn
from credibn.models.bayesian_network import BayesianNetwork
from credibn.models.bif_syntax import QUOTED, WORD, BifText, Distribution, Line, Variable, Word, parse_bif
from credibn.models.exchange import state_texts
from credibn.models.local_models import SUM_TOLERANCE, TableModel, table_in_order
from credibn.models.text_sources import compressed, read_text
from credibn.scores.constraints import find_cycle

_SCALED_UP_TO = 1e-2
_MAX_DEFAULTS = 1 << 22
"""All `default` lines together may represent this many numbers: a short file must not take all memory."""
_MAX_PARENTS = 31
"""A table has an axis for each parent and one for the child, and some NumPy functions handle at most 32 axes."""

_Codes = Sequence[Mapping[str, int]]


def read_bif(path: str | PathLike[str]) -> BayesianNetwork:
    """Read a network from a BIF file, which may be compressed by gzip; warnings name the caller's caller."""
    bif = BifText(str(path), read_text(file_path(path)))
    variables, distributions = parse_bif(bif)
    positions = _positions(bif, variables)
    names = tuple(positions)
    codes = [{state.text: code for code, state in enumerate(variable.states)} for variable in variables]
    families = _families(bif, variables, distributions, positions)
    _check_defaults(bif, families, codes)
    models, scaled = list[TableModel](), list[str]()
    for child, (parents, block) in enumerate(families):
        lines = _cells(bif, child, parents, block, codes)
        if _scale(bif, *lines):
            scaled.append(names[child])
        shape = [len(codes[v]) for v in (*parents, child)]
        models.append(table_in_order(parents, lines[0].reshape(shape)))
    if scaled:
        listed = ", ".join(map(repr, scaled[:5])) + (f" and {len(scaled) - 5} more" if len(scaled) > 5 else "")
        note = f"{path}: probabilities of {listed} did not sum to 1 and were scaled; check the file"
        warn(note)
    return BayesianNetwork(names, tuple(map(tuple, codes)), tuple(models))


def _positions(bif: BifText, variables: Sequence[Variable]) -> dict[str, int]:
    positions = dict[str, int]()
    for v, variable in enumerate(variables):
        if variable.name.text in positions:
            bif.fail(variable.name, "a new name of a variable; rename this one or the one before")
        if not variable.name.text:
            bif.fail(variable.name, "a name that is not empty")
        positions[variable.name.text] = v
    if not positions:
        bif.fail(bif.end(), "at least one variable", "none")
    return positions


def _families(
    bif: BifText, variables: Sequence[Variable], blocks: Iterable[Distribution], positions: Mapping[str, int]
) -> list[tuple[tuple[int, ...], Distribution]]:
    """Return the positions of each variable's parents, in the file's order, with its block."""
    found = dict[int, tuple[tuple[int, ...], Distribution]]()
    for block in blocks:
        for word in (block.child, *block.parents):
            if word.text not in positions:
                bif.fail(word, f"the name of a variable of this file ({_likely(word.text, positions)})")
        child, parents = positions[block.child.text], tuple(positions[word.text] for word in block.parents)
        if child in found:
            bif.fail(block.child, "one probability block for each variable; drop this one or the one before")
        seen = {child}
        for word, parent in zip(block.parents, parents, strict=True):
            if parent in seen:
                bif.fail(word, f"parents of {block.child.text!r} other than itself, each once")
            seen.add(parent)
        if len(parents) > _MAX_PARENTS:
            bif.fail(block.parents[_MAX_PARENTS], f"at most {_MAX_PARENTS} parents of {block.child.text!r}; drop some")
        found[child] = parents, block
    for v, variable in enumerate(variables):
        if v not in found:
            expected = f"a block 'probability ( {variable.name.text} ... )' for this variable"
            bif.fail(variable.name, expected, "none in the file")
    cycle = find_cycle({child: parents for child, (parents, _) in found.items()})
    if cycle is not None:
        path = " -> ".join(repr(variables[v].name.text) for v in cycle)
        bif.fail(found[cycle[0]][1].child, "parents without a directed cycle; drop one of these edges", path)
    return [found[v] for v in range(len(variables))]


def _likely(text: str, known: Iterable[str]) -> str:
    """Name the likely intended word, in short time also for absurd files."""
    return suggestion(text[:60], [name for name in itertools.islice(known, 500) if len(name) <= 60])


def _check_defaults(bif: BifText, families: Iterable[tuple[tuple[int, ...], Distribution]], codes: _Codes) -> None:
    """Raise if default lines represent more numbers than is sensible, before any table is made."""
    n_numbers = 0
    for child, (parents, block) in enumerate(families):
        if "default" in block.whole:
            n_cells = math.prod(len(codes[v]) for v in parents)
            n_numbers += max(0, n_cells - len(block.lines)) * len(codes[child])
            if n_numbers > _MAX_DEFAULTS:
                expected = f"default lines that stand for at most {_MAX_DEFAULTS:,} probabilities; drop parents"
                bif.fail(block.whole["default"].start, expected, f"{n_numbers:,}")


def _cells(
    bif: BifText, child: int, parents: tuple[int, ...], block: Distribution, codes: _Codes
) -> tuple[NDArray[np.float64], list[Word]]:
    """Return the probabilities of each cell of the parents, in the file's order, and the first word of its line."""
    n_cells, n_states = math.prod(len(codes[v]) for v in parents), len(codes[child])
    if "table" in block.whole:
        table = block.whole["table"]
        if block.lines or "default" in block.whole:
            bif.fail(table.start, f"either 'table' or other lines in the block of {block.child.text!r}", "both")
        _check_count(bif, table, n_cells * n_states, block, " and combination of the parents' states" * bool(parents))
        values = np.array(table.values).reshape(n_states, -1).T.copy()  # the child's states change slowest
        return values, [table.start] * n_cells
    by_cell = dict[int, Line]()
    for line in block.lines:
        if len(line.cell) != len(parents):
            bif.fail(line.start, f"one state of each of the {len(parents)} parents", f"{len(line.cell)}")
        _check_count(bif, line, n_states, block)
        cell = 0
        for word, v, parent in zip(line.cell, parents, block.parents, strict=True):
            if word.text not in codes[v]:
                bif.fail(word, f"a state of {parent.text!r} ({_likely(word.text, codes[v])})")
            cell = cell * len(codes[v]) + codes[v][word.text]
        if cell in by_cell:
            bif.fail(line.start, "each combination of the parents' states once", "this one again")
        by_cell[cell] = line
    if len(by_cell) < n_cells:
        if "default" not in block.whole:
            cells = enumerate(itertools.product(*(codes[v] for v in parents)))
            first = next(cell for at, cell in cells if at not in by_cell)
            expected = f"a line for each of the {n_cells:,} combinations of the parents' states, or a 'default' line"
            bif.fail(block.child, expected, f"only {len(by_cell):,}: none for ({', '.join(first)})")
        _check_count(bif, block.whole["default"], n_states, block)
    lines = [by_cell.get(cell) or block.whole["default"] for cell in range(n_cells)]
    return np.array([line.values for line in lines]), [line.start for line in lines]


def _check_count(bif: BifText, line: Line, n_numbers: int, block: Distribution, more: str = "") -> None:
    if len(line.values) != n_numbers:
        expected = f"{n_numbers:,} probabilities, one for each state of {block.child.text!r}{more}"
        bif.fail(line.start, expected, f"{len(line.values):,}")


def _scale(bif: BifText, values: NDArray[np.float64], starts: Sequence[Word]) -> bool:
    """Scale, in place, distributions that miss the sum 1 by little; raise for others. Return whether any was scaled."""
    is_wrong = ~((values >= 0) & np.isfinite(values)).all(axis=1)
    if is_wrong.any():
        at = int(is_wrong.argmax())
        wrong = next(value for value in values[at].tolist() if not 0 <= value < math.inf)
        bif.fail(starts[at], "probabilities of 0 or more", repr(wrong))
    with np.errstate(over="ignore"):
        sums = values.sum(axis=1)
    gaps = np.abs(sums - 1)
    if (gaps > _SCALED_UP_TO).any():
        at = int((gaps > _SCALED_UP_TO).argmax())
        bif.fail(starts[at], "probabilities that sum to 1", f"the sum {sums[at]:.6g}")
    needs_scaling = gaps > SUM_TOLERANCE
    values[needs_scaling] /= sums[needs_scaling, None]
    return bool(needs_scaling.any())


def write_bif(network: BayesianNetwork, path: str | PathLike[str]) -> None:
    """Write a network of discrete variables to a BIF file, all or nothing; compressed if its name ends in ``.gz``."""
    content = _text_of(network).encode()
    with replacing(path) as sink:
        sink.write(compressed(content) if str(path).lower().endswith(".gz") else content)


def _text_of(network: BayesianNetwork) -> str:
    names = [_written(name, f"the name {name!r}") for name in network.names]
    states = [_written_states(name, labels) for name, labels in zip(network.names, network.states, strict=True)]
    parts = ["network unknown {\n}\n"]
    for name, labels in zip(names, states, strict=True):
        parts.append(f"variable {name} {{\n  type discrete [ {len(labels)} ] {{ {', '.join(labels)} }};\n}}\n")
    for name, model in zip(names, network.local_models, strict=True):
        assert isinstance(model, TableModel)  # for the type checker: all variables are discrete
        if not model.parents:
            parts.append(f"probability ( {name} ) {{\n  table {_row(model.probabilities)};\n}}\n")
            continue
        parts.append(f"probability ( {name} | {', '.join(names[v] for v in model.parents)} ) {{\n")
        cells = itertools.product(*(states[v] for v in model.parents))
        rows = model.probabilities.reshape(-1, model.probabilities.shape[-1])
        for cell, row in zip(cells, rows, strict=True):
            parts.append(f"  ({', '.join(cell)}) {_row(row)};\n")
        parts.append("}\n")
    return "".join(parts)


def _row(probabilities: NDArray[np.float64]) -> str:
    return ", ".join(map(repr, probabilities.tolist()))


def _written_states(name: str, labels: tuple[object, ...] | None) -> list[str]:
    if labels is None:
        raise OptionError(f"{name!r} is continuous; a BIF file holds discrete variables only: discretise it first")
    return [_written(text, f"the state {text!r} of {name!r}") for text in state_texts(name, labels)]


def _written(text: str, what: str) -> str:
    """Return a name or state as it is written in the file."""
    is_text = "\r" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)
    written = text if WORD.fullmatch(text) else f'"{text}"'
    if not is_text or not (WORD.fullmatch(written) or QUOTED.fullmatch(written)):
        raise OptionError(f"{what} cannot be written to a BIF file: it has a double quote or a line break; rename it")
    return written
