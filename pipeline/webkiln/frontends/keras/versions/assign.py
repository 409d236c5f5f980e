"""Assign weights to layers for files that store them as lists: one per layer of the model, which
includes those of nested models, in Keras's order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.core.stored_weight import StoredWeight
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.parts import RECURRENT, part_entries
from webkiln.frontends.keras.versions import layouts
from webkiln.frontends.keras.versions.layouts import Era
from webkiln.frontends.keras.weight_names import FIXED, WEIGHTS, weight_names

Assigned = dict[str, dict[str, StoredWeight]]
CONTAINERS = frozenset({"Functional", "Sequential", "Model"})
GATED = RECURRENT | {"ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"}
OWNERS = frozenset({"SpectralNormalization"})
"""Wrappers with weights in addition to those of the inner layer."""
VECTORS = frozenset({"vector_u", "sn_u"})
"""Their names. Inference does not use them."""
SPELLED = {"kernel": "depthwise_kernel"}
"""Keras 2's names of weights -> current names."""
NAMES = frozenset(name for names in WEIGHTS.values() for name in names)


class Misfit(Exception):
    """The weights of a layer do not match its config."""


def is_container(entry: Mapping[str, Any]) -> bool:
    return entry["class_name"] in CONTAINERS and configs.is_own(entry)


