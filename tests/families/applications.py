"""Every network of keras.applications, at its smallest supported size, with random weights under
which its outputs depend on the input.

.venv/bin/python -m tests.families.applications [ResNet50 ...] [--backend js]; with wasm and js, it
replaces the rows of docs/families.md.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import keras

from tests.backends.harness import ROOT
from tests.families.driver import Family, main
from webkiln.recipe.read import read_recipe
from webkiln.recipe.recipe import Recipe

SMALLEST = {"Xception": 71, "InceptionV3": 75, "InceptionResNetV2": 75}
USUAL = 32
NETWORKS = tuple(name for name in dir(keras.applications) if name[0].isupper())


def recipe(network: str, folder: Path, backends: Sequence[str]) -> Recipe:
    """Write the recipe of a network into a folder."""
    lines = [
        f'source = {{ script = "{ROOT / "models" / "applications.py"}", function = "export" }}',
        f"backends = {json.dumps(list(backends))}",
        "[parameters]",
        f'network = "{network}"',
        'weights = "random"',
        f"size = {size(network)}",
    ]
    network_folder = folder / network.lower()
    network_folder.mkdir()
    (network_folder / "recipe.toml").write_text("\n".join(lines))
    return read_recipe(network_folder / "recipe.toml")


def size(network: str) -> int:
    return SMALLEST.get(network, USUAL)


FAMILY = Family("keras.applications", NETWORKS, lambda network: str(size(network)), recipe)

if __name__ == "__main__":
    sys.exit(main(FAMILY, __doc__))
