"""Every value of every attribute, in old and new opsets, compared with onnxruntime."""

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.frontends.corpus import Sample, reference_mismatch
from tests.frontends.onnx.element_options import elements, norms, products, reductions, softmaxes
from tests.frontends.onnx.models import model
from tests.frontends.onnx.option_rows import Row, X, real
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from tests.frontends.onnx.sequence_options import further, recurrent
from tests.frontends.onnx.shape_options import shapes
from tests.frontends.onnx.window_options import resizings, windows

FAMILIES = (
    softmaxes,
    reductions,
    windows,
    products,
    shapes,
    norms,
    elements,
    resizings,
    recurrent,
    further,
)


def build(row: Row) -> tuple[Any, dict[str, np.ndarray]]:
    names = [f"x{n}" if value is not None else "" for n, value in enumerate(row.operands)]
    values = {
        name: np.asarray(value) for name, value in zip(names, row.operands, strict=True) if name
    }
    inputs = {name: value for name, value in values.items() if int(name[1:]) not in row.fixed}
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
        )
        for name, value in inputs.items()
    ]
    weights = [
        numpy_helper.from_array(value, name) for name, value in values.items() if name not in inputs
    ]
    outputs = [f"y{n}" for n in range(row.outputs)]
    node = helper.make_node(row.op, names, outputs, "node", **row.attrs)
    return model(
        [node],
        infos,
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        weights,
        opset=row.opset,
    ), inputs


def objection(row: Row) -> str | None:
    """Why a row differs from onnxruntime."""
    proto, inputs = build(row)
    try:
        expected = onnxruntime_outputs(proto, inputs)
    except Exception as error:  # noqa: BLE001 - onnxruntime raises errors of many types
        return f"onnxruntime: {error}"
    try:
        graph = converted(proto)
    except Exception as error:  # noqa: BLE001 - reported with the others
        return f"{type(error).__name__}: {error}"
    with np.errstate(all="ignore"):
        values = {**inputs, **graph.weights}
        return reference_mismatch(Sample(row.label, graph, values, expected))


@pytest.mark.parametrize("family", FAMILIES)
def test_attributes_match_onnxruntime(family: Any) -> None:
    rows = list(family())
    assert len(rows) >= 12
    mismatches = {
        f"{n} {row.label}": message for n, row in enumerate(rows) if (message := objection(row))
    }
    assert not mismatches


@pytest.mark.parametrize("opset", [11, 13])
def test_hardmax_selects_one_element(opset: int) -> None:
    """Before opset 13, one element over all axes from `axis`."""
    proto, inputs = build(Row("Hardmax", opset, (X,), {"axis": 1}))
    graph = converted(proto)
    ones = np.stack([np.eye(12, dtype=np.float32)[np.argmax(part)].reshape(3, 4) for part in X])
    along = (np.arange(3)[:, None] == np.argmax(X, axis=1)[:, None, :]).astype(np.float32)
    expected = {"y0": ones if opset == 11 else along}
    assert reference_mismatch(Sample("hardmax", graph, inputs, expected)) is None


@pytest.mark.parametrize("size", [2, 4])
def test_an_even_lrn_window_extends_upwards(size: int) -> None:
    """Compared with ONNX's reference, since onnxruntime requires odd sizes. The reference needs the
    number of channels to equal that of images.
    """
    x = real(4, 4, 2, 3)
    proto, inputs = build(Row("LRN", 13, (x,), {"size": size, "alpha": 0.5}))
    (expected,) = ReferenceEvaluator(proto).run(None, inputs)
    graph = converted(proto)
    assert (
        reference_mismatch(Sample("LRN", graph, {**inputs, **graph.weights}, {"y0": expected}))
        is None
    )
