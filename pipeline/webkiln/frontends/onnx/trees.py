"""Ensembles of decision trees, in the one form that handlers see, from the three that ai.onnx.ml
has.

Nodes with a test come first, in the order of the file, then the leaves. A test has a feature, a
threshold, and how far its two successors lie from it (`yes`, `no`). `roots` has where each tree
begins. A test holds as `TESTS` says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.ir.types import Array

LESS, EQUAL, MISSING = 1, 2, 4
"""When a test holds: where the feature is less than the threshold, where it is equal, where it is
NaN.
"""
MODES = {"BRANCH_LEQ": LESS | EQUAL, "BRANCH_LT": LESS, "BRANCH_EQ": EQUAL}
OPPOSITES = {"BRANCH_GT": "BRANCH_LEQ", "BRANCH_GTE": "BRANCH_LT", "BRANCH_NEQ": "BRANCH_EQ"}
MEMBER = "BRANCH_MEMBER"
BY_NUMBER = (
    "BRANCH_LEQ",
    "BRANCH_LT",
    "BRANCH_GTE",
    "BRANCH_GT",
    "BRANCH_EQ",
    "BRANCH_NEQ",
    MEMBER,
)
COMBINING = {"SUM": np.add, "AVERAGE": np.add, "MIN": np.minimum, "MAX": np.maximum}
NEUTRAL = {"MIN": np.inf, "MAX": -np.inf}
BY_CODE = ("AVERAGE", "SUM", "MIN", "MAX")
POST_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
DEEPEST = 1 << 14
MOST_TARGETS, MOST_WEIGHTS, MOST_VISITS = 1 << 16, 1 << 27, 1 << 26
INTEGERS = ("uint8", "int8", "uint16", "int16", "int32")


@dataclass(frozen=True)
class Tests:
    """The nodes with a test, by position; successors are positions too, those of leaves from
    `len(tests)` on. `holds`: when, bits of LESS, EQUAL and MISSING.
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
    """Trees; `leaves`, `targets` and `weights` say what is added to which target at which leaf,
    leaves by number.
    """

    tests: Tests
    roots: Array
    leaf_count: int
    leaves: Array
    targets: Array
    weights: Array


