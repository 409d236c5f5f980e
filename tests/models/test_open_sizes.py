"""Symbolic sizes: inferred from inputs, set by name, rejected if they do not fit, in Node and
Chromium.
"""

import json
import subprocess

import keras
import numpy as np
import pytest
from keras import layers

from tests.hosts import PAGE_LEGS
from webkiln.backends import host
from webkiln.backends.compare import relative_error
from webkiln.build.descriptor import generate_descriptor
from webkiln.errors import ToolError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.recipe.values import BACKENDS, USUAL_BACKENDS

SCRIPT = """
const { load } = await import(process.argv[1]);
const { default: WebDNN } = await import(new URL('webdnn.js', process.argv[1]).href);
const backend = process.argv[2];
const input = (length) => Float32Array.from({ length }, (_, i) => Math.sin(i));
const codeOf = (promise) => promise.then(() => null, (error) => error.code);
const model = await load({ backends: [backend] });
const shapes = [];
for (const T of [3, 40, 1]) {
  await model.run({ x: input(4 * T) });
  shapes.push(model.shapes);
}
const expected = Array.from((await model.run({ x: input(20) })).last);
const codes = [
  await codeOf(model.run({ x: input(6) })),
  await codeOf(model.run({ x: input(0) })),
  await codeOf(model.run({ x: input(8) }, { placeholders: { T: 3 } })),
  await codeOf(model.run({ x: input(8) }, { placeholders: { S: 2 } })),
  await codeOf(model.run({ x: input(8) }, { placeholders: { T: 0.5 } })),
];
const runner = await WebDNN.load(new URL('.', process.argv[1]).href, { backendOrder: [backend] });
let unset = null;
try { runner.inputs[0].toActual(); } catch (error) { unset = error.code; }
await runner.setPlaceholderValue({ T: 5 });
runner.inputs[0].set(input(20));
await runner.run();
const webdnn = Array.from(runner.outputs.last.toActual());
const wrong = await codeOf(runner.setPlaceholderValue({ Z: 5 }));
console.log(JSON.stringify({ shapes, codes, expected, unset, webdnn, wrong,
  lengths: [runner.inputs[0].length, runner.outputs.each.length] }));
model.dispose();
runner.dispose();
"""


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(1)
    x = keras.Input((None, 4), name="x")
    y = layers.GRU(6, return_sequences=True)(x)
    return keras.Model(x, [layers.Dense(3, name="each")(y), layers.LSTM(5, name="last")(y)])


@pytest.fixture(scope="module")
def bundle(model, tmp_path_factory):
    graph = KerasConverter(input_shapes={"x": (1, "T", 4)}).convert(model)
    folder = tmp_path_factory.mktemp("open") / "bundle"
    for backend in BACKENDS:
        generate_descriptor(backend, graph).save(folder)
    return folder


@pytest.mark.parametrize("backend", ["js", "wasm"])
def test_placeholders_follow_from_inputs_or_are_set(bundle, backend):
    command = ["node", "--input-type=module", "-e", SCRIPT, (bundle / "index.js").as_uri(), backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    got = json.loads(done.stdout)
    assert got["shapes"] == [{"each": [1, steps, 3], "last": [1, 5]} for steps in (3, 40, 1)]
    assert got["codes"] == [
        "WrongLength",
        "WrongLength",
        "WrongLength",
        "UnknownPlaceholder",
        "WrongSize",
    ]
    assert (got["unset"], got["wrong"], got["lengths"]) == (
        "MissingPlaceholder",
        "UnknownPlaceholder",
        [20, 15],
    )
    assert got["webdnn"] == got["expected"]


@pytest.mark.parametrize(
    ("engine", "backend"), [*(("node", backend) for backend in USUAL_BACKENDS), *PAGE_LEGS]
)
@pytest.mark.sample("chromium-webgpu", "firefox-webgl")
def test_one_bundle_serves_all_lengths(bundle, model, backend, engine):
    sets = [
        {"x": np.random.default_rng(steps).normal(size=(1, steps, 4)).astype(np.float32)}
        for steps in (100, 1, 300, 17)
    ]
    for inputs, result in zip(
        sets, host.run_bundle(bundle, backend, sets, host=engine), strict=True
    ):
        expected = dict(zip(("each", "last"), map(np.asarray, model(inputs["x"])), strict=True))
        assert {name: value.shape for name, value in result.outputs.items()} == {
            name: value.shape for name, value in expected.items()
        }
        for name, value in expected.items():
            assert relative_error(result.outputs[name], value) < 2e-4


def test_a_size_that_is_too_small_for_a_layer_is_named(tmp_path):
    x = keras.Input((None, 2), name="x")
    model = keras.Model(x, layers.Conv1D(3, 5, name="wide")(x))
    generate_descriptor("js", KerasConverter(input_shapes={"x": (1, "T", 2)}).convert(model)).save(
        tmp_path / "bundle"
    )
    with pytest.raises(
        ToolError, match=r"WrongSize: layer 'wide' has the size T - 5, which is -2 for T = 3"
    ):
        host.run_bundle(tmp_path / "bundle", "js", [{"x": np.zeros((1, 3, 2), np.float32)}])
