"""Graphs with a product of blocks, for tests of kernel templates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.backends.harness import Job
from webkiln.nest.kernel_template import Template, find_template
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.table import RULES

QUANTIZED, FLOAT = map(find_template, ("block_product", "decoded_product"))
TOLERANCE = 1e-5
Shape = tuple[tuple[int, ...], int, int, int]
"""Shape of the rows, columns, blocks, and the length of a block."""


@dataclass(frozen=True)
class Form:
    """The codes of the weights: bits, dtype, center; and what else they have."""

    bits: int
    dtype: str
    center: int
    how: str = ""


FORMS = [
    Form(4, "uint8", 8),
    Form(4, "uint8", 0, "offsets"),
    Form(4, "uint8", 3, "offsets transposed"),
    Form(4, "uint8", 8, "by column"),
    Form(8, "uint8", 128),
    Form(8, "int8", 0, "offsets"),
    Form(8, "int8", -7, "offsets by column"),
    Form(8, "uint8", 255, "offsets by column transposed"),
    Form(8, "int8", 0, "by column transposed"),
]


def job(
    template: Template, rows: tuple[int, ...], columns: int, blocks: int, block: int, form: Form
) -> Job:
    """A product, with a bias and an activation behind it."""
    rng = np.random.default_rng(columns * blocks)
    depth, limits = blocks * block, np.iinfo(form.dtype)
    parameters = columns, 1 if "column" in form.how else blocks
    b = GraphBuilder("g", RULES)
    x = b.input("x", "float32", (*rows, depth))
    codes = (columns, depth * form.bits // 8)
    values = {
        "packed": rng.integers(limits.min, limits.max, codes, form.dtype, endpoint=True),
        "factors": rng.uniform(0.01, 0.1, parameters).astype(np.float32),
        "offsets": rng.uniform(-0.5, 0.5, parameters).astype(np.float32),
    }
    if "offsets" not in form.how:
        del values["offsets"]
    if "transposed" in form.how:
        values = {name: np.ascontiguousarray(value.T) for name, value in values.items()}
    weights = [b.slot(name, value) for name, value in values.items()]
    values["bias"] = rng.uniform(-1, 1, columns).astype(np.float32)
    bias = b.slot("bias", values["bias"])
    factor = [x] if template is FLOAT else b.ops("QuantizeBlocks", [x], {"block": block})
    operands = [*factor, *weights]
    attrs = {
        "block": block,
        "center": form.center,
        "bits": form.bits,
        "transposed": "transposed" in form.how,
    }
    y = b.op("MatMulBlocks", operands, attrs)
    graph = b.graph({"y": b.op("Tanh", [b.op("Add", [y, bias])]), "sums": y})
    inputs = {"x": rng.normal(0, 1, (*rows, depth)).astype(np.float32)}
    return Job(graph, inputs, values)


def templates_of(document: dict[str, Any]) -> set[str | None]:
    """The templates of a program's kernels."""
    return {kernel["schedule"].get("template") for kernel in document["kernels"].values()}
