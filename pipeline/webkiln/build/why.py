"""What differs between two keys of a task, field by field."""

from collections.abc import Iterator, Mapping
from typing import Any

ABBREVIATED = 12


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """One line per field that was added, removed or changed; nested tables are walked."""
    return list(_walk("", old, new))


def _walk(where: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys()):
            place = f"{where} {name}".strip()
            if name not in old:
                yield f"{place}: added, {_show(new[name])}"
            elif name not in new:
                yield f"{place}: removed, was {_show(old[name])}"
            else:
                yield from _walk(place, old[name], new[name])
    elif old != new:
        yield f"{where}: {_show(old)} -> {_show(new)}"


def _show(value: Any) -> str:
    text = str(value)
    return text[:ABBREVIATED] if len(text) == 64 and " " not in text else text
