"""Any operator between Shape and a size is evaluated when a model with open sizes is converted."""

import numpy as np
import pytest

from tests.frontends.onnx.running import converted, onnxruntime_outputs
from tests.frontends.onnx.size_operators import CONSUMERS, PRODUCERS, size_model
from webkiln.errors import WebkilnError
from webkiln.ops.evaluate import run_graph

SIZES = ((2, 3), (1, 7), (5, 4), (3, 11))
REASONS = {
    "Einsum": "onnxruntime computes no Einsum of int64",
}
"""Operators that are not evaluated over sizes, with the reason."""


def failures(producer: str, consumer: str) -> list[str]:
    """How the results of a model differ from those of onnxruntime."""
    model = size_model(PRODUCERS[producer], consumer)
    try:
        graph = converted(model)
    except WebkilnError as error:
        return [f"{producer} {consumer}: {error}"]
    result = []
    for batch, length in SIZES:
        x = np.random.default_rng(0).standard_normal((batch, length, 4)).astype(np.float32)
        (expected,) = onnxruntime_outputs(model, {"x": x}).values()
        outputs, _ = run_graph(graph, {"x": x})
        (actual,) = outputs.values()
        if actual.shape != expected.shape or not np.array_equal(actual, expected):
            result.append(f"{producer} {consumer} {x.shape}: {actual.shape}, not {expected.shape}")
    return result


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
