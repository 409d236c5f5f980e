"""Time a step of a decoder in the form of Llama whose caches are held in float32, float16 and int8,
on wasm, in one thread of Chromium.

    .venv/bin/python -m tests.bench.bench_caches [--lengths 1024,4096] [--rounds 5] [--runs 10]
        [--layers 4]

The layers are those of a model with 135 M parameters: 9 heads of 64, 3 heads of keys and values.
The table shows milliseconds of a step, the least mean of the rounds, which are interleaved; those
of the launches that read or write caches; and the MB of the caches.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.backends.small_llama import Decoder, Sizes
from webkiln.backends import host
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.table import table
from webkiln.recipe.recipe import Computation, Reading, Recipe
from webkiln.recipe.sources import ModuleSource
from webkiln.recipe.values import CACHES

ROOT = Path(__file__).parents[2]
ATTENTION = ("index_copy", "permute.4", "matmul", "softmax")
"""Parts of the names of layers that read or write caches."""


def step(length: int, layers: int) -> tuple[Decoder, tuple[Tensor, Tensor]]:
    """The module with random weights, for one word."""
    torch.manual_seed(0)
    sizes = Sizes(576, 9, 3, layers, 1536, 512, length)
    word = torch.zeros(1, 1, dtype=torch.int64)
    return Decoder(sizes=sizes).eval(), (word, torch.zeros(1, dtype=torch.int64))


def publish(folder: Path, caches: str, length: int, layers: int) -> Path:
    parameters = {"length": length, "layers": layers}
    source = ModuleSource(ROOT, "tests.bench.bench_caches", "step", parameters)
    recipe = Recipe(
        "step",
        source,
        Reading("torch"),
        backends=("wasm",),
        computation=Computation(caches=caches),
    )
    target = folder / f"{caches}-{length}"
    with Engine(folder / "state") as engine:
        actions = ModelGraph(recipe, engine.share)
        engine.publish(actions.bundle(Selection(("wasm",))), "bundle/", target)
    return target


def of_caches(profile: dict[str, Any]) -> float:
    """Milliseconds of the launches of attention."""
    return sum(
        item["ms"]
        for item in profile["launches"]
        if any(part in item["layer"] for part in ATTENTION)
    )


def row(profiles: Sequence[dict[str, Any]]) -> tuple[float, float]:
    return min(item["runMs"] for item in profiles), min(map(of_caches, profiles))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lengths", default="1024,4096")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--layers", type=int, default=4)
    options = parser.parse_args()
    for length in map(int, options.lengths.split(",")):
        inputs = {"words": np.zeros((1, 1), np.int64), "positions": np.array([length - 1])}
        with TemporaryDirectory() as temporary:
            folder = Path(temporary)
            bundles = [publish(folder, item, length, options.layers) for item in CACHES]
            rounds = host.profile_bundles(
                bundles,
                "wasm",
                inputs,
                host="chromium",
                runs=options.runs,
                rounds=options.rounds,
            )
        elements = 2 * options.layers * 3 * length
        lines = []
        for name, profiles in zip(CACHES, zip(*rounds, strict=True), strict=True):
            whole, attention = row(profiles)
            bytes_ = {"float32": 256, "float16": 128, "int8": 68}[name] * elements
            lines.append((name, f"{whole:.2f}", f"{attention:.2f}", f"{bytes_ / 1e6:.1f}"))
        head = ("caches", "step ms", "attention ms", "MB")
        print(table(f"{length} positions, {options.layers} layers", head, lines))


if __name__ == "__main__":
    main()
