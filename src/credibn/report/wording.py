"""A result in words: how many networks are credible, what a Bayes factor is, and what is certain.

No sentence claims more than the result proves: that no other network exists is said only where it is proven.
"""

import math

from credibn._base.text import plural
from credibn.credible import CredibleSet
from credibn.data import Dataset
from credibn.errors import Option
from credibn.report.sections import surviving_candidates, within
from credibn.scores import ScoreTable

_PROBABILITY_SCORES = ("bdeu", "bge")
"""Scores that are the log probability of the data given the network."""


def learning_headline(result: CredibleSet) -> str:
    """Say how many networks are credible; that no other is, only where it is proven."""
    networks, classes = plural(result.n_networks, "network"), plural(result.n_classes, "class")
    found = f"{networks} in {classes}"
    is_single = result.n_networks == 1
    reach = within(result.epsilon)
    if not result.complete:
        reason = str(result.stopped_because).replace("_", " ")
        if result.is_optimum_proven:
            fit = "fits" if is_single else "fit"
            return (
                f"At least {found} {fit} these data about as well as the best, {reach} of it. The search ended early "
                f"({reason}): there may be more."
            )
        were = "was" if is_single else "were"
        return f"{found} {were} found before the search ended early ({reason}): better ones may exist."
    if result.n_requested is not None:
        return f"{found} {'is' if is_single else 'are'} proven to be the best: the last is {reach} of the first."
    if is_single:
        return f"1 network fits these data best: no other{_among(result)} comes {reach} of it."
    return f"{found} fit these data about as well as the best: no other{_among(result)} comes {reach} of it."


def share_headline(result: CredibleSet) -> str:
    """Say first how much of the posterior the networks hold: all percentages that follow are within them."""
    found = f"{plural(result.n_networks, 'network')} in {plural(result.n_classes, 'class')}"
    return result.share_of(f"{found} {'holds' if result.n_networks == 1 else 'hold'}")


def in_python_and_shell(option: Option) -> str:
    """Return an option as Python and as the command line take it: a page does not know its reader."""
    flag = f"--{option.name.replace('_', '-')}"
    valued = flag if option.value is ... or option.value is True else f"{flag} {option.value}"
    return f"{option} ({valued})"


def scoring_headline(dataset: Dataset, table: ScoreTable) -> str:
    """Say what is known after scoring."""
    return (
        f"{plural(dataset.n_variables, 'variable')}, {plural(dataset.n_rows, 'row')} "
        f"({dataset.n_distinct:,} distinct). {surviving_candidates(table)}"
    )


def _among(result: CredibleSet) -> str:
    """Return which networks a claim about all networks is limited to."""
    table = result.score_table
    if table.epsilon is None:
        return " made of the parent sets given"
    return " that obeys the constraints" if table.provenance.get("constraints") else ""


def bayes_factor_sentences(result: CredibleSet) -> list[str]:
    """Say what the gap means, for readers who have never met a Bayes factor."""
    size = f"exp({result.epsilon:,.6g})" if result.epsilon > 30 else f"{math.exp(result.epsilon):,.6g}"
    sentences = [
        "A Bayes factor says how many times more probable the data are under one network than under another; here it "
        f"is at most {size} between the best network and any other in this report."
    ]
    score = result.score_table.provenance.get("score")
    if score not in _PROBABILITY_SCORES:
        named = f"The score ({score})" if score else "The score"
        sentences.append(f"{named} approximates the log of that probability.")
    sentences.append(
        "On a common scale, a factor below 3 is not worth more than a bare mention, 3 to 20 is positive evidence, "
        "20 to 150 strong and above 150 very strong (Kass and Raftery 1995)."
    )
    return sentences


def certain_sentences(result: CredibleSet) -> list[str]:
    """Return what is guaranteed, as sentences."""
    proven = "proven to be optimal" if result.is_optimum_proven else "not proven to be optimal"
    sentences = [
        f"The best score found is {result.optimal_score:,.6f}; it is {proven}.",
        f"{'The list is complete.' if result.complete else 'The list is not complete.'} {result.guarantee}",
    ]
    table = result.score_table
    if table.epsilon is None:
        sentences.append(
            "The scores do not say for which gap they were pruned: this holds only among networks made of the parent "
            "sets given."
        )
    elif table.provenance.get("constraints"):
        sentences.append("This holds among the networks that obey the constraints listed below.")
    if result.grouping != "whole classes":
        sentences.append("Networks were listed one by one: a class counts only its members found here.")
    sentences.append(result.share_statement)
    return sentences
