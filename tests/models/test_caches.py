"""A decoder with caches in float16 and int8 on every backend: a prompt, then steps, compared with
torch, which rounds the rows of its caches in the same way.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.backends import small_llama
from tests.backends.small_llama import SMALL
from webkiln import canonical
from webkiln.backends import frame, host, pages
from webkiln.build.cache_report import described_caches
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.quantization import described
from webkiln.ops.table import parse
from webkiln.recipe.recipe import Computation, Inputs, Reading, Recipe
from webkiln.recipe.sources import ModuleSource
from webkiln.recipe.values import TOLERANCES

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("generation.mjs")
BACKENDS = ("webgpu", "wasm", "webgl", "js")
LEGS = (("js", ""), ("wasm", "relaxed"), ("wasm", "simd"), ("webgpu", ""), ("webgl", ""))
DTYPES = ("float32", "float16", "int8")
STEPS = (7, 1, 1, 4, 1)
"""The words of each run."""
BYTES = {"float32": 4, "float16": 2, "int8": 1}


def words() -> list[tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(3)
    numbers = torch.randint(SMALL.words, (1, sum(STEPS))).split(STEPS, 1)
    return list(zip(numbers, torch.arange(sum(STEPS)).split(STEPS), strict=True))


@torch.no_grad()
def expected(dtype: str) -> list[np.ndarray]:
    module = small_llama.with_rounding(small_llama.made()[0], dtype)
    return [module(*given).numpy() for given in words()]


@pytest.fixture(scope="module", params=DTYPES)
def bundle(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    source = ModuleSource(ROOT, "tests.backends.small_llama", "made")
    inputs = Inputs(shapes={"words": (1, "n"), "positions": ("n",)})
    recipe = Recipe(
        "llama",
        source,
        Reading("torch"),
        inputs=inputs,
        backends=BACKENDS,
        computation=Computation(caches=request.param),
    )
    with Engine(folder / ".webkiln") as engine:
        actions = ModelGraph(recipe, engine.share)
        engine.publish(actions.bundle(Selection(BACKENDS)), "bundle/", folder / "bundle")
        programs = {
            name: canonical.read(
                engine.cache.store.file(
                    engine.run(actions.lower(name, Selection(BACKENDS))).outputs["program.json"]
                )
            )
            for name in BACKENDS
        }
    return request.param, folder / "bundle", programs


def generated(bundle: Path, backend: str, variant: str) -> list[np.ndarray]:
    """The logits of each run, and of the first one after a reset."""
    request = {
        "script": "/models/generation.mjs",
        "bundle": "/bundle/index.js",
        "backend": backend,
        "variant": variant or None,
        "count": len(STEPS),
    }
    frames = [
        frame.encode({"words": item.numpy(), "positions": place.numpy()}) for item, place in words()
    ]
    answers = pages.run_page(
        str(bundle),
        {"/models/": SCRIPT.parent, "/bundle/": bundle},
        request,
        [*frames, b""],
        240,
        "chromium",
    )
    return [next(iter(frame.decode(answer).outputs.values())) for answer in answers]


@pytest.mark.parametrize(("backend", "variant"), LEGS)
def test_generation_matches_torch(bundle, backend, variant):
    dtype, folder, _ = bundle
    *found, again = generated(folder, backend, variant)
    for logits, other in zip(found, expected(dtype), strict=True):
        np.testing.assert_allclose(logits, other, atol=2e-5 * np.abs(other).max(), rtol=0)
    np.testing.assert_array_equal(again, found[0])


def test_words_are_those_of_float32_caches():
    exact = [logits.argmax() for logits in expected("float32")]
    for dtype in DTYPES[1:]:
        assert [logits.argmax() for logits in expected(dtype)] == exact


@pytest.mark.parametrize("backend", BACKENDS)
def test_states_are_as_small_as_their_dtype(bundle, backend):
    dtype, folder, programs = bundle
    states = programs[backend]["states"]
    elements = SMALL.keys * SMALL.length * SMALL.head
    scales = SMALL.keys * SMALL.length * 4 if dtype == "int8" else 0
    total = 2 * SMALL.layers * (elements * BYTES[dtype] + scales)
    assert sum(state["bytes"] for state in states) == total
    manifest = host.read_manifest(folder)
    assert manifest["states"] == [
        f"layers.{n}.{name}" for n in range(SMALL.layers) for name in ("keys", "values")
    ]
    assert manifest["backends"][backend].get("caches") == (None if dtype == "float32" else dtype)
    if dtype != "float32":
        kinds = {state.get("dtype") for state in states if "scales_of" not in state}
        assert kinds == {dtype}


def test_verification_has_a_tolerance_for_caches(tmp_path):
    source = ModuleSource(ROOT, "tests.backends.small_llama", "made")
    how = Computation(caches="int8")
    recipe = Recipe("llama", source, Reading("torch"), backends=("js",), computation=how)
    with Engine(tmp_path / ".webkiln") as engine:
        actions = ModelGraph(recipe, engine.share)
        (action,) = actions.verify(Selection(("js",)), "node")
        blob = engine.run(action).outputs["result.json"]
        result = canonical.read(engine.cache.store.file(blob))
        engine.run(actions.graph("float32").action)
        rows = described(engine, actions)
    (output, *_) = result["outputs"]
    assert output["passed"]
    assert output["bound"] == TOLERANCES["caches"] > output["relative"] > 1e-5
    assert rows["caches"] == "4 states in int8, 0.0038 MB, 0.31 of float32"


def test_a_build_without_caches_says_so():
    graph = parse(
        """graph g
input x: float32[1,8]
slot zeros: float32[1,8]
state h zeros new -> old: float32[1,8]
new: float32[1,8] = Add(x, old) @sum
output out = new
"""
    )
    assert described_caches(graph, "float32") == {}
    assert described_caches(graph, "int8") == {
        "caches": "none, so that int8 changes nothing; no state is a cache (h: sum (Add) reads it)"
    }
