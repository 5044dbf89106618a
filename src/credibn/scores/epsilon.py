"""How far below the best a network may score and still be credible.

A network is credible when its log score is at least OPT - epsilon, epsilon = ln(Bayes factor): the data favour the
best network over it by less than that factor (Liao et al., section 3; scale of Kass & Raftery 1995: 3 to 20 positive,
20 to 150 strong, above 150 very strong evidence).

The limit can also be given as a ratio rho >= 1 (Liao et al., equation 1, in costs, where OPT > 0 is the least): a
network is credible when its cost is at most rho * OPT, so epsilon = (rho - 1) * OPT. OPT is known only after the
search.
"""

from credibn.errors import Option, OptionError


def epsilon_of_ratio(ratio: float, optimal_score: float) -> float:
    """Return the epsilon of a ratio; refuse positive optimal log scores, which densities can have."""
    if optimal_score > 0:
        raise OptionError(
            "{} was given, but the optimal log score is {:.6g}, above 0, where a ratio of costs has no meaning; give "
            "{} or {} instead",
            Option("ratio", ratio),
            optimal_score,
            Option("bayes_factor"),
            Option("epsilon"),
        )
    return (ratio - 1.0) * -optimal_score + 0.0
