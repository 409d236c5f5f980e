"""Scalers, encoders, imputers and selection of features."""

from collections.abc import Iterator

import numpy as np
from onnx import numpy_helper

from tests.frontends.onnx.classical_nodes import NodeCase, X, real, rng

HOLES = np.where(rng(3).random((6, 4)) < 0.3, np.nan, real(6, 4)).astype(np.float32)


def features() -> Iterator[NodeCase]:
    for dtype in ("float32", "float64", "int32", "int64"):
        x = (X * 3).astype(dtype)
        yield NodeCase(
            f"scaler {dtype}",
            "Scaler",
            (x,),
            {"offset": [0.5, -1.0, 0.0, 2.0], "scale": [2.0, 0.25, 1.0, -1.0]},
        )
        for norm in ("MAX", "L1", "L2"):
            yield NodeCase(f"normalizer {norm} {dtype}", "Normalizer", (x,), {"norm": norm})
        yield NodeCase(f"binarizer {dtype}", "Binarizer", (x,), {"threshold": 0.5})
        yield NodeCase(
            f"one hot {dtype}",
            "OneHotEncoder",
            (np.abs(x),),
            {"cats_int64s": [0, 2, 3], "zeros": 1},
        )
        yield NodeCase(f"extractor {dtype}", "ArrayFeatureExtractor", (x, np.array([2, 0, 2])))
        yield NodeCase(
            f"vectorizer {dtype}", "FeatureVectorizer", (x, x[:, :2]), {"inputdimensions": [4, 2]}
        )
    yield NodeCase("scaler of one", "Scaler", (X,), {"offset": [0.5], "scale": [2.0]})
    yield NodeCase(
        "normalizer of zeros", "Normalizer", (np.zeros((2, 3), np.float32),), {"norm": "L2"}
    )
    yield NodeCase("normalizer vector", "Normalizer", (X[0],), {"norm": "L1"})
    yield NodeCase("normalizer of negative", "Normalizer", (-np.abs(X),), {"norm": "MAX"})
    yield NodeCase(
        "imputer of NaN",
        "Imputer",
        (HOLES,),
        {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")},
    )
    yield NodeCase(
        "imputer of one",
        "Imputer",
        (HOLES,),
        {"imputed_value_floats": [7.0], "replaced_value_float": float("nan")},
    )
    yield NodeCase(
        "imputer of a number",
        "Imputer",
        (np.round(X),),
        {"imputed_value_floats": [7.0], "replaced_value_float": 0.0},
    )
    yield NodeCase(
        "imputer of int64",
        "Imputer",
        (np.arange(6).reshape(2, 3) % 3,),
        {"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": 1},
    )
    yield NodeCase(
        "one hot vector", "OneHotEncoder", (np.array([0, 2, 5, 3]),), {"cats_int64s": [0, 2, 3]}
    )
    yield NodeCase("extractor vector", "ArrayFeatureExtractor", (X[0], np.array([3, 1])))
    yield NodeCase(
        "extractor 3", "ArrayFeatureExtractor", (real(2, 3, 4), np.array([[3, 1]])), is_open=False
    )
    for labels in (
        {"classlabels_int64s": [-3, 0, 7, 12]},
        {"classlabels_strings": ["ant", "bee", "cat", "dog"]},
    ):
        yield NodeCase(f"map {next(iter(labels))}", "ZipMap", (X,), labels)
        yield NodeCase(f"map of a vector {next(iter(labels))}", "ZipMap", (X[0],), labels)
    keys = np.array([3, 7, 7, 1, 9])
    yield NodeCase(
        "encoder 2",
        "LabelEncoder",
        (keys,),
        {"keys_int64s": [1, 3, 7], "values_floats": [0.5, 1.5, 2.5], "default_float": -4.0},
        2,
    )
    yield NodeCase(
        "encoder floats",
        "LabelEncoder",
        (np.array([1.5, np.nan, 2.0], np.float32),),
        {"keys_floats": [1.5, float("nan")], "values_int64s": [4, 5]},
        2,
    )
    tensors = {
        "keys_tensor": numpy_helper.from_array(np.array([1.5, 2.5])),
        "values_tensor": numpy_helper.from_array(np.array([3, 4], np.int16)),
        "default_tensor": numpy_helper.from_array(np.array([-1], np.int16)),
    }
    yield NodeCase("encoder 4", "LabelEncoder", (np.array([[1.5, 2.5, 3.5]]),), tensors, 4)
