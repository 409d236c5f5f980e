"""Ensembles of trees."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from onnx import numpy_helper

from tests.frontends.onnx.classical_nodes import POST, NodeCase, real, rng

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def grown(
    depth: int, trees: int, seed: int, modes: tuple[str, ...] = ("BRANCH_LEQ",)
) -> dict[str, Any]:
    """Random trees, as attributes of TreeEnsembleRegressor and -Classifier without their
    prefixes.
    """
    generator = rng(seed, depth, trees)
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
            is_leaf = level == depth or (level > 1 and generator.random() < 0.3)
            mode = "LEAF" if is_leaf else modes[generator.integers(len(modes))]
            value = (
                float(np.float32(np.round(generator.standard_normal(), 0 if "EQ" in mode else 3)))
                if not is_leaf
                else 0.0
            )
            row = (
                tree,
                node,
                0 if is_leaf else int(generator.integers(4)),
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
        "rng": generator,
    }


def weighted(
    forest: dict[str, Any], kind: str, ids: list[list[int]], *, positive: bool = False
) -> dict[str, Any]:
    """The forest with weights for its leaves. Trees use the rows of target `ids` in turn."""
    rows = [
        (tree, node, target) for tree, node in forest["leaves"] for target in ids[tree % len(ids)]
    ]
    weights = forest["rng"].standard_normal(len(rows)) * 0.3
    trees, nodes, targets = (list(item) for item in zip(*rows, strict=True))
    values = np.abs(weights) if positive else weights
    return {
        **forest["nodes"],
        f"{kind}_treeids": trees,
        f"{kind}_nodeids": nodes,
        f"{kind}_ids": targets,
        f"{kind}_weights": values.astype(np.float32).tolist(),
    }


def trees() -> Iterator[NodeCase]:
    x = np.concatenate([real(9, 4, seed=5), np.round(real(9, 4, seed=6))])
    gaps = np.where(rng(9).random(x.shape) < 0.25, np.nan, x).astype(np.float32)
    for mode in (*[(mode,) for mode in MODES], MODES):
        attrs = weighted(grown(4, 5, 1, mode), "target", [[0]])
        tracks = (np.arange(len(attrs["nodes_modes"])) % 3 == 0).astype(int).tolist()
        name = mode[0] if len(mode) == 1 else "mixed"
        yield NodeCase(
            f"regressor {name}", "TreeEnsembleRegressor", (gaps,), {**attrs, "n_targets": 1}
        )
        yield NodeCase(
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
        yield NodeCase(f"regressor {aggregate} {ids}", "TreeEnsembleRegressor", (x,), attrs)
        yield NodeCase(
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
        yield NodeCase(f"regressor {post} {count}", "TreeEnsembleRegressor", (x,), attrs)
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
        yield NodeCase(name, "TreeEnsembleClassifier", (x,), attrs)
        if post in ("NONE", "LOGISTIC") and not positive and count == 3:
            yield NodeCase(
                f"{name} base",
                "TreeEnsembleClassifier",
                (x,),
                {**attrs, "base_values": [0.25, -0.5, 0.125]},
            )
        if ids == [[0]] and post in ("NONE", "LOGISTIC"):
            yield NodeCase(
                f"{name} one base", "TreeEnsembleClassifier", (x,), {**attrs, "base_values": [0.25]}
            )
    for dtype in ("float64", "int64", "int32"):
        attrs = {**weighted(grown(3, 4, 6), "class", [[0, 1, 2]]), "classlabels_int64s": [0, 1, 2]}
        yield NodeCase(
            f"classifier {dtype}", "TreeEnsembleClassifier", ((x * 2).astype(dtype),), attrs
        )
    attrs = weighted(grown(3, 4, 7), "target", [[0]])
    for name in ("nodes_values", "target_weights"):
        attrs[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(attrs.pop(name), np.float64))
    yield NodeCase(
        "regressor of tensors",
        "TreeEnsembleRegressor",
        (x.astype(np.float64),),
        {**attrs, "n_targets": 1},
    )
    yield NodeCase(
        "regressor of many",
        "TreeEnsembleRegressor",
        (x,),
        {**weighted(grown(7, 60, 9), "target", [[0], [1]]), "n_targets": 2},
    )
    yield NodeCase(
        "regressor one leaf",
        "TreeEnsembleRegressor",
        (x,),
        {**weighted(grown(0, 2, 8), "target", [[0]]), "n_targets": 1},
    )
    yield NodeCase("regressor deep", "TreeEnsembleRegressor", (x,), {**chain(90), "n_targets": 1})
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


def sets() -> Iterator[NodeCase]:
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
        yield NodeCase(
            f"sets {dtype} {aggregate} {post}", "TreeEnsemble", (x.astype(dtype),), attrs, 5
        )