def attributes(
    forest: Forest, count: int, aggregate: str, where: str
) -> tuple[dict[str, Any], dict[str, Array]]:
    """What the handler is told of the structure, and the trained arrays, of an ensemble with
    `count` targets.
    """
    check_count(count, where)
    if forest.leaf_count * count > MOST_WEIGHTS:
        raise SourceError(
            f"{where}: has {forest.leaf_count} leaves with {count} targets each; at most"
            f" {MOST_WEIGHTS} weights are read"
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
    """That there are not more classes or targets than anything needs."""
    if not 0 < count <= MOST_TARGETS:
        raise SourceError(f"{where}: has {count} classes or targets, expected 1 to {MOST_TARGETS}")


def _narrow(values: Array) -> Array:
    """Integers in the fewest bytes."""
    low, high = values.min(initial=0), values.max(initial=0)
    fitting = next(
        name for name in INTEGERS if np.iinfo(name).min <= low and high <= np.iinfo(name).max
    )
    return values.astype(fitting)


def _leaf_weights(forest: Forest, count: int, aggregate: str) -> tuple[Array, Array | None]:
    """[leaves] and an order of the trees that brings those of a target together, where each tree
    has
    one target and each target as many trees; else [leaves, targets] and None.
    """
    combine, fill = COMBINING[aggregate], NEUTRAL.get(aggregate, 0.0)
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
    """The one target of each tree, where they have one each."""
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
    """The nodes that can be reached in 0, 1, ... steps, up to one step too many where there is a
    circle.
    """
    tests, first, level = forest.tests, len(forest.tests), forest.roots
    levels: list[Array] = []
    visits = 0
    joins = np.bincount(np.concatenate([tests.yes, tests.no, level])).max() > 1
    while len(level):
        level = np.unique(level) if joins else level
        levels.append(level)
        visits += len(level)
        if len(levels) > min(DEEPEST, first) + 1 or visits > MOST_VISITS:
            break
        inner = level[level < first]
        level = np.concatenate([tests.yes[inner], tests.no[inner]])
    return levels


def _depth(forest: Forest, where: str) -> int:
    levels = _levels(forest)
    depth = len(levels) - 1
    if depth > min(DEEPEST, len(forest.tests)) or sum(map(len, levels)) > MOST_VISITS:
        raise SourceError(
            f"{where}: its trees go round in a circle, or have more than {DEEPEST} levels or"
            f" {MOST_VISITS} ways; the file is damaged"
        )
    return depth


def forest_of_nodes(
    raw: Mapping[str, Any], kind: str, weights: Array, count: int, where: str
) -> Forest:
    """The trees of a TreeEnsembleClassifier or -Regressor: nodes by the numbers of their tree and
    in
    it. `kind` begins the names of what is said of leaves, `weights` are theirs, for `count`
    targets.
    """
    numbers = {
        name: raw.get(f"nodes_{name}", np.zeros(0, np.int64))
        for name in ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids")
    }
    ends = {
        name: raw.get(f"{kind}_{name}", np.zeros(0, np.int64))
        for name in ("treeids", "nodeids", "ids")
    }
    modes, size = np.array(raw.get("nodes_modes", ()), object), len(numbers["treeids"])
    values = _either(raw, "nodes_values")
    lengths = {f"nodes_{name}": len(item) for name, item in numbers.items()} | {
        "nodes_modes": len(modes),
        "nodes_values": len(values),
    }
    _check_lengths(lengths, size, where)
    _check_lengths(
        {f"{kind}_{name}": len(item) for name, item in ends.items()}
        | {f"{kind}_weights": len(weights)},
        len(ends["ids"]),
        where,
    )
    if not size:
        raise SourceError(f"{where}: has no nodes")
    keys = _keys(numbers["treeids"], numbers["nodeids"], where)
    order = np.argsort(keys, kind="stable")
    if (np.diff(keys[order]) == 0).any():
        raise SourceError(f"{where}: has a node twice")

    def find(trees: Array, nodes: Array, what: str) -> Array:
        wanted = _keys(trees, nodes, where)
        place = np.minimum(np.searchsorted(keys, wanted, sorter=order), size - 1)
        if (lost := np.flatnonzero(keys[order[place]] != wanted)).size:
            raise SourceError(
                f"{where}: {what} is node {nodes[lost[0]]} of tree {trees[lost[0]]}, which it does"
                " not have"
            )
        return order[place]

    is_leaf = modes == "LEAF"
    if unknown := sorted(set(modes[~is_leaf].tolist()) - MODES.keys() - OPPOSITES.keys()):
        raise SourceError(
            f"{where}: has a node of mode {unknown[0]}, expected one of"
            f" {', '.join((*MODES, *OPPOSITES))}"
        )
    inner = np.flatnonzero(~is_leaf)
    position = np.where(is_leaf, len(inner) + np.cumsum(is_leaf) - 1, np.cumsum(~is_leaf) - 1)
    trees = numbers["treeids"][inner]
    yes, no = (
        find(trees, numbers[name][inner], "a successor") for name in ("truenodeids", "falsenodeids")
    )
    is_root = np.ones(size, bool)
    is_root[yes] = is_root[no] = False
    roots = np.flatnonzero(is_root)
    if 1 + np.count_nonzero(np.diff(keys[order] >> 32)) != len(roots) or len(
        np.unique(numbers["treeids"][roots])
    ) != len(roots):
        raise SourceError(
            f"{where}: each tree must have one node that is no other's successor; the file is"
            " damaged"
        )
    missing = raw.get("nodes_missing_value_tracks_true", ())
    tracks = np.zeros(size, bool) if not len(missing) else missing.astype(bool)
    _check_lengths({"nodes_missing_value_tracks_true": len(tracks)}, size, where)
    tests = _directed(
        numbers["featureids"][inner],
        values[inner],
        modes[inner],
        tracks[inner],
        position[yes],
        position[no],
        where,
    )
    place = find(ends["treeids"], ends["nodeids"], "what has a weight")
    kept = is_leaf[place]
    _check_range(ends["ids"], count, f"{kind}_ids", where)
    return Forest(
        tests,
        position[roots],
        int(is_leaf.sum()),
        position[place[kept]] - len(inner),
        ends["ids"][kept],
        weights[kept],
    )


def forest_of_sets(raw: Mapping[str, Any], where: str) -> tuple[Forest, int]:
    """The trees of a TreeEnsemble, with how many targets they have: nodes by position, tests of
    membership in sets among them.
    """
    modes, features = raw["nodes_modes"].ravel(), raw["nodes_featureids"]
    roots, weights, targets = raw["tree_roots"], raw["leaf_weights"].ravel(), raw["leaf_targetids"]
    splits, size, leaves = raw["nodes_splits"].ravel(), len(features), len(weights)
    names = ("nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs")
    _check_lengths(
        {
            **{name: len(raw[name]) for name in names},
            "nodes_modes": len(modes),
            "nodes_splits": len(splits),
        },
        size,
        where,
    )
    _check_lengths({"leaf_targetids": len(targets)}, leaves, where)
    missing = raw.get("nodes_missing_value_tracks_true", ())
    tracks = missing.astype(bool) if len(missing) else np.zeros(size, bool)
    _check_lengths({"nodes_missing_value_tracks_true": len(tracks)}, size, where)
    _check_range(modes, len(BY_NUMBER), "nodes_modes", where)
    _check_range(roots, size, "tree_roots", where)
    if not len(roots):
        raise SourceError(f"{where}: has no trees")
    count = int(raw.get("n_targets", int(targets.max(initial=0)) + 1))
    _check_range(targets, count, "leaf_targetids", where)
    follows = []
    for name in ("true", "false"):
        ids, is_leaf = raw[f"nodes_{name}nodeids"], raw[f"nodes_{name}leafs"].astype(bool)
        _check_range(ids[is_leaf], leaves, f"nodes_{name}nodeids", where)
        _check_range(ids[~is_leaf], size, f"nodes_{name}nodeids", where)
        follows.append(np.where(is_leaf, size + ids, ids))
    named = np.array(BY_NUMBER, object)[modes]
    tests, roots = _with_sets(
        features,
        splits,
        named,
        tracks,
        (follows[0], follows[1]),
        roots,
        _sets(raw.get("membership_values"), int((named == MEMBER).sum()), where),
        where,
    )
    return Forest(tests, roots, leaves, np.arange(leaves), targets, weights), count


def _sets(values: Array | None, count: int, where: str) -> list[Array]:
    """The sets of the nodes that ask for membership, in their order; a NaN ends each."""
    if values is None or not len(values):
        found: list[Array] = []
    else:
        flat = values.ravel()
        pieces = np.split(flat, np.flatnonzero(np.isnan(flat)))
        found = [piece[~np.isnan(piece)] for piece in pieces]
        found = found[:-1] if np.isnan(flat[-1]) else found
    if len(found) != count:
        raise SourceError(
            f"{where}: membership_values has {len(found)} sets, {count} nodes ask for one"
        )
    return found


def _with_sets(
    features: Array,
    splits: Array,
    modes: Array,
    tracks: Array,
    follows: tuple[Array, Array],
    roots: Array,
    sets: list[Array],
    where: str,
) -> tuple[Tests, Array]:
    """A node that asks for one of n values becomes n nodes that ask for one each; one that asks for
    none never holds.
    """
    (yes, no), size, asking = follows, len(features), np.flatnonzero(modes == MEMBER)
    copies = np.ones(size, np.int64)
    copies[asking] = [max(len(values), 1) for values in sets]
    first = np.cumsum(copies) - copies
    source = np.repeat(np.arange(size), copies)
    total = len(source)

    def moved(places: Array) -> Array:
        return np.where(places < size, first[np.minimum(places, size - 1)], places - size + total)

    is_last = np.append(source[1:] != source[:-1], True)
    values, never = splits[source], np.zeros(total, bool)
    for node, members in zip(asking, sets, strict=True):
        values[first[node] : first[node] + len(members)] = members
        never[first[node]] = not len(members)
    plain = np.where(modes == MEMBER, "BRANCH_EQ", modes)[source]
    after = np.where(is_last, moved(no)[source], np.arange(total) + 1)
    tests = _directed(
        features[source], values, plain, tracks[source], moved(yes)[source], after, where
    )
    holds = np.where(never, tests.holds & MISSING, tests.holds)
    return replace(tests, holds=holds), moved(roots)


def _directed(
    features: Array,
    thresholds: Array,
    modes: Array,
    tracks: Array,
    yes: Array,
    no: Array,
    where: str,
) -> Tests:
    """Tests that hold where something is less or equal: those that hold where it is not have their
    successors swapped.
    """
    _check_range(features, 1 << 31, "nodes_featureids", where)
    swapped = np.isin(modes, list(OPPOSITES))
    holds = np.array([MODES[OPPOSITES.get(mode, mode)] for mode in modes], np.int64)
    unequal = modes == "BRANCH_NEQ"
    missing = np.where(swapped, ~(tracks | unequal), tracks)
    return Tests(
        features,
        thresholds,
        holds | np.where(missing, MISSING, 0),
        np.where(swapped, no, yes),
        np.where(swapped, yes, no),
    )


def _keys(trees: Array, nodes: Array, where: str) -> Array:
    for numbers, what in ((trees, "tree"), (nodes, "node")):
        if ((numbers < 0) | (numbers >= 1 << 31)).any():
            raise SourceError(
                f"{where}: a {what} has a number that is not from 0 to {(1 << 31) - 1}; the file is"
                " damaged"
            )
    return (trees << 32) | nodes


def _either(raw: Mapping[str, Any], name: str) -> Array:
    """An attribute of floats, or of a tensor."""
    return np.asarray(raw.get(name, raw.get(f"{name}_as_tensor", np.zeros(0, np.float32)))).ravel()


def _check_lengths(lengths: Mapping[str, int], expected: int, where: str) -> None:
    for name, length in lengths.items():
        if length != expected:
            raise SourceError(
                f"{where}: its attribute {name} has {length} elements, expected {expected}; the"
                " file is damaged"
            )


def _check_range(numbers: Array, count: int, name: str, where: str) -> None:
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= count):
        raise SourceError(
            f"{where}: its attribute {name} goes from {numbers.min()} to {numbers.max()}, expected"
            f" 0 to {count - 1}"
        )
