"""How far below the best a network may score and still be credible.

A network is credible when its log score is at least OPT - epsilon, epsilon = ln(Bayes factor): the data favour the
best network over it by less than that factor (Liao et al., section 3; scale of Kass & Raftery 1995: 3 to 20 positive,
20 to 150 strong, above 150 very strong evidence).

The limit can also be given as a ratio rho >= 1 (Liao et al., equation 1, in costs, where OPT > 0 is the least): a
network is credible when its cost is at most rho * OPT, so epsilon = (rho - 1) * OPT. OPT is known only after the
search.
"""

import math

from credibn.errors import OptionError

DEFAULT_BAYES_FACTOR = 20.0


def resolve_epsilon(bayes_factor: float | None = None, epsilon: float | None = None) -> float:
    """Return epsilon from whichever of the two was given; a Bayes factor of 20 if neither was."""
    if bayes_factor is not None and epsilon is not None:
        raise OptionError(f"both bayes_factor={bayes_factor!r} and epsilon={epsilon!r} were given; give one of them")
    if epsilon is not None:
        value = _number("epsilon", epsilon)
        if not 0 <= value < math.inf:
            raise OptionError(f"epsilon is {epsilon!r}; it must be 0 or more, and finite")
        return value
    factor = _number("bayes_factor", DEFAULT_BAYES_FACTOR if bayes_factor is None else bayes_factor)
    if not 1 <= factor < math.inf:
        raise OptionError(
            f"bayes_factor is {bayes_factor!r}; it must be 1 or more, and finite (1 keeps only the optimal networks)"
        )
    return math.log(factor)


def resolve_ratio(ratio: float) -> float:
    """Return the ratio as a finite number, 1 or more."""
    value = _number("ratio", ratio)
    if not 1 <= value < math.inf:
        raise OptionError(f"ratio is {ratio!r}; it must be 1 or more, and finite (1 keeps only the optimal networks)")
    return value


def epsilon_of_ratio(ratio: float, optimal_score: float) -> float:
    """Return the epsilon of a ratio; refuse positive optimal log scores, which densities can have."""
    if optimal_score > 0:
        raise OptionError(
            f"ratio={ratio!r} was given, but the optimal log score is {optimal_score:.6g}, above 0, where a ratio of "
            "costs has no meaning; give bayes_factor or epsilon instead"
        )
    return (ratio - 1.0) * -optimal_score + 0.0


def _number(option: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise OptionError(f"{option} is {value!r}; give a number") from None
