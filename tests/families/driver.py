"""Build the networks of a family, verify them in Chromium and Node, and replace their rows of
docs/families.md.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from platformdirs import user_cache_path

from tests.families.page import record
from webkiln import canonical
from webkiln.build.action import Action
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import share
from webkiln.errors import UserError
from webkiln.ops.table import from_json
from webkiln.recipe.recipe import Recipe

TOLERANCE = 1e-4
COLUMNS = ("wasm relaxed", "wasm simd", "js")
CACHE = user_cache_path("webkiln") / "families"


@dataclass(frozen=True)
class Family:
    """Networks with a separate table. `recipe(network, folder, backends)` writes a recipe into an
    empty folder; `inputs` returns a description of their sizes.
    """

    name: str
    networks: tuple[str, ...]
    inputs: Callable[[str], str]
    recipe: Callable[[str, Path, Sequence[str]], Recipe]
    tolerance: float = TOLERANCE


def verify_network(
    family: Family, network: str, backends: Sequence[str], folder: Path
) -> tuple[int, dict[str, float]]:
    """The number of trained parameters of a network, and its error on each backend and variant."""
    with Engine(folder / ".webkiln", cache=CACHE) as engine:

        def read(action: Action, name: str) -> Any:
            return canonical.read(engine.cache.store.path(engine.run(action).outputs[name].sha256))

        actions = ModelGraph(family.recipe(network, folder, backends), share())
        results = [
            read(action, "result.json")
            for action in actions.verify(Selection(tuple(backends)), "chromium")
        ]
        graph = from_json(read(actions.convert(), "graph.json"))
    errors = {
        f"{item['backend']} {item['variant'] or ''}".strip(): max(
            row["relative"] for row in item["outputs"]
        )
        for item in results
    }
    return sum(prod(graph.variables[slot].shape) for slot in graph.slots), errors


def forget_weights() -> None:
    """Keep the compiled kernels of the networks that ran, but not their weights, which fill a disk.
    Only one family at a time may run with a cache.
    """
    for path in CACHE.rglob("*"):
        if path.is_file() and path.stat().st_size > 2**20:
            path.unlink()


def main(family: Family, description: str | None) -> int:
    """Verify the requested networks; with wasm and js, write their rows. Return the exit status: 1
    if one failed.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="; all by default")
    parser.add_argument("--backend", default="wasm,js")
    options = parser.parse_args()
    failed = False
    for network in options.networks or family.networks:
        start = time.perf_counter()
        try:
            with TemporaryDirectory() as folder:
                parameters, errors = verify_network(
                    family, network, options.backend.split(","), Path(folder)
                )
        except UserError as error:
            parameters, errors = 0, {}
            print(f"{network}: {error}", flush=True)
        forget_weights()
        failed |= not errors or max(errors.values()) > family.tolerance
        summary = ", ".join(f"{name} {value:.1e}" for name, value in errors.items())
        print(
            f"{network} at {family.inputs(network)}: {summary or 'FAILED'},"
            f" {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        if set(COLUMNS) <= set(errors) and max(errors.values()) <= family.tolerance:
            record(
                family.name,
                [
                    network,
                    family.inputs(network),
                    f"{parameters:,}",
                    *(f"{errors[name]:.1e}" for name in COLUMNS),
                ],
            )
    return int(failed)
