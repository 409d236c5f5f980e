"""The fenced code blocks of a Markdown page."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\S*)[ ]?(.*)\n((?:.*\n)*?)```$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """`marks`: the words after the language of a block, such as `network`."""

    language: str
    marks: tuple[str, ...]
    text: str


def blocks(page: str) -> list[Block]:
    return [
        Block(language, tuple(marks.split()), text)
        for language, marks, text in FENCE.findall((ROOT / page).read_text("utf-8"))
    ]
