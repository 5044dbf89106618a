"""Credible sets as files, ``.credibn``: one Arrow IPC file with all that a set holds, its score table included.

Of the training table it holds counts and moments, as far as its networks need them for prediction, and no rows.

A set that is counted, not listed, has the diagram of its networks instead of a list: a network is a path of it.

The file has one row and a column for each array, a list with the array's items in C order; everything else is JSON in
the schema's metadata. Buffers are compressed with zstd. Nothing in a file is executed, and everything is checked when
it is read: the checksum of the file, shapes, candidates, scores (summed again), order, repeats, acyclicity, classes and
their sizes.
"""

import json
import math
import sys
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credibn._base.atomic import replacing
from credibn._base.checks import file_path
from credibn.credible import family_files
from credibn.credible.credible_set import CredibleSet
from credibn.credible.factored_structures import FactoredStructures
from credibn.credible.structures import Structures, class_numbers, classes_are_whole, has_repeats, is_acyclic
from credibn.errors import CredibnError, FileFormatError, TooLargeError
from credibn.factored import stored
from credibn.posterior import ShareEstimate
from credibn.scores import ScoreTable
from credibn.scores.arrow_files import ArrowFile, not_valid, opened, require_checksum, write_arrow
from credibn.search import exact_scores, tolerance_of

_VERSION = 6
"""All versions are read.

Version 1 had no total mass, 1 and 2 had engine, timings and statistics, 1 to 3 had no checksum, 1 to 4 had neither
probabilities over all networks nor counts of the training table. Version 6 is that of sets that are counted; those
that are listed are written as version 5, for earlier versions of credibn.
"""
_LISTED = 5
_MASS_SLACK = 1e-4
"""Nats that rounding may add to a mass; far more than it does."""
_COLUMNS: dict[str, Any] = {
    "offsets": np.int64,
    "candidate_scores": np.float64,
    "candidate_masks": np.uint64,
    "choices": np.uint32,
    "scores": np.float64,
    "sizes": np.uint64,
    "class_of": np.int64,
    "edges_over_all": np.float64,
}
_COLUMNS |= family_files.COLUMNS | stored.COLUMNS
_SINCE = {"edges_over_all": 5} | dict.fromkeys(family_files.COLUMNS, 5) | dict.fromkeys(stored.COLUMNS, 6)
"""Columns that files of earlier versions lack."""
_OF_THE_SET = (
    "optimal_score",
    "epsilon",
    "complete",
    "stopped_because",
    "unexplored_bound",
    "n_requested",
    "n_tied_at_boundary",
    "log_total_mass",
    "settings",
    "provenance",
)
_FACTS = ("names", "score_provenance", "by_class", "size_words", *_OF_THE_SET, "training")
_OF_DIAGRAMS = ("limit", "n_networks", "n_classes")
_OF_OLD_VERSIONS = ("engine", "timings", "statistics")


def write_credible_set(credible: CredibleSet, path: str | PathLike[str]) -> None:
    """Write a set; engine, timings and statistics are left out, so that the same result gives the same bytes."""
    table, structures = credible.score_table, credible.structures
    arrays: dict[str, NDArray[Any]] = {
        "offsets": table.offsets,
        "candidate_scores": table.scores,
        "candidate_masks": table.masks,
        "edges_over_all": np.zeros(0) if credible.edges_over_all is None else credible.edges_over_all,
    }
    facts: dict[str, Any] = {"names": table.names, "score_provenance": dict(table.provenance)}
    if isinstance(structures, FactoredStructures):
        version = _VERSION
        arrays |= {name: np.zeros(0, dtype=_COLUMNS[name]) for name in ("choices", "scores", "sizes", "class_of")}
        arrays |= stored.as_arrays(structures.networks)
        facts |= {"by_class": structures.are_classes_counted, "size_words": 0}
        facts |= {"limit": structures.networks.counted.limit, "n_networks": structures.n_networks}
        facts["n_classes"] = structures.networks.n_classes()
    else:
        version = _LISTED
        class_of = np.zeros(0, dtype=np.int64) if structures.class_of is None else structures.class_of
        arrays |= {"choices": structures.choices, "scores": structures.scores, "sizes": structures.sizes}
        arrays["class_of"] = class_of
        facts |= {"by_class": structures.class_of is None, "size_words": structures.sizes.shape[1]}
    for name in _OF_THE_SET:
        value = getattr(credible, name)
        facts[name] = dict(value) if isinstance(value, Mapping) else value
    if credible.unexplored_bound == math.inf:
        facts["unexplored_bound"] = "unbounded"
    if credible.share_estimate is not None:
        facts["share_estimate"] = credible.share_estimate.as_json()
    facts["training"], counted = family_files.as_file(credible.families, table, structures)
    arrays |= counted
    schema = _schema(version).with_metadata(
        {"credibn.credible_set": str(version), "credibn.facts": json.dumps(facts, allow_nan=False)}
    )
    columns = [_as_list(arrays[name]) for name in _columns_of(version)]
    with replacing(path) as sink:
        write_arrow(pa.record_batch(columns, schema=schema), sink, compression="zstd")


