"""The names of segments, and of helpers that access them, in shaders."""

import re

SEGMENT = "_in"
"""Stands before the binding in the name of a helper that accesses a segment."""
_NAMES = re.compile(r"\bwk_\w+|\barena\b")


def in_segment(text: str, binding: int) -> str:
    """Code that accesses the arena, changed to access a segment instead; with binding 0, the code
    as it is.
    """
    if not binding:
        return text

    def changed(match: re.Match[str]) -> str:
        name = match[0]
        return f"segment{binding}" if name == "arena" else f"{name}{SEGMENT}{binding}"

    return _NAMES.sub(changed, text)
