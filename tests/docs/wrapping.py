"""Wraps paragraphs and list items of Markdown at 100 columns."""

import re
from collections.abc import Iterator

COLUMNS = 100
TOKEN = re.compile(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+")
"""A word. Code and links are not split."""
MARKER = re.compile(r"(\s*)([-*]|\d+\.)\s+")
UNWRAPPED = ("#", "|", "<", "    ")
"""Prefixes of lines that are neither paragraphs nor items: headings, tables, HTML, code."""


def wrap(text: str) -> str:
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    fenced, number = False, 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if (
            fenced
            or not line.strip()
            or line.startswith(UNWRAPPED)
            or line.lstrip().startswith("```")
        ):
            yield line
            continue
        marker = MARKER.match(line)
        first = marker[0] if marker else line[: len(line) - len(line.lstrip())]
        block = [line[len(first) :]]
        while number < len(lines) and _continues(lines[number]):
            block.append(lines[number].strip())
            number += 1
        yield from _fill(" ".join(block), first, " " * len(first))


def _continues(line: str) -> bool:
    stripped = line.strip()
    return (
        bool(stripped)
        and not stripped.startswith(("```", "|", "#", "<"))
        and not MARKER.match(line)
    )


def _fill(text: str, first: str, rest: str) -> Iterator[str]:
    line, empty = first, True
    for token in TOKEN.findall(text):
        if not empty and len(line) + 1 + len(token) > COLUMNS:
            yield line
            line, empty = rest, True
        line += token if empty else f" {token}"
        empty = False
    yield line
