"""Any operator between Shape and a size is evaluated when a model with open sizes is converted."""

import numpy as np
import onnx
import pytest

from tests.frontends.onnx.running import converted, onnxruntime_outputs
from tests.frontends.onnx.size_operators import CONSUMERS, PRODUCERS, size_model
from tests.frontends.size_differences import size_differences
from webkiln.errors import WebkilnError
from webkiln.frontends.onnx.converter import OnnxConverter

REASONS = {
    "Einsum": "onnxruntime computes no Einsum of int64",
}
"""Operators that are not evaluated over sizes, with the reason."""

UNWRITTEN = {
    **dict.fromkeys(("BitCast", "CumProd", "TensorScatter"), "newer than the opset of the tests"),
    **dict.fromkeys(("Scatter", "Upsample"), "removed from the opset of the tests"),
    **dict.fromkeys(
        (
            *("CenterCropPad", "Col2Im", "DepthToSpace", "GridSample", "Resize", "SpaceToDepth"),
            "NonMaxSuppression",
        ),
        "no operator on images is evaluated over sizes",
    ),
    **dict.fromkeys(
        ("BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"),
        "its integers are counts; its result is a table of floats",
    ),
    **dict.fromkeys(("NonZero", "Unique"), "the number of its results depends on data"),
    **dict.fromkeys(("Loop", "Scan"), "contains a graph, which is resolved before"),
    **dict.fromkeys(("PRelu", "ReduceL2", "Shrink"), "onnxruntime computes it of floats only"),
    "ConstantOfShape": "is a consumer",
    "EyeLike": "reads a shape only",
    "SequenceAt": "reads a sequence, which is known",
}
"""Operators of integers without a producer, with the reason."""


def test_every_operator_is_listed() -> None:
    written = {op for steps in PRODUCERS.values() for op, *_ in steps}
    handlers = OnnxConverter.handlers
    schemas = {item.name: item for item in onnx.defs.get_all_schemas() if not item.domain}
    supported = {*handlers.tables[""], *handlers.folds.ops} & set(schemas)
    integral = {op for op in supported if _has_integers(schemas[op])}
    assert integral - written == set(UNWRITTEN)


def _has_integers(schema: onnx.defs.OpSchema) -> bool:
    types = {item.type_param_str: item.allowed_type_strs for item in schema.type_constraints}
    return all(
        any(
            {"tensor(int32)", "tensor(int64)"} & {*types.get(item.type_str, [item.type_str])}
            for item in items
        )
        for items in (schema.inputs, schema.outputs)
    )


def failures(producer: str, consumer: str) -> list[str]:
    """How the results of a model differ from those of onnxruntime."""
    model = size_model(PRODUCERS[producer], consumer)
    try:
        graph = converted(model)
    except WebkilnError as error:
        return [f"{producer} {consumer}: {error}"]

    def expected(x: np.ndarray) -> np.ndarray:
        (output,) = onnxruntime_outputs(model, {"x": x}).values()
        return output

    return size_differences(f"{producer} {consumer}", graph, expected, tolerance=0)


@pytest.mark.parametrize("consumer", ["ConstantOfShape", "Resize"])
def test_every_operator_leads_to_a_size(consumer: str) -> None:
    differences = [
        text for name in PRODUCERS if name not in REASONS for text in failures(name, consumer)
    ]
    assert not differences, "\n".join(differences)


@pytest.mark.long
@pytest.mark.parametrize("consumer", sorted(CONSUMERS))
def test_every_operator_leads_to_every_size(consumer: str) -> None:
    test_every_operator_leads_to_a_size(consumer)
