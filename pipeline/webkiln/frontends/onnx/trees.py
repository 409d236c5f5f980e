"""Tree ensembles in a normal form, to which the three encodings of ai.onnx.ml are converted.

Nodes with a test come first, in the order of the file, then the leaves. A test has a feature, a
threshold, and the relative positions of its two successors (`yes`, `no`). `roots` has the position
of each tree's root.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.ir.types import Array

LESS, EQUAL, MISSING = 1, 2, 4
"""Bits that state when a test is true: the feature is less than the threshold, equal to it, or
NaN.
"""
COMBINE = {"SUM": np.add, "AVERAGE": np.add, "MIN": np.minimum, "MAX": np.maximum}
NEUTRAL = {"MIN": np.inf, "MAX": -np.inf}
BY_CODE = ("AVERAGE", "SUM", "MIN", "MAX")
POST_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
MAX_DEPTH = 1 << 14
MAX_TARGETS, MAX_WEIGHTS, MAX_VISITS = 1 << 16, 1 << 27, 1 << 26
INTEGERS = ("uint8", "int8", "uint16", "int16", "int32")


@dataclass(frozen=True)
class Tests:
    """The nodes with a test. Successors are positions, those of leaves start at `len(tests)`.
    `holds` has the bits LESS, EQUAL and MISSING.
    """

    features: Array
    thresholds: Array
    holds: Array
    yes: Array
    no: Array

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True)
class Forest:
    """Trees. `weights[i]` is added to target `targets[i]` at leaf number `leaves[i]`."""

    tests: Tests
    roots: Array
    leaf_count: int
    leaves: Array
    targets: Array
    weights: Array


def ensemble_attributes(
    forest: Forest, count: int, aggregate: str, where: str
) -> tuple[dict[str, Any], dict[str, Array]]:
    """The structural attributes and the trained arrays of an ensemble with `count` targets."""
    check_count(count, where)
    if forest.leaf_count * count > MAX_WEIGHTS:
        raise SourceError(
            f"{where}: has {forest.leaf_count} leaves with {count} targets each; the limit"
            f" is {MAX_WEIGHTS} weights"
        )
    tests = forest.tests
    holds = np.unique(tests.holds)
    uniform = int(holds[0]) if len(holds) == 1 and not holds[0] & MISSING and holds[0] else 0
    own = np.arange(len(tests))
    weights, shared = _leaf_weights(forest, count, aggregate)
    attrs = {
        "depth": _depth(forest, where),
        "leaves_from": len(tests),
        "test": uniform,
        "aggregate": aggregate,
        "targets": count,
        "one_target_a_tree": shared is not None,
        "features": int(tests.features.max(initial=-1)) + 1,
    }
    arrays = {
        "roots": _narrow(forest.roots if shared is None else forest.roots[shared]),
        "features": _narrow(tests.features),
        "thresholds": tests.thresholds,
        "yes": _narrow(tests.yes - own),
        "no": _narrow(tests.no - own),
        "weights": weights,
    }
    return attrs, (
        arrays
        if uniform or not len(tests)
        else {
            **arrays,
            "holds": tests.holds.astype(np.uint8),
        }
    )


def check_count(count: int, where: str) -> None:
    """Raise SourceError if the number of classes or targets is out of range."""
    if not 0 < count <= MAX_TARGETS:
        raise SourceError(f"{where}: has {count} classes or targets, expected 1 to {MAX_TARGETS}")


def _narrow(values: Array) -> Array:
    """Convert integers to the narrowest dtype."""
    low, high = values.min(initial=0), values.max(initial=0)
    dtype = next(
        name for name in INTEGERS if np.iinfo(name).min <= low and high <= np.iinfo(name).max
    )
    return values.astype(dtype)


def _leaf_weights(forest: Forest, count: int, aggregate: str) -> tuple[Array, Array | None]:
    """([leaves], order) if each tree has one target and each target the same number of trees;
    `order` sorts the trees by target. Else ([leaves, targets], None).
    """
    combine, fill = COMBINE[aggregate], NEUTRAL.get(aggregate, 0.0)
    owner = _target_of_trees(forest) if len(forest.leaves) == forest.leaf_count else None
    if owner is not None and np.bincount(forest.leaves).max() == 1:
        each = np.bincount(owner, minlength=count)
        if len(each) == count and each.min() == each.max():
            line = np.full(forest.leaf_count, fill, forest.weights.dtype)
            combine.at(line, forest.leaves, forest.weights)
            return line, np.argsort(owner, kind="stable")
    table = np.full((forest.leaf_count, count), fill, forest.weights.dtype)
    combine.at(table, (forest.leaves, forest.targets), forest.weights)
    return table, None


def _target_of_trees(forest: Forest) -> Array | None:
    """The target of each tree, if all trees have exactly one."""
    first = len(forest.tests)
    target = np.full(first + forest.leaf_count, -1)
    target[first + forest.leaves] = forest.targets
    for level in reversed(_levels(forest)):
        inner = level[level < first]
        yes, no = target[forest.tests.yes[inner]], target[forest.tests.no[inner]]
        if (yes != no).any():
            return None
        target[inner] = yes
    return target[forest.roots]


def _levels(forest: Forest) -> list[Array]:
    """The nodes reachable in 0, 1, ... steps. If there is a cycle, the list exceeds the limit by
    one.
    """
    tests, first, level = forest.tests, len(forest.tests), forest.roots
    levels: list[Array] = []
    visits = 0
    joins = np.bincount(np.concatenate([tests.yes, tests.no, level])).max() > 1
    while len(level):
        level = np.unique(level) if joins else level
        levels.append(level)
        visits += len(level)
        if len(levels) > min(MAX_DEPTH, first) + 1 or visits > MAX_VISITS:
            break
        inner = level[level < first]
        level = np.concatenate([tests.yes[inner], tests.no[inner]])
    return levels


def _depth(forest: Forest, where: str) -> int:
    levels = _levels(forest)
    depth = len(levels) - 1
    if depth > min(MAX_DEPTH, len(forest.tests)) or sum(map(len, levels)) > MAX_VISITS:
        raise SourceError(
            f"{where}: its trees have a cycle, or more than {MAX_DEPTH} levels or"
            f" {MAX_VISITS} paths; the file is damaged"
        )
    return depth
