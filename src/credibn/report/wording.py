"""A result in words: how many networks are credible, what a Bayes factor is, and what is certain.

No sentence claims more than the result proves: that no other network exists is said only where it is proven.
"""

import math

from credibn._base.text import plural
from credibn.credible import CredibleSet
from credibn.credible.factored_averages import N_SAMPLES
from credibn.data import Dataset
from credibn.errors import Option
from credibn.report.sections import surviving_candidates, within
from credibn.scores import ScoreTable

_PROBABILITY_SCORES = ("bdeu", "bge")
"""Scores that are the log probability of the data given the network."""


def learning_headline(result: CredibleSet) -> str:
    """Say how many networks are credible; that no other is, only where it is proven."""
    found = found_text(result)
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
    return result.share_of(f"{found_text(result)} {'holds' if result.n_networks == 1 else 'hold'}")


def found_text(result: CredibleSet) -> str:
    """Return how many networks were found, and in how many classes where that is known."""
    networks = plural(result.n_networks, "network")
    return f"{networks} in {plural(result.n_classes, 'class')}" if result.structures.are_classes_counted else networks


def counted_sentences(result: CredibleSet, n_classes: int) -> list[str]:
    """Say what a page lacks, and what it estimates, where the networks are counted, not listed."""
    if result.structures.is_listed:
        return []
    averages = result.averages()
    sentences = [
        "The networks are counted, not listed: there are too many. Their numbers, the curves and the probabilities of "
        "edges and parent sets are exact."
    ]
    if not averages.has_compelled:
        sentences.append(
            "Constraints, the prior or scores from elsewhere can tell networks of a class apart, so classes are not "
            "counted, and which edges are reversible is unknown: an arrow means that no network has the "
            "other direction."
        )
    else:
        error = averages.error_of("reversible").get("standard_error", 0.0)
        sentences.append(
            f"Which edges are reversible comes from {N_SAMPLES:,} random networks, with a standard error of at most "
            f"{100 * float(str(error)):.2f} percentage points. Of the classes, the table has the {n_classes:,} that "
            "score best."
        )
    if "v_structures" in averages.sampled_averages:
        sentences.append("The probabilities of v-structures come from these random networks too.")
    sentences.append(
        "To look at further networks, draw them (sample_networks) or go through them in order of their score "
        "(networks) in Python."
    )
    return sentences


def in_python_and_shell(option: Option) -> str:
    """Return an option as Python and as the command line take it: a page does not know its reader."""
    flag = f"--{option.name.removeprefix('n_').replace('_', '-')}"
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
    what = "list" if result.structures.is_listed else "count"
    proven = "proven to be optimal" if result.is_optimum_proven else "not proven to be optimal"
    sentences = [
        f"The best score found is {result.optimal_score:,.6f}; it is {proven}.",
        f"The {what} is {'complete' if result.complete else 'not complete'}. {result.guarantee}",
    ]
    table = result.score_table
    if table.epsilon is None:
        sentences.append(
            "The scores do not say for which gap they were pruned: this holds only among networks made of the parent "
            "sets given."
        )
    elif table.provenance.get("constraints"):
        sentences.append("This holds among the networks that obey the constraints listed below.")
    if result.structures.is_listed and result.grouping != "whole classes":
        sentences.append("Networks were listed one by one: a class counts only its members found here.")
    sentences.append(result.share_statement)
    return sentences
