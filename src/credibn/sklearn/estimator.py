"""The credible set as a scikit-learn estimator: a shell around `learn` and `average_models`.

``fit(X)`` finds the networks over the columns of X. ``fit(X, y)`` takes y as one more column, which `predict` then
tells from the others. Everything else is in `CredibleNetworks.credible_set_` and `CredibleNetworks.model_`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, check_array, check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from credibn._base.checks import whole_number
from credibn._run.progress import stage_bars
from credibn.credible import CredibleSet
from credibn.credible.classes import class_frame
from credibn.data import Dataset
from credibn.data.frames import pandas_frame
from credibn.data.reading import read_table
from credibn.errors import DataError, OptionError, TimeLimitError
from credibn.learning import learn
from credibn.models import average_models
from credibn.options import ReadOptions, suggesting
from credibn.scores import LocalScore, SetScore
from credibn.scores.scoring import columns_taken
from credibn.sklearn.inputs import as_array, checked_counts, checked_target, name_of, unused

if TYPE_CHECKING:
    from pandas import DataFrame

_READ_OPTIONS = tuple(name for name in ReadOptions.names() if name not in ("weights", "state_names"))


def _has_states(estimator: CredibleNetworks) -> bool:
    """Whether a target can have states: scikit-learn's regressors have no `predict_proba`."""
    return estimator._columns() != "continuous"


