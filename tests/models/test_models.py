"""digits and bias_layer on every backend, variant and engine, in every encoding, against Keras;
bundles are small.
"""

import brotli
import numpy as np
import pytest

from tests.hosts import HOSTS
from webkiln.backends.host import read_manifest, run_bundle

BOUNDS = {"float32": 1e-4, "float16": 2e-3}


IN_NODE = ("wasm", "js")
"""Backends that need neither a GPU nor a browser. Other tests decode weights on all four
backends.
"""


@pytest.mark.parametrize("browser", HOSTS)
@pytest.mark.parametrize(
    ("model", "encoding"),
    [("digits", "float32"), ("digits", "float16"), ("bias_layer", "float32")],
    indirect=["model"],
)
@pytest.mark.sample("digits-float32-firefox", "digits-float16-chromium")
def test_outputs_agree_with_keras(model, encoding, browser):
    results = model.verify(encoding, browser)
    for result in results:
        assert {row["set"] for row in result["outputs"]} == {"natural0", "natural1", "extreme"}
        assert all(row["relative"] <= BOUNDS[encoding] for row in result["outputs"]), result


@pytest.mark.parametrize("model", ["digits"], indirect=True)
def test_int8_chooses_the_same_digits_in_a_quarter_of_the_bytes(model):
    import keras

    bundle, exact = model.bundle("int8"), model.bundle()
    with np.load(model.recipe.source.path.with_name("test.npz")) as data:
        images = data["images"]
    predicted = (
        keras.saving.load_model(model.recipe.source.path).predict(images, verbose=0).argmax(axis=1)
    )
    for backend in IN_NODE:
        results = run_bundle(bundle, backend, [{"image": image[None]} for image in images])
        chosen = np.array([result.outputs["scores"].argmax() for result in results])
        assert np.mean(chosen == predicted) >= 0.99
    sizes = [
        sum(shard["bytes"] for shard in read_manifest(folder)["shards"])
        for folder in (bundle, exact)
    ]
    assert sizes[0] <= 0.27 * sizes[1]


@pytest.mark.parametrize("model", ["digits"], indirect=True)
def test_eightbit_is_close_and_small(model):
    bundle, exact = model.bundle("eightbit"), model.bundle()
    with np.load(model.recipe.source.path.with_name("test.npz")) as data:
        image = {"image": data["images"][:1]}
    for backend in IN_NODE:
        got, reference = (
            run_bundle(folder, backend, [image])[0].outputs["scores"] for folder in (bundle, exact)
        )
        assert np.max(np.abs(got - reference)) < 0.1
        assert got.argmax() == reference.argmax()


ON_DEMAND = {"profile", "webdnn", "sync", "webgpu_emulated"}
"""Modules that a page loads only on request: `load({ profile: true })`, WebDNN's interface, and
synchronous models; and the one that it loads instead of another if there is no GPU.
"""


@pytest.mark.parametrize("model", ["digits"], indirect=True)
@pytest.mark.parametrize("encoding", ["float32", "float16", "int8"])
def test_code_of_a_load_is_at_most_thirty_kilobytes(model, encoding):
    bundle = model.bundle(encoding)
    backends = read_manifest(bundle)["backends"]
    shared = [path for path in bundle.glob("*.js") if path.stem not in {*backends, *ON_DEMAND}]
    for backend in backends.values():
        modules = [backend[kind] for kind in ("module", "emulated") if kind in backend]
        variants = [[variant["file"]] for variant in backend.get("variants", [])] or [[]]
        for files in ([module, *variant] for module in modules for variant in variants):
            paths = [*shared, *(bundle / file for file in files)]
            assert sum(len(brotli.compress(path.read_bytes())) for path in paths) <= 30_000, files
