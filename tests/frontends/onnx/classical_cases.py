"""Nodes of ai.onnx.ml with combinations of their options; onnxruntime computes the expected
outputs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

DOMAIN = "ai.onnx.ml"
POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
COUNTS = {"LinearClassifier": 2, "SVMClassifier": 2, "TreeEnsembleClassifier": 2}
"""Operators with several outputs."""


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng([11, *seed])


def real(*shape: int, seed: int = 0) -> np.ndarray:
    return rng(seed, *shape).standard_normal(shape).astype(np.float32)


@dataclass(frozen=True)
class Tried:
    """One node with its inputs. `version` of the domain; the first axis is open where `is_open`."""

    name: str
    op: str
    inputs: tuple[np.ndarray, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    version: int = 3
    is_open: bool = True

    def model(self) -> onnx.ModelProto:
        names = [f"x{number}" for number in range(len(self.inputs))]
        outputs = [f"y{number}" for number in range(COUNTS.get(self.op, 1))]
        node = helper.make_node(self.op, names, outputs, "node", domain=DOMAIN, **self.attrs)
        inputs = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(value.dtype),
                ["N", *value.shape[1:]] if self.is_open and value.ndim > 1 else value.shape,
            )
            for name, value in zip(names, self.inputs, strict=True)
        ]
        graph = helper.make_graph(
            [node], "graph", inputs, [helper.make_empty_tensor_value_info(name) for name in outputs]
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, self.version)],
            ir_version=9,
        )

    @property
    def values(self) -> dict[str, np.ndarray]:
        return {f"x{number}": value for number, value in enumerate(self.inputs)}


X = real(5, 4)
HOLES = np.where(rng(3).random((6, 4)) < 0.3, np.nan, real(6, 4)).astype(np.float32)


def features() -> Iterator[Tried]:
    for dtype in ("float32", "float64", "int32", "int64"):
        x = (X * 3).astype(dtype)
        yield Tried(
            f"scaler {dtype}",
            "Scaler",
            (x,),
            {"offset": [0.5, -1.0, 0.0, 2.0], "scale": [2.0, 0.25, 1.0, -1.0]},
        )
        for norm in ("MAX", "L1", "L2"):
            yield Tried(f"normalizer {norm} {dtype}", "Normalizer", (x,), {"norm": norm})
        yield Tried(f"binarizer {dtype}", "Binarizer", (x,), {"threshold": 0.5})
        yield Tried(
            f"one hot {dtype}",
            "OneHotEncoder",
            (np.abs(x),),
            {"cats_int64s": [0, 2, 3], "zeros": 1},
        )
        yield Tried(f"extractor {dtype}", "ArrayFeatureExtractor", (x, np.array([2, 0, 2])))
        yield Tried(
            f"vectorizer {dtype}", "FeatureVectorizer", (x, x[:, :2]), {"inputdimensions": [4, 2]}
        )
    yield Tried("scaler of one", "Scaler", (X,), {"offset": [0.5], "scale": [2.0]})
    yield Tried(
        "normalizer of zeros", "Normalizer", (np.zeros((2, 3), np.float32),), {"norm": "L2"}
    )
    yield Tried("normalizer vector", "Normalizer", (X[0],), {"norm": "L1"})
    yield Tried("normalizer of negative", "Normalizer", (-np.abs(X),), {"norm": "MAX"})
    yield Tried(
        "imputer of NaN",
        "Imputer",
        (HOLES,),
        {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")},
    )
    yield Tried(
        "imputer of one",
        "Imputer",
        (HOLES,),
        {"imputed_value_floats": [7.0], "replaced_value_float": float("nan")},
    )
    yield Tried(
        "imputer of a number",
        "Imputer",
        (np.round(X),),
        {"imputed_value_floats": [7.0], "replaced_value_float": 0.0},
    )
    yield Tried(
        "imputer of int64",
        "Imputer",
        (np.arange(6).reshape(2, 3) % 3,),
        {"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": 1},
    )
    yield Tried(
        "one hot vector", "OneHotEncoder", (np.array([0, 2, 5, 3]),), {"cats_int64s": [0, 2, 3]}
    )
    yield Tried("extractor vector", "ArrayFeatureExtractor", (X[0], np.array([3, 1])))
    yield Tried(
        "extractor 3", "ArrayFeatureExtractor", (real(2, 3, 4), np.array([[3, 1]])), is_open=False
    )
    keys = np.array([3, 7, 7, 1, 9])
    yield Tried(
        "encoder 2",
        "LabelEncoder",
        (keys,),
        {"keys_int64s": [1, 3, 7], "values_floats": [0.5, 1.5, 2.5], "default_float": -4.0},
        2,
    )
    yield Tried(
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
    yield Tried("encoder 4", "LabelEncoder", (np.array([[1.5, 2.5, 3.5]]),), tensors, 4)


def linear() -> Iterator[Tried]:
    for post, count in [*product(POST[:4], (1, 3)), ("PROBIT", 3)]:
        attrs = {
            "coefficients": (real(count, 4, seed=1) * 0.2 + 0.1).ravel().tolist(),
            "intercepts": [0.3, 0.2, 0.4][:count],
        }
        scale = np.abs(X) * 0.2 if post == "PROBIT" else X
        yield Tried(
            f"regressor {post} {count}",
            "LinearRegressor",
            (scale,),
            {**attrs, "targets": count, "post_transform": post},
        )
        labels = [7, 9] if count == 1 else [4, 5, 6]
        yield Tried(
            f"classifier {post} {count}",
            "LinearClassifier",
            (scale,),
            {**attrs, "classlabels_ints": labels, "post_transform": post},
        )
    yield Tried(
        "classifier of two",
        "LinearClassifier",
        (X,),
        {
            "coefficients": real(8).tolist(),
            "intercepts": [0.3, 0.2],
            "classlabels_ints": [0, 1],
            "post_transform": "SOFTMAX",
        },
    )
    yield Tried(
        "classifier of int64",
        "LinearClassifier",
        ((X * 3).astype(np.int64),),
        {"coefficients": real(8).tolist(), "intercepts": [0.3, 0.2], "classlabels_ints": [0, 1]},
    )
    yield Tried(
        "regressor PROBIT 1",
        "LinearRegressor",
        (X,),
        {"coefficients": [0.05] * 4, "intercepts": [0.5], "post_transform": "PROBIT"},
    )
    yield Tried(
        "regressor without intercepts", "LinearRegressor", (X,), {"coefficients": real(4).tolist()}
    )


def machines() -> Iterator[Tried]:
    for kernel, classes in product(KERNELS, (2, 3, 4)):
        sizes = [3, 2, 4, 1][:classes]
        total, pairs = sum(sizes), classes * (classes - 1) // 2
        attrs = {
            "kernel_type": kernel,
            "kernel_params": [0.3, 0.5, 3.0],
            "vectors_per_class": sizes,
            "support_vectors": real(total, 4).ravel().tolist(),
            "coefficients": real(classes - 1, total).ravel().tolist(),
            "rho": real(pairs).tolist(),
            "classlabels_ints": [3, 5, 8, 9][:classes],
        }
        x = real(7, 4, seed=2)
        proba = {"prob_a": (-1 - np.abs(real(pairs))).tolist(), "prob_b": real(pairs).tolist()}
        for post in POST[:4] if kernel == "RBF" else ("NONE",):
            yield Tried(
                f"svc {kernel} {classes} {post}",
                "SVMClassifier",
                (x,),
                {**attrs, "post_transform": post},
            )
            yield Tried(
                f"svc proba {kernel} {classes} {post}",
                "SVMClassifier",
                (x,),
                {**attrs, **proba, "post_transform": post},
            )
        if kernel == "RBF":
            positive = {**attrs, "coefficients": np.abs(attrs["coefficients"]).tolist()}
            for post in POST[:4]:
                yield Tried(
                    f"svc positive {classes} {post}",
                    "SVMClassifier",
                    (x,),
                    {**positive, "post_transform": post},
                )
            yield Tried(
                f"svc positive proba {classes}", "SVMClassifier", (x,), {**positive, **proba}
            )
    for count in (2, 3):
        flat = {
            "coefficients": real(count, 4).ravel().tolist(),
            "rho": [0.25],
            "classlabels_ints": [3, 5, 8][:count],
            "kernel_type": "LINEAR",
            "kernel_params": [0.0, 0.0, 0.0],
        }
        yield Tried(f"svc linear without vectors {count}", "SVMClassifier", (X,), flat)
    for kernel, one in product(KERNELS, (0, 1)):
        attrs = {
            "kernel_type": kernel,
            "kernel_params": [0.3, 0.5, 2.0],
            "support_vectors": real(6, 4).ravel().tolist(),
            "coefficients": real(6).tolist(),
            "rho": [0.1],
            "n_supports": 6,
            "one_class": one,
        }
        yield Tried(f"svr {kernel} {one}", "SVMRegressor", (X,), attrs)
    yield Tried(
        "svr without vectors",
        "SVMRegressor",
        (X,),
        {
            "kernel_type": "LINEAR",
            "kernel_params": [0.0, 0.0, 0.0],
            "coefficients": real(4).tolist(),
            "rho": [0.1],
        },
    )


def grown(
    depth: int, trees: int, seed: int, modes: tuple[str, ...] = ("BRANCH_LEQ",)
) -> dict[str, Any]:
    """Random trees, as attributes of TreeEnsembleRegressor and -Classifier without their
    prefixes.
    """
    made = rng(seed, depth, trees)
    nodes: dict[str, list[Any]] = {
        name: []
        for name in (
            "treeids",
            "nodeids",
            "featureids",
            "values",
            "modes",
            "truenodeids",
            "falsenodeids",
        )
    }
    leaves: list[tuple[int, int]] = []
    for tree in range(trees):
        waiting, following = [(0, 0)], 1
        while waiting:
            node, level = waiting.pop(0)
            is_leaf = level == depth or (level > 1 and made.random() < 0.3)
            mode = "LEAF" if is_leaf else modes[made.integers(len(modes))]
            value = (
                float(np.float32(np.round(made.standard_normal(), 0 if "EQ" in mode else 3)))
                if not is_leaf
                else 0.0
            )
            row = (
                tree,
                node,
                0 if is_leaf else int(made.integers(4)),
                value,
                mode,
                0 if is_leaf else following,
                0 if is_leaf else following + 1,
            )
            for name, item in zip(nodes, row, strict=True):
                nodes[name].append(item)
            if is_leaf:
                leaves.append((tree, node))
            else:
                waiting += [(following, level + 1), (following + 1, level + 1)]
                following += 2
    return {
        "nodes": {f"nodes_{name}": items for name, items in nodes.items()},
        "leaves": leaves,
        "made": made,
    }


def weighted(
    forest: dict[str, Any], kind: str, ids: list[list[int]], *, positive: bool = False
) -> dict[str, Any]:
    """Weights for its leaves: of each tree in turn, the targets of its row."""
    rows = [
        (tree, node, target) for tree, node in forest["leaves"] for target in ids[tree % len(ids)]
    ]
    weights = forest["made"].standard_normal(len(rows)) * 0.3
    trees, nodes, targets = (list(item) for item in zip(*rows, strict=True))
    given = np.abs(weights) if positive else weights
    return {
        **forest["nodes"],
        f"{kind}_treeids": trees,
        f"{kind}_nodeids": nodes,
        f"{kind}_ids": targets,
        f"{kind}_weights": given.astype(np.float32).tolist(),
    }


def trees() -> Iterator[Tried]:
    x = np.concatenate([real(9, 4, seed=5), np.round(real(9, 4, seed=6))])
    gaps = np.where(rng(9).random(x.shape) < 0.25, np.nan, x).astype(np.float32)
    for mode in (*[(mode,) for mode in MODES], MODES):
        attrs = weighted(grown(4, 5, 1, mode), "target", [[0]])
        tracks = (np.arange(len(attrs["nodes_modes"])) % 3 == 0).astype(int).tolist()
        name = mode[0] if len(mode) == 1 else "mixed"
        yield Tried(
            f"regressor {name}", "TreeEnsembleRegressor", (gaps,), {**attrs, "n_targets": 1}
        )
        yield Tried(
            f"regressor {name} missing",
            "TreeEnsembleRegressor",
            (gaps,),
            {**attrs, "n_targets": 1, "nodes_missing_value_tracks_true": tracks},
        )
    for aggregate, ids in product(
        ("SUM", "AVERAGE", "MIN", "MAX"), ([[0]], [[0], [1], [2]], [[0, 1, 2]], [[0, 2], [1]])
    ):
        count = 1 + max(map(max, ids))
        attrs = {
            **weighted(grown(3, 6, 2), "target", ids),
            "n_targets": count,
            "aggregate_function": aggregate,
        }
        yield Tried(f"regressor {aggregate} {ids}", "TreeEnsembleRegressor", (x,), attrs)
        yield Tried(
            f"regressor {aggregate} {ids} base",
            "TreeEnsembleRegressor",
            (x,),
            {**attrs, "base_values": [0.5, -0.25, 0.75][:count]},
        )
    for post, count in product(POST[:4], (1, 3)):
        attrs = {
            **weighted(grown(3, 6, 3), "target", [[n] for n in range(count)]),
            "n_targets": count,
            "post_transform": post,
        }
        yield Tried(f"regressor {post} {count}", "TreeEnsembleRegressor", (x,), attrs)
    for post, positive, ids in product(
        POST, (False, True), ([[0]], [[1]], [[0, 1]], [[0], [1]], [[0], [1], [2]], [[0, 1, 2]])
    ):
        if post == "PROBIT" and ids in ([[0]], [[0, 1]], [[0], [1]]):
            continue
        count = max(2, 1 + max(map(max, ids)))
        attrs = {
            **weighted(grown(3, 6, 4), "class", ids, positive=positive),
            "classlabels_int64s": [5, 7, 9][:count],
            "post_transform": post,
        }
        name = f"classifier {post} {ids}{' positive' if positive else ''}"
        yield Tried(name, "TreeEnsembleClassifier", (x,), attrs)
        if post in ("NONE", "LOGISTIC") and not positive and count == 3:
            yield Tried(
                f"{name} base",
                "TreeEnsembleClassifier",
                (x,),
                {**attrs, "base_values": [0.25, -0.5, 0.125]},
            )
        if ids == [[0]] and post in ("NONE", "LOGISTIC"):
            yield Tried(
                f"{name} one base", "TreeEnsembleClassifier", (x,), {**attrs, "base_values": [0.25]}
            )
    for dtype in ("float64", "int64", "int32"):
        attrs = {**weighted(grown(3, 4, 6), "class", [[0, 1, 2]]), "classlabels_int64s": [0, 1, 2]}
        yield Tried(
            f"classifier {dtype}", "TreeEnsembleClassifier", ((x * 2).astype(dtype),), attrs
        )
    attrs = weighted(grown(3, 4, 7), "target", [[0]])
    for name in ("nodes_values", "target_weights"):
        attrs[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(attrs.pop(name), np.float64))
    yield Tried(
        "regressor of tensors",
        "TreeEnsembleRegressor",
        (x.astype(np.float64),),
        {**attrs, "n_targets": 1},
    )
    yield Tried(
        "regressor of many",
        "TreeEnsembleRegressor",
        (x,),
        {**weighted(grown(7, 60, 9), "target", [[0], [1]]), "n_targets": 2},
    )
    yield Tried(
        "regressor one leaf",
        "TreeEnsembleRegressor",
        (x,),
        {**weighted(grown(0, 2, 8), "target", [[0]]), "n_targets": 1},
    )
    yield Tried("regressor deep", "TreeEnsembleRegressor", (x,), {**chain(90), "n_targets": 1})
    yield from sets()


def chain(length: int) -> dict[str, Any]:
    """One tree that is a linked list."""
    nodes = range(length)
    return {
        "nodes_treeids": [0] * (2 * length + 1),
        "nodes_nodeids": list(range(2 * length + 1)),
        "nodes_featureids": [0] * (2 * length + 1),
        "nodes_values": [-2 + 4 * n / length for n in nodes] + [0.0] * (length + 1),
        "nodes_modes": ["BRANCH_LEQ"] * length + ["LEAF"] * (length + 1),
        "nodes_truenodeids": [length + n for n in nodes] + [0] * (length + 1),
        "nodes_falsenodeids": [n + 1 for n in nodes[:-1]] + [2 * length] + [0] * (length + 1),
        "target_treeids": [0] * (length + 1),
        "target_nodeids": [length + n for n in range(length + 1)],
        "target_ids": [0] * (length + 1),
        "target_weights": [float(n) for n in range(length + 1)],
    }


def sets() -> Iterator[Tried]:
    """TreeEnsemble of version 5, with set membership."""
    x = rng(3).integers(0, 7, (12, 3))
    for dtype, aggregate, post in product(("float32", "float64"), range(4), (0, 3)):
        tensor = [
            numpy_helper.from_array(item)
            for item in (
                np.array([2.0, 0.0, 3.0, 0.0], dtype),
                np.array([0, 6, 3, 6], np.uint8),
                np.array([0.5, -1.5, 2.5, 3.0, 0.25], dtype),
                np.array([1, 2, 5, np.nan, 0, 6, 3, np.nan], dtype),
            )
        ]
        attrs = {
            "nodes_splits": tensor[0],
            "nodes_modes": tensor[1],
            "leaf_weights": tensor[2],
            "membership_values": tensor[3],
            "nodes_featureids": [0, 1, 2, 1],
            "nodes_truenodeids": [1, 0, 3, 3],
            "nodes_trueleafs": [0, 1, 0, 1],
            "nodes_falsenodeids": [2, 1, 2, 4],
            "nodes_falseleafs": [0, 1, 1, 1],
            "tree_roots": [0],
            "leaf_targetids": [0, 1, 0, 1, 1],
            "n_targets": 2,
            "aggregate_function": aggregate,
            "post_transform": post,
        }
        yield Tried(
            f"sets {dtype} {aggregate} {post}", "TreeEnsemble", (x.astype(dtype),), attrs, 5
        )


FAMILIES = {"features": features, "linear": linear, "machines": machines, "trees": trees}
