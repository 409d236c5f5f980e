"""Readers of the two encodings of tree ensembles in ai.onnx.ml: nodes with identifiers, and nodes
by position, whose tests may check set membership.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.onnx.trees import EQUAL, LESS, MISSING, Forest, Tests
from webkiln.ir.types import Array

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


class _NodeTable:
    """The nodes of trees by tree and node number. Raises SourceError if two nodes have the same."""

    def __init__(self, trees: Array, nodes: Array, where: str) -> None:
        self._where = where
        self._keys = _keys(trees, nodes, where)
        self._order = np.argsort(self._keys, kind="stable")
        if (np.diff(self._keys[self._order]) == 0).any():
            raise SourceError(f"{where}: two nodes have the same identifiers")

    def find(self, trees: Array, nodes: Array, what: str) -> Array:
        """The positions of nodes. Raises SourceError, which names `what`, if one is missing."""
        expected = _keys(trees, nodes, self._where)
        index = np.searchsorted(self._keys, expected, sorter=self._order)
        found = self._order[np.minimum(index, len(self._keys) - 1)]
        if (missing := np.flatnonzero(self._keys[found] != expected)).size:
            raise SourceError(
                f"{self._where}: {what} is node {nodes[missing[0]]} of tree {trees[missing[0]]},"
                " which does not exist"
            )
        return found


def forest_of_nodes(
    raw: Mapping[str, Any], kind: str, weights: Array, count: int, where: str
) -> Forest:
    """The trees of a TreeEnsembleClassifier or -Regressor, whose nodes are identified by tree and
    node numbers. `kind` is the prefix of the leaf attributes, `weights` their weights, for `count`
    targets.
    """
    numbers = _numbers(
        raw, "nodes", ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids"), where
    )
    ends = _numbers(raw, kind, ("ids", "treeids", "nodeids"), where)
    modes, size = np.array(raw.get("nodes_modes", ()), object), len(numbers["treeids"])
    values = _either(raw, "nodes_values")
    _check_lengths({"nodes_modes": len(modes), "nodes_values": len(values)}, size, where)
    _check_lengths({f"{kind}_weights": len(weights)}, len(ends["ids"]), where)
    if not size:
        raise SourceError(f"{where}: has no nodes")
    table = _NodeTable(numbers["treeids"], numbers["nodeids"], where)
    is_leaf = modes == "LEAF"
    if unknown := sorted(set(modes[~is_leaf].tolist()) - MODES.keys() - OPPOSITES.keys()):
        raise SourceError(
            f"{where}: has a node of mode {unknown[0]}, expected one of"
            f" {', '.join((*MODES, *OPPOSITES))}"
        )
    inner = np.flatnonzero(~is_leaf)
    position = np.where(is_leaf, len(inner) + np.cumsum(is_leaf) - 1, np.cumsum(~is_leaf) - 1)
    yes, no = (
        table.find(numbers["treeids"][inner], numbers[name][inner], "a successor")
        for name in ("truenodeids", "falsenodeids")
    )
    roots = _roots(numbers["treeids"], yes, no, where)
    tests = _normalise_tests(
        numbers["featureids"][inner],
        values[inner],
        modes[inner],
        _tracks(raw, size, where)[inner],
        position[yes],
        position[no],
        where,
    )
    node = table.find(ends["treeids"], ends["nodeids"], "a weighted leaf")
    at_leaf = is_leaf[node]
    _check_range(ends["ids"], count, f"{kind}_ids", where)
    return Forest(
        tests,
        position[roots],
        int(is_leaf.sum()),
        position[node[at_leaf]] - len(inner),
        ends["ids"][at_leaf],
        weights[at_leaf],
    )


def _numbers(
    raw: Mapping[str, Any], prefix: str, names: Sequence[str], where: str
) -> dict[str, Array]:
    """Integer attributes, which have as many elements as the first of them."""
    numbers = {name: raw.get(f"{prefix}_{name}", np.zeros(0, np.int64)) for name in names}
    lengths = {f"{prefix}_{name}": len(item) for name, item in numbers.items()}
    _check_lengths(lengths, len(numbers[names[0]]), where)
    return numbers


def _roots(trees: Array, yes: Array, no: Array, where: str) -> Array:
    """The positions of the nodes that are no successors, given the trees of all nodes. Raises
    SourceError unless each tree has one.
    """
    is_root = np.ones(len(trees), bool)
    is_root[yes] = is_root[no] = False
    roots = np.flatnonzero(is_root)
    if not np.array_equal(np.sort(trees[roots]), np.unique(trees)):
        raise SourceError(
            f"{where}: each tree must have one node that is no other's successor; the file is"
            " damaged"
        )
    return roots


def _tracks(raw: Mapping[str, Any], size: int, where: str) -> Array:
    """Whether a missing value makes the test of a node true."""
    missing = raw.get("nodes_missing_value_tracks_true", ())
    tracks = missing.astype(bool) if len(missing) else np.zeros(size, bool)
    _check_lengths({"nodes_missing_value_tracks_true": len(tracks)}, size, where)
    return tracks


def forest_of_sets(raw: Mapping[str, Any], where: str) -> tuple[Forest, int]:
    """The trees of a TreeEnsemble and its number of targets. Nodes are identified by position;
    tests may check membership in a set.
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
    tracks = _tracks(raw, size, where)
    _check_range(modes, len(BY_NUMBER), "nodes_modes", where)
    _check_range(roots, size, "tree_roots", where)
    if not len(roots):
        raise SourceError(f"{where}: has no trees")
    count = int(raw.get("n_targets", int(targets.max(initial=0)) + 1))
    _check_range(targets, count, "leaf_targetids", where)
    successors = []
    for name in ("true", "false"):
        ids, is_leaf = raw[f"nodes_{name}nodeids"], raw[f"nodes_{name}leafs"].astype(bool)
        _check_range(ids[is_leaf], leaves, f"nodes_{name}nodeids", where)
        _check_range(ids[~is_leaf], size, f"nodes_{name}nodeids", where)
        successors.append(np.where(is_leaf, size + ids, ids))
    mode_names = np.array(BY_NUMBER, object)[modes]
    tests, roots = _with_sets(
        features,
        splits,
        mode_names,
        tracks,
        (successors[0], successors[1]),
        roots,
        _sets(raw.get("membership_values"), int((mode_names == MEMBER).sum()), where),
        where,
    )
    return Forest(tests, roots, leaves, np.arange(leaves), targets, weights), count


