"""Every network of keras.applications, at the smallest size that it takes, with made-up weights under which its outputs depend on the input.

.venv/bin/python -m tests.families.applications [ResNet50 ...] [--backend js]
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import keras

from webkiln import canonical
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import share
from webkiln.errors import UserError
from webkiln.recipe import Recipe, read_recipe

ROOT = Path(__file__).resolve().parents[2]
SMALLEST = {"Xception": 71, "InceptionV3": 75, "InceptionResNetV2": 75}
USUAL = 32
NETWORKS = tuple(name for name in dir(keras.applications) if name[0].isupper())
TOLERANCE = 1e-4


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


def verified(network: str, backends: Sequence[str], folder: Path) -> Iterator[dict[str, Any]]:
    """The results of a network on each backend and variant."""
    with Engine(folder / ".webkiln") as engine:
        actions = ModelGraph(recipe(network, folder / network.lower(), backends), share())
        for action in actions.verify(Selection(tuple(backends)), "chromium"):
            yield canonical.read(engine.cache.store.path(engine.run(action).outputs["result.json"].sha256))


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
                errors = {
                    f"{result['backend']} {result['variant'] or ''}".strip(): max(row["relative"] for row in result["outputs"])
                    for result in verified(network, options.backend.split(","), Path(folder))
                }
        except UserError as error:
            errors = {}
            print(f"{network}: {error}", flush=True)
        failed += not errors or max(errors.values()) > TOLERANCE
        told = ", ".join(f"{name} {value:.1e}" for name, value in errors.items())
        print(f"{network} at {SMALLEST.get(network, USUAL)}: {told or 'FAILED'}, {time.perf_counter() - start:.0f} s", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
