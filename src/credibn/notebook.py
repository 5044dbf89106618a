"""Small pieces of HTML, with which results show themselves in a notebook.

Everything that comes from outside is escaped: names and states are text, never markup. Nothing is loaded from
elsewhere, and the same result gives the same text.
"""

from collections.abc import Collection, Iterable, Sequence
from html import escape

from credibn.drawing import Drawable, draw, svg

__all__ = ["block", "drawing", "paragraph", "table"]


def block(*parts: str) -> str:
    """Return pieces of HTML as one.

    Examples
    --------
    >>> print(block(paragraph("a"), paragraph("b")))
    <div>
    <p>a</p>
    <p>b</p>
    </div>
    """
    return "\n".join(["<div>", *(part for part in parts if part), "</div>"])


def paragraph(text: str) -> str:
    """Return a text as a paragraph.

    Examples
    --------
    >>> paragraph("2 < 3")
    '<p>2 &lt; 3</p>'
    """
    return f"<p>{escape(text)}</p>"


def table(header: Sequence[str], rows: Iterable[Sequence[object]], numbers: Collection[int] = ()) -> str:
    """Return a table, the columns at the positions ``numbers`` flush right.

    Examples
    --------
    >>> print(table(["name", "n"], [["<a>", 3]], numbers=[1]).splitlines()[3])
    <tr><td style="text-align: left">&lt;a&gt;</td><td style="text-align: right">3</td></tr>
    """
    sides = ["right" if at in numbers else "left" for at in range(len(header))]

    def line(start: str, cells: Sequence[object], end: str) -> str:
        styled = zip(cells, sides, strict=True)
        filled = (f'{start} style="text-align: {side}">{escape(str(cell))}{end}' for cell, side in styled)
        return f"<tr>{''.join(filled)}</tr>"

    head = line('<th scope="col"', header, "</th>")
    body = (line("<td", row, "</td>") for row in rows)
    return "\n".join(["<table>", f"<thead>{head}</thead>", "<tbody>", *body, "</tbody>", "</table>"])


def drawing(graph: Drawable, title: str) -> str:
    """Return a graph as an SVG; nothing where it has more nodes than one can make out.

    Examples
    --------
    >>> from credibn.graphs import CPDAG
    >>> drawing(CPDAG(("a", "b"), directed=(("a", "b"),), undirected=()), "a class").count("<circle")
    2
    >>> drawing(CPDAG(tuple(range(99)), directed=(), undirected=()), "a class")
    ''
    """
    drawn = draw(graph)
    return "" if drawn is None else svg(drawn, title)