def leaves(entry: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The layers with weights in a layer or model, including nested models, by path."""
    if not is_container(entry):
        yield path, entry
        return
    for layer in entry["config"]["layers"]:
        if layer["class_name"] != "InputLayer":
            yield from leaves(layer, f"{path}/{configs.layer_name(layer)}")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A layer that owns weights. `names` are its own and those of its outer layers, up to the
    innermost model; `frozen`: it or an outer layer or model is not trainable.
    """

    entry: Mapping[str, Any]
    path: str
    names: tuple[str, ...]
    frozen: bool

    def size(self, era: Era) -> tuple[int, int]:
        """The numbers of its trainable and non-trainable weights."""
        class_name, config = str(self.entry["class_name"]), self.entry["config"]
        names = weight_names(class_name, config)
        if class_name in OWNERS:
            names = (
                *weight_names(str(config["layer"]["class_name"]), config["layer"]["config"]),
                "vector_u",
            )
        moving, fixed = (
            len([name for name in names if name not in FIXED]),
            len([name for name in names if name in FIXED]),
        )
        if class_name in GATED:
            cell = part_entries(class_name, config)[0][1]
            moving = layouts.count(
                class_name, config, era, len(weight_names(cell["class_name"], config))
            )
        return (0, moving + fixed) if self.frozen else (moving, fixed)

    def likeness(self, owner: Sequence[str]) -> int:
        """How many names of its path occur, in order, among those of a weight's owner."""
        rest, matches = list(owner), 0
        for name in reversed(self.path.split("/")):
            if name in rest:
                del rest[len(rest) - 1 - rest[::-1].index(name) :]
                matches += 1
        return matches


def _keepers(
    entry: Mapping[str, Any], path: str, names: tuple[str, ...] = (), *, frozen: bool = False
) -> Iterator[Leaf]:
    """The layers that own weights in a layer or model. Raises Misfit if unknown."""
    if not configs.is_own(entry):
        raise Misfit
    class_name, config = str(entry["class_name"]), entry["config"]
    frozen = frozen or not config.get("trainable", True)
    if is_container(entry):
        for layer in config["layers"]:
            if layer["class_name"] != "InputLayer":
                yield from _keepers(layer, f"{path}/{configs.layer_name(layer)}", frozen=frozen)
        return
    names = (*names, configs.layer_name(entry))
    parts = part_entries(class_name, config)
    if not parts or class_name in GATED | OWNERS:
        yield Leaf(entry, path, names, frozen)
        return
    for _, part in parts:
        yield from _keepers(part, f"{path}/{configs.layer_name(part)}", names, frozen=frozen)


def counts(entry: Mapping[str, Any], era: Era) -> tuple[int, int]:
    """The numbers of trainable and non-trainable weights of a layer. Raises Misfit if unknown."""
    sizes = [leaf.size(era) for leaf in _keepers(entry, "")]
    return sum(moving for moving, _ in sizes), sum(fixed for _, fixed in sizes)


def assigned(
    entry: Mapping[str, Any], path: str, stored: Sequence[StoredWeight], era: Era
) -> Assigned:
    """The weights of a layer of a model, or of a nested model, by the paths of their layers. Raises
    Misfit if they do not match.
    """
    leaves = list(_keepers(entry, path))
    sizes = [leaf.size(era) for leaf in leaves]
    if sum(map(sum, sizes)) != len(stored):
        raise Misfit
    results = []
    for split in _splits(leaves, sizes, stored):
        results = [
            dict(_leaf_weights(leaf, part, era)) for leaf, part in zip(leaves, split, strict=True)
        ]
        if len(leaves) == 1 or all(
            _named_so(weights) for item in results for weights in item.values()
        ):
            break
    else:
        raise Misfit
    return {leaf_path: weights for item in results for leaf_path, weights in item.items()}


def _splits(
    leaves: Sequence[Leaf], sizes: Sequence[tuple[int, int]], stored: Sequence[StoredWeight]
) -> Iterator[list[list[StoredWeight]]]:
    """Split a list by layer, as the names of weights indicate.

    If names do not, the list has all trainable weights, followed by the non-trainable ones; or, if
    layers do not state that they are frozen, or state it too late, it is ordered by layer.
    """
    if (owned := _by_owner(leaves, sizes, stored)) is not None:
        yield owned
    moving = iter(stored[: sum(count for count, _ in sizes)])
    fixed = iter(stored[sum(count for count, _ in sizes) :])
    yield [
        [*(next(moving) for _ in range(first)), *(next(fixed) for _ in range(second))]
        for first, second in sizes
    ]
    rest = iter(stored)
    yield [[next(rest) for _ in range(first + second)] for first, second in sizes]


def _by_owner(
    leaves: Sequence[Leaf], sizes: Sequence[tuple[int, int]], stored: Sequence[StoredWeight]
) -> list[list[StoredWeight]] | None:
    """Split a list by the names of weights, `inner/dense_1/kernel`, if every name identifies a
    layer and each layer gets its number of weights.
    """
    called: dict[str, list[int]] = {}
    for number, (leaf, size) in enumerate(zip(leaves, sizes, strict=True)):
        for name in set(leaf.names) if any(size) else ():
            called.setdefault(name, []).append(number)
    lists: list[list[StoredWeight]] = [[] for _ in leaves]
    for item in stored:
        owner = item.name.split("/")[:-1]
        likeness = {
            number: leaves[number].likeness(owner)
            for name in set(owner)
            for number in called.get(name, ())
        }
        best = [number for number, value in likeness.items() if value == max(likeness.values())]
        if len(best) != 1:
            return None
        lists[best[0]].append(item)
    return (
        lists
        if all(len(part) == sum(size) for part, size in zip(lists, sizes, strict=True))
        else None
    )


def _named_so(weights: Mapping[str, StoredWeight]) -> bool:
    """Whether weights with current names in the file are those that they are assigned to."""
    return all(
        item.last in (name, SPELLED.get(name)) or item.last not in NAMES
        for name, item in weights.items()
    )


def _leaf_weights(
    leaf: Leaf, stored: Sequence[StoredWeight], era: Era
) -> Iterator[tuple[str, dict[str, StoredWeight]]]:
    """The weights of one layer, by the path of the layer or of an inner layer."""
    path, class_name, config = leaf.path, str(leaf.entry["class_name"]), leaf.entry["config"]
    if class_name in OWNERS:
        inside = config["layer"]
        yield from _leaf_weights(
            Leaf(inside, f"{path}/{configs.layer_name(inside)}", (), leaf.frozen),
            [item for item in stored if item.last not in VECTORS],
            era,
        )
        return
    parts = part_entries(class_name, config)
    owner = parts[0][1] if parts else leaf.entry
    names = weight_names(str(owner["class_name"]), config)
    current = layouts.modern(class_name, stored, config, era)
    if len(current) != len(names):
        raise Misfit
    weights = dict(zip(names, current, strict=True))
    if not _named_so(weights):
        by_name = {item.last: item for item in current}
        if set(by_name) != set(names):
            raise Misfit
        weights = {name: by_name[name] for name in names}
    if weights:
        yield (f"{path}/{configs.layer_name(owner)}" if parts else path), weights


def misfit(
    source: str, path: str, entry: Mapping[str, Any], stored: Sequence[StoredWeight]
) -> SourceError:
    """The message for weights that do not match their layer."""
    shapes = ", ".join(f"{item.last} {list(item.shape)}" for item in stored) or "none"
    return SourceError(
        f"{source}: {path} ({entry['class_name']}): its weights in the file are {shapes}, which are"
        " not those of its config"
    )
