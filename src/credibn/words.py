"""Numbers of things, and of bytes, in words."""

__all__ = ["byte_text", "plural"]


def plural(number: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> plural(1, "class"), plural(2000, "class"), plural(0, "network")
    ('1 class', '2,000 classes', '0 networks')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def byte_text(n_bytes: float) -> str:
    """Return an amount of memory in the unit that fits its size.

    Examples
    --------
    >>> [byte_text(n) for n in (1, 900, 6144, 314572800, 1.5 * 2**30, 2**42)]
    ['1 byte', '900 bytes', '6.00 KiB', '300 MiB', '1.50 GiB', '4.00 TiB']
    """
    if n_bytes < 1024:
        return plural(int(n_bytes), "byte")
    value, unit = n_bytes / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f} {unit}"
