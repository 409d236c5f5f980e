"""The operators of ai.onnx.ml, whose trained numbers are attributes in the file: here they become
operands, and what is left is structure.

Each function takes the attributes as arrays, texts and numbers, and gives those of the structure
and the trained arrays in the order in which they follow the operands that the file has; None where
one is absent.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.onnx.trees import (
    BY_CODE,
    COMBINING,
    POST_TRANSFORMS,
    attributes,
    check_count,
    forest_of_nodes,
    forest_of_sets,
)
from webkiln.ir.types import Array

DOMAIN = "ai.onnx.ml"
Raw = Mapping[str, Any]
Described = tuple[dict[str, Any], dict[str, Array | None]]
TEXTS = (
    "Encode texts as numbers before the model, and give names to its outputs by `labels` of the"
    " recipe"
)
REFUSED = {
    "ZipMap": (
        "makes a list of tables",
        (
            "Convert it with zipmap=False: skl2onnx.to_onnx(model, X, options={'zipmap': False}),"
            " of onnxmltools zipmap=False"
        ),
    ),
    "CategoryMapper": ("maps texts to numbers or back", TEXTS),
    "DictVectorizer": ("takes a table", "Give the model the dense array that it makes of it"),
    "CastMap": ("takes a table", "Give the model the dense array that it makes of it"),
}
"""What an operator does that nothing here can hold, and the way to go."""
TREE_ARRAYS = ("roots", "features", "thresholds", "yes", "no", "weights", "holds")
KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
NORMS = ("MAX", "L1", "L2")


def described(op: str, raw: Raw, where: str) -> Described:
    """The structure and the trained arrays of a node; SourceError where its attributes do not fit
    together.
    """
    try:
        return DESCRIBED[op](raw, where)
    except (IndexError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise SourceError(
            f"{where}: its attributes are not those of a {op} ({type(error).__name__}: {error})"
        ) from error


def taken_texts(raw: Raw) -> tuple[str, str] | None:
    """What is wrong with a node that takes texts, or gives others than the names of classes."""
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
    return None if found is None else (f"maps texts ({found})", TEXTS)


def _floats(raw: Raw, name: str) -> Array | None:
    found = raw.get(name)
    return None if found is None or not len(found) else np.asarray(found)


def _one_of(raw: Raw, name: str, known: tuple[str, ...], default: str, where: str) -> str:
    found = raw.get(name, default)
    if found not in known:
        raise SourceError(
            f"{where}: its attribute {name} is {found!r}, expected one of {', '.join(known)}"
        )
    return str(found)


def _post_transform(raw: Raw, where: str) -> dict[str, Any]:
    return {"post_transform": _one_of(raw, "post_transform", POST_TRANSFORMS, "NONE", where)}


def _classes(raw: Raw, count: int, where: str) -> tuple[int, ...]:
    """The numbers of classes, or the places of texts among the labels."""
    check_count(count, where)
    for name in ("classlabels_ints", "classlabels_int64s"):
        if len(raw.get(name, ())):
            return tuple(raw[name].tolist())
    return tuple(range(len(raw.get("classlabels_strings", ())) or count))


def _plain(*floats: str, **defaults: Any) -> Callable[[Raw, str], Described]:
    """Trained floats, and small attributes with these defaults."""
    return lambda raw, _: (
        {name: raw.get(name, value) for name, value in defaults.items()},
        {name: _floats(raw, name) for name in floats},
    )


def _normalizer(raw: Raw, where: str) -> Described:
    return {"norm": _one_of(raw, "norm", NORMS, "MAX", where)}, {}


def _imputer(raw: Raw, where: str) -> Described:
    """Of floats or of whole numbers, whichever it has."""
    kind, other = (
        ("floats", "float") if len(raw.get("imputed_value_floats", ())) else ("int64s", "int64")
    )
    values = _floats(raw, f"imputed_value_{kind}")
    if values is None:
        raise SourceError(f"{where}: has no imputed_value_floats and no imputed_value_int64s")
    return {"replaced": raw.get(f"replaced_value_{other}", 0)}, {"values": values}


def _matrix(values: Array, rows: int, name: str, where: str) -> Array:
    if rows <= 0 or values.size % rows:
        raise SourceError(
            f"{where}: its attribute {name} has {values.size} elements, expected a multiple of"
            f" {rows}; the file is damaged"
        )
    return values.reshape(rows, -1)


def _intercepts(raw: Raw, name: str, count: int, where: str) -> Array | None:
    values = _floats(raw, name)
    if values is not None and len(values) != count:
        raise SourceError(
            f"{where}: its attribute {name} has {len(values)} elements, expected {count}; the file"
            " is damaged"
        )
    return values


def _affine(coefficients: Array, raw: Raw, count: int, where: str) -> dict[str, Array | None]:
    return {
        "coefficients": _matrix(coefficients, count, "coefficients", where),
        "intercepts": _intercepts(raw, "intercepts", count, where),
    }


def _linear_classifier(raw: Raw, where: str) -> Described:
    """Scores are as many as intercepts, or as classes where there are none; one of two classes has
    one.
    """
    labels = len(raw.get("classlabels_ints", ())) or len(raw.get("classlabels_strings", ()))
    count = len(raw.get("intercepts", ())) or labels or 1
    classes = _classes(raw, max(count, 2), where)
    if len(classes) != count and (count, len(classes)) != (1, 2):
        raise SourceError(
            f"{where}: has {len(classes)} classes and {count} intercepts; the file is damaged"
        )
    return {"classes": classes, **_post_transform(raw, where)}, _affine(
        raw["coefficients"], raw, count, where
    )


def _linear_regressor(raw: Raw, where: str) -> Described:
    count, coefficients = raw.get("targets", 1), _floats(raw, "coefficients")
    if coefficients is None:
        raise SourceError(f"{where}: has no coefficients")
    return _post_transform(raw, where), _affine(coefficients, raw, count, where)


def _kernel(raw: Raw, where: str) -> dict[str, Any]:
    """The kernel, with gamma, coef0 and degree, which are structure."""
    gamma, coef0, degree = (
        *(float(value) for value in raw.get("kernel_params", ())),
        0.0,
        0.0,
        0.0,
    )[:3]
    kind = _one_of(raw, "kernel_type", KERNELS, "LINEAR", where)
    return {
        "kernel": kind,
        "gamma": gamma,
        "coef0": coef0,
        "degree": degree,
        **_post_transform(raw, where),
    }


def _svm_classifier(raw: Raw, where: str) -> Described:
    """One against one; without support vectors, one linear score for each class."""
    per_class = tuple(raw.get("vectors_per_class", np.zeros(0, np.int64)).tolist())
    vectors, coefficients, rho = (
        _floats(raw, "support_vectors"),
        _floats(raw, "coefficients"),
        _floats(raw, "rho"),
    )
    total = sum(per_class)
    if coefficients is None or rho is None or min(per_class, default=0) < 0:
        raise SourceError(
            f"{where}: lacks coefficients or rho, or has a class of less than no vectors; the file"
            " is damaged"
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
            "coefficients": _matrix(coefficients, count, "coefficients", where),
            "rho": rho[:1],
        }
        return {**attrs, "classes": _classes(raw, count, where)}, flat
    count = len(per_class)
    pairs = count * (count - 1) // 2
    classes = _classes(raw, count, where)
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
        "support_vectors": _matrix(vectors, total, "support_vectors", where),
        "coefficients": coefficients.reshape(count - 1, total),
    }
    return {**attrs, "classes": classes}, arrays | {
        name: _intercepts(raw, name, pairs, where) for name in ("rho", "prob_a", "prob_b")
    }


def _svm_regressor(raw: Raw, where: str) -> Described:
    vectors, coefficients, rho = (
        _floats(raw, "support_vectors"),
        _floats(raw, "coefficients"),
        _floats(raw, "rho"),
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
    matrix = _matrix(vectors, count, "support_vectors", where)
    return attrs, {
        "support_vectors": matrix,
        "coefficients": coefficients.reshape(1, -1),
        "rho": rho[:1],
    }


def _tree_arrays(arrays: Mapping[str, Array], bases: Array | None) -> dict[str, Array | None]:
    return {**{name: arrays.get(name) for name in TREE_ARRAYS}, "base_values": bases}


def _tree_classifier(raw: Raw, where: str) -> Described:
    """Scores of all classes, or of the `only` one of two that has weights: 0 stands for one score,
    that of the second class.
    """
    ids = raw.get("class_ids", np.zeros(0, np.int64))
    classes = _classes(raw, int(ids.max(initial=-1)) + 1, where)
    weights = _either(raw, "class_weights")
    if weights is None:
        raise SourceError(f"{where}: has no class_weights")
    found, bases = sorted(set(ids.tolist())), _either(raw, "base_values")
    only = found[0] if len(classes) == 2 and len(found) == 1 else None
    if only is not None:
        _check_ids(ids, len(classes), where)
        raw = {**raw, "class_ids": np.zeros_like(ids)}
    count = len(classes) if only is None else 1
    if bases is not None and (
        len(bases) != count or only == 1 or (only is None and len(classes) == 2)
    ):
        raise SourceError(
            f"{where}: has base_values {bases.tolist()} and weights for {len(found)} of"
            f" {len(classes)} classes, which nobody defines; convert it without base_values"
        )
    attrs, arrays = attributes(
        forest_of_nodes(raw, "class", weights, count, where), count, "SUM", where
    )
    positive = bool((weights >= 0).all())
    return {
        **attrs,
        **_post_transform(raw, where),
        "classes": classes,
        "positive": positive,
        "only": only,
    }, _tree_arrays(arrays, bases)


def _check_ids(ids: Array, count: int, where: str) -> None:
    if ids.min() < 0 or ids.max() >= count:
        raise SourceError(
            f"{where}: its attribute class_ids goes from {ids.min()} to {ids.max()}, expected 0 to"
            f" {count - 1}"
        )


def _tree_regressor(raw: Raw, where: str) -> Described:
    ids, weights = raw.get("target_ids", np.zeros(0, np.int64)), _either(raw, "target_weights")
    count, bases = (
        int(raw.get("n_targets", int(ids.max(initial=0)) + 1)),
        _either(raw, "base_values"),
    )
    aggregate = _one_of(raw, "aggregate_function", tuple(COMBINING), "SUM", where)
    if weights is None or count < 1:
        raise SourceError(f"{where}: has no target_weights, or {count} targets")
    if bases is not None and len(bases) != count:
        raise SourceError(
            f"{where}: its attribute base_values has {len(bases)} elements, expected {count}; the"
            " file is damaged"
        )
    attrs, arrays = attributes(
        forest_of_nodes(raw, "target", weights, count, where), count, aggregate, where
    )
    return {**attrs, **_post_transform(raw, where)}, _tree_arrays(arrays, bases)


def _tree_ensemble(raw: Raw, where: str) -> Described:
    codes = (raw.get("aggregate_function", 1), raw.get("post_transform", 0))
    if not 0 <= codes[0] < len(BY_CODE) or not 0 <= codes[1] < len(POST_TRANSFORMS):
        raise SourceError(
            f"{where}: aggregate_function and post_transform are {codes}, which mean nothing"
        )
    if codes[1] in (1, 2):
        what = (
            f"{where}: has post_transform {codes[1]}, which the standard and onnxruntime take for"
            " different functions"
        )
        raise SourceError(
            f"{what}; convert it with post_transform 0, and a Softmax or Sigmoid behind it"
        )
    forest, count = forest_of_sets(raw, where)
    attrs, arrays = attributes(forest, count, BY_CODE[codes[0]], where)
    return {**attrs, "post_transform": POST_TRANSFORMS[codes[1]]}, _tree_arrays(arrays, None)


def _either(raw: Raw, name: str) -> Array | None:
    return _floats(raw, name) if name in raw else _floats(raw, f"{name}_as_tensor")


def _label_encoder(raw: Raw, where: str) -> Described:
    """Keys and values of whatever kind they are, and the value of what is no key."""
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
        raise SourceError(f"{where}: has no keys and values, or not as many of one as of the other")
    given = raw.get("default_tensor")
    if given is None:
        given = (
            np.array(raw.get("default_float", -0.0), np.float32)
            if values.dtype.kind == "f"
            else np.array(raw.get("default_int64", -1))
        )
    default = given.astype(values.dtype).reshape(-1)[:1]
    if default.size != 1:
        raise SourceError(f"{where}: its default has {default.size} elements, expected one")
    return {}, {"keys": keys.ravel(), "values": values.ravel(), "default": default}


def _one_hot(raw: Raw, where: str) -> Described:
    categories = raw.get("cats_int64s", np.zeros(0, np.int64))
    if not len(categories):
        raise SourceError(f"{where}: has no cats_int64s")
    return {}, {"categories": categories}


def _feature_vectorizer(raw: Raw, where: str) -> Described:
    return {"widths": tuple(raw.get("inputdimensions", np.zeros(0, np.int64)).tolist())}, {}


DESCRIBED: Mapping[str, Callable[[Raw, str], Described]] = {
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
}
