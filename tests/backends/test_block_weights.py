"""Products with weights of 4 and 8 bits, as ONNX files have them, on wasm: which are multiplied as
they are stored, and values against exact products and against the numpy reference.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.backends.harness import Prepared, run_programs
from tests.frontends.onnx.models import floats, model
from tests.frontends.onnx.running import converted
from tests.passes.running import optimised, run
from webkiln.backends.table import REGISTRY
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.ops.block_products import MatMulBlocks
from webkiln.ops.evaluate import constant_values, run_graph
from webkiln.program_builder.backend import Options
from webkiln.recipe.values import VARIANTS
from webkiln.weights.shards import pieces, stored, write

TOLERANCE = 1e-5
FOUR = {"int4": TensorProto.INT4, "uint4": TensorProto.UINT4}
node = helper.make_node


@dataclass(frozen=True)
class Form:
    """Weights [depth, columns], or [columns, depth] if they are `turned`. `block`: the length of
    blocks along the sum; 0: a scale for each column, -1: one scale. `points`: the zero point, a
    number or "several".
    """

    dtype: str
    block: int = 0
    points: int | str = ""
    turned: bool = False
    depth: int = 96
    columns: int = 90

    def __str__(self) -> str:
        turned = "turned" if self.turned else "plain"
        return f"{self.dtype}-{self.block}-{self.points}-{turned}-{self.depth}x{self.columns}"


MULTIPLIED = [
    *(
        Form(dtype, block, points, turned)
        for dtype in ("int8", "uint8", "int4", "uint4")
        for block, points, turned in (
            (32, "", False),
            (32, "several", True),
            (0, "several", False),
            (0, "", True),
        )
    ),
    Form("int8", -1),
    Form("uint8", -1, 128, turned=True),
    Form("uint4", -1, 8),
    Form("int4", 16, "several", columns=66),
    Form("int4", 0, depth=72, columns=61),
    Form("uint8", 20, "several", depth=100, columns=33),
    Form("int8", 0, depth=52, columns=67),
    Form("int8", 96),
    Form("int8", 0, turned=True, depth=148, columns=35),
]
"""The weights that are multiplied as they are stored."""
DECODED = [
    Form("int8", 12),
    Form("uint4", 8, turned=True),
    Form("int8", 0, depth=90),
    Form("int8", 32, depth=8224, columns=3),
    Form("uint8", 32, columns=3),
]
"""Blocks that are too short, columns of no whole groups, sums that are too long, and weights that
are so small that bundles contain floats.
"""


def array(name: str, dtype: str, shape: Sequence[int], seed: int = 0) -> onnx.TensorProto:
    rng = np.random.default_rng([seed, *shape])
    if dtype in FOUR:
        values = rng.integers(*((-8, 7) if dtype == "int4" else (0, 15)), shape, endpoint=True)
        return helper.make_tensor(name, FOUR[dtype], shape, values.ravel().tolist())
    limits = np.iinfo(dtype)
    return numpy_helper.from_array(
        rng.integers(limits.min, limits.max, shape, dtype, endpoint=True), name
    )


def graph_of(form: Form, rows: int) -> Graph:
    shape = (form.columns, form.depth) if form.turned else (form.depth, form.columns)
    along = int(form.turned)
    parts: tuple[int, ...] = ()
    if form.block > 0:
        parts = tuple(
            size // form.block if axis == along else size for axis, size in enumerate(shape)
        )
    elif form.block == 0:
        parts = (form.columns,)
    scales = np.random.default_rng(1).uniform(0.01, 0.1, parts).astype(np.float32)
    weights = [array("q", form.dtype, shape), numpy_helper.from_array(scales, "s")]
    if form.points == "several":
        weights.append(array("z", form.dtype, parts, 2))
    elif form.points and form.dtype in FOUR:
        weights.append(helper.make_tensor("z", FOUR[form.dtype], (), [form.points]))
    elif form.points:
        weights.append(numpy_helper.from_array(np.array(form.points, form.dtype), "z"))
    attrs = {"axis": along if form.block > 0 else 1 - along}
    if form.block > 0:
        attrs["block_size"] = form.block
    operands = [weight.name for weight in weights]
    nodes = [
        node("DequantizeLinear", operands, ["w"], **attrs),
        node("Gemm", ["x", "w", "b"], ["y"], "dense", transB=along),
    ]
    bias = numpy_helper.from_array(np.linspace(-1, 1, form.columns, dtype=np.float32), "b")
    x, y = floats("x", rows, form.depth), floats("y", rows, form.columns)
    return optimised(converted(model(nodes, [x], [y], [*weights, bias])))


def products(graph: Graph) -> list[MatMulBlocks]:
    return [item.attrs_as(MatMulBlocks) for item in graph.nodes if item.op == "MatMulBlocks"]


@pytest.mark.parametrize("form", DECODED, ids=str)
def test_what_is_decoded(form: Form) -> None:
    assert products(run("block_products", graph_of(form, 3), "lower")) == []


@pytest.mark.parametrize("variant", VARIANTS["wasm"])
def test_results(variant: str, tmp_path: Path) -> None:
    """A rounded activation differs by half of the scale of its block."""
    graphs = [graph_of(form, rows) for form in MULTIPLIED for rows in (1, 6)]
    changed = [run("block_products", graph, "lower") for graph in graphs]
    assert [len(products(graph)) for graph in changed] == [1] * len(graphs)
    prepared, inputs = [], []
    for graph in graphs:
        document = REGISTRY["wasm"].compile(graph, Options(products="dot"))
        used = {kernel["schedule"].get("template") for kernel in document["kernels"].values()}
        assert "block_product" in used
        rng = np.random.default_rng(0)
        inputs.append({"x": rng.normal(0, 1, graph.type("x").shape).astype(np.float32)})
        shards = list(
            write(
                pieces(stored(graph), "float32"), constant_values(graph, graph.weights).__getitem__
            )
        )
        prepared.append(Prepared(document, inputs[-1], shards))
    found = run_programs(prepared, "wasm", tmp_path, variant, "chromium")
    for graph, rewritten, given, outputs in zip(graphs, changed, inputs, found, strict=True):
        expected: Array = run_graph(rewritten, given)[0]["y"]
        np.testing.assert_allclose(
            outputs["y"], expected, rtol=0, atol=TOLERANCE * np.abs(expected).max()
        )
        exact, everything = run_graph(graph, given)
        (product,) = (item for item in graph.nodes if item.op == "MatMul")
        weights = np.abs(everything[product.inputs[1]]).sum(int(product.attrs.transpose_b))
        bound = np.abs(given["x"]).max() / 127 / 2 * weights
        assert np.all(np.abs(outputs["y"] - exact["y"]) <= bound * 1.001)
        assert np.any(outputs["y"] != exact["y"])
