"""Lines, and the indented lines below them."""

from collections.abc import Iterable, Iterator

INDENT = "  "
Block = tuple[str, list[str]]
"""A line, and the lines below it that are indented further, without the indentation."""


def blocks(lines: Iterable[str]) -> Iterator[Block]:
    """Group lines by those without an indentation. Empty lines are skipped."""
    head: str | None = None
    block: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        if line.startswith(INDENT) and head is not None:
            block.append(line.removeprefix(INDENT))
            continue
        if head is not None:
            yield head, block
        head, block = line, []
    if head is not None:
        yield head, block
