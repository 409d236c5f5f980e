"""The digits model as shipped: it verifies, the demo recognises digits, and each mutation of its
bundle is detected and located.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser import demo, screenshots
from tests.runtime import fake_bundle
from webkiln import canonical
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.codegen.bundles import piecewise_digest
from webkiln.errors import VerificationError
from webkiln.recipe.read import read_recipe

verify = fake_bundle.stage("verify")
RECIPE = fake_bundle.ROOT / "models" / "digits" / "recipe.toml"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bundle, the bundle with outputs of layers, and the reference."""
    folder = tmp_path_factory.mktemp("digits")
    recipe = read_recipe(RECIPE)
    with Engine(folder / "state") as engine:
        graph = ModelGraph(recipe, engine.share)
        engine.publish(
            graph.bundle(Selection(recipe.backends, "float32")), "bundle/", folder / "digits"
        )
        engine.publish(
            graph.bundle(Selection(recipe.backends, "float32", layers=True)),
            "bundle/",
            folder / "layers",
        )
        result = engine.run(graph.reference())
        for name in ("reference.npz", "layers.npz"):
            assert engine.cache.store.materialise(result.outputs[name], folder / name, own=True)
    return folder


def check(outputs: Path, bundle: Path, backend: str, variant: str, folder: Path) -> Any:
    inputs = {
        "bundle/": bundle,
        **{name: outputs / name for name in ("reference.npz", "layers.npz")},
    }
    params = {
        "backend": backend,
        "variant": variant,
        "browser": "node",
        "tolerance": 1e-4,
        "layers": True,
    }
    verify.run(inputs, {"result.json": folder / "result.json"}, params)
    return canonical.read(folder / "result.json")


@pytest.mark.parametrize(
    ("backend", "variant"), [("js", ""), ("wasm", "simd"), ("wasm", "relaxed")]
)
@pytest.mark.parametrize("kind", ["digits", "layers"])
@pytest.mark.sample(3)
def test_verifies(kind: str, backend: str, variant: str, outputs: Path, tmp_path: Path) -> None:
    result = check(outputs, outputs / kind, backend, variant, tmp_path)
    assert all(row["relative"] < 1e-5 for row in result["outputs"])


def test_code_is_small(outputs: Path) -> None:
    import brotli

    bundle = outputs / "digits"
    shared = ("index.js", "runtime.js", "worker.js", "webdnn.js")
    for backend in (("js.js",), ("wasm.js", "simd.wasm"), ("wasm.js", "relaxed.wasm")):
        assert (
            sum(len(brotli.compress((bundle / name).read_bytes())) for name in (*shared, *backend))
            <= 30_000
        )


def change(path: Path, edit: Callable[[bytes], bytes]) -> None:
    """Change a file, and its digest in index.js so that the loader accepts it. Only verify can
    detect the change.
    """
    digests, before = [piecewise_digest(path)], path.read_bytes()
    path.write_bytes(edit(before))
    assert path.read_bytes() != before
    digests.append(piecewise_digest(path))
    index = path.with_name("index.js")
    old, new = (f'"bytes":{digest["bytes"]},"digest":"{digest["digest"]}"' for digest in digests)
    index.write_text(index.read_text().replace(old, new))


def change_weight(data: bytes) -> bytes:
    values = np.frombuffer(data, np.float32).copy()
    values[300] += 0.5
    return values.tobytes()


def change_text(pattern: str, replacement: str) -> Callable[[bytes], bytes]:
    def edit_text(data: bytes) -> bytes:
        text, count = re.subn(pattern, replacement, data.decode())
        assert count > 0
        return text.encode()

    return edit_text


MUTATIONS = {
    "weight": ("weights-*.bin", change_weight, "conv2"),
    "packing offset": (
        "{backend}.js",
        change_text(r'"init":\[\[0,0,576\],\[0,576,64\]', '"init":[[0,0,576],[0,580,64]'),
        "conv1",
    ),
    "stride": ("js.js", change_text(r"(, 2, 2, 2, 2, 128, 16, 64), 16\);", r"\1, 15);"), "pool1"),
    "epilogue": ("js.js", change_text(r"(const v\d+ =) v\d+ \? 0 : (v\d+);", r"\1 \2;"), "relu1"),
}


@pytest.mark.parametrize(
    ("mutation", "backend"),
    [
        ("weight", "js"),
        ("weight", "wasm"),
        ("packing offset", "js"),
        ("packing offset", "wasm"),
        ("stride", "js"),
        ("epilogue", "js"),
    ],
)
@pytest.mark.sample("weight-js", "packing offset-wasm", "stride-js", "epilogue-js")
def test_mutations_are_detected_and_located(
    mutation: str, backend: str, outputs: Path, tmp_path: Path
) -> None:
    pattern, edit, layer = MUTATIONS[mutation]
    bundle = Path(shutil.copytree(outputs / "layers", tmp_path / "mutant"))
    (path,) = bundle.glob(pattern.format(backend=backend))
    change(path, edit)
    with pytest.raises(VerificationError, match=f"the first layer that diverges is {layer}"):
        check(outputs, bundle, backend, "simd" if backend == "wasm" else "", tmp_path)
    assert not (tmp_path / "result.json").exists()


@pytest.fixture(scope="module")
def page(outputs: Path) -> Iterator[Any]:
    with demo.open_demo(outputs / "digits") as browser:
        yield browser


@pytest.mark.parametrize("digit", range(10))
@pytest.mark.sample(2)
def test_demo_recognises_a_drawn_digit(page: Any, digit: int) -> None:
    demo.clear(page)
    demo.draw(page, demo.examples()[digit]["strokes"])
    demo.wait(page, lambda page: demo.displayed_digit(page) == str(digit))
    assert sum(demo.shares(page)) == pytest.approx(100, abs=0.6)


def test_demo_shows_its_backend(page: Any) -> None:
    demo.clear(page)
    demo.draw(page, demo.examples()[7]["strokes"])
    demo.wait(page, lambda page: "webgpu: " in page.find_element("id", "status").text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.sample("light")
def test_demo_is_not_blank(page: Any, scheme: str) -> None:
    demo.clear(page)
    demo.draw(page, demo.examples()[3]["strokes"])
    demo.wait(page, lambda page: demo.displayed_digit(page) == "3")
    assert screenshots.has_content(screenshots.screenshot(scheme))
