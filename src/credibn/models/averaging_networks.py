"""From a credible set, with the counts that it holds or its training table, to an `AveragedModel`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.checks import whole_number
from credibn.credible import CredibleSet
from credibn.credible.factored_averages import N_SAMPLES
from credibn.credible.families import CountedFamilies, States
from credibn.credible.structures import expand
from credibn.credible.weights import Prior, WeightedStructures
from credibn.data import Dataset, read_data
from credibn.data.reading_record import Reading
from credibn.errors import Option, OptionError, Phrase, TooLargeError, warn
from credibn.models.fitting import families_of, fit_local_model
from credibn.models.mixture import Mixture
from credibn.models.prediction import AveragedModel
from credibn.scores import ScoreTable
from credibn.scores.constraints import position_of
from credibn.scores.setup import SCORES, columns_taken
from credibn.scores.table import parent_positions

_MOST_MEMBERS = 100_000
"""Networks that are looked at, one by one, for predictions in which variables are set."""


def average_models(
    found: CredibleSet,
    data: Any = None,
    *,
    method: str = "posterior_mean",
    equivalent_sample_size: float | None = None,
    pseudo_rows: float = 1.0,
    share: float = 0.99,
    max_classes: int = 10_000,
    prior: Prior = "networks",
    do: Iterable[str | int] = (),
    allow_other_data: bool = False,
    **read_options: Any,
) -> AveragedModel:
    """Fit the networks of a credible set, for predictions that are averaged over them.

    Classes are taken by decreasing weight, by default size times exp(score), until they hold `share` of the weight or
    there are `max_classes`. One member of each is fitted: `credibn.models.prediction` says why that is enough.

    Parameters
    ----------
    found : CredibleSet
    data : path, DataFrame, Arrow table, NumPy array, DuckDB relation, Ibis table or Dataset, optional
        The training table; with the same ``read_options`` as for `learn`. Needed only where the set holds no counts:
        see `CredibleSet.families`.
    method, pseudo_rows
        How parameters are fitted: see `fit_network`.
    equivalent_sample_size : float, optional
        Of the prior of the discrete parameters; by default that of the BDeu score, if the set was found with it, and
        otherwise 1.
    share : float
        The share of the posterior weight to use, above 0 and at most 1. The networks' weights are scaled to sum to 1.
    max_classes : int
        The largest number of classes to use (of networks, if there are both kinds of variables and the set lists single
        networks). Complete rows are predicted quickly from any number; for rows with missing cells the time is
        proportional to it.
    prior : {"networks", "classes"} or structure prior
        What has the same prior probability: see `CredibleSet.edge_probabilities`.
    do : iterable of str or int
        Variables that predictions may set from outside, see `AveragedModel.predict_proba`. Members of a class answer
        alike where these have the same parents; so for each of their parent sets in a class one member is fitted.
        This needs the training table, unless the set lists networks one by one.
    allow_other_data : bool
        Whether the parameters may come from a different table with the same variables.

    Returns
    -------
    AveragedModel
        Its `share` is the weight of the classes used.

    Raises
    ------
    OptionError
        For an empty set, options out of range, other variables, or another table.
    DataError, FileFormatError
        See `read_data`.

    Warns
    -----
    CredibnWarning
        If `max_classes` classes hold less than `share`.

    Examples
    --------
    >>> from credibn import learn
    >>> from credibn.examples import sample_asia
    >>> model = average_models(learn(sample_asia(), bayes_factor=20))
    >>> model
    AveragedModel(7 networks of 7 classes, 8 variables, share 0.9913)
    >>> patient = sample_asia(3, seed=7)
    >>> model.predict(patient, "lung").tolist()
    ['no', 'no', 'no']
    """
    if not isinstance(found, CredibleSet):
        raise OptionError(f"found is {found!r:.80}; give the CredibleSet that learn returns")
    if not found.n_networks:
        raise OptionError("the credible set is empty: there is nothing to average over")
    _check_limits(share, max_classes)
    trained = (
        families_of(found, **read_options)
        if data is None
        else CountedFamilies(training_table(found, data, allow_other_data, read_options))
    )
    weighted = found.averages(prior).listed
    chosen, weights = _chosen_rows(weighted, trained.states, share, max_classes)
    choices = weighted.structures.choices[chosen]
    settable = frozenset(position_of(trained.names, v, Phrase("variable in {}", Option("do"))) for v in _listed(do))
    if settable:
        is_mixed = len({labels is None for labels in trained.states}) > 1
        choices, weights = _by_parents(found.score_table, weighted, chosen, sorted(settable), is_mixed)
    size = (
        default_sample_size(found.score_table.provenance) if equivalent_sample_size is None else equivalent_sample_size
    )
    # A candidate of the score table is a child with its parents: each one in use is fitted once.
    table = found.score_table
    used, places = np.unique(table.offsets[:-1] + choices.astype(np.int64), return_inverse=True)
    networks = places.reshape(choices.shape).astype(np.intp)
    children = tuple((np.searchsorted(table.offsets, used, side="right") - 1).tolist())
    models = tuple(
        fit_local_model(trained, child, parents, method=method, equivalent_sample_size=size, pseudo_rows=pseudo_rows)
        for child, parents in zip(children, parent_positions(table.masks[used]), strict=True)
    )
    total = math.fsum(weights)
    if total < share - 1e-9:
        warn(
            f"the {len(chosen):,} most probable classes hold {total:.1%} of the weight of the credible set, less than "
            f"the share of {share:.1%}: raise max_classes to use more, or lower share"
        )
    mixture = Mixture(trained.states, children, models, networks, weights / total)
    class_of = weighted.structures.class_of
    n_classes = len(chosen) if class_of is None else len(np.unique(class_of[chosen]))
    reading = reading_of(found)
    share, n_sampled = min(total, 1.0), 0 if found.averages(prior).weighted.structures.is_listed else N_SAMPLES
    return AveragedModel(
        trained.names, trained.states, mixture, share, n_classes, trained.cuts, reading, settable, n_sampled
    )


def _listed(do: str | int | Iterable[str | int]) -> list[str | int]:
    return [do] if isinstance(do, str | int) else list(do)


def _by_parents(
    table: ScoreTable, weighted: WeightedStructures, chosen: NDArray[np.int64], nodes: list[int], is_mixed: bool
) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    """Return one network for each class and each way in which it gives parents to some nodes, with their weights.

    A class has one joint distribution P. Setting nodes divides it by P(node | parents) of each, so members in which the
    nodes have the same parents answer alike (truncated factorisation: Pearl 2009, section 3.2). With both kinds of
    variables P is only nearly the same, and all networks are returned.
    """
    structures, weights = weighted.structures, weighted.weights
    if structures.class_of is not None and is_mixed:
        return structures.choices[chosen], weights[chosen]
    if structures.class_of is not None:
        rows = np.flatnonzero(np.isin(structures.class_of, structures.class_of[chosen]))
        choices, classes, shares = structures.choices[rows], structures.class_of[rows], weights[rows]
    else:
        sizes = [structures.class_size(number) for number in chosen.tolist()]
        if sum(sizes) > _MOST_MEMBERS:
            raise TooLargeError(
                "the classes have {:,} members, more than {:,} that can be looked at for {}; lower {} to use fewer "
                "classes",
                sum(sizes),
                _MOST_MEMBERS,
                Option("do"),
                Option("share"),
            )
        members = expand(table, structures.only(chosen), sum(sizes))
        assert members.class_of is not None, "expanded classes are networks"
        choices, classes = members.choices, members.class_of
        shares = (weights[chosen] / np.array(sizes, dtype=np.float64))[classes]
    if is_mixed:
        return choices, shares
    keys = np.column_stack([classes, choices[:, nodes]])
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return choices[first], np.bincount(place.reshape(-1), weights=shares).astype(np.float64)


def reading_of(found: CredibleSet) -> Reading | None:
    """Return how the training table was read; None where the result does not say."""
    try:
        return Reading.of_json(found.provenance["reading"])
    except (KeyError, TypeError):
        return None


def _check_limits(share: object, max_classes: object) -> None:
    is_number = isinstance(share, int | float | np.integer | np.floating) and not isinstance(share, bool)
    if not is_number or not 0 < share <= 1:  # type: ignore[operator]
        raise OptionError.refusing("share", share, "it must be a number above 0 and at most 1")
    whole_number("max_classes", max_classes, 1)


def training_table(found: CredibleSet, data: Any, allow_other_data: bool, read_options: dict[str, Any]) -> Dataset:
    """Return the table that a set was learned from, read as it was then unless options say otherwise."""
    of_scores = {**found.score_table.provenance, "data_fingerprint": found.provenance.get("data_fingerprint")}
    return training_data(found.names, of_scores, reading_of(found), data, allow_other_data, read_options)


def training_data(
    names: tuple[str, ...],
    provenance: Mapping[str, Any],
    reading: Reading | None,
    data: Any,
    allow_other_data: bool,
    read_options: dict[str, Any],
) -> Dataset:
    """Return the table that scores were made from, read as it was then unless options say otherwise.

    `provenance` is that of the scores, `reading` how the table was read, if that is known.
    """
    if reading is not None and not isinstance(data, Dataset):
        read_options = {**reading.options, **read_options}
    score = provenance.get("score")
    if not isinstance(data, Dataset) and score in SCORES:
        read_options = {"columns": columns_taken(str(score)), **read_options}
    dataset = read_data(data, **read_options)
    if dataset.names != names:
        different = sorted({*dataset.names} ^ {*names})
        what = f"{different[0]!r} is in one only" if different else "they are in another order"
        raise OptionError(
            f"the variables of the table are not those of the credible set ({what}): give the training table, read "
            "with the options that learn was given"
        )
    fingerprint = provenance.get("data_fingerprint")
    if not allow_other_data and fingerprint is not None and fingerprint != dataset.fingerprint:
        raise OptionError(
            "the table is not the one that the credible set was learned from, or was read with other options (states, "
            "bins, missing values, interventions; numbers in a DataFrame are text in a CSV file): give the path or "
            "table that was given to learn, or pass {} to fit the parameters to this one",
            Option("allow_other_data", True),
        )
    return dataset


def default_sample_size(provenance: Mapping[str, Any]) -> float:
    """Return the equivalent sample size of the score that scores were made with; 1 where it has none."""
    size = provenance.get("equivalent_sample_size") if provenance.get("score") == "bdeu" else None
    return float(size) if isinstance(size, int | float) else 1.0


def _chosen_rows(
    weighted: WeightedStructures, states: States, share: float, max_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return rows of the set, the heaviest first, and their weights in the whole set."""
    rows, weights = weighted.structures, weighted.weights
    is_mixed = len({labels is None for labels in states}) > 1
    first: NDArray[np.int64] = np.arange(len(rows))
    if rows.class_of is not None and not is_mixed:  # one member represents its class, except in mixed networks
        first, weights = rows.first_members, np.bincount(rows.class_of, weights=weights).astype(np.float64)
    order = np.argsort(-weights, kind="stable")
    needed = int(np.searchsorted(np.cumsum(weights[order]), share - 1e-12)) + 1
    heaviest = order[: min(needed, max_classes, len(order))]
    return first[heaviest], weights[heaviest]
