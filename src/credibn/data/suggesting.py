"""Name the likely intended word in an error about an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from credibn._base.text import quoted


def suggestion(name: str, known: Iterable[str], limit: int = 10) -> str:
    """Return a half sentence that helps to correct ``name``: close matches, otherwise what there is."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3)
    if not close:
        folded = {candidate.casefold(): candidate for candidate in names}
        close = [folded[match] for match in difflib.get_close_matches(name.casefold(), list(folded), n=3)]
    if close:
        return f"did you mean {' or '.join(quoted(match) for match in close)}?"
    shown = ", ".join(quoted(candidate) for candidate in names[:limit])
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return f"known names: {shown or 'none'}{more}"
