"""Credible sets as scikit-learn estimators: shells around `learn` and `average_models`.

`CredibleNetworks` finds the networks over the columns of X. `CredibleNetworksClassifier` and
`CredibleNetworksRegressor` take y as one more column, of categories or of numbers, and predict it from the others.
Everything else is in their attributes ``credible_set_`` and ``model_``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from credibn._base.checks import whole_number
from credibn._run.progress import stage_bars
from credibn.credible import CredibleSet
from credibn.credible.classes import class_frame
from credibn.data import Dataset
from credibn.data.frames import pandas_frame
from credibn.data.new_rows import HandleUnknown
from credibn.data.reading import read_table
from credibn.errors import DataError, OptionError, TimeLimitError, warn
from credibn.learning import learn
from credibn.models import average_models
from credibn.options import ReadOptions, check_choice, suggesting
from credibn.scores import LocalScore, SetScore
from credibn.scores.setup import columns_taken
from credibn.sklearn.inputs import as_array, checked_counts, classes_of, name_of, numbers_of, unused

if TYPE_CHECKING:
    from pandas import DataFrame

_READ_OPTIONS = tuple(name for name in ReadOptions.names() if name not in ("weights", "interventions", "state_names"))


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


class _Networks(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What the estimators share: options, and how they turn X into networks with parameters."""

    score: Any  # the option when it is set, the method when it is read

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
        handle_unknown: str = "error",
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
        self.handle_unknown = handle_unknown
        self.max_networks = max_networks
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.show_progress = show_progress
        self.read_options = read_options

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name; see `sklearn.base.BaseEstimator`."""
        return {**super().get_params(deep=deep), "score": vars(self)["score"]}

    def _fit(self, frame: DataFrame, sample_weight: Any, target: Mapping[str, str]) -> None:
        """Find the networks of a table; `target` has the name of the column to be predicted and its kind."""
        check_choice("handle_unknown", self.handle_unknown, get_args(HandleUnknown))
        dataset = self._read(frame, sample_weight, target)
        self.credible_set_ = self._search(dataset)
        self.model_ = average_models(self.credible_set_, dataset)

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
            self._is_named, self._names = is_named, list(frame.columns)
            return frame
        # scikit-learn compares names only where all are text, and knows none in some kinds of table.
        if is_named and self._is_named and list(frame.columns) != list(self._names):
            raise ValueError(
                f"X has the columns {list(frame.columns)[:10]}; give those of fit, in their order: {self._names[:10]}"
            )
        frame.columns = list(self._names)
        return frame

    def _read(self, frame: DataFrame, sample_weight: Any, target: Mapping[str, str]) -> Dataset:
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
        options = ReadOptions(**_with_target(given, frame, target), state_names=self.state_names, weights=weights)
        try:
            return read_table(frame, options, self._columns())
        except DataError as error:
            name = type(self).__name__
            error.add_note(f"{name} takes options of read_data as read_options={{'missing': 'drop', ...}}")
            raise

    def _row_options(self) -> dict[str, Any]:
        """Return how new rows are read; columns that `read_options` dropped may be there."""
        return {"handle_unknown": self.handle_unknown, "ignore_extra": True}

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
                progress=progress or False,
                posterior_share=False,  # no method asks for it, and it may take longer than the search
            )
        if not found.n_classes:
            raise TimeLimitError(
                f"the search ended ({found.stopped_because}) before it listed a network; raise the limit"
            )
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            columns = self._columns()
        except OptionError:  # an unknown score is an error of fit, and not of asking for its tags
            return tags
        tags.input_tags.categorical = tags.input_tags.string = columns != "continuous"
        return tags


def _with_target(given: Mapping[str, Any], frame: DataFrame, target: Mapping[str, str]) -> dict[str, Any]:
    """Return the options for the table of X and y: whatever they say of X, y is a column of its own kind."""
    options = dict(given)
    for name, kind in target.items():
        for option in ("discretise", "drop"):
            named = options.get(option)
            if named is not None and not isinstance(named, str) and name in named:
                raise OptionError(f"read_options has {option} for the target {name!r}; it is for columns of X only")
        if options.get("only") is not None:
            options["only"] = [*options["only"], name]
        columns = options.get("columns")
        if isinstance(columns, str):
            of_all = {"discrete": "categorical", "continuous": "numeric"}.get(columns)
            columns = {} if of_all is None else dict.fromkeys(frame.columns, of_all)
        options["columns"] = {**(columns or {}), name: kind}
    return options


class CredibleNetworks(_Networks):
    """All credible networks of a table, with the conventions of scikit-learn.

    It is a density: `score` is the mean log likelihood of rows. To predict one column from the others, use
    `CredibleNetworksClassifier` or `CredibleNetworksRegressor`.

    Parameters
    ----------
    score : str or score object
        "bic", "bdeu", "aic" (categories), "gaussian-bic", "bge" (numbers), "conditional-gaussian-bic" (both), or an
        object: see `credibn.score_parent_sets`. By default the BIC for the kinds of the columns. It is read with
        ``get_params()["score"]``: the attribute `score` is the method.
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
    handle_unknown : {"error", "ignore"}
        What to do with a category in new rows that `fit` has not seen: refuse it, or take its cell as missing.
    max_networks : int, optional
        Keep at most this many networks.
    time_limit : float, optional
        Seconds for the search.
    n_jobs : int, optional
        Threads; None and -1 are all cores.
    show_progress : bool
        Whether to show a progress bar, in a terminal or a notebook.
    read_options : mapping, optional
        More options of `credibn.read_data`, such as ``{"missing": "drop"}`` or ``{"columns": {"age": "numeric"}}``.

    Attributes
    ----------
    credible_set_ : CredibleSet
    model_ : AveragedModel
        The networks with their parameters; it predicts any column from any others, and imputes.
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
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where X has names for its columns.

    Notes
    -----
    X is a pandas or polars DataFrame, an Arrow table, or an array. The columns of an array are called X0, X1, ...
    New rows may have missing cells: they are summed out.

    Examples
    --------
    >>> from credibn.examples import sample_asia
    >>> table = sample_asia().to_pandas()
    >>> networks = CredibleNetworks(bayes_factor=3).fit(table[["smoke", "lung", "bronc", "dysp"]])
    >>> networks.n_networks_, networks.n_classes_
    (3, 1)
    >>> float(networks.adjacency_probabilities_.loc["smoke", "lung"])
    1.0
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CredibleNetworks:
        """Find the credible networks of the columns of X, and fit their parameters.

        Parameters
        ----------
        X : DataFrame, Arrow table or array, shape (rows, columns)
        y
            Not used, with a warning if it is given: a column whose edges are wanted belongs into X.
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
        if y is not None:
            warn(
                "CredibleNetworks does not use y: to predict it, use CredibleNetworksClassifier or "
                "CredibleNetworksRegressor; to learn its edges, make it a column of X"
            )
        self._fit(self._features(X, is_fit=True), sample_weight, {})
        return self

    @_MethodBesideOption
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log likelihood of the rows of X.

        Parameters
        ----------
        X : DataFrame, Arrow table or array, with the columns that `fit` was given
            Missing cells are summed out.
        y
            Not used.
        sample_weight : array, optional
        """
        check_is_fitted(self)
        logs = self.model_.log_likelihood(self._features(X), **self._row_options())
        return float(np.average(logs, weights=sample_weight))

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

    def _found(self) -> CredibleSet:
        check_is_fitted(self)
        found: CredibleSet = self.credible_set_
        return found


