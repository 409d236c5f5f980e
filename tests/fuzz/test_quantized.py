"""Each quantised operator with each dtype, granularity of scales and kind of zero point, at sizes
that do not divide: on backends against the references, and files against what their frameworks
compute.
"""

from collections import Counter

import numpy as np
import pytest

from tests.fuzz import quantized, quantized_files, quantized_onnx, quantized_tflite
from tests.fuzz.fuzz import disagreements, example_of, with_templates
from tests.fuzz.quantized_files import difference
from tests.passes.running import optimised
from tests.programs import program, with_target
from webkiln.backends.table import REGISTRY
from webkiln.ir.text import print_graph
from webkiln.ir.verify import verify
from webkiln.nest.kernel_template import templates
from webkiln.ops.table import infer
from webkiln.plan import dot_products, vector_products

REPLACED = {dot_products.DOT_TEMPLATE: [vector_products.VECTOR_PRODUCT]}
CORNERS = quantized.corners()
SETTINGS = {
    "js": ("js", "simd", slice(None)),
    "some, simd": ("wasm", "simd", slice(0, None, 5)),
    "some, relaxed": ("wasm", "relaxed", slice(3, None, 5)),
    "simd": ("wasm", "simd", slice(None)),
    "relaxed": ("wasm", "relaxed", slice(None)),
    "webgpu": ("webgpu", "simd", slice(None)),
    "webgl": ("webgl", "simd", slice(None)),
}
"""A backend, its variant, and the corners that run on it."""


@pytest.fixture(scope="module")
def examples():
    return [example_of(quantized.graph(seed, [at]), seed) for seed, at in enumerate(CORNERS)]


@pytest.fixture(autouse=True)
def _small_vector_products(monkeypatch):
    monkeypatch.setattr(vector_products, "FEW_WEIGHTS", 0)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.sample("js", "some, simd", "some, relaxed")
def test_graphs_on_backends(setting, examples):
    """Kernel templates compute all products that they can."""
    backend, variant, part = SETTINGS[setting]
    assert not [
        (case.seed, wrong, print_graph(case.compiled))
        for case, wrong in disagreements(
            examples[part], backend, variant, **with_templates(backend)
        )
    ]


def test_graphs_are_those_of_the_cross(examples):
    """Every operator is there, passes keep the results, and few elements are close to a tie."""
    operators = Counter(node.op for case in examples for node in case.graph.nodes)
    assert operators.keys() >= {
        *("ConvInteger", "MatMulInteger", "Requantize", "RequantizeSum", "RoundedQuotient"),
        *("UnpackBits", "Repeat", "Gather", "MatMul", "Conv"),
    }
    for case in examples:
        verify(case.graph, infer)
        share = np.mean(np.concatenate([item.ravel() for item in case.stable.values()]))
        assert share > 0.8, case.seed
        assert all(np.isfinite(item).all() for item in case.expected.values())
    products = [case for case in examples if case.graph.nodes[-1].op == "Cast"]
    assert len(products) > 40
    assert all(
        {node.op for node in optimised(case.graph).nodes} & {"ConvInteger", "MatMulInteger"}
        for case in products
    )


@pytest.mark.parametrize(
    ("backend", "name"),
    [(backend, item.name) for backend in ("wasm", "webgpu") for item in templates(backend)],
)
def test_every_template_is_used(backend, name, examples):
    """Alone, since several may suit a product, or in place of another one."""
    names = {name, *REPLACED.get(name, ())}
    found = tuple(item for item in with_templates(backend)["templates"] if item.name in names)
    target = with_target(REGISTRY[backend], templates=found)
    documents = (program(case.compiled, target, products=case.products) for case in examples[::-1])
    assert any(
        item["schedule"].get("template") == name
        for document in documents
        for item in document["kernels"].values()
    )


@pytest.mark.parametrize("operator", quantized_onnx.OPERATORS)
def test_files_of_onnx(operator):
    points = [item for item in quantized_onnx.corners() if item.operator == operator]
    outcomes = [quantized_files.onnx_outcome(seed, at)[1] for at in points for seed in range(2)]
    assert {(item.kind, item.text) for item in outcomes} == {("equal", "")}


@pytest.mark.parametrize("operator", quantized_tflite.OPERATORS)
def test_files_of_tflite(operator):
    points = [item for item in quantized_tflite.corners() if item.operator == operator]
    outcomes = [quantized_files.tflite_outcome(seed, at)[1] for at in points for seed in range(2)]
    assert {(item.kind, item.text) for item in outcomes} == {("equal", "")}


CODES = np.arange(-100, 100, dtype=np.int8)
FLOATS = CODES.astype(np.float32)


@pytest.mark.parametrize(
    ("got", "expected", "compare", "is_right"),
    [
        (CODES, CODES, quantized_onnx.EXACT, True),
        (CODES + np.int8(CODES == 3), CODES, quantized_onnx.EXACT, False),
        (CODES + np.int8(CODES == 3), CODES, quantized_onnx.CODES, True),
        (CODES + 2 * np.int8(CODES == 3), CODES, quantized_onnx.CODES, False),
        (CODES + np.int8(CODES % 50 == 0), CODES, quantized_onnx.CODES, False),
        (CODES, CODES.astype(np.uint8), quantized_onnx.CODES, False),
        (CODES[1:], CODES, quantized_onnx.CODES, False),
        (FLOATS * np.float32(1 + 1e-5), FLOATS, quantized_onnx.FLOAT, True),
        (FLOATS + np.float32(0.01), FLOATS, quantized_onnx.FLOAT, False),
        (FLOATS + np.float32(0.01), FLOATS, quantized_onnx.DYNAMIC, True),
        (FLOATS + np.float32(3), FLOATS, quantized_onnx.DYNAMIC, False),
        (np.full(200, np.nan, np.float32), FLOATS, quantized_onnx.FLOAT, False),
        (FLOATS, np.full(200, np.nan, np.float32), quantized_onnx.DYNAMIC, False),
    ],
)
def test_differences(got, expected, compare, is_right):
    assert (difference(got, expected, compare) == "") == is_right
