"""Which weight of a file belongs to which layer, where the file holds them as lists: one for each layer of the model, in the order in which
Keras keeps a layer's weights, those of models inside it among them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.eras import layouts
from webkiln.frontends.keras.eras.held import Held
from webkiln.frontends.keras.eras.layouts import Era
from webkiln.frontends.keras.parts import PROJECTIONS, RECURRENT, part_entries
from webkiln.frontends.keras.weight_names import FIXED, WEIGHTS, weight_names

Assigned = dict[str, dict[str, Held]]
CONTAINERS = frozenset({"Functional", "Sequential", "Model"})
GATED = RECURRENT | {"ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"}
OWNERS = frozenset({"SpectralNormalization"})
"""Wrappers with weights of their own beside those of the layer inside."""
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


def counts(entry: Mapping[str, Any], era: Era) -> tuple[int, int]:
    """How many weights of a layer training changes, and how many it does not; Misfit where that is not known."""
    class_name, config = str(entry["class_name"]), entry["config"]
    if not configs.is_own(entry) or class_name in OWNERS:
        raise Misfit
    if is_container(entry):
        return _added([counts(layer, era) for layer in config["layers"]])
    parts = part_entries(class_name, config)
    names = weight_names(class_name, config)
    moving, fixed = len([name for name in names if name not in FIXED]), len([name for name in names if name in FIXED])
    if class_name in GATED:
        moving = layouts.count(class_name, config, era, len(weight_names(parts[0][1]["class_name"], config)))
    elif class_name in PROJECTIONS:
        moving = len(parts) * (2 if config.get("use_bias", True) else 1)
    elif parts:
        moving, fixed = _added([counts(part, era) for _, part in parts])
    return (moving, fixed) if config.get("trainable", True) else (0, moving + fixed)


def _added(pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(moving for moving, _ in pairs), sum(fixed for _, fixed in pairs)


def assigned(entry: Mapping[str, Any], path: str, held: Sequence[Held], era: Era) -> Assigned:
    """The weights of a layer of a model, or of a model inside it, by the paths of the layers that take them; Misfit where they do not fit."""
    if not is_container(entry):
        return dict(_leaf(entry, path, held, era))
    found = list(leaves(entry, path))
    sizes = [counts(leaf, era) for _, leaf in found]
    if sum(map(sum, sizes)) != len(held):
        raise Misfit
    taken = []
    for split in _splits(sizes, held):
        taken = [dict(_leaf(leaf, place, part, era)) for (place, leaf), part in zip(found, split, strict=True)]
        if all(_named_so(weights) for item in taken for weights in item.values()):
            break
    else:
        raise Misfit
    return {place: weights for item in taken for place, weights in item.items()}


def _splits(sizes: Sequence[tuple[int, int]], held: Sequence[Held]) -> Iterator[list[list[Held]]]:
    """The lists of the layers in a list that holds what training changes of all, and then what it does not; or, as where layers do not say
    that they are frozen, or say it too late, layer by layer."""
    moving = iter(held[: sum(count for count, _ in sizes)])
    fixed = iter(held[sum(count for count, _ in sizes) :])
    yield [[*(next(moving) for _ in range(first)), *(next(fixed) for _ in range(second))] for first, second in sizes]
    rest = iter(held)
    yield [[next(rest) for _ in range(first + second)] for first, second in sizes]


def _named_so(weights: Mapping[str, Held]) -> bool:
    """Whether weights that the file calls by a name of today's are those that they are taken for."""
    return all(item.last in (name, SPELLED.get(name)) or item.last not in NAMES for name, item in weights.items())


def _leaf(entry: Mapping[str, Any], path: str, held: Sequence[Held], era: Era) -> Iterator[tuple[str, dict[str, Held]]]:
    """The weights of one layer, by its path or those of the layers that it is made of."""
    class_name, config = str(entry["class_name"]), entry["config"]
    if not configs.is_own(entry) or class_name in OWNERS:
        raise Misfit
    parts = part_entries(class_name, config)
    if not parts or class_name in GATED:
        owner = parts[0][1] if parts else entry
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
        return
    rest = list(held)
    for _, part in parts:
        size = len(held) // len(parts) if class_name in PROJECTIONS else sum(counts(part, era))
        yield from _leaf(part, f"{path}/{configs.layer_name(part)}", rest[:size], era)
        rest = rest[size:]
    if rest:
        raise Misfit


def misfit(source: str, path: str, entry: Mapping[str, Any], held: Sequence[Held]) -> SourceError:
    """What there is to say of weights that do not fit their layer."""
    shapes = ", ".join(f"{item.last} {list(item.shape)}" for item in held) or "none"
    return SourceError(f"{source}: {path} ({entry['class_name']}): its weights in the file are {shapes}, which are not those of its config")
