"""Operators with every value of every attribute, in old and new opsets, compared with onnxruntime."""

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


def built(row: Row) -> tuple[Any, dict[str, np.ndarray]]:
    names = [f"x{n}" if value is not None else "" for n, value in enumerate(row.operands)]
    values = {
        name: np.asarray(value) for name, value in zip(names, row.operands, strict=True) if name
    }
    given = {name: value for name, value in values.items() if int(name[1:]) not in row.fixed}
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
        )
        for name, value in given.items()
    ]
    weights = [
        numpy_helper.from_array(value, name) for name, value in values.items() if name not in given
    ]
    outputs = [f"y{n}" for n in range(row.outputs)]
    node = helper.make_node(row.op, names, outputs, "node", **row.attrs)
    return model(
        [node],
        infos,
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        weights,
        opset=row.opset,
    ), given


def objection(row: Row) -> str | None:
    made, inputs = built(row)
    try:
        wanted = onnxruntime_outputs(made, inputs)
    except Exception as error:  # noqa: BLE001 - onnxruntime's own, of many kinds
        return f"onnxruntime: {error}"
    try:
        graph = converted(made)
    except Exception as error:  # noqa: BLE001 - told with the rest
        return f"{type(error).__name__}: {error}"
    with np.errstate(all="ignore"):
        values = {**inputs, **graph.weights}
        return reference_mismatch(Sample(row.label, graph, values, wanted))


@pytest.mark.parametrize("family", FAMILIES)
def test_attributes(family: Any) -> None:
    rows = list(family())
    assert len(rows) >= 12
    found = {f"{n} {row.label}": wrong for n, row in enumerate(rows) if (wrong := objection(row))}
    assert not found


@pytest.mark.parametrize("opset", [11, 13])
def test_hardmax_selects_one_element(opset: int) -> None:
    """Before opset 13, one element over all axes from `axis` on."""
    made, inputs = built(Row("Hardmax", opset, (X,), {"axis": 1}))
    graph = converted(made)
    ones = np.stack([np.eye(12, dtype=np.float32)[np.argmax(part)].reshape(3, 4) for part in X])
    along = (np.arange(3)[:, None] == np.argmax(X, axis=1)[:, None, :]).astype(np.float32)
    wanted = {"y0": ones if opset == 11 else along}
    assert reference_mismatch(Sample("hardmax", graph, inputs, wanted)) is None


@pytest.mark.parametrize("size", [2, 4])
def test_an_even_lrn_window_extends_upwards(size: int) -> None:
    """Against ONNX's reference: onnxruntime takes odd sizes alone. The reference computes as many
    channels as there are images.
    """
    x = real(4, 4, 2, 3)
    made, inputs = built(Row("LRN", 13, (x,), {"size": size, "alpha": 0.5}))
    (wanted,) = ReferenceEvaluator(made).run(None, inputs)
    graph = converted(made)
    assert (
        reference_mismatch(Sample("LRN", graph, {**inputs, **graph.weights}, {"y0": wanted}))
        is None
    )
