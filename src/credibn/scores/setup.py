"""From what a caller gave to a problem of scoring: the table, the score that a name stands for, the constraints."""

from typing import Any, get_args

from credibn.data import Dataset
from credibn.data.reading import read_table
from credibn.data.suggesting import suggestion
from credibn.errors import Option, OptionError
from credibn.options import (
    NO_OPTIONS,
    ReadOptions,
    ScoreName,
    ScoreOptions,
    score_name,
)
from credibn.scores.constraints import resolve_constraints
from credibn.scores.discrete import AIC, BIC, BDeu, DiscreteScore, refuse_continuous
from credibn.scores.gaussian import BGe, GaussianBIC
from credibn.scores.local import LocalScore
from credibn.scores.mixed import ConditionalGaussianBIC
from credibn.scores.priors import resolve_prior
from credibn.scores.problem import ScoringProblem
from credibn.scores.protocol import SetScore

SCORES: tuple[str, ...] = get_args(ScoreName)


def make_problem(
    data: Any,
    scoring: ScoreOptions,
    epsilon: float,
    reading: ReadOptions = NO_OPTIONS,
    deadline: float | None = None,
) -> ScoringProblem:
    """Read the data, and resolve the options of scoring against its columns."""
    dataset = read_table(data, reading, columns_taken(scoring.score, scoring.equivalent_sample_size), deadline)
    scorer = resolve_score(score_for(scoring.score, dataset), scoring.equivalent_sample_size)
    if isinstance(scorer, DiscreteScore):
        refuse_continuous(dataset, range(dataset.n_variables))
    constraints = resolve_constraints(
        dataset.names,
        forbidden_edges=scoring.forbidden_edges,
        required_edges=scoring.required_edges,
        tiers=scoring.tiers,
        max_parents=scoring.max_parents,
        unavailable=dataset.constant_columns,
    )
    return ScoringProblem(dataset, scorer, epsilon, constraints, resolve_prior(scoring.prior, dataset.names))


def columns_taken(score: str | SetScore | LocalScore, equivalent_sample_size: float | None = None) -> str:
    """Return the kind of columns that a score takes; "auto" takes any."""
    return "mixed" if score == "auto" else resolve_score(score, equivalent_sample_size).columns


def score_for(score: str | SetScore | LocalScore, dataset: Dataset) -> str | SetScore | LocalScore:
    """Return the score that is used for a table: "auto" is the BIC for the kinds of its columns."""
    if score != "auto":
        return score
    if all(dataset.is_discrete):
        return "bic"
    return "conditional-gaussian-bic" if any(dataset.is_discrete) else "gaussian-bic"


def resolve_score(score: str | SetScore | LocalScore, equivalent_sample_size: float | None) -> SetScore | LocalScore:
    """Return the score object that a name, or an object, and the equivalent sample size stand for."""
    if isinstance(score, str):
        score = score_name(score)
    if score == "bdeu":
        return BDeu(1.0 if equivalent_sample_size is None else equivalent_sample_size)
    if equivalent_sample_size is not None:
        raise OptionError(
            "{} was given with score {!r}; only {} takes it",
            Option("equivalent_sample_size", equivalent_sample_size),
            score,
            Option("score", "bdeu"),
        )
    if isinstance(score, str):
        named: dict[str, SetScore] = {
            "bic": BIC(),
            "aic": AIC(),
            "gaussian-bic": GaussianBIC(),
            "bge": BGe(),
            "conditional-gaussian-bic": ConditionalGaussianBIC(),
        }
        if score not in named:
            raise OptionError(
                "unknown {} {!r}: {}. The scores are {}; or pass an object",
                Option("score"),
                score,
                suggestion(score, SCORES),
                ", ".join(SCORES),
            )
        return named[score]
    if isinstance(score, (SetScore, LocalScore)):
        return score
    raise OptionError(
        f"score is {score!r}; give a name ({', '.join(SCORES)}) or an object with name, columns, settings() and "
        "set_costs(data, sets) or local_cost(data, node, parents)"
    )
