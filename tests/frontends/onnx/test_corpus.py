"""Models of scikit-learn, XGBoost and LightGBM, converted by their exporters (`make.py`)."""

from pathlib import Path

import numpy as np
import pytest

from tests.frontends.corpus import (
    BACKEND_STRIDES,
    Sample,
    corpus,
    mismatches,
    read_sample,
    reference_mismatch,
)
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.load import read_checked
from webkiln.ir.graph import Graph

FILES = corpus(Path(__file__).parent / "corpus", [".onnx"])


def convert(path: Path) -> Graph:
    model, blobs = read_checked(path)
    return OnnxConverter().convert(model, blobs)


def test_the_corpus_is_present() -> None:
    assert len(FILES) >= 37


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_models_agree_with_onnxruntime(path: Path) -> None:
    assert reference_mismatch(read_sample(path, convert)) is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_batch_of_one_uses_the_same_graph(path: Path) -> None:
    sample = read_sample(path, convert)
    rows = next(iter(sample.inputs.values())).shape[0]
    inputs, outputs = (
        {
            name: np.take(value, [0], value.shape.index(rows)) if rows in value.shape else value
            for name, value in arrays.items()
        }
        for arrays in (sample.inputs, sample.outputs)
    )
    assert reference_mismatch(Sample(sample.name, sample.graph, inputs, outputs)) is None


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_models_match_on_backends(backend: str, every: int, tmp_path: Path) -> None:
    samples = [read_sample(path, convert) for path in FILES[::every]]
    assert not mismatches(samples, backend, tmp_path)


def test_class_names_are_labels() -> None:
    model, _ = read_checked(next(path for path in FILES if path.stem == "logistic_texts"))
    assert model.texts == ("ant", "bee", "cat")
    assert {item.dtype for item in model.graph.outputs} == {"int64", "float32"}