def _columns_of(version: int) -> dict[str, Any]:
    return {name: dtype for name, dtype in _COLUMNS.items() if _SINCE.get(name, 1) <= version}


def _schema(version: int) -> Any:
    kinds = ((name, pa.from_numpy_dtype(dtype)) for name, dtype in _columns_of(version).items())
    return pa.schema([pa.field(name, _list_of(kind), nullable=False) for name, kind in kinds])


def _list_of(kind: Any) -> Any:
    return pa.large_list(pa.field("item", kind, nullable=False))


def _as_list(array: NDArray[Any]) -> Any:
    """Return a list array of one list: the array's items."""
    items = pa.array(np.ascontiguousarray(array).ravel())
    return pa.LargeListArray.from_arrays(pa.array([0, len(items)], pa.int64()), items, type=_list_of(items.type))


def read_credible_set(path: str | PathLike[str]) -> CredibleSet:
    """Read a set, and check everything in it."""
    path = file_path(path)
    try:
        with opened(path) as file:
            version, facts = _facts(path, file)
            arrays = _arrays(path, file.reader, _columns_of(version))
        return _credible_set(path, facts, arrays)
    except (FileFormatError, TooLargeError):
        raise
    except (pa.ArrowException, CredibnError, ValueError, TypeError, OverflowError) as error:
        raise not_valid(path, "a credible set of credibn", error) from error
    except OSError as error:
        if error.errno is None:  # Arrow's own
            raise not_valid(path, "a credible set of credibn", error) from error
        raise FileFormatError(f"{path}: cannot be read ({error}); check the path") from error


