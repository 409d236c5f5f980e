"""The weights and the learned state of one layer in a model file."""

import re
from collections.abc import Iterable
from typing import Any

import h5py

from webkiln.errors import SourceError
from webkiln.frontends.keras.archive import ModelFile, member, names_in, read_array
from webkiln.frontends.keras.spec import LayerSpec
from webkiln.frontends.keras.texts import LOOKUPS, learnt_tokens, read_lines
from webkiln.frontends.keras.weight_names import weight_names
from webkiln.ir.types import Array


def lookup_tables(
    source: ModelFile,
    path: str,
    spec: LayerSpec,
    parent: h5py.Group,
    stored: str,
    *,
    with_weights: bool,
) -> dict[str, Any]:
    """The learned state of a lookup layer, in addition to its config: its vocabulary and, with
    `with_weights`, the inverse document frequencies of `tf_idf`.
    """
    vocabulary = spec.config.get("vocabulary")
    if vocabulary is None and (text := source.assets(f"{stored}/vocabulary.txt")) is not None:
        special = int(
            spec.config.get("mask_token") is not None and spec.config["output_mode"] == "int"
        )
        if spec.class_name in LOOKUPS:
            vocabulary = read_lines(f"{source.path}: {path} ({spec.class_name})", text)
        else:
            vocabulary = [int(line) for line in text.decode().split()][
                special + int(spec.config.get("num_oov_indices", 1)) :
            ]
    if vocabulary is not None and spec.class_name in LOOKUPS:
        vocabulary = learnt_tokens(
            f"{source.path}: {path} ({spec.class_name})", spec.config, vocabulary
        )
    state: dict[str, Any] = {} if vocabulary is None else {"vocabulary": vocabulary}
    if spec.config.get("output_mode") == "tf_idf" and with_weights:
        store = member(source.path, parent, f"{stored}/vars/idf_weights")
        if store is None:
            raise SourceError(
                f"{source.path}: {path} ({spec.class_name}): the file has no"
                " idf_weights; save the model as .keras"
            )
        state["idf_weights"] = read_array(
            source.path, f"{path} ({spec.class_name}) idf_weights", store
        ).tolist()
    return state


def layer_arrays(
    source: ModelFile, path: str, spec: LayerSpec, parent: h5py.Group, name: str
) -> Iterable[tuple[str, Array]]:
    """The weights of a layer by name. `name` is its group in `parent`."""
    if path in source.assigned:
        return ((weight, stored.read()) for weight, stored in source.assigned[path].items())
    if source.paths:
        return _arrays_by_path(source, path, spec, parent, name)
    return _arrays_by_name(source, path, spec, parent)


def _arrays_by_path(
    source: ModelFile, path: str, spec: LayerSpec, parent: h5py.Group, group: str
) -> Iterable[tuple[str, Array]]:
    store = member(source.path, parent, f"{group}/vars")
    if not isinstance(store, h5py.Group):
        return
    saved_as = store.attrs.get("name", spec.name)
    if saved_as != spec.name:
        raise SourceError(
            f"{source.path}: the weights at {store.name} belong to layer {saved_as!r},"
            f" expected {path!r}"
        )
    names = weight_names(spec.class_name, spec.config) if spec.own else ()
    for index in range(len(store)):
        name = names[index] if index < len(names) else f"var{index}"
        yield (
            name,
            read_array(
                source.path,
                f"{path} ({spec.class_name}) {name}",
                member(source.path, store, str(index)),
            ),
        )


def _arrays_by_name(
    source: ModelFile, path: str, spec: LayerSpec, weights: h5py.Group
) -> Iterable[tuple[str, Array]]:
    outer = path.partition("/")[0]
    group = member(source.path, weights, outer)
    if not isinstance(group, h5py.Group):
        return
    names = names_in(group, "weight_names")
    owners = {name: name.removesuffix(":0").rpartition("/") for name in names}
    common = {name: _common_end(owner, path) for name, (owner, _, _) in owners.items()}
    if spec.class_name.endswith("Cell") and not any(shared for shared, _ in common.values()):
        above = path.rpartition("/")[0]
        common = {name: _common_end(owner, above) for name, (owner, _, _) in owners.items()}
    best = max(common.values(), default=(0, 0))
    alone = outer == path or (best[0] == 0 and bool(weight_names(spec.class_name, spec.config)))
    chosen = names if alone else [name for name in names if common[name] == best and best[0] > 0]
    if not spec.own and len({owners[name][2] for name in chosen}) != len(chosen):
        owners = {name: ("", "", name.removesuffix(":0")) for name in names}
    if len({owners[name][2] for name in chosen}) != len(chosen):
        raise SourceError(
            f"{source.path}: the weights of {path} have ambiguous names:"
            f" {', '.join(chosen)}; save the model as .keras"
        )
    for name in chosen:
        where = f"{path} ({spec.class_name}) {owners[name][2]}"
        yield (
            owners[name][2],
            read_array(source.path, where, member(source.path, group, name)),
        )


def _common_end(a: str, b: str) -> tuple[int, int]:
    """The number of trailing names that two paths have in common: without the numbers of equal
    names, and with them.
    """

    def common(first: list[str], second: list[str]) -> int:
        return [
            *(x == y for x, y in zip(reversed(first), reversed(second), strict=False)),
            False,
        ].index(False)

    first, second = a.split("/"), b.split("/")
    bare = ([re.sub(r"_\d+$", "", name) for name in names] for names in (first, second))
    return common(*bare), common(first, second)
