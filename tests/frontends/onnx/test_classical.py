"""The operators of ai.onnx.ml against onnxruntime, with numpy and on every backend."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.frontends.corpus import Sample, interpreted, objections
from tests.frontends.onnx.classical_cases import FAMILIES, Tried
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.frontends.onnx.classical import DESCRIBED

ABSENT = ("Binarizer", "OneHotEncoder", "LabelEncoder")
"""Operators that onnxruntime has for some types only; the onnx package's evaluator computes the others."""
TWO_WEIGHED = "[[0, 1]]", "[[0], [1]]"
"""Classifiers of two classes with weights for both, which onnxruntime calls 0 and 1 whatever their labels are: labels are the evaluator's."""


def sample(tried: Tried) -> Sample:
    model = tried.model()
    try:
        outputs = onnxruntime_outputs(model, tried.values)
    except Exception as error:
        if tried.op not in ABSENT or "NOT_IMPLEMENTED" not in str(error):
            raise
        outputs = evaluated(model, tried)
    if tried.op == "TreeEnsembleClassifier" and any(ids in tried.name for ids in TWO_WEIGHED):
        labels = np.array(tried.attrs["classlabels_int64s"])
        outputs |= {"y0": labels[outputs["y1"].argmax(1)]}
    return Sample(tried.name, converted(model), tried.values, outputs)


def evaluated(model: onnx.ModelProto, tried: Tried) -> dict[str, np.ndarray]:
    evaluator = ReferenceEvaluator(model)
    found = dict(zip(evaluator.output_names, evaluator.run(None, tried.values), strict=True))
    return {name: np.asarray(value, tried.inputs[0].dtype if tried.op == "Binarizer" else None) for name, value in found.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_nodes_are_computed_as_by_onnxruntime(family: str) -> None:
    wrong = {tried.name: message for tried in FAMILIES[family]() if (message := interpreted(sample(tried)))}
    assert not wrong


def test_every_operator_is_tried() -> None:
    assert {tried.op for family in FAMILIES.values() for tried in family()} == DESCRIBED.keys()


GPU_FLOATS = "float64 is float32 there"


@pytest.mark.parametrize("backend", ["js", "wasm", "webgpu", "webgl"])
def test_nodes_on_backends(backend: str, tmp_path: Path) -> None:
    samples = [sample(tried) for family in FAMILIES.values() for tried in family()]
    assert not objections(samples, backend, tmp_path)
