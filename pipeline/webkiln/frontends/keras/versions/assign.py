"""Which weight of a file belongs to which layer, where the file holds them as lists: one for each
layer of the model, in the order in which Keras keeps a layer's weights, those of models inside it
among them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.parts import RECURRENT, part_entries
from webkiln.frontends.keras.versions import layouts
from webkiln.frontends.keras.versions.layouts import Era
from webkiln.frontends.keras.versions.lazy_weight import Held
from webkiln.frontends.keras.weight_names import FIXED, WEIGHTS, weight_names

Assigned = dict[str, dict[str, Held]]
CONTAINERS = frozenset({"Functional", "Sequential", "Model"})
GATED = RECURRENT | {"ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"}
OWNERS = frozenset({"SpectralNormalization"})
"""Wrappers with weights of their own beside those of the layer inside."""
VECTORS = frozenset({"vector_u", "sn_u"})
"""What these are called: nothing computes with them after training."""
SPELLED = {"kernel": "depthwise_kernel"}
"""What Keras 2 calls a weight that has another name today."""
NAMES = frozenset(name for names in WEIGHTS.values() for name in names)


class Misfit(Exception):
    """The weights of a layer are not those that its config asks for."""


def is_container(entry: Mapping[str, Any]) -> bool:
    return entry["class_name"] in CONTAINERS and configs.is_own(entry)


def leaves(entry: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The layers with weights of a layer, or of a model with those inside it, by their paths."""
    if not is_container(entry):
        yield path, entry
        return
    for layer in entry["config"]["layers"]:
        if layer["class_name"] != "InputLayer":
            yield from leaves(layer, f"{path}/{configs.layer_name(layer)}")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A layer that keeps weights itself. `names` are its own and those of the layers around it, up
    to
    the innermost model; `frozen` is what it or a layer or model around it says.
    """

    entry: Mapping[str, Any]
    path: str
    names: tuple[str, ...]
    frozen: bool

    def size(self, era: Era) -> tuple[int, int]:
        """How many of its weights training changes, and how many it does not."""
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
        """How many names of its path are among those of a weight's owner, in their order."""
        rest, found = list(owner), 0
        for name in reversed(self.path.split("/")):
            if name in rest:
                del rest[len(rest) - 1 - rest[::-1].index(name) :]
                found += 1
        return found


def _keepers(
    entry: Mapping[str, Any], path: str, names: tuple[str, ...] = (), *, frozen: bool = False
) -> Iterator[Leaf]:
    """The layers that keep weights themselves in a layer or model, whatever they are parts of;
    Misfit where that is not known.
    """
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
    """How many weights of a layer training changes, and how many it does not; Misfit where that is
    not known.
    """
    sizes = [leaf.size(era) for leaf in _keepers(entry, "")]
    return sum(moving for moving, _ in sizes), sum(fixed for _, fixed in sizes)


def assigned(entry: Mapping[str, Any], path: str, held: Sequence[Held], era: Era) -> Assigned:
    """The weights of a layer of a model, or of a model inside it, by the paths of the layers that
    take them; Misfit where they do not fit.
    """
    found = list(_keepers(entry, path))
    sizes = [leaf.size(era) for leaf in found]
    if sum(map(sum, sizes)) != len(held):
        raise Misfit
    taken = []
    for split in _splits(found, sizes, held):
        taken = [dict(_taken(leaf, part, era)) for leaf, part in zip(found, split, strict=True)]
        if len(found) == 1 or all(
            _named_so(weights) for item in taken for weights in item.values()
        ):
            break
    else:
        raise Misfit
    return {place: weights for item in taken for place, weights in item.items()}


def _splits(
    found: Sequence[Leaf], sizes: Sequence[tuple[int, int]], held: Sequence[Held]
) -> Iterator[list[list[Held]]]:
    """The lists of the layers in a list, by the layers that the weights' names say they are of.
    Where
    these say nothing, in a list that holds what training changes of all, and then what it does not;
    or, as where layers do not say that they are frozen, or say it too late, layer by layer.
    """
    if (owned := _by_owner(found, sizes, held)) is not None:
        yield owned
    moving = iter(held[: sum(count for count, _ in sizes)])
    fixed = iter(held[sum(count for count, _ in sizes) :])
    yield [
        [*(next(moving) for _ in range(first)), *(next(fixed) for _ in range(second))]
        for first, second in sizes
    ]
    rest = iter(held)
    yield [[next(rest) for _ in range(first + second)] for first, second in sizes]


def _by_owner(
    found: Sequence[Leaf], sizes: Sequence[tuple[int, int]], held: Sequence[Held]
) -> list[list[Held]] | None:
    """The lists of the layers by the names of their weights, `inner/dense_1/kernel`, where every
    name says one layer, and each gets its number.
    """
    called: dict[str, list[int]] = {}
    for number, (leaf, size) in enumerate(zip(found, sizes, strict=True)):
        for name in set(leaf.names) if any(size) else ():
            called.setdefault(name, []).append(number)
    lists: list[list[Held]] = [[] for _ in found]
    for item in held:
        owner = item.name.split("/")[:-1]
        likeness = {
            number: found[number].likeness(owner)
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


def _named_so(weights: Mapping[str, Held]) -> bool:
    """Whether weights that the file calls by a name of today's are those that they are taken for."""
    return all(
        item.last in (name, SPELLED.get(name)) or item.last not in NAMES
        for name, item in weights.items()
    )


def _taken(leaf: Leaf, held: Sequence[Held], era: Era) -> Iterator[tuple[str, dict[str, Held]]]:
    """The weights of one layer, by its path or that of the layer that it is made of."""
    path, class_name, config = leaf.path, str(leaf.entry["class_name"]), leaf.entry["config"]
    if class_name in OWNERS:
        inside = config["layer"]
        yield from _taken(
            Leaf(inside, f"{path}/{configs.layer_name(inside)}", (), leaf.frozen),
            [item for item in held if item.last not in VECTORS],
            era,
        )
        return
    parts = part_entries(class_name, config)
    owner = parts[0][1] if parts else leaf.entry
    names = weight_names(str(owner["class_name"]), config)
    made = layouts.modern(class_name, held, config, era)
    if len(made) != len(names):
        raise Misfit
    weights = dict(zip(names, made, strict=True))
    if not _named_so(weights):
        by_name = {item.last: item for item in made}
        if set(by_name) != set(names):
            raise Misfit
        weights = {name: by_name[name] for name in names}
    if weights:
        yield (f"{path}/{configs.layer_name(owner)}" if parts else path), weights


def misfit(source: str, path: str, entry: Mapping[str, Any], held: Sequence[Held]) -> SourceError:
    """What there is to say of weights that do not fit their layer."""
    shapes = ", ".join(f"{item.last} {list(item.shape)}" for item in held) or "none"
    return SourceError(
        f"{source}: {path} ({entry['class_name']}): its weights in the file are {shapes}, which are"
        " not those of its config"
    )
