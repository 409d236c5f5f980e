"""Tables that commands print."""

import re


def rows(text: str, title: str) -> dict[str, list[str]]:
    """The first column -> the cells of the rows of one table, by layer. The first row of a layer
    counts.
    """
    body = next(part for part in text.split("\n\n") if part.startswith(f"{title}\n")).splitlines()[
        3:
    ]
    cells_of: dict[str, list[str]] = {}
    for line in body:
        name, *cells = re.split(r" {2,}", line.strip())
        cells_of.setdefault(name, cells)
    return cells_of
