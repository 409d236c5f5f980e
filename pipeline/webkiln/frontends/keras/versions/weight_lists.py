"""The weights of HDF5 files of Keras 1 and 2, and of Keras 3's `.h5` files: a list per layer."""

from collections.abc import Mapping, Sequence
from typing import Any

import h5py

from webkiln.errors import SourceError
from webkiln.frontends.core.stored_weight import StoredWeight
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.archive import member, names_in, read_array
from webkiln.frontends.keras.versions.assign import Assigned, Misfit, assigned, counts, misfit
from webkiln.frontends.keras.versions.layouts import Era

Lists = dict[str, list[StoredWeight]]


def has_lists(group: h5py.Group) -> bool:
    return any(name in group.attrs for name in ("layer_names", "layer_names0", "nb_layers"))


def read_lists(source: str, group: h5py.Group) -> Lists:
    """The weights of each layer that has some, in the order of the file."""
    names = names_in(group, "layer_names") or [
        f"layer_{number}" for number in range(int(group.attrs.get("nb_layers", 0)))
    ]
    found: Lists = {}
    for name in names or list(group):
        layer = member(source, group, name)
        if not isinstance(layer, h5py.Group):
            raise SourceError(
                f"{source}: its list of layers names {name!r}, which it does not hold; save it"
                " again"
            )
        weights = names_in(layer, "weight_names") or [
            f"param_{number}" for number in range(int(layer.attrs.get("nb_params", 0)))
        ]
        if len(set(weights)) < len(weights):
            twice = next(
                weight for place, weight in enumerate(weights) if weight in weights[:place]
            )
            raise SourceError(
                f"{source}: {name} lists {twice!r} twice but contains it once: the file is"
                " incomplete; save the model as .keras"
            )
        if weights:
            found[name] = [
                _stored(source, f"{name}: {weight}", weight, member(source, layer, weight))
                for weight in weights
            ]
    return found


def _stored(
    source: str, where: str, name: str, dataset: h5py.Group | h5py.Dataset | None
) -> StoredWeight:
    shape = tuple(dataset.shape) if isinstance(dataset, h5py.Dataset) else ()
    return StoredWeight(name, shape, lambda: read_array(source, where, dataset))


def assign_lists(
    source: str, model: Mapping[str, Any], lists: Lists, era: Era, *, separate: bool
) -> Assigned:
    """The weights of every layer by path.

    Lists are assigned to layers by name, or, if names differ, by the order of the layers with
    weights. If the file contains a model, lists that do not match are ignored; those in a separate
    file (`separate`) must match.
    """
    config = model["config"]
    layers = [
        (configs.layer_name(entry), entry)
        for entry in config.get("layers", ())
        if isinstance(entry, Mapping)
    ]
    expected = [(name, entry) for name, entry in layers if _has_weights(entry, era)]
    by_name = {name for name, _ in expected} <= lists.keys()
    if not by_name and separate and len(expected) != len(lists):
        raise SourceError(
            f"{source}: holds weights of {len(lists)} layers ({_some(lists)}), the model has"
            f" {len(expected)} with weights ({_some([name for name, _ in expected])}); give the"
            " weights of this model"
        )
    chosen = [(name, entry, lists[name]) for name, entry in expected if name in lists]
    if not by_name and len(expected) == len(lists):
        chosen = [
            (name, entry, stored)
            for (name, entry), stored in zip(expected, lists.values(), strict=True)
        ]
    found: Assigned = {}
    for name, entry, stored in chosen:
        try:
            found |= assigned(entry, name, stored, era)
        except Misfit:
            if separate or era.first:
                raise misfit(source, name, entry, stored) from None
    return found


def _has_weights(entry: Mapping[str, Any], era: Era) -> bool:
    try:
        return any(counts(entry, era))
    except Misfit:
        return True


def _some(names: Sequence[str] | Lists) -> str:
    listed = list(names)
    return ", ".join(listed[:6]) + (", ..." if len(listed) > 6 else "")
