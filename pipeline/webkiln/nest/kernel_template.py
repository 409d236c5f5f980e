"""Kernel templates: code for what schedules cannot say, such as a dot product of narrow integers.

`kernels/<name>.toml` declares a template beside its text, `kernels/<name>.<language>.jinja`.
"""

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from webkiln.shared_files import shared_root

DATA = ("kernels/*.toml",)


@dataclass(frozen=True, slots=True)
class Template:
    """What a template computes, and when it can.

    `step` is the pattern over nests that it implements (`plan/template_steps.py`). `rows` and
    `columns` are the dtypes of its factors; the columns are constants in panels of `panel`
    elements. `block` is the number of rows and of columns that it computes at once, and `depth`
    the longest sum. `gops` is the speed of its multiplications and additions, in 10^9 per second,
    on the machine of the cost model.
    """

    name: str
    backend: str
    step: str
    rows: frozenset[str]
    columns: frozenset[str]
    panel: int
    block: tuple[int, int]
    depth: int
    gops: float


@cache
def templates(backend: str) -> tuple[Template, ...]:
    """The templates of a backend, by name."""
    found = map(_read, sorted((shared_root() / "kernels").glob("*.toml")))
    return tuple(item for item in found if item.backend == backend)


def _read(path: Path) -> Template:
    data = tomllib.loads(path.read_text("utf-8"))
    convert = {"rows": frozenset, "columns": frozenset, "block": tuple, "gops": float}
    values = {name: convert.get(name, lambda item: item)(value) for name, value in data.items()}
    assert values.keys() == {field.name for field in fields(Template)} - {"name"}, path
    return Template(path.stem, **values)
