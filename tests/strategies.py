"""Hypothesis strategies shared by the tests."""

from hypothesis import strategies as st

__all__ = ["labels", "tables"]


def labels():
    """Labels that try the reader: quotes, separators, spaces, line breaks, numbers; none is missing."""
    awkward = [
        "a",
        "b",
        "A",
        " a",
        'q"',
        "x,y",
        "l\nm",
        "l\r\nm",
        "'",
        "0",
        "1",
        "01",
        "10",
        "9",
        "é",
        "a\tb",
        "%",
        "-1.5",
    ]
    return st.sampled_from(awkward)


@st.composite
def tables(draw, values=None, max_rows=12, max_columns=4):
    """Small categorical tables, as a dict of name to list; names differ, also only in case."""
    n_rows = draw(st.integers(1, max_rows))
    names = draw(
        st.lists(
            st.sampled_from(["a", "A", "b c", "d,e", 'f"', "0", "c0", "n", "é", "weight"]),
            min_size=1,
            max_size=max_columns,
            unique=True,
        )
    )
    cells = labels() if values is None else values
    return {name: draw(st.lists(cells, min_size=n_rows, max_size=n_rows)) for name in names}