def _facts(path: Path, file: ArrowFile) -> tuple[int, dict[str, Any]]:
    schema = file.reader.schema
    metadata = schema.metadata or {}
    written = metadata.get(b"credibn.credible_set")
    version = next((known for known in range(1, _VERSION + 1) if written == str(known).encode()), None)
    if version is None:
        found = "none" if written is None else repr(written[:60].decode("utf-8", "backslashreplace"))
        raise FileFormatError(
            f"{path}: expected version 1 to {_VERSION} of credibn's credible sets, found {found}; upgrade credibn"
        )
    if version > 3:
        require_checksum(path, file)
    if not schema.equals(_schema(version), check_metadata=False):
        raise FileFormatError(f"{path}: expected the columns {_schema(version)}, found {schema.remove_metadata()}")
    try:
        facts = json.loads(metadata[b"credibn.facts"])
    except (KeyError, ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: expected JSON in the metadata ({error!r})") from error
    if version == 1 and isinstance(facts, dict) and "log_total_mass" not in facts:
        facts["log_total_mass"] = None
    if version < 5 and isinstance(facts, dict):
        facts.setdefault("training", None)
    expected = (*_FACTS, *(_OF_OLD_VERSIONS if version < 3 else _OF_DIAGRAMS if version > _LISTED else ()))
    if not isinstance(facts, dict) or set(facts) - {"share_estimate"} != set(expected):
        missing = sorted(set(expected) ^ set(facts)) if isinstance(facts, dict) else list(expected)
        raise FileFormatError(f"{path}: expected the fields {', '.join(expected)}; missing or unknown: {missing}")
    for name, value in facts.items():
        if not _is_of_kind(name, value):
            raise FileFormatError(f"{path}: the field {name!r} cannot be {value!r:.80}")
    return version, facts


def _is_of_kind(name: str, value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    match name:
        case "names":
            return isinstance(value, list)
        case "score_provenance" | "settings" | "provenance" | "statistics" | "share_estimate":
            return isinstance(value, dict)
        case "training":
            return value is None or isinstance(value, dict)
        case "timings":
            return isinstance(value, dict) and all(_is_of_kind("seconds", seconds) for seconds in value.values())
        case "by_class" | "complete":
            return isinstance(value, bool)
        case "size_words" | "limit" | "n_networks":
            return is_count
        case "n_requested" | "n_tied_at_boundary" | "n_classes":
            return value is None or is_count
        case "log_total_mass":
            return value is None or is_number
        case "unexplored_bound":
            return value is None or value == "unbounded" or is_number
        case "engine":
            return isinstance(value, str)
        case "stopped_because":
            return value is None or isinstance(value, str)
        case "epsilon":
            return is_number and isinstance(value, (int, float)) and value >= 0
        case _:
            return is_number


def _arrays(path: Path, reader: Any, columns: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    if reader.num_record_batches != 1:
        raise FileFormatError(f"{path}: expected one record batch, found {reader.num_record_batches}")
    batch = reader.get_batch(0)
    batch.validate(full=True)
    if batch.num_rows != 1:
        raise FileFormatError(f"{path}: expected one row, found {batch.num_rows}")
    arrays = {name: np.zeros(0, dtype=dtype) for name, dtype in family_files.COLUMNS.items()}
    for (name, dtype), column in zip(columns.items(), batch.columns, strict=True):
        items = column.flatten()
        if column.null_count or items.null_count:
            raise FileFormatError(f"{path}: found a missing value in {name!r}")
        size = np.dtype(dtype).itemsize
        buffer = items.buffers()[1] if len(items) else b""
        arrays[name] = np.frombuffer(buffer, dtype, len(items), items.offset * size).copy()
    return arrays


def _credible_set(path: Path, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> CredibleSet:
    n, k = len(facts["names"]), len(arrays["scores"])
    words = -(-n // 64)
    m = len(arrays["candidate_scores"])
    size_words = facts["size_words"]
    shapes = {
        "offsets": (n + 1,),
        "candidate_masks": (m, words),
        "choices": (k, n),
        "sizes": (k, size_words),
        "class_of": (0 if facts["by_class"] else k,),
    }
    for name, shape in shapes.items():
        if arrays[name].size != math.prod(shape):
            raise FileFormatError(f"{path}: expected {math.prod(shape)} items in {name!r}, found {arrays[name].size}")
    shaped = {name: arrays[name].reshape(shape) for name, shape in shapes.items()}
    table = ScoreTable(
        tuple(facts["names"]),
        shaped["offsets"],
        arrays["candidate_scores"],
        shaped["candidate_masks"],
        facts["score_provenance"],
    )
    if "limit" in facts:
        structures = _factored(path, table, facts, arrays)
    else:
        class_of = None if facts["by_class"] else shaped["class_of"]
        structures = Structures(shaped["choices"], arrays["scores"], shaped["sizes"], class_of)
        _check_structures(path, table, structures, facts)
    try:
        families = family_files.of_file(facts["training"], arrays, table, structures)
    except FileFormatError as error:
        raise _damaged(path, f"what it holds of the training table is wrong: {error}") from error
    bound, over_all = facts["unexplored_bound"], _edges_over_all(path, arrays.get("edges_over_all"), n)
    credible = CredibleSet(
        score_table=table,
        structures=structures,
        unexplored_bound=math.inf if bound == "unbounded" else bound,
        families=families,
        edges_over_all=over_all,
        share_estimate=ShareEstimate.of_json(facts["share_estimate"]) if "share_estimate" in facts else None,
        **{name: facts[name] for name in _OF_THE_SET if name != "unexplored_bound"},
        **{name: facts[name] for name in _OF_OLD_VERSIONS if name in facts},
    )
    if credible.log_total_mass is not None and credible.log_mass > credible.log_total_mass + _MASS_SLACK:
        raise _damaged(path, "the networks have more mass than all networks")
    return credible


def _damaged(path: Path, what: str) -> FileFormatError:
    return FileFormatError(
        f"{path}: {what}; the file is damaged or was altered: restore it from a good copy, or create it again"
    )


def _edges_over_all(path: Path, values: NDArray[np.float64] | None, n: int) -> NDArray[np.float64] | None:
    """Return the probabilities of edges over all networks; files that have none hold an empty array."""
    if values is None or not values.size:
        return None
    edges = values.reshape(n, n) if values.size == n * n else np.full((1, 1), math.nan)
    is_possible = (edges >= 0).all() and (edges + edges.T <= 1 + _MASS_SLACK).all() and not edges.diagonal().any()
    if not is_possible:
        raise _damaged(path, f"expected a probability for each of {n * n} edges over all networks")
    return edges


def _factored(
    path: Path, table: ScoreTable, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> Structures:
    """Return the networks of a diagram, which are counted again: it has no network that costs too much, or a cycle."""
    costs, tolerance = -table.scores + 0.0, tolerance_of(table)
    try:
        networks = stored.of_arrays(arrays, facts["limit"], table.offsets, costs, table.masks, tolerance)
    except ValueError as error:
        if isinstance(error, TooLargeError):
            raise
        raise _damaged(path, str(error)) from error
    structures = FactoredStructures(networks)
    if (networks.n_networks(), networks.n_classes()) != (facts["n_networks"], facts["n_classes"]):
        raise _damaged(path, "the diagrams do not have as many networks and classes as the file says")
    if structures.are_classes_counted is not facts["by_class"]:
        raise _damaged(path, "the classes are counted, or they are not")
    slack = 2 * tolerance
    if -networks.best_cost > facts["optimal_score"] + slack:
        raise _damaged(path, "a network beats the optimum")
    if networks.last_cost > facts["epsilon"] - facts["optimal_score"] + slack:
        raise _damaged(path, "a network is not credible")
    return structures


def _check_structures(path: Path, table: ScoreTable, structures: Structures, facts: Mapping[str, Any]) -> None:
    def require(holds: bool, what: str) -> None:
        if not holds:
            raise _damaged(path, what)

    choices, scores, slack = structures.choices, structures.scores, 2 * tolerance_of(table)
    require(bool((choices < table.counts).all()), "a network uses a candidate that is not in the score table")
    if structures.class_of is None:
        # The score of a class is that of its representative.
        require(np.array_equal(exact_scores(table, choices), scores), "a score is not the sum of its local scores")
    else:
        require(structures.sizes.shape[1] == 0, "single networks have sizes")
        require(bool(np.isfinite(scores).all()), "a score is not finite")
        close = np.abs(exact_scores(table, choices) - scores) <= slack
        require(bool(close.all()), "a score is not the sum of its local scores")
    require(not (scores[1:] > scores[:-1]).any(), "the networks are not in order of score")
    require(not has_repeats(choices), "a network is listed twice")
    require(is_acyclic(table, choices), "a network has a directed cycle")
    if structures.class_of is None:
        require(classes_are_whole(table, structures), "a class is not given by its canonical member and its true size")
    elif len(structures):
        require(np.array_equal(structures.class_of, class_numbers(table, choices)), "the classes are wrong")
    lowest = facts["optimal_score"] - facts["epsilon"] - slack
    require(not len(structures) or scores[0] <= facts["optimal_score"] + slack, "a network beats the optimum")
    require(not len(structures) or scores[-1] >= lowest, "a network is not credible")
