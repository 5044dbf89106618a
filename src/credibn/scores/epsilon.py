"""How far from the best a network may score and still be credible.

A network is credible when its log score is at least OPT - epsilon, epsilon = ln(Bayes factor): the data favour the
best network over it by less than that factor (Liao et al., section 3; scale of Kass & Raftery 1995: 3 to 20 positive,
20 to 150 strong, above 150 very strong evidence).
"""

import math

from credibn.errors import OptionError

__all__ = ["DEFAULT_BAYES_FACTOR", "resolve_epsilon"]

DEFAULT_BAYES_FACTOR = 20.0


def resolve_epsilon(bayes_factor: float | None = None, epsilon: float | None = None) -> float:
    """Return epsilon from whichever of the two was given; a Bayes factor of 20 if neither was.

    Examples
    --------
    >>> resolve_epsilon(bayes_factor=1.0)
    0.0
    >>> resolve_epsilon(epsilon=2.5)
    2.5
    """
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


def _number(option: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise OptionError(f"{option} is {value!r}; give a number") from None
