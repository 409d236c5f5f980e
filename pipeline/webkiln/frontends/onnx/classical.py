"""Operators of ai.onnx.ml. Their trained numbers are attributes in the file; here they become
operands, and the other attributes stay structure.

Each function receives the attributes as arrays, strings and numbers. It returns the structural
attributes, and the trained arrays in the order in which they follow the operands of the file; None
for an absent array.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.onnx.classical_attributes import (
    NodeDescription,
    RawAttributes,
    affine,
    classes_of,
    float_array,
    floats_or_tensor,
    intercepts_of,
    one_of,
    post_transform,
    read_matrix,
)
from webkiln.frontends.onnx.tree_readers import forest_of_nodes, forest_of_sets
from webkiln.frontends.onnx.trees import (
    BY_CODE,
    COMBINE,
    POST_TRANSFORMS,
    ensemble_attributes,
)
from webkiln.ir.types import Array

DOMAIN = "ai.onnx.ml"
USE_LABELS = (
    "Encode strings as numbers before the model, and name its outputs with `labels` in the recipe"
)
UNSUPPORTED = {
    "CategoryMapper": ("maps numbers to strings", USE_LABELS),
    "DictVectorizer": (
        "reads a dictionary",
        "Pass the dense array that it produces to the model instead",
    ),
    "CastMap": ("reads a dictionary", "Pass the dense array that it produces to the model instead"),
}
"""Why an operator cannot be converted, and what to do instead."""
TREE_ARRAYS = ("roots", "features", "thresholds", "yes", "no", "weights", "holds")
KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
NORMS = ("MAX", "L1", "L2")


def describe_node(op: str, raw: RawAttributes, where: str) -> NodeDescription:
    """The structure and the trained arrays of a node. Raise SourceError if its attributes are
    inconsistent.
    """
    try:
        return DESCRIPTIONS[op](raw, where)
    except (IndexError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise SourceError(
            f"{where}: its attributes do not match {op} ({type(error).__name__}: {error})"
        ) from error


def unsupported_strings(raw: RawAttributes) -> tuple[str, str] | None:
    """The reason and hint if a node maps strings other than class names; else None."""
    found = next(
        (
            name
            for name, value in raw.items()
            if name != "classlabels_strings"
            and isinstance(value, list)
            and name != "nodes_modes"
            and value
        ),
        None,
    )
    return None if found is None else (f"maps strings ({found})", USE_LABELS)


def _plain(*floats: str, **defaults: Any) -> Callable[[RawAttributes, str], NodeDescription]:
    """Small attributes with defaults, and trained float arrays."""
    return lambda raw, _: (
        {name: raw.get(name, value) for name, value in defaults.items()},
        {name: float_array(raw, name) for name in floats},
    )


def keys_of(raw: RawAttributes, where: str) -> tuple[str, ...]:
    """The keys of the dictionaries that a ZipMap makes, as text, in the order of the columns."""
    lists = [raw.get(name, ()) for name in ("classlabels_int64s", "classlabels_strings")]
    keys = tuple(str(key) for values in lists for key in values)
    if not keys or all(map(len, lists)) or len(set(keys)) < len(keys):
        raise SourceError(
            f"{where}: its keys are {list(keys)}, expected different integers or different strings"
        )
    return keys


def _zip_map(raw: RawAttributes, where: str) -> NodeDescription:
    return {"classes": len(keys_of(raw, where))}, {}


def _normalizer(raw: RawAttributes, where: str) -> NodeDescription:
    return {"norm": one_of(raw, "norm", NORMS, "MAX", where)}, {}


def _imputer(raw: RawAttributes, where: str) -> NodeDescription:
    """An imputer of floats or of integers, depending on its attributes."""
    kind, other = (
        ("floats", "float") if len(raw.get("imputed_value_floats", ())) else ("int64s", "int64")
    )
    values = float_array(raw, f"imputed_value_{kind}")
    if values is None:
        raise SourceError(f"{where}: has no imputed_value_floats and no imputed_value_int64s")
    return {"replaced": raw.get(f"replaced_value_{other}", 0)}, {"values": values}


def _linear_classifier(raw: RawAttributes, where: str) -> NodeDescription:
    """A linear classifier. The number of scores is that of the intercepts, else of the classes; two
    classes may share one score.
    """
    labels = len(raw.get("classlabels_ints", ())) or len(raw.get("classlabels_strings", ()))
    count = len(raw.get("intercepts", ())) or labels or 1
    classes = classes_of(raw, max(count, 2), where)
    if len(classes) != count and (count, len(classes)) != (1, 2):
        raise SourceError(
            f"{where}: has {len(classes)} classes and {count} intercepts; the file is damaged"
        )
    return {"classes": classes, **post_transform(raw, where)}, affine(
        raw["coefficients"], raw, count, where
    )


def _linear_regressor(raw: RawAttributes, where: str) -> NodeDescription:
    count, coefficients = raw.get("targets", 1), float_array(raw, "coefficients")
    if coefficients is None:
        raise SourceError(f"{where}: has no coefficients")
    return post_transform(raw, where), affine(coefficients, raw, count, where)


def _kernel(raw: RawAttributes, where: str) -> dict[str, Any]:
    """The kernel, with gamma, coef0 and degree as structure."""
    gamma, coef0, degree = (
        *(float(value) for value in raw.get("kernel_params", ())),
        0.0,
        0.0,
        0.0,
    )[:3]
    kind = one_of(raw, "kernel_type", KERNELS, "LINEAR", where)
    return {
        "kernel": kind,
        "gamma": gamma,
        "coef0": coef0,
        "degree": degree,
        **post_transform(raw, where),
    }


def _svm_classifier(raw: RawAttributes, where: str) -> NodeDescription:
    """A one-against-one SVM; without support vectors, one linear score per class."""
    per_class = tuple(raw.get("vectors_per_class", np.zeros(0, np.int64)).tolist())
    vectors, coefficients, rho = (
        float_array(raw, "support_vectors"),
        float_array(raw, "coefficients"),
        float_array(raw, "rho"),
    )
    total = sum(per_class)
    if coefficients is None or rho is None or min(per_class, default=0) < 0:
        raise SourceError(
            f"{where}: lacks coefficients or rho, or a class has a negative number of vectors; the"
            " file is damaged"
        )
    attrs = {
        **_kernel(raw, where),
        "vectors_per_class": per_class if total else (),
        "positive": bool((coefficients >= 0).all()),
    }
    if not total:
        count = len(raw.get("classlabels_ints", ())) or len(raw.get("classlabels_strings", ())) or 1
        attrs["kernel"] = "LINEAR"
        flat = {
            "support_vectors": None,
            "coefficients": read_matrix(coefficients, count, "coefficients", where),
            "rho": rho[:1],
        }
        return {**attrs, "classes": classes_of(raw, count, where)}, flat
    count = len(per_class)
    pairs = count * (count - 1) // 2
    classes = classes_of(raw, count, where)
    if (
        vectors is None
        or count < 2
        or len(classes) != count
        or len(coefficients) != (count - 1) * total
    ):
        raise SourceError(
            f"{where}: {total} vectors of {count} classes do not fit {len(classes)} labels, or"
            " their coefficients; the file is damaged"
        )
    arrays = {
        "support_vectors": read_matrix(vectors, total, "support_vectors", where),
        "coefficients": coefficients.reshape(count - 1, total),
    }
    return {**attrs, "classes": classes}, arrays | {
        name: intercepts_of(raw, name, pairs, where) for name in ("rho", "prob_a", "prob_b")
    }


def _svm_regressor(raw: RawAttributes, where: str) -> NodeDescription:
    vectors, coefficients, rho = (
        float_array(raw, "support_vectors"),
        float_array(raw, "coefficients"),
        float_array(raw, "rho"),
    )
    count = raw.get("n_supports", 0)
    if (
        coefficients is None
        or rho is None
        or (count > 0 and (vectors is None or len(coefficients) != count))
    ):
        raise SourceError(
            f"{where}: lacks coefficients or rho, or they do not fit its {count} vectors; the file"
            " is damaged"
        )
    attrs = {**_kernel(raw, where), "one_class": bool(raw.get("one_class", 0))}
    if vectors is None or not count:
        return {**attrs, "kernel": "LINEAR"}, {
            "support_vectors": None,
            "coefficients": coefficients.reshape(1, -1),
            "rho": rho[:1],
        }
    matrix = read_matrix(vectors, count, "support_vectors", where)
    return attrs, {
        "support_vectors": matrix,
        "coefficients": coefficients.reshape(1, -1),
        "rho": rho[:1],
    }


def _tree_arrays(arrays: Mapping[str, Array], bases: Array | None) -> dict[str, Array | None]:
    return {**{name: arrays.get(name) for name in TREE_ARRAYS}, "base_values": bases}


def _tree_classifier(raw: RawAttributes, where: str) -> NodeDescription:
    """Scores of all classes. If only one of two classes has weights, `only` is its index, and there
    is one score, that of the second class.
    """
    ids = raw.get("class_ids", np.zeros(0, np.int64))
    classes = classes_of(raw, int(ids.max(initial=-1)) + 1, where)
    weights = floats_or_tensor(raw, "class_weights")
    if weights is None:
        raise SourceError(f"{where}: has no class_weights")
    used, bases = sorted(set(ids.tolist())), floats_or_tensor(raw, "base_values")
    only = used[0] if len(classes) == 2 and len(used) == 1 else None
    if only is not None:
        _check_ids(ids, len(classes), where)
        raw = {**raw, "class_ids": np.zeros_like(ids)}
    count = len(classes) if only is None else 1
    if bases is not None and (
        len(bases) != count or only == 1 or (only is None and len(classes) == 2)
    ):
        raise SourceError(
            f"{where}: has base_values {bases.tolist()} and weights for {len(used)} of"
            f" {len(classes)} classes, which is undefined; convert it without base_values"
        )
    attrs, arrays = ensemble_attributes(
        forest_of_nodes(raw, "class", weights, count, where), count, "SUM", where
    )
    positive = bool((weights >= 0).all())
    return {
        **attrs,
        **post_transform(raw, where),
        "classes": classes,
        "positive": positive,
        "only": only,
    }, _tree_arrays(arrays, bases)


def _check_ids(ids: Array, count: int, where: str) -> None:
    if ids.min() < 0 or ids.max() >= count:
        raise SourceError(
            f"{where}: its attribute class_ids ranges from {ids.min()} to {ids.max()}, expected"
            f" 0 to {count - 1}"
        )


def _tree_regressor(raw: RawAttributes, where: str) -> NodeDescription:
    ids, weights = (
        raw.get("target_ids", np.zeros(0, np.int64)),
        floats_or_tensor(raw, "target_weights"),
    )
    count, bases = (
        int(raw.get("n_targets", int(ids.max(initial=0)) + 1)),
        floats_or_tensor(raw, "base_values"),
    )
    aggregate = one_of(raw, "aggregate_function", tuple(COMBINE), "SUM", where)
    if weights is None or count < 1:
        raise SourceError(f"{where}: has no target_weights, or {count} targets")
    if bases is not None and len(bases) != count:
        raise SourceError(
            f"{where}: its attribute base_values has {len(bases)} elements, expected {count}; the"
            " file is damaged"
        )
    attrs, arrays = ensemble_attributes(
        forest_of_nodes(raw, "target", weights, count, where), count, aggregate, where
    )
    return {**attrs, **post_transform(raw, where)}, _tree_arrays(arrays, bases)


def _tree_ensemble(raw: RawAttributes, where: str) -> NodeDescription:
    codes = (raw.get("aggregate_function", 1), raw.get("post_transform", 0))
    if not 0 <= codes[0] < len(BY_CODE) or not 0 <= codes[1] < len(POST_TRANSFORMS):
        raise SourceError(
            f"{where}: aggregate_function and post_transform are {codes}, which are not defined"
        )
    if codes[1] in (1, 2):
        problem = (
            f"{where}: has post_transform {codes[1]}, which the standard and onnxruntime"
            " interpret differently"
        )
        raise SourceError(
            f"{problem}; convert it with post_transform 0, and add a Softmax or Sigmoid after it"
        )
    forest, count = forest_of_sets(raw, where)
    attrs, arrays = ensemble_attributes(forest, count, BY_CODE[codes[0]], where)
    return {**attrs, "post_transform": POST_TRANSFORMS[codes[1]]}, _tree_arrays(arrays, None)


def _label_encoder(raw: RawAttributes, where: str) -> NodeDescription:
    """The keys, the values and the default of a label encoder, of any dtype."""
    keys, values = (
        next(
            (
                raw[name]
                for name in (f"{what}_tensor", f"{what}_floats", f"{what}_int64s")
                if len(raw.get(name, ()))
            ),
            None,
        )
        for what in ("keys", "values")
    )
    if keys is None or values is None or keys.size != values.size:
        raise SourceError(f"{where}: has no keys and values, or their numbers differ")
    fallback = raw.get("default_tensor")
    if fallback is None:
        fallback = (
            np.array(raw.get("default_float", -0.0), np.float32)
            if values.dtype.kind == "f"
            else np.array(raw.get("default_int64", -1))
        )
    default = fallback.astype(values.dtype).reshape(-1)[:1]
    if default.size != 1:
        raise SourceError(f"{where}: its default has {default.size} elements, expected one")
    return {}, {"keys": keys.ravel(), "values": values.ravel(), "default": default}


def _one_hot(raw: RawAttributes, where: str) -> NodeDescription:
    categories = raw.get("cats_int64s", np.zeros(0, np.int64))
    if not len(categories):
        raise SourceError(f"{where}: has no cats_int64s")
    return {}, {"categories": categories}


def _feature_vectorizer(raw: RawAttributes, where: str) -> NodeDescription:
    return {"widths": tuple(raw.get("inputdimensions", np.zeros(0, np.int64)).tolist())}, {}


DESCRIPTIONS: Mapping[str, Callable[[RawAttributes, str], NodeDescription]] = {
    "ArrayFeatureExtractor": _plain(),
    "Binarizer": _plain(threshold=0.0),
    "FeatureVectorizer": _feature_vectorizer,
    "Imputer": _imputer,
    "LabelEncoder": _label_encoder,
    "LinearClassifier": _linear_classifier,
    "LinearRegressor": _linear_regressor,
    "Normalizer": _normalizer,
    "OneHotEncoder": _one_hot,
    "SVMClassifier": _svm_classifier,
    "SVMRegressor": _svm_regressor,
    "Scaler": _plain("offset", "scale"),
    "TreeEnsemble": _tree_ensemble,
    "TreeEnsembleClassifier": _tree_classifier,
    "TreeEnsembleRegressor": _tree_regressor,
    "ZipMap": _zip_map,
}
