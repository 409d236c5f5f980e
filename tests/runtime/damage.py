"""Damage to the files of a bundle."""

import re
from pathlib import Path


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2])


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


def alter(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def break_off(path: Path) -> None:
    """Truncate a module in the middle of a table."""
    text = path.read_text("utf-8")
    end = re.search(r"(program|launches) = \{", text)
    assert end is not None
    path.write_text(text[: end.end()], "utf-8")


def rebuild(path: Path) -> None:
    """Replace the build id of a module, as if it came from another build because of a cache or an
    incomplete deployment.
    """
    text = path.read_text("utf-8")
    path.write_text(re.sub(r'build = "[0-9a-f]+"', 'build = "0123456789abcdef"', text), "utf-8")