class _Predictor(_Networks):
    """What the classifier and the regressor share: y is one more column, which the networks predict."""

    def _fit_target(self, X: Any, y: Any, sample_weight: Any, values: Any, kind: str) -> None:
        columns = self._columns()
        if columns == ("continuous" if kind == "categorical" else "discrete"):
            wanted = "categories" if kind == "categorical" else "numbers"
            raise OptionError.refusing(
                "score",
                vars(self)["score"],
                f"{type(self).__name__} needs a score for {wanted}: choose 'auto' or 'conditional-gaussian-bic'",
            )
        frame = self._features(X, is_fit=True)
        check_consistent_length(frame, values)
        target = unused(name_of(y), list(frame.columns))
        frame[target] = values
        self._fit(frame, sample_weight, {target: kind})
        self.target_ = target

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class CredibleNetworksClassifier(ClassifierMixin, _Predictor):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier that averages over all credible networks of X and y, with the conventions of scikit-learn.

    The values of y are categories, also where they are numbers.

    Parameters
    ----------
    score : str or score object
        A score for categories, or "conditional-gaussian-bic" where X has numbers; by default the one that fits X.
    bayes_factor, equivalent_sample_size, max_parents, forbidden_edges, required_edges, tiers, state_names, \
handle_unknown, max_networks, time_limit, n_jobs, show_progress, read_options
        See `CredibleNetworks`. Constraints name y as `target_` does.

    Attributes
    ----------
    credible_set_ : CredibleSet
        The networks of all columns of X and of y.
    model_ : AveragedModel
        The networks with their parameters.
    target_ : str
        The name of y among the variables: its own, or "y", with underscores appended while a column of X is called so.
    classes_ : ndarray
        The categories of y.
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where X has names for its columns.

    Examples
    --------
    >>> from credibn.examples import sample_asia
    >>> table = sample_asia().to_pandas()
    >>> X, y = table[["smoke", "bronc", "xray", "dysp"]], table["lung"]
    >>> classifier = CredibleNetworksClassifier(bayes_factor=3).fit(X[:800], y[:800])
    >>> classifier.predict(X[800:803])
    array(['no', 'no', 'no'], dtype='<U3')
    >>> classifier.score(X[800:], y[800:])
    0.98
    """

    score = _MethodBesideOption(ClassifierMixin.score)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CredibleNetworksClassifier:
        """Find the credible networks of X and y, and fit their parameters.

        Parameters
        ----------
        X : DataFrame, Arrow table or array, shape (rows, columns)
        y : Series or array, shape (rows,)
            The categories to be predicted.
        sample_weight : array of whole numbers, shape (rows,), optional
            How many rows each row stands for.

        Returns
        -------
        CredibleNetworksClassifier
            Itself.

        Raises
        ------
        DataError, OptionError, TooLargeError, TimeLimitError
            See `credibn.learn`.
        """
        self._fit_target(X, y, sample_weight, classes_of(y), "categorical")
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable category of y in each row; of equally probable ones, the first.

        Parameters
        ----------
        X : DataFrame, Arrow table or array, with the columns that `fit` was given
            Missing cells are summed out.
        """
        chosen: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return chosen

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each category of y in each row, in the order of `classes_`.

        Parameters
        ----------
        X : DataFrame, Arrow table or array, with the columns that `fit` was given
            Missing cells are summed out.
        """
        check_is_fitted(self)
        frame = self.model_.predict_proba(self._features(X), self.target_, **self._row_options())
        return np.asarray(frame, dtype=np.float64)

    @property
    def classes_(self) -> NDArray[Any]:
        """The categories of y, in the order of the columns of `predict_proba`."""
        check_is_fitted(self)
        labels = self.model_.states[self.model_.names.index(self.target_)] or ()
        is_one_kind = len({type(label) for label in labels}) == 1
        return np.array(labels, dtype=None if is_one_kind else object)


class CredibleNetworksRegressor(RegressorMixin, _Predictor):  # type: ignore[misc]  # scikit-learn has no types
    """A regressor that averages over all credible networks of X and y, with the conventions of scikit-learn.

    It predicts the mean of y given the other columns, averaged over the credible networks.

    Parameters
    ----------
    score : str or score object
        "gaussian-bic", "bge", or "conditional-gaussian-bic" where X has categories; by default the one that fits X.
    bayes_factor, equivalent_sample_size, max_parents, forbidden_edges, required_edges, tiers, state_names, \
