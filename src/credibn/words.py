"""Numbers of things in words."""

__all__ = ["plural"]


def plural(number: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> plural(1, "class"), plural(2000, "class"), plural(0, "network")
    ('1 class', '2,000 classes', '0 networks')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"
