"""The layer that adds the sum of its input to a weight that is not trained: 2, then 4, and 2 again after reset; on every backend."""

import json
import subprocess
from pathlib import Path

import keras
import numpy as np
import pytest

from webkiln.build.descriptor import generate_descriptor
from webkiln.frontends.keras.converter import KerasConverter

SCRIPT = """
const { load } = await import(process.argv[1]);
const model = await load({ backends: [process.argv[2]] });
const run = async () => Array.from((await model.run({ x: Float32Array.of(1, 1) })).total);
const values = [await run(), await run()];
await model.reset();
values.push(await run());
await model.dispose();
console.log(JSON.stringify(values));
"""


class ComputeSum(keras.layers.Layer):
    """x [N,C] -> the sum of all elements seen so far."""

    def build(self, _):
        self.total = self.add_weight(name="total", shape=(), initializer="zeros", trainable=False)

    def call(self, x):
        self.total.assign_add(keras.ops.sum(x))
        return self.total


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    x = keras.Input((2,), name="x")
    graph = KerasConverter(batch_size=1).convert(keras.Model(x, ComputeSum(name="total")(x)))
    folder = tmp_path_factory.mktemp("states") / "counter"
    for backend in ("wasm", "js"):
        generate_descriptor(backend, graph).save(folder)
    return folder


@pytest.mark.parametrize("backend", ["js", "wasm"])
def test_a_state_is_kept_between_runs_and_reset(bundle, backend):
    command = ["node", "--input-type=module", "-e", SCRIPT, (bundle / "index.js").as_uri(), backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    np.testing.assert_array_equal(np.ravel(json.loads(done.stdout)), [2, 4, 2])
