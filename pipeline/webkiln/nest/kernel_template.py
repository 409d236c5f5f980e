"""Kernel templates: code for what schedules cannot say, such as a dot product of narrow integers.

`kernels/<name>.toml` declares a template beside its text, `kernels/<name>.<language>.jinja`.
"""

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from webkiln.errors import InternalError
from webkiln.shared_files import shared_root

DATA = ("kernels/*.toml",)
STEPS = ("product", "depthwise", "block_product", "vector_product")
"""The patterns of `plan/template_steps.py`, `plan/block_steps.py` and `plan/vector_products.py`."""


@dataclass(frozen=True, slots=True)
class Template:
    """What a template computes, and when it can.

    `step` is the pattern over nests that it implements (`STEPS`). `rows` and
    `columns` are the dtypes of its factors; the columns are constants in panels of `panel`
    elements, in which groups of `together` neighbours along the sum are adjacent. `block` is the
    number of rows and of columns that it computes at once, and `depth` the shortest and the
    longest sum. `gops` is the speed of its multiplications and additions, in 10^9 per second, on
    the machine of the cost model.
    """

    name: str
    backend: str
    step: str
    rows: frozenset[str]
    columns: frozenset[str]
    panel: int
    together: int
    block: tuple[int, int]
    depth: tuple[int, int]
    gops: float


@cache
def _declared() -> tuple[Template, ...]:
    return tuple(map(read_template, sorted((shared_root() / "kernels").glob("*.toml"))))


def templates(backend: str) -> tuple[Template, ...]:
    """The templates of a backend, by name."""
    return tuple(item for item in _declared() if item.backend == backend)


def find_template(name: str) -> Template:
    return next(item for item in _declared() if item.name == name)


def read_template(path: Path) -> Template:
    """Raises InternalError if a field is unknown or missing, or if there is no such step."""
    data = tomllib.loads(path.read_text("utf-8"))
    expected = {field.name for field in fields(Template)} - {"name"}
    if data.keys() != expected:
        wrong = ", ".join(sorted(data.keys() ^ expected))
        raise InternalError(f"{path.name}: unknown or missing: {wrong}")
    if data["step"] not in STEPS:
        raise InternalError(f"{path.name}: step is {data['step']!r}, expected {', '.join(STEPS)}")
    convert = {
        "rows": frozenset,
        "columns": frozenset,
        "block": tuple,
        "depth": tuple,
        "gops": float,
    }
    values = {name: convert.get(name, lambda item: item)(value) for name, value in data.items()}
    return Template(path.stem, **values)
