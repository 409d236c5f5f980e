"""Steps of a decoder whose attention real GPUs divide among workgroups, with caches of all dtypes:
compared with torch, which rounds the rows of its caches in the same way.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.backends import small_llama
from tests.backends.adapters import ADAPTERS
from tests.backends.small_llama import LONG
from webkiln.backends import frame, pages
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.recipe.recipe import Computation, Inputs, Reading, Recipe
from webkiln.recipe.sources import ModuleSource

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("generation.mjs")
STEPS = (60, 9, 1, 190, 1)
"""The words of each run. The last ones are in another chunk of keys than the first."""


def words() -> list[tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(4)
    numbers = torch.randint(LONG.words, (1, sum(STEPS))).split(STEPS, 1)
    return list(zip(numbers, torch.arange(sum(STEPS)).split(STEPS), strict=True))


@torch.no_grad()
def expected(dtype: str) -> list[np.ndarray]:
    module = small_llama.with_rounding(small_llama.with_long_caches()[0], dtype)
    return [module(*given).numpy() for given in words()]


def built(dtype: str, folder: Path) -> Path:
    recipe = Recipe(
        "llama",
        ModuleSource(ROOT, "tests.backends.small_llama", "with_long_caches"),
        Reading("torch"),
        inputs=Inputs(shapes={"words": (1, "n"), "positions": ("n",)}),
        backends=("webgpu",),
        computation=Computation(caches=dtype),
    )
    with Engine(folder / ".webkiln") as engine:
        actions = ModelGraph(recipe, engine.share)
        engine.publish(actions.bundle(Selection(("webgpu",))), "bundle/", folder / "bundle")
    return folder / "bundle"


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_generation_matches_torch(dtype, tmp_path):
    bundle = built(dtype, tmp_path)
    request = {
        "script": "/models/generation.mjs",
        "bundle": "/bundle/index.js",
        "backend": "webgpu",
        "variant": None,
        "count": len(STEPS),
        "adapter": ADAPTERS[132],
    }
    frames = [
        frame.encode({"words": item.numpy(), "positions": place.numpy()}) for item, place in words()
    ]
    folders = {
        "/models/": SCRIPT.parent,
        "/backends/": SCRIPT.parents[1] / "backends",
        "/bundle/": bundle,
    }
    answers = pages.run_page(str(bundle), folders, request, [*frames, b""], 240, "chromium")
    *found, again = (next(iter(frame.decode(item).outputs.values())) for item in answers)
    for logits, other in zip(found, expected(dtype), strict=True):
        np.testing.assert_allclose(logits, other, atol=2e-5 * np.abs(other).max(), rtol=0)
    np.testing.assert_array_equal(again, found[0])
