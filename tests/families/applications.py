"""Every network of keras.applications, at the smallest size that it takes, with made-up weights under which its outputs depend on the input.

.venv/bin/python -m tests.families.applications [ResNet50 ...] [--backend js]; of wasm and js together, it replaces the rows of docs/families.md.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import keras
from platformdirs import user_cache_path

from tests.backends.harness import ROOT
from tests.families.page import record
from webkiln import canonical
from webkiln.build.action import Action
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import share
from webkiln.errors import UserError
from webkiln.frontends.keras.spec import ModelSpec, from_json
from webkiln.recipe import Recipe, read_recipe

SMALLEST = {"Xception": 71, "InceptionV3": 75, "InceptionResNetV2": 75}
USUAL = 32
NETWORKS = tuple(name for name in dir(keras.applications) if name[0].isupper())
TOLERANCE = 1e-4
COLUMNS = ("wasm relaxed", "wasm simd", "js")
CACHE = user_cache_path("webkiln") / "families"


def recipe(network: str, folder: Path, backends: Sequence[str]) -> Recipe:
    """The recipe of a network, written into a folder."""
    lines = [
        f'source = {{ script = "{ROOT / "models" / "applications.py"}", function = "export" }}',
        f"backends = {json.dumps(list(backends))}",
        "[parameters]",
        f'network = "{network}"',
        'weights = "random"',
        f"size = {SMALLEST.get(network, USUAL)}",
    ]
    folder.mkdir()
    (folder / "recipe.toml").write_text("\n".join(lines))
    return read_recipe(folder / "recipe.toml")


def verified(network: str, backends: Sequence[str], folder: Path) -> tuple[int, dict[str, float]]:
    """How many parameters a network has, and its error on each backend and variant."""
    with Engine(folder / ".webkiln", cache=CACHE) as engine:

        def read(action: Action, name: str) -> Any:
            return canonical.read(engine.cache.store.path(engine.run(action).outputs[name].sha256))

        actions = ModelGraph(recipe(network, folder / network.lower(), backends), share())
        results = [read(action, "result.json") for action in actions.verify(Selection(tuple(backends)), "chromium")]
        errors = {
            f"{result['backend']} {result['variant'] or ''}".strip(): max(row["relative"] for row in result["outputs"])
            for result in results
        }
        return count_parameters(from_json(read(actions.load(), "spec.json"))), errors


def count_parameters(model: ModelSpec) -> int:
    weights = {weight.slot: prod(weight.shape) for layer in model.layers for weight in layer.weights.values()}
    return sum(weights.values()) + sum(count_parameters(layer.model) for layer in model.layers if layer.model is not None)


def forget_weights() -> None:
    """Keep the compiled kernels of the networks that were run, and not their weights, which fill a disk."""
    for path in CACHE.rglob("*"):
        if path.is_file() and path.stat().st_size > 2**20:
            path.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="; all by default")
    parser.add_argument("--backend", default="wasm,js")
    options = parser.parse_args()
    failed = 0
    for network in options.networks or NETWORKS:
        start = time.perf_counter()
        try:
            with TemporaryDirectory() as folder:
                parameters, errors = verified(network, options.backend.split(","), Path(folder))
        except UserError as error:
            parameters, errors = 0, {}
            print(f"{network}: {error}", flush=True)
        forget_weights()
        failed += not errors or max(errors.values()) > TOLERANCE
        told = ", ".join(f"{name} {value:.1e}" for name, value in errors.items())
        print(f"{network} at {SMALLEST.get(network, USUAL)}: {told or 'FAILED'}, {time.perf_counter() - start:.0f} s", flush=True)
        if set(COLUMNS) <= set(errors):
            size = str(SMALLEST.get(network, USUAL))
            record("keras.applications", [network, size, f"{parameters:,}", *(f"{errors[name]:.1e}" for name in COLUMNS)])
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
