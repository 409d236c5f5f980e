"""Nested arrays and float32 values as inputs of real bundles, against the onnx package's reference
implementation.
"""

import json
import subprocess
from typing import Any

import numpy as np
import pytest

from tests.runtime.fake_bundle import ROOT
from webkiln.cli import main

WORDS, WIDTH = 11, 4
IDS = np.array([[1, 5, 10], [0, 3, 3]], np.int64)
MASK = np.array([[1, 1, 0], [1, 0, 0]], np.int64)
SCALE = np.array([[1.0, 0.1, 2049.0], [6e-8, -65519.9, 3e-8]], np.float32)
"""In float16: exact, inexact, the middle of two, subnormal, the largest, and the smallest."""

SCRIPT = """
const { load } = await import(process.argv[1]);
const { ids, mask, scale } = JSON.parse(process.argv[2]);
const big = rows => rows.map(row => row.map(BigInt));
const typed = rows => rows.map(row => BigInt64Array.from(row, BigInt));
const flat = rows => BigInt64Array.from(rows.flat(), BigInt);
const halves = rows => rows.map(row => Float32Array.from(row));
const ways = {
  plain: { ids: big(ids), mask: big(mask), scale },
  numbers: { ids, mask, scale },
  typed: { ids: typed(ids), mask: typed(mask), scale: halves(scale) },
  one: { ids: big(ids), mask: flat(mask), scale: Float32Array.from(scale.flat()) },
  given: { ids: flat(ids), mask: flat(mask), scale: scale.flat() },
};
const answer = {};
for (const backends of ['wasm', 'js']) {
  const model = await load({ backends });
  for (const [way, inputs] of Object.entries(ways)) {
    const placeholders = way === 'given' ? { batch: ids.length } : {};
    const { y } = await model.run(inputs, { placeholders });
    answer[`${backends} ${way}`] = { y: [...y], shape: model.shapes.y };
  }
  const failed = inputs => model.run(inputs).then(() => '', ({ code, message }) => [code, message]);
  answer[`${backends} errors`] = [
    await failed({ ...ways.plain, mask: [[1n, 1n], [1n]] }),
    await failed({ ...ways.plain, mask: [[1n, 1n], [1n, 1n]] }),
    await failed({ ...ways.plain, mask: [[0.5, 1, 1], [1, 1, 1]] }),
    await failed(ways.given),
  ];
  model.dispose();
}
console.log(JSON.stringify(answer));
"""


def embedding() -> Any:
    """y = table[ids] * mask + scale, of any batch and sequence; scale is float16."""
    from onnx import TensorProto, helper, numpy_helper

    table = np.random.default_rng(0).standard_normal((WORDS, WIDTH)).astype(np.float32)
    shape = ["batch", "sequence"]
    kinds = {"ids": TensorProto.INT64, "mask": TensorProto.INT64, "scale": TensorProto.FLOAT16}
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["words"], name="words"),
        helper.make_node("Cast", ["mask"], ["kept"], name="kept", to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["kept", "last"], ["column"], name="column"),
        helper.make_node("Mul", ["words", "column"], ["masked"], name="masked"),
        helper.make_node("Cast", ["scale"], ["wide"], name="wide", to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["wide", "last"], ["added"], name="added"),
        helper.make_node("Add", ["masked", "added"], ["y"], name="sum"),
    ]
    graph = helper.make_graph(
        nodes,
        "embedding",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind in kinds.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [*shape, WIDTH])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.array([2], np.int64), "last"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("embedding")
    (home / "embedding.onnx").write_bytes(embedding().SerializeToString())
    arguments = ("build", str(home / "embedding.onnx"), "--backend", "wasm,js")
    assert main([*arguments, "--output", str(home / "bundle")]) == 0
    given = {"ids": IDS.tolist(), "mask": MASK.tolist(), "scale": SCALE.tolist()}
    done = subprocess.run(
        [
            *("node", "--input-type=module", "--eval", SCRIPT),
            *((home / "bundle" / "index.js").as_uri(), json.dumps(given)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("backend", ["wasm", "js"])
@pytest.mark.parametrize("way", ["plain", "numbers", "typed", "one", "given"])
def test_nested_arrays_determine_sizes(backend: str, way: str, answers: dict[str, Any]) -> None:
    from onnx.reference import ReferenceEvaluator

    given = {"ids": IDS, "mask": MASK, "scale": SCALE.astype(np.float16)}
    (expected,) = ReferenceEvaluator(embedding()).run(None, given)
    answer = answers[f"{backend} {way}"]
    assert answer["shape"] == list(expected.shape)
    np.testing.assert_allclose(np.reshape(answer["y"], expected.shape), expected, rtol=1e-6)


@pytest.mark.parametrize("backend", ["wasm", "js"])
def test_errors_name_the_input(backend: str, answers: dict[str, Any]) -> None:
    ragged, other, numbers, ambiguous = answers[f"{backend} errors"]
    assert ragged[0] == "WrongLength"
    assert "'mask': row [1] is Array of 1, row [0] is Array of 2" in ragged[1]
    assert other[0] == "WrongLength"
    assert "'mask': the nested arrays have shape [2,2], expected [batch,sequence]" in other[1]
    assert numbers == ["WrongDtype", "input 'mask': element 0 is 0.5, not of int64"]
    assert ambiguous[0] == "MissingPlaceholder"
    assert "{ placeholders: { batch: ..., sequence: ... } }" in ambiguous[1]
    assert "ids: [[...], [...]]" in ambiguous[1]