class _MethodBesideOption:
    """A method whose name is also that of an option of the constructor.

    scikit-learn wants each option in an attribute of its name, and wants a method called ``score``. Here the attribute
    of an instance is the method, and the option lies below it in the instance's dictionary.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Callable[..., Any]:
        return self.method if instance is None else MethodType(self.method, instance)

    def __set__(self, instance: Any, option: object) -> None:
        vars(instance)[self.name] = option


class CredibleNetworks(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """All credible networks of a table, with the conventions of scikit-learn.

    Fitted to X alone it is a density: `score` is the mean log likelihood of rows. Fitted to X and y, it also predicts
    y, averaged over the credible networks: it is a classifier with a score for categories, a regressor with one for
    numbers; with "conditional-gaussian-bic" the kind of y decides.

    Parameters
    ----------
    score : str or score object
        "auto" (by default: the BIC for the kinds of the columns), "bic", "bdeu", "aic" (categorical), "gaussian-bic",
        "bge" (continuous), "conditional-gaussian-bic" (both), or an object: see
        `credibn.score_parent_sets`. It is read with ``get_params()["score"]``: the attribute `score` is the method.
    bayes_factor : float
        How much better than a network the best may be, for the network to be credible.
    equivalent_sample_size : float
        For "bdeu" only; the other scores ignore it.
    max_parents : int or mapping of name to int, optional
    forbidden_edges, required_edges : list of (parent, child) or "parent->child", optional
    tiers : list of lists of names, optional
        Edges may not point from a later tier to an earlier one.
    state_names : mapping of name to list, optional
        The states of a column in order, also those that X does not show: see `credibn.read_data`.
    max_networks : int, optional
        Keep at most this many networks.
    time_limit : float, optional
        Seconds for the search.
    n_jobs : int, optional
        Threads; None and -1 are all cores.
    show_progress : bool
        Whether to show a progress bar, in a terminal or a notebook.
    read_options : mapping, optional
        More options of `credibn.read_data`, such as ``{"missing": "drop"}``: columns, drop, only,
        missing, missing_values, discretise, max_states.

    Attributes
    ----------
    credible_set_ : CredibleSet
    model_ : AveragedModel
        The networks with their parameters; it predicts any column from any others, and imputes.
    target_ : str or None
        The name of y among the variables: its own, or "y", with underscores appended while a column of X is called so.
    optimal_score_ : float
    n_networks_, n_classes_ : int
        Networks, and Markov equivalence classes, in the credible set.
    complete_ : bool
        Whether no credible network is missing.
    edge_probabilities_, adjacency_probabilities_ : DataFrame
        Within the credible set; rows are parents.
    classes_frame_ : DataFrame
        A row for each equivalence class: score, gap, size, weight, edges. Made when asked for; where there are very
        many classes, ``credible_set_.classes()[:100]`` is quicker.
    classes_ : ndarray
        The states of y, where it is discrete.
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where X has names for its columns.

    Notes
    -----
    X is a pandas or polars DataFrame, an Arrow table, or an array. The columns of an array are called X0, X1, ...
    Values of a column go by label, so a categorical score takes a column of numbers as categories, and refuses one with
    more than 100 different values; a row to be predicted may hold no value that `fit` has not seen or been told of in
    `state_names`. It may have missing cells: they are summed out.

    Examples
    --------
    >>> from credibn.examples import sample_asia
    >>> table = sample_asia().to_pandas()
    >>> X, y = table[["smoke", "bronc", "xray", "dysp"]], table["lung"]
    >>> networks = CredibleNetworks(bayes_factor=3).fit(X[:800], y[:800])
    >>> networks.n_networks_, networks.n_classes_
    (4, 1)
    >>> networks.predict(X[800:803])
    array(['no', 'no', 'no'], dtype='<U3')
    >>> networks.score(X[800:], y[800:])
    0.98
    """

    @partial(suggesting, instead={"temporal_order": "it is called tiers, as in learn"})
    def __init__(
        self,
        score: str | SetScore | LocalScore = "auto",
        bayes_factor: float = 20,
        equivalent_sample_size: float = 1.0,
        max_parents: int | Mapping[str, int] | None = None,
        forbidden_edges: Sequence[tuple[str, str] | str] | None = None,
        required_edges: Sequence[tuple[str, str] | str] | None = None,
        tiers: Sequence[Iterable[str]] | None = None,
        state_names: Mapping[str, Sequence[object]] | None = None,
        max_networks: int | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        show_progress: bool = False,
        read_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.score = score
        self.bayes_factor = bayes_factor
        self.equivalent_sample_size = equivalent_sample_size
        self.max_parents = max_parents
        self.forbidden_edges = forbidden_edges
        self.required_edges = required_edges
        self.tiers = tiers
        self.state_names = state_names
        self.max_networks = max_networks
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.show_progress = show_progress
        self.read_options = read_options

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CredibleNetworks:
        """Find the credible networks, and fit their parameters.

        Parameters
        ----------
        X : DataFrame, Arrow table or array, shape (rows, columns)
        y : Series or array, shape (rows,), optional
            The column to be predicted; without it, the networks are those of the columns of X.
        sample_weight : array of whole numbers, shape (rows,), optional
            How many rows each row stands for.

        Returns
        -------
        CredibleNetworks
            Itself.

        Raises
        ------
        DataError, OptionError, TooLargeError, TimeLimitError
            See `credibn.learn`.
        """
        frame = self._features(X, is_fit=True)
        names = list(frame.columns)
        target = None
        if y is not None:
            values = checked_target(y, is_discrete=self._columns() == "discrete")
            check_consistent_length(frame, values)
            target = unused(name_of(y), names)
            frame[target] = getattr(y, "array", values) if hasattr(y, "cat") else values
        dataset = self._read(frame, sample_weight)
        if target in dataset.cuts:
            raise OptionError(
                f"discretise cuts the target {target!r}; cut y before fit, so that both sides agree on it"
            )
        self.credible_set_ = self._search(dataset)
        self.model_ = average_models(self.credible_set_, dataset)
        self.target_ = target
        self._names = names
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable state of y in each row, or its mean where it is continuous.

        Parameters
        ----------
        X : DataFrame, Arrow table or array, with the columns that `fit` was given
            Missing cells are summed out.

        Raises
        ------
        NotFittedError
            Before `fit`, or after a fit without y.
        """
        target = self._target()
        frame = self._features(X)
        if not self._is_discrete(target):
            return np.asarray(self.model_.predict(frame, target), dtype=np.float64)
        probabilities = self.model_.predict_proba(frame, target).to_numpy()
        chosen: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return chosen

    @available_if(_has_states)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each state of y in each row, in the order of `classes_`.

        Parameters
        ----------
        X : DataFrame, Arrow table or array, with the columns that `fit` was given
            Missing cells are summed out.

        Raises
        ------
        NotFittedError
            Before `fit`, or after a fit without y.
        AttributeError, OptionError
            With a score for numbers; where y is continuous.
        """
        target = self._target()
        return np.asarray(self.model_.predict_proba(self._features(X), target), dtype=np.float64)

    @_MethodBesideOption
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return how well rows are predicted, the higher the better.

        Parameters
        ----------
        X : DataFrame, Arrow table or array, with the columns that `fit` was given
        y : Series or array, optional
            Ignored where `fit` had none.
        sample_weight : array, optional

        Returns
        -------
        float
            With y its accuracy, or R squared where it is continuous; otherwise the mean log likelihood of a row of X.
        """
        check_is_fitted(self)
        if y is None or self.target_ is None:
            return float(np.average(self.model_.log_likelihood(self._features(X)), weights=sample_weight))
        is_discrete = self._is_discrete(self.target_)
        measure = accuracy_score if is_discrete else r2_score
        return float(measure(checked_target(y, is_discrete), self.predict(X), sample_weight=sample_weight))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name; see `sklearn.base.BaseEstimator`."""
        return {**super().get_params(deep=deep), "score": vars(self)["score"]}

    @property
    def optimal_score_(self) -> float:
        """The best score there is, or is known."""
        return self._found().optimal_score

    @property
    def n_networks_(self) -> int:
        """The number of credible networks."""
        return self._found().n_networks

    @property
    def n_classes_(self) -> int:
        """The number of their Markov equivalence classes."""
        return self._found().n_classes

    @property
    def complete_(self) -> bool:
        """Whether no credible network is missing."""
        return self._found().complete

    @property
    def edge_probabilities_(self) -> DataFrame:
        """The probability of each directed edge within the set: rows are parents, columns children."""
        return self._found().edge_probabilities()

    @property
    def adjacency_probabilities_(self) -> DataFrame:
        """The probability that an edge of either direction joins two variables."""
        return self._found().adjacency_probabilities()

    @property
    def classes_frame_(self) -> DataFrame:
        """A row for each equivalence class: score, gap, size, weight, edges."""
        found = self._found()
        return class_frame(found.classes(), found.optimal_score)

    @property
    def classes_(self) -> NDArray[Any]:
        """The states of y, in the order of the columns of `predict_proba`."""
        labels = self.model_.states[self.model_.names.index(self._target())]
        if labels is None:
            raise AttributeError(f"the target {self.target_!r} is continuous and has no classes")
        is_one_kind = len({type(label) for label in labels}) == 1
        return np.array(labels, dtype=None if is_one_kind else object)

    def _found(self) -> CredibleSet:
        check_is_fitted(self)
        found: CredibleSet = self.credible_set_
        return found

    def _target(self) -> str:
        check_is_fitted(self)
        if self.target_ is None:
            raise NotFittedError(
                "this CredibleNetworks was fitted without y, so it does not know what to predict: call fit(X, y), or "
                f"name the column, as in model_.predict(rows, {self._names[-1]!r})"
            )
        return str(self.target_)

    def _is_discrete(self, target: str) -> bool:
        return self.model_.states[self.model_.names.index(target)] is not None

    def _columns(self) -> str:
        """Return what the score takes: "discrete", "continuous" or "mixed" columns."""
        return columns_taken(vars(self)["score"])

    def _features(self, X: Any, is_fit: bool = False) -> DataFrame:
        """Return X as a frame with the variables' names; refuse other columns than those of `fit`."""
        frame = None if isinstance(X, np.ndarray) else pandas_frame(X)
        is_named = frame is not None
        if frame is None:
            X = check_array(as_array(X), dtype=None, ensure_all_finite=False, estimator=self)
            frame = pandas_frame(X)
        assert frame is not None, "an array is a table"
        validate_data(self, X, reset=is_fit, skip_check_array=True)
        if is_fit:
            self._is_named = is_named
            return frame
        # scikit-learn compares names only where all are text, and knows none in some kinds of table.
        if is_named and self._is_named and list(frame.columns) != list(self._names):
            raise ValueError(
                f"X has the columns {list(frame.columns)[:10]}; give those of fit, in their order: {self._names[:10]}"
            )
        frame.columns = list(self._names)
        return frame

    def _read(self, frame: DataFrame, sample_weight: Any) -> Dataset:
        given = {} if self.read_options is None else self.read_options
        unknown = [name for name in given if name not in _READ_OPTIONS] if isinstance(given, Mapping) else [given]
        if unknown:
            raise OptionError(
                f"read_options has {unknown[0]!r}; give a mapping with some of {', '.join(_READ_OPTIONS)} (counts of "
                "rows are the sample_weight of fit, states have their own option)"
            )
        weights = None
        if sample_weight is not None:
            counts = checked_counts(sample_weight, len(frame))
            weights = unused("sample_weight", list(frame.columns))
            frame = frame.assign(**{weights: counts})[counts > 0]
        options = ReadOptions(**given, state_names=self.state_names, weights=weights)
        try:
            return read_table(frame, options, self._columns())
        except DataError as error:
            error.add_note("CredibleNetworks takes options of read_data as read_options={'missing': 'drop', ...}")
            raise

    def _search(self, dataset: Dataset) -> CredibleSet:
        score = vars(self)["score"]
        with stage_bars() if self.show_progress else nullcontext() as progress:
            found = learn(
                dataset,
                score=score,
                bayes_factor=self.bayes_factor,
                equivalent_sample_size=self.equivalent_sample_size if score == "bdeu" else None,
                max_parents=self.max_parents,
                forbidden_edges=self.forbidden_edges,
                required_edges=self.required_edges,
                tiers=self.tiers,
                max_networks=self.max_networks,
                time_limit=self.time_limit,
                n_threads=None if self.n_jobs in (None, -1) else whole_number("n_jobs", self.n_jobs, 1),
                progress=progress,
            )
        if not found.n_classes:
            raise TimeLimitError(
                f"the search ended ({found.stopped_because}) before it listed a network; raise the limit"
            )
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        try:
            columns = self._columns()
        except OptionError:  # an unknown score is an error of fit, and not of asking for its tags
            return tags
        tags.input_tags.categorical = tags.input_tags.string = columns != "continuous"
        if columns == "discrete":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif columns == "continuous":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags
