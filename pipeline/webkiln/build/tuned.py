"""The file of tuned choices beside a recipe: what was measured joins what is there, kernel by
kernel.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.backends.table import TARGETS
from webkiln.build.engine import Engine
from webkiln.build.files import write_atomic
from webkiln.build.graph import ModelGraph
from webkiln.build.table import table
from webkiln.errors import RecipeError
from webkiln.plan.tuning import SCHEMA, read, trials
from webkiln.recipe import USUAL_BACKENDS, Recipe

NAME = "tuned.json"


@dataclass(frozen=True, slots=True)
class Retuned:
    """What a kernel was computed by, and is now, with the milliseconds of both."""

    kernel: str
    before: str
    now: str
    before_ms: float | None
    now_ms: float


def tunable(recipe: Recipe) -> tuple[str, ...]:
    """The recipe's backends that have a choice."""
    return tuple(backend for backend in recipe.backends if trials(TARGETS[backend]))


def usual(recipe: Recipe) -> tuple[str, ...]:
    """The one that is tuned where none is named, if any is: wasm or js, which every host runs,
    before others.
    """
    there = tunable(recipe)
    return tuple([*(backend for backend in USUAL_BACKENDS if backend in there), *there][:1])


def place(recipe: Recipe, folder: Path) -> Path:
    """Where the file of a recipe in `folder` is, or will be."""
    return recipe.tuned or folder / NAME


def tune(
    engine: Engine, recipe: Recipe, backend: str, browser: str, file: Path, *, anew: bool = False
) -> list[Retuned]:
    """Time what can be chosen and write the fastest into `file`; nothing runs where that was
    measured before, unless it is done `anew`.
    """
    if not trials(TARGETS[backend]):
        raise RecipeError(
            f"{recipe.name}: {backend} has no choices to time; those that have:"
            f" {', '.join(tunable(recipe)) or 'none'}"
        )
    known = _known(file)
    action = ModelGraph(recipe, engine.share).tune(backend, browser)
    result = engine.rerun(action) if anew else engine.run(action)
    measured = canonical.loads(engine.data(result, "measured.json"))
    earlier = read(known, backend).kernels
    changes = []
    for key, entry in measured["kernels"].items():
        before = earlier[key].chosen if key in earlier else entry["rule"]
        changes.append(
            Retuned(
                key, before, entry["chosen"], entry["ms"].get(before), entry["ms"][entry["chosen"]]
            )
        )
    there = known["backends"].get(backend, {"kernels": {}})
    made = {
        key: {"chosen": entry["chosen"], "ms": entry["ms"]}
        for key, entry in measured["kernels"].items()
    }
    about = {name: measured[name] for name in ("browser", "version", "variant")}
    known["backends"][backend] = {**about, "kernels": {**there["kernels"], **made}}
    write_atomic(
        file, (json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
    )
    return changes


def _known(file: Path) -> dict[str, Any]:
    """What the file holds; an empty one where there is none."""
    if not file.exists():
        return {"schema": SCHEMA, "backends": {}}
    try:
        data = canonical.read(file)
    except (OSError, ValueError) as error:
        raise RecipeError(f"{file}: cannot be read ({error}); mend or remove it") from error
    for backend in (
        data["backends"]
        if isinstance(data, Mapping) and isinstance(data.get("backends"), Mapping)
        else ("",)
    ):
        try:
            read(data, backend)
        except RecipeError as error:
            raise RecipeError(f"{file}: {error}") from error
    return dict(data)


def hint(file: Path, recipe: Recipe) -> str:
    """Where the choices are, and what makes them count."""
    return (
        f"{file}: written"
        if recipe.tuned is not None
        else f'{file}: written; the recipe takes it with tuned = "{file.name}"'
    )


def shown(title: str, changes: Sequence[Retuned]) -> str:
    """What was chosen before and is now, the kernels that gain most first."""
    ordered = sorted(
        changes,
        key=lambda item: item.now_ms - (item.now_ms if item.before_ms is None else item.before_ms),
    )
    rows = [
        (
            item.kernel,
            item.before,
            item.now,
            "" if item.before_ms is None else f"{item.before_ms:.4f}",
            f"{item.now_ms:.4f}",
        )
        for item in ordered
    ]
    moved = sum(item.before != item.now for item in changes)
    return table(
        f"{title}: {moved} of {len(changes)} choices change",
        ("kernel", "before", "now", "ms before", "ms now"),
        rows,
    )
