"""Text tables for terminals, logs and pipes."""

import re
from collections.abc import Sequence

NUMBER = re.compile(r"\d[\d,]*(\.\d+)?")


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns are left-aligned, those of numbers right-aligned. The last one is not padded."""
    lines = [tuple(header), *map(tuple, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    numeric = [
        all(NUMBER.fullmatch(row[column]) for row in rows if row[column])
        for column in range(len(header))
    ]

    def formatted(line: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        return "  ".join(cells).rstrip()

    head, *body = map(formatted, lines)
    return "\n".join([title, head, "-" * len(head), *body, ""])