handle_unknown, max_networks, time_limit, n_jobs, show_progress, read_options
        See `CredibleNetworks`. Constraints name y as `target_` does.

    Attributes
    ----------
    credible_set_ : CredibleSet
        The networks of all columns of X and of y.
    model_ : AveragedModel
        The networks with their parameters.
    target_ : str
        The name of y among the variables: its own, or "y", with underscores appended while a column of X is called so.
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where X has names for its columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X[:, 0] - 2 * X[:, 1] + rng.normal(size=300)
    >>> regressor = CredibleNetworksRegressor().fit(X, y)
    >>> regressor.predict([[1, 0], [0, 1]]).round(1)
    array([ 1., -2.])
    """

    score = _MethodBesideOption(RegressorMixin.score)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CredibleNetworksRegressor:
        """Find the credible networks of X and y, and fit their parameters.

        Parameters
        ----------
        X : DataFrame, Arrow table or array, shape (rows, columns)
        y : Series or array, shape (rows,)
            The numbers to be predicted.
        sample_weight : array of whole numbers, shape (rows,), optional
            How many rows each row stands for.

        Returns
        -------
        CredibleNetworksRegressor
            Itself.

        Raises
        ------
        DataError, OptionError, TooLargeError, TimeLimitError
            See `credibn.learn`.
        """
        self._fit_target(X, y, sample_weight, numbers_of(y), "numeric")
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the mean of y in each row, given the other columns.

        Parameters
        ----------
        X : DataFrame, Arrow table or array, with the columns that `fit` was given
            Missing cells are summed out, where all columns are numbers; otherwise they are refused.
        """
        check_is_fitted(self)
        means = self.model_.predict(self._features(X), self.target_, **self._row_options())
        return np.asarray(means, dtype=np.float64)
