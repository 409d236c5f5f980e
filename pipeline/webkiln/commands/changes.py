"""Changes that `webkiln init` makes to a project."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from webkiln.build.files import write_atomic


@dataclass(frozen=True)
class Addition:
    """A new file."""

    path: Path
    data: bytes


@dataclass(frozen=True)
class Amendment:
    """A change to an existing file. If `edit` returns None, the change is not safe, and `advice`
    describes it.
    """

    path: Path
    edit: Callable[[str], str | None]
    what: str
    advice: str


Change = Addition | Amendment
WOULD = {"wrote": "write", "overwrote": "overwrite", "changed": "change"}


def apply(root: Path, change: Change, *, force: bool, dry: bool) -> str:
    """Apply one change, and report it."""
    path = root / change.path
    there = path.read_bytes() if path.is_file() else None
    name = change.path.as_posix()
    if isinstance(change, Addition):
        if there == change.data:
            return f"  unchanged  {name}"
        if there is not None and not force:
            return f"  kept       {name}, which has other content; --force overwrites it"
        data, verb = change.data, "wrote" if there is None else "overwrote"
    else:
        before = (there or b"").decode()
        ends = "\r\n" if "\r\n" in before else "\n"
        text = change.edit(before.replace("\r\n", "\n"))
        if text is None:
            return f"  skipped    {name}; add by hand: {change.advice}"
        if text == before.replace("\r\n", "\n"):
            return f"  unchanged  {name}"
        data, verb, name = (
            text.replace("\n", ends).encode(),
            *(("wrote", name) if there is None else ("changed", f"{name}: {change.what}")),
        )
    if dry:
        return f"  would {WOULD[verb]} {name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data)
    return f"  {verb:<9}  {name}"