def _sets(values: Array | None, count: int, where: str) -> list[Array]:
    """The sets of the membership tests, in node order; a NaN terminates each."""
    if values is None or not len(values):
        sets: list[Array] = []
    else:
        flat = values.ravel()
        chunks = np.split(flat, np.flatnonzero(np.isnan(flat)))
        sets = [piece[~np.isnan(piece)] for piece in chunks]
        sets = sets[:-1] if np.isnan(flat[-1]) else sets
    if len(sets) != count:
        raise SourceError(
            f"{where}: membership_values has {len(sets)} sets, {count} nodes need one"
        )
    return sets


def _with_sets(
    features: Array,
    splits: Array,
    modes: Array,
    tracks: Array,
    successors: tuple[Array, Array],
    roots: Array,
    sets: list[Array],
    where: str,
) -> tuple[Tests, Array]:
    """Replace a membership test of n values by n tests for equality; a test of no values is never
    true.
    """
    (yes, no), size, membership_nodes = successors, len(features), np.flatnonzero(modes == MEMBER)
    copies = np.ones(size, np.int64)
    copies[membership_nodes] = [max(len(values), 1) for values in sets]
    first = np.cumsum(copies) - copies
    source = np.repeat(np.arange(size), copies)
    total = len(source)

    def renumber(positions: Array) -> Array:
        return np.where(
            positions < size, first[np.minimum(positions, size - 1)], positions - size + total
        )

    is_last = np.append(source[1:] != source[:-1], True)
    values, never = splits[source], np.zeros(total, bool)
    for node, members in zip(membership_nodes, sets, strict=True):
        values[first[node] : first[node] + len(members)] = members
        never[first[node]] = not len(members)
    test_modes = np.where(modes == MEMBER, "BRANCH_EQ", modes)[source]
    otherwise = np.where(is_last, renumber(no)[source], np.arange(total) + 1)
    tests = _normalise_tests(
        features[source],
        values,
        test_modes,
        tracks[source],
        renumber(yes)[source],
        otherwise,
        where,
    )
    holds = np.where(never, tests.holds & MISSING, tests.holds)
    return replace(tests, holds=holds), renumber(roots)


def _normalise_tests(
    features: Array,
    thresholds: Array,
    modes: Array,
    tracks: Array,
    yes: Array,
    no: Array,
    where: str,
) -> Tests:
    """Tests that are true for less or equal; the successors of opposite tests are swapped."""
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
                f"{where}: a {what} number is not in 0 to {(1 << 31) - 1}; the file is damaged"
            )
    return (trees << 32) | nodes


def _either(raw: Mapping[str, Any], name: str) -> Array:
    """A float attribute, given as a list or as a tensor."""
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
            f"{where}: its attribute {name} ranges from {numbers.min()} to {numbers.max()},"
            f" expected 0 to {count - 1}"
        )
