"""Every dtype at the boundary of a bundle: arguments and results of `run`, on every backend, in
this thread and from a Worker.
"""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.frontends.onnx.models import model
from tests.hosts import every_page_leg
from tests.models.conftest import Model
from webkiln.backends import frame, pages
from webkiln.backends.host import run_bundle
from webkiln.build.engine import Engine
from webkiln.recipe.read import read_recipe
from webkiln.recipe.values import BACKENDS

DTYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "float64": TensorProto.DOUBLE,
    "bool": TensorProto.BOOL,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
}
FLOATS = [-1.5, 0, 0.25, 60000]
VALUES = {
    "float32": FLOATS,
    "float16": FLOATS,
    "float64": FLOATS,
    "bool": [1, 0, 1, 0],
    "int8": [-128, 0, 3, 127],
    "uint8": [0, 1, 200, 255],
    "int16": [-32768, 0, 3, 32767],
    "uint16": [0, 1, 3, 65535],
    "int32": [-2147483648, 0, 3, 2147483647],
    "uint32": [0, 1, 3, 4294967295],
    "int64": [-5, 0, 7, 2147483647],
    "uint64": [0, 1, 7, 2147483647],
}
ARRAYS = {
    "float32": "Float32Array",
    "float16": "Float16Array",
    "float64": "Float64Array",
    "bool": "Uint8Array",
    "int8": "Int8Array",
    "int16": "Int16Array",
    "int32": "Int32Array",
    "int64": "BigInt64Array",
    "uint8": "Uint8Array",
    "uint16": "Uint16Array",
    "uint32": "Uint32Array",
    "uint64": "BigUint64Array",
}


def every_dtype():
    """Each input twice, as the output of its name: a kernel reads and writes every dtype."""
    nodes = [
        helper.make_node("Concat", [dtype, dtype], [f"{dtype}_out"], axis=0) for dtype in DTYPES
    ]
    described = [
        [helper.make_tensor_value_info(f"{d}{end}", t, [size, 2]) for d, t in DTYPES.items()]
        for end, size in (("", 2), ("_out", 4))
    ]
    return model(nodes, *described)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dtypes")
    (folder / "net").mkdir()
    onnx.save(every_dtype(), folder / "net" / "net.onnx")
    (folder / "net" / "recipe.toml").write_text(
        f'source = "net.onnx"\nbackends = {json.dumps(BACKENDS)}\n'
    )
    with Engine(folder / ".webkiln") as engine:
        yield Model(engine, read_recipe(folder / "net" / "recipe.toml"), folder).bundle()


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "main"])
@every_page_leg
@pytest.mark.sample(6)
def test_inputs_and_outputs_have_the_dtypes_of_the_model(bundle, browser, backend, worker):
    request = {
        "script": "/models/dtypes.mjs",
        "bundle": "/bundle/index.js",
        "backend": backend,
        "worker": worker,
    }
    (answer,) = pages.run_page(
        "dtypes",
        {"/models/": Path(__file__).parent, "/bundle/": bundle},
        request,
        [b""],
        120,
        browser,
    )
    results = json.loads(frame.decode(answer).outputs["found"].tobytes())
    assert results.keys() == DTYPES.keys()
    for dtype, (*matching, refused) in results.items():
        assert len(matching) == (4 if dtype in ("bool", "uint8", "float16") else 2)
        for array, values in matching:
            assert (array, values) == (ARRAYS[dtype], VALUES[dtype] * 2), dtype
        assert refused == "WrongDtype"


@pytest.mark.parametrize("backend", ["wasm", "js"])
def test_node_without_float16_arrays_passes_float16_as_bits(bundle, backend):
    inputs = {
        dtype: np.array(values).astype(dtype).reshape(2, 2) for dtype, values in VALUES.items()
    }
    (result,) = run_bundle(bundle, backend, [inputs])
    for dtype, value in inputs.items():
        np.testing.assert_array_equal(
            result.outputs[f"{dtype}_out"], np.concatenate([value, value])
        )
        assert result.outputs[f"{dtype}_out"].dtype == dtype
