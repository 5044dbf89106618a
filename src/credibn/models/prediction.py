"""Predict, impute and evaluate new rows, averaged over a credible set.

The data cannot distinguish the networks of a credible set, so a prediction from one of them is overconfident. Here each
network k answers by itself, and the answers are averaged with the posterior weights w_k of the training table::

    p(t | rest) = sum_k w_k p(t | rest, network k)

One member of each Markov equivalence class is fitted. Equivalent networks over variables that are all discrete, or all
continuous, have the same joint distribution with the parameters of `credibn.models.fitting`, so that the member
represents the whole class. With both kinds of variables this holds only approximately; then networks that the set lists
one by one are used one by one.

References
----------
D. Madigan and A. Raftery (1994), Model selection and accounting for model uncertainty in graphical models using Occam's
window. Journal of the American Statistical Association 89, 1535-1546.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credibn._base.copying import rebuilt_from_fields
from credibn._base.text import plural
from credibn.data.new_rows import NewRows, read_rows
from credibn.data.reading_record import Reading
from credibn.data.states import state_code
from credibn.errors import Option, OptionError, Phrase
from credibn.models.filling import filled_frame
from credibn.models.mixture import Mixture
from credibn.models.row_inference import Evidence, log_likelihoods, target_means, target_probabilities
from credibn.scores.constraints import position_of

if TYPE_CHECKING:  # pandas is slow to import: it is loaded when needed
    from pandas import DataFrame, Series

    from credibn.models.bayesian_network import BayesianNetwork

Rows = str | os.PathLike[str] | Any
_TEXT_OPTIONS = ("encoding", "decimal", "thousands", "comment")
_ROW_OPTIONS = ("missing_values", "ignore_extra", "handle_unknown")


@dataclass(frozen=True, eq=False, repr=False)
class AveragedModel:
    """Fitted networks with their posterior weights; made by `average_models`.

    Each method takes rows as `read_data` takes a table (a path, a DataFrame, an array with the training order of
    columns, ...) and answers in their order. Columns are matched by name; those that are absent, and cells without a
    value, are missing. Numbers of a discretised column are discretised with the bin edges of the training data. A
    category that the training data does not have is an error; with ``handle_unknown="ignore"`` its cell counts as
    missing. This and the options ``missing_values`` and ``ignore_extra`` are those of
    `credibn.data.new_rows.read_rows`.

    Attributes
    ----------
    names : tuple of str
        The variables, in the order of the training table.
    states : tuple
        For each variable its state labels, or None for a continuous one.
    mixture : Mixture
        The networks and their local models, each fitted once however many networks share it.
    share : float
        The share of the set's posterior weight that the classes used have.
    n_classes_used : int
    cuts : mapping of str to tuple of float
        Bin edges of the variables that were discretised.
    reading : Reading or None
        How the training table was read. New rows are read alike: the same texts are missing values, and the columns
        that were dropped may be there.
    settable : frozenset of int or None
        The variables that ``do`` may set: those given to `average_models`; None where it may set all.
    n_sampled : int
        Random networks that stand for the set where it is counted, not listed; 0 where its networks themselves count.

    Examples
    --------
    >>> import pandas as pd
    >>> from credibn import average_models, learn
    >>> rain = np.arange(100) % 5 == 0
    >>> wet = rain | (np.arange(100) % 9 == 0)
    >>> table = pd.DataFrame({"rain": rain, "wet": wet}).replace({True: "yes", False: "no"})
    >>> model = average_models(learn(table), table)
    >>> model
    AveragedModel(1 network of 1 class, 2 variables, share 1)
    >>> new = pd.DataFrame({"rain": ["yes", None], "wet": [None, "no"]})
    >>> model.predict_proba(new, "rain").round(3)
          no    yes
    0  0.797  0.203
    1  0.997  0.003
    >>> model.predict(new, "rain").tolist()
    ['no', 'no']
    >>> model.impute(new)
      rain  wet
    0  yes  yes
    1   no   no
    >>> model.log_likelihood(new).round(3)
    array([-1.595, -0.345])
    """

    names: tuple[str, ...]
    states: tuple[tuple[object, ...] | None, ...]
    mixture: Mixture
    share: float = 1.0
    n_classes_used: int = 1
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    reading: Reading | None = None
    settable: frozenset[int] | None = frozenset()
    n_sampled: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "cuts", MappingProxyType(dict(self.cuts)))

    __reduce__ = rebuilt_from_fields

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each network; they sum to 1."""
        return self.mixture.weights

    @property
    def n_networks(self) -> int:
        """The number of fitted networks."""
        return len(self.mixture.weights)

    @property
    def standard_error(self) -> float:
        """Of each predicted probability, at most, from taking random networks; 0 where there are none."""
        return 0.5 / math.sqrt(self.share * self.n_sampled) if self.n_sampled else 0.0

    def weighted_networks(self) -> Iterator[tuple[float, BayesianNetwork]]:
        """Yield the fitted networks with their weights, for other programs: each has `to_pgmpy` and a networkx graph.

        To ask another program what setting variables does, make the model with ``do=`` these variables: then it has a
        network for each of their parent sets in each class.

        Examples
        --------
        >>> from credibn import average_models, learn
        >>> from credibn.examples import sample_asia
        >>> weight, network = next(average_models(learn(sample_asia())).weighted_networks())
        >>> round(weight, 3), network
        (0.406, BayesianNetwork(8 variables, 7 edges, 17 parameters))
        """
        from credibn.models.bayesian_network import BayesianNetwork

        for weight, network in zip(self.mixture.weights.tolist(), self.mixture.networks, strict=True):
            models = tuple(self.mixture.local_models[at] for at in network)
            yield weight, BayesianNetwork(self.names, self.states, models, self.cuts)

    def predict_proba(
        self,
        data: Rows,
        target: str | int | Iterable[str | int],
        *,
        do: Mapping[str, object] | None = None,
        **row_options: Any,
    ) -> DataFrame:
        """Return the probability of each state of a discrete target in each row, given all other columns.

        p(t | rest) is the average of the networks' own answers with their posterior weights. That is not the
        conditional of the averaged joint distribution, in which networks that explain the rest of the row better would
        count more.

        Parameters
        ----------
        data : path, DataFrame, Arrow table, NumPy array or DuckDB relation
            The target's own column, if there is one, is not read.
        target : str, int or list of these
            With a list, none of the targets is evidence for another.
        do : mapping of str to state or number, optional
            Variables that are set from outside, with their values: in each network the edges into them are gone. All
            other columns of a row are evidence seen *after* that; leave out what was measured before and may change.
            The model must have been made for it, with ``average_models(..., do=[...])``.
        **row_options
            ``missing_values``, ``ignore_extra``, ``handle_unknown``.

        Returns
        -------
        pandas.DataFrame
            A row for each row, with the index of a pandas DataFrame, and a column for each state; for a list of
            targets the columns have two levels, the target and its state.

        Raises
        ------
        OptionError
            For an unknown or repeated target, or one that is continuous.
        DataError
            For unknown columns or values; for missing cells beyond the target where variables are of both kinds.
        TooLargeError
            If missing cells would make exact inference too large.
        """
        import pandas as pd

        is_single, targets = self._targets(target)
        for v in targets:
            if self.states[v] is None:
                raise OptionError(f"target {self.names[v]!r} is continuous and has no states: use predict for its mean")
        model, rows = self._after(do, data, row_options, targets)
        frames = [
            pd.DataFrame(model._posterior(rows, v), index=rows.index, columns=_label_index(self.states[v]))
            for v in targets
        ]
        if is_single:
            return frames[0]
        return pd.concat(frames, axis=1, keys=[self.names[v] for v in targets])

    def predict(
        self,
        data: Rows,
        target: str | int | Iterable[str | int],
        *,
        do: Mapping[str, object] | None = None,
        **row_options: Any,
    ) -> Series[Any] | DataFrame:
        """Return the most probable state of a discrete target, or the mean of a continuous one, in each row.

        Of equally probable states, the first is returned. For a list of targets the result is a DataFrame. See
        `predict_proba` for the arguments and errors.
        """
        import pandas as pd

        is_single, targets = self._targets(target)
        model, rows = self._after(do, data, row_options, targets)
        columns = {self.names[v]: _series(model._best(rows, v), rows.index) for v in targets}
        if is_single:
            return columns[self.names[targets[0]]].rename(self.names[targets[0]])
        return pd.DataFrame(columns, index=rows.index)

    def impute(self, data: Rows, **row_options: Any) -> DataFrame:
        """Return the rows with each missing cell filled by its most probable state, or its mean if it is continuous.

        Each cell is filled given the observed cells of its row only; filled cells are not evidence for others. The
        columns of the table come first, then those of the model that it lacks. Cells with a value do not change, and
        columns keep their type if it can hold the states; a discretised column becomes one of interval labels. See
        `predict_proba` for the arguments and errors.
        """
        rows = self._read(data, row_options, ())
        is_missing = rows.is_missing
        filled = dict[int, tuple[NDArray[np.intp], list[Any]]]()
        for v in np.flatnonzero(is_missing.any(axis=0)).tolist():
            at = np.flatnonzero(is_missing[:, v])
            filled[v] = at, self._best(rows, v, at)
        return filled_frame(data, rows, self.cuts, filled)

    def log_likelihood(self, data: Rows, **row_options: Any) -> NDArray[np.float64]:
        """Return the natural log of the averaged probability, or density, of each row.

        That is log sum_k w_k p(row | network k); of a row with missing cells, the probability of the observed ones. It
        is minus infinity if all networks rule a row out. See `predict_proba` for the arguments and errors.
        """
        rows = self._read(data, row_options, ())
        return log_likelihoods(self.mixture, self._evidence(rows))

    def _targets(self, target: str | int | Iterable[str | int]) -> tuple[bool, tuple[int, ...]]:
        """Return whether a single target was given, and the positions of the targets."""
        is_single = isinstance(target, str) or not isinstance(target, Iterable)
        listed: list[Any] = [target] if is_single else list(target)  # type: ignore[arg-type]
        if not listed:
            raise OptionError("target is an empty list; name at least one variable")
        found = tuple(position_of(self.names, name, "target") for name in listed)
        for v in found:
            if found.count(v) > 1:
                raise OptionError(f"target {self.names[v]!r} is named twice; name it once")
        return is_single, found

    def _read(self, data: Rows, options: dict[str, Any], targets: Sequence[int]) -> NewRows:
        """Read the rows without the targets' own columns, so that all their cells are missing."""
        unknown = sorted(options.keys() - set(_ROW_OPTIONS))
        if unknown:
            raise OptionError(f"unknown option {unknown[0]!r}; the options are {', '.join(map(repr, _ROW_OPTIONS))}")
        alike = dict[str, Any]()
        if self.reading is not None:
            known = self.reading.options
            options = {"missing_values": known.get("missing_values"), **options}
            alike["dropped"] = [
                one.name for one in self.reading.columns if one.kind in ("dropped", "weights", "interventions")
            ]
            alike["units"] = {one.name: one.unit for one in self.reading.columns if one.unit}
            alike["text_options"] = {name: known[name] for name in _TEXT_OPTIONS if name in known}
        unread = [self.names[v] for v in targets]
        return read_rows(data, self.names, self.states, self.cuts, unread=unread, **alike, **options)

    def _after(
        self, do: Mapping[str, object] | None, data: Rows, options: dict[str, Any], targets: Sequence[int]
    ) -> tuple[AveragedModel, NewRows]:
        """Return the model and the rows once variables are set; both as they are where none is."""
        if do is not None and not isinstance(do, Mapping):
            raise OptionError.refusing("do", do, "give the value of each variable that is set, as {'NAME': VALUE}")
        values = {
            position_of(self.names, name, Phrase("variable in {}", Option("do"))): value
            for name, value in (do or {}).items()
        }
        for v in values:
            name = self.names[v]
            if v in targets:
                raise OptionError("{!r} is both a target and in {}; leave it out of one of them", name, Option("do"))
            if self.settable is not None and v not in self.settable:
                raise OptionError(
                    "this model does not tell what setting {0!r} does: members of a class differ in that; make the "
                    "model with {1}, from the training table",
                    name,
                    Option("do", [name]),
                )
        rows = self._read(data, options, (*targets, *values))
        if not values:
            return self, rows
        columns = list(rows.columns)
        for v, value in values.items():
            columns[v] = np.full(len(rows), self._code(v, value), dtype=columns[v].dtype)
        model = replace(self, mixture=self.mixture.without_causes(values))
        return model, replace(rows, columns=tuple(columns))

    def _code(self, v: int, value: object) -> float:
        """Return the number of a value that a variable is set to, or the code of a state."""
        labels = self.states[v]
        if labels is None:
            if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
                raise OptionError.refusing("do", value, f"{self.names[v]!r} must be set to a finite number")
            return float(value)
        return state_code(labels, value, self.names[v], "do")

    def _evidence(self, rows: NewRows, at: NDArray[np.intp] | None = None) -> Evidence:
        """Return what is known of all rows, or of those at some positions."""
        chosen = np.arange(len(rows)) if at is None else at
        columns = rows.columns if at is None else tuple(column[at] for column in rows.columns)
        return Evidence(self.names, columns, rows.is_missing[chosen], chosen + 1)

    def _posterior(self, rows: NewRows, v: int, at: NDArray[np.intp] | None = None) -> NDArray[np.float64]:
        """Return the probabilities of the states, or the means, of one variable in these rows."""
        infer = target_means if self.states[v] is None else target_probabilities
        return infer(self.mixture, self._evidence(rows, at), v)

    def _best(self, rows: NewRows, v: int, at: NDArray[np.intp] | None = None) -> list[Any]:
        """Return the most probable states, or the means, of one variable in these rows."""
        posterior = self._posterior(rows, v, at)
        labels = self.states[v]
        if labels is None:
            return list(posterior.tolist())
        return [labels[code] for code in posterior.argmax(axis=1)]

    def __repr__(self) -> str:
        of_classes = f"{plural(self.n_networks, 'network')} of {plural(self.n_classes_used, 'class')}"
        return f"AveragedModel({of_classes}, {plural(len(self.names), 'variable')}, share {self.share:.4g})"

    def _repr_html_(self) -> str:
        from credibn.report.notebook import averaged_model_html

        return averaged_model_html(self)


def model_of_network(network: BayesianNetwork) -> AveragedModel:
    """Return a single network as a model that predicts."""
    n = len(network.names)
    networks = np.arange(n, dtype=np.intp)[np.newaxis]
    mixture = Mixture(network.states, tuple(range(n)), network.local_models, networks, np.ones(1))
    return AveragedModel(network.names, network.states, mixture, cuts=network.cuts, settable=None)


def _label_index(labels: tuple[object, ...] | None) -> Any:
    import pandas as pd

    listed = list(labels or ())
    return pd.Index(listed, dtype=object if None in listed else None, tupleize_cols=False)


def _series(values: list[Any], index: Any) -> Series[Any]:
    import pandas as pd

    series = pd.Series(values, index=index, dtype=object)
    return series if None in values else series.infer_objects()  # None is a state here, not a missing value
