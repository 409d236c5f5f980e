"""The file of tuned choices next to a recipe. New measurements are merged kernel by kernel."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.backends.table import REGISTRY
from webkiln.build.engine import Engine
from webkiln.build.files import write_atomic
from webkiln.build.graph import ModelGraph
from webkiln.build.table import table
from webkiln.errors import RecipeError
from webkiln.plan.tuning import SCHEMA, read, trials
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.values import USUAL_BACKENDS

NAME = "tuned.json"


@dataclass(frozen=True, slots=True)
class Retuned:
    """The choice for a kernel before and now, with the milliseconds of both."""

    kernel: str
    before: str
    now: str
    before_ms: float | None
    now_ms: float


def tunable(recipe: Recipe) -> tuple[str, ...]:
    """The recipe's backends that have a choice."""
    return tuple(backend for backend in recipe.backends if trials(REGISTRY[backend].target))


def usual(recipe: Recipe) -> tuple[str, ...]:
    """The backend that is tuned by default, if any: preferably wasm or js, which run everywhere."""
    candidates = tunable(recipe)
    return tuple(
        [*(backend for backend in USUAL_BACKENDS if backend in candidates), *candidates][:1]
    )


def tuned_file(recipe: Recipe, folder: Path) -> Path:
    """The path of the file for a recipe in `folder`."""
    return recipe.computation.tuned or folder / NAME


def tune(
    engine: Engine, recipe: Recipe, backend: str, browser: str, file: Path, *, rerun: bool = False
) -> list[Retuned]:
    """Time the candidates and write the fastest into `file`. Choices that were measured before are
    not measured again, unless `rerun` is set.
    """
    if not trials(REGISTRY[backend].target):
        raise RecipeError(
            f"{recipe.name}: {backend} has no choices to time; these backends have:"
            f" {', '.join(tunable(recipe)) or 'none'}"
        )
    _read_measurements(file)
    action = ModelGraph(recipe, engine.share).tune(backend, browser)
    result = engine.rerun(action) if rerun else engine.run(action)
    return record(file, backend, canonical.loads(engine.data(result, "measured.json")))


def record(file: Path, backend: str, measured: Mapping[str, Any]) -> list[Retuned]:
    """Write the fastest candidates of a measurement into `file`, beside those of other kernels."""
    known = _read_measurements(file)
    earlier = read(known, backend)
    changes = []
    for key, entry in measured["kernels"].items():
        old = earlier.entry(key)
        before = entry["rule"] if old is None else old.chosen
        changes.append(
            Retuned(
                key, before, entry["chosen"], entry["ms"].get(before), entry["ms"][entry["chosen"]]
            )
        )
    kernels = known["backends"].get(backend, {"kernels": {}})["kernels"]
    new = {
        key: {"chosen": entry["chosen"], "ms": entry["ms"]}
        for key, entry in measured["kernels"].items()
    }
    origin = {name: measured[name] for name in ("browser", "version", "variant", "device")}
    known["backends"][backend] = {**origin, "kernels": {**kernels, **new}}
    write_atomic(
        file, (json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
    )
    return changes


def _read_measurements(file: Path) -> dict[str, Any]:
    """The content of the file; empty where it does not exist."""
    if not file.exists():
        return {"schema": SCHEMA, "backends": {}}
    try:
        data = canonical.read(file)
    except (OSError, ValueError) as error:
        raise RecipeError(f"{file}: cannot be read ({error}); fix or remove it") from error
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
    """The path of the file, and how to use it in the recipe."""
    return (
        f"{file}: written"
        if recipe.computation.tuned is not None
        else f'{file}: written; add tuned = "{file.name}" to the recipe to use it'
    )


def shown(title: str, changes: Sequence[Retuned]) -> str:
    """The choices before and now, the largest gains first."""
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
