"""Read a model file into spec and weight blobs, without importing Keras."""

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Blobs, Weight, add_blob
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.archive import (
    ModelFile,
    member,
    names_in,
    read_array,
    read_config,
    reading,
)
from webkiln.frontends.keras.masks import with_masks
from webkiln.frontends.keras.parts import part_entries, snake_case
from webkiln.frontends.keras.spec import LayerSpec, ModelSpec, Ref, renamed
from webkiln.frontends.keras.subgraph import TensorTypes, cut_model
from webkiln.frontends.keras.texts import LOOKUPS, learnt_tokens, read_lines, text_options
from webkiln.frontends.keras.versions.files import modern_file, open_model
from webkiln.frontends.keras.weight_names import weight_names
from webkiln.ir.types import Array

CONTAINERS = frozenset({"Functional", "Sequential", "Model"})
CHECKPOINTS = "_layer_checkpoint_dependencies"
MAX_DEPTH = 50
MAX_OUTPUTS = 1024
MAX_LAYERS = 20_000
"""The maximum number of layers in a file, including inner layers: a Bidirectional has two of each,
so a small file could contain exponentially many.
"""


def parse_model(
    path: Path, cut: Subgraph = ENTIRE_MODEL, *, companion: Path | None = None
) -> tuple[ModelSpec, Blobs]:
    """The spec of a model file or a subgraph, and its weights by digest, for a file that the HDF5
    library can read. Raises SourceError if it cannot be read.

    `companion` is the weight file of an architecture, or the folder with the shards of a
    TensorFlow.js model.
    """
    with open_model(path, companion) as source, reading(path):
        reader = _Reader(source, cut)
        return reader.model(source.config, source.weights, "", 0), reader.blobs


def read_structure(path: Path, cut: Subgraph = ENTIRE_MODEL) -> ModelSpec | None:
    """The spec of a `.keras` file or a subgraph, without its weights, which may be large. None for
    other files, which must be probed first.
    """
    found = read_config(path)
    if found is None:
        return None
    config, version = found
    with reading(path), h5py.File(io.BytesIO(), "w") as nothing:
        source = modern_file(ModelFile(path.name, config, nothing, paths=True, version=version))
        return _Reader(source, cut, bare=True).model(source.config, nothing, "", 0)


class _Reader:
    def __init__(self, source: ModelFile, cut: Subgraph, *, bare: bool = False) -> None:
        self.source, self.cut, self.bare = source, cut, bare
        self.blobs: Blobs = {}
        self.count = 0

    def model(
        self, data: Mapping[str, Any], weights: h5py.Group, scope: str, depth: int
    ) -> ModelSpec:
        config = data["config"]
        if depth > MAX_DEPTH:
            raise SourceError(
                f"{self.source.path}: models nested more than {MAX_DEPTH} deep; refused"
            )
        if data["class_name"] == "Sequential":
            entries, inputs, outputs = _chain(config)
        elif "layers" in config and "input_layers" in config:
            entries = config["layers"]
            inputs, outputs = (
                configs.named_refs(config[ends], counted=depth > 0)
                for ends in ("input_layers", "output_layers")
            )
        else:
            return self._opaque(data)
        groups = self._groups(entries, weights, inputs_counted=data["class_name"] != "Sequential")
        layers = [
            self._layer(entry, group, scope, depth)
            for entry, group in zip(entries, groups, strict=True)
        ]
        if len({layer.name for layer in layers}) != len(layers):
            raise SourceError(
                f"{self.source.path}: model {config.get('name')} has two layers of one name"
            )
        old = configs.is_old(self.source.version)
        layers, offsets = _without_offsets(layers, [ref for _, ref in outputs], together=old)
        shifted = [(name, _shift(ref, offsets)) for name, ref in outputs]
        stated, declared = {layer.name for layer in layers}, _declared(entries, layers)
        layers = with_masks(layers, old=old)
        self._check_refs(str(config.get("name")), layers, [ref for _, ref in (*inputs, *shifted)])
        model = ModelSpec(
            str(config.get("name", "model")), tuple(layers), tuple(inputs), tuple(shifted)
        )
        return model if depth or not self.cut else cut_model(model, self.cut, stated, declared)

    def _check_refs(self, model: str, layers: list[LayerSpec], ends: list[Ref]) -> None:
        calls = {layer.name: 1 if layer.kind == "input" else len(layer.calls) for layer in layers}
        for ref in [ref for layer in layers for call in layer.calls for ref in call.refs()] + ends:
            counted = (
                type(ref.call) is int
                and type(ref.index) is int
                and ref.call >= 0
                and 0 <= ref.index < MAX_OUTPUTS
            )
            if not isinstance(ref.layer, str) or not counted or ref.call >= calls.get(ref.layer, 0):
                where = f"output {ref.index} of call {ref.call} of {ref.layer!r}"
                raise SourceError(
                    f"{self.source.path}: model {model} reads {where}, which is not in it; save it"
                    " again with model.save()"
                )

    def _opaque(self, data: Mapping[str, Any]) -> ModelSpec:
        name = str(data["config"].get("name", "model"))
        layer = LayerSpec(name, str(data["class_name"]), {}, own=False)
        return ModelSpec(name, (layer,), (), ((name, Ref(name)),))

    def _groups(
        self, entries: list[Any], weights: h5py.Group, *, inputs_counted: bool
    ) -> list[tuple[h5py.Group, str] | None]:
        if not self.source.paths:
            return [(weights, configs.layer_name(entry)) for entry in entries]
        counts: dict[str, int] = {}
        groups: list[tuple[h5py.Group, str] | None] = []
        for entry in entries:
            if configs.is_operation(entry) or (
                entry["class_name"] == "InputLayer" and not inputs_counted
            ):
                groups.append(None)
                continue
            stem = snake_case(entry.get("saved_class") or configs.class_name(entry))
            count = counts.get(stem, -1) + 1
            counts[stem] = count
            groups.append((weights, self._place(weights, stem, count)))
        return groups

    def _place(self, weights: h5py.Group, stem: str, count: int) -> str:
        """The group of a layer, by its number among the layers of its class. Keras 2.12 to 2.14
        counts layers with weights twice, and skips numbers.
        """
        folder = member(self.source.path, weights, CHECKPOINTS)
        if not isinstance(folder, h5py.Group):
            return f"layers/{stem}_{count}" if count else f"layers/{stem}"
        numbers = sorted(
            int(found[1] or 0)
            for name in folder
            if (found := re.fullmatch(rf"{stem}(?:_(\d+))?", name))
        )
        number = numbers[count] if count < len(numbers) else count
        return f"{CHECKPOINTS}/{stem}_{number}" if number else f"{CHECKPOINTS}/{stem}"

    def _layer(
        self, entry: Mapping[str, Any], group: tuple[h5py.Group, str] | None, scope: str, depth: int
    ) -> LayerSpec:
        self.count += 1
        if self.count > MAX_LAYERS:
            raise SourceError(f"{self.source.path}: more than {MAX_LAYERS} layers; refused")
        name, class_name = configs.layer_name(entry), configs.class_name(entry)
        path = f"{scope}{name}"
        own = configs.is_own(entry)
        spec = LayerSpec(
            name=name,
            class_name=class_name,
            config=configs.clean(entry["config"], version=self.source.version),
            kind=(
                "operation"
                if configs.is_operation(entry)
                else "input"
                if class_name == "InputLayer"
                else "layer"
            ),
            own=own,
            calls=configs.read_calls(entry.get("inbound_nodes", [])),
        )
        if spec.kind == "operation" and class_name == "View":
            spec = replace(
                spec,
                config={**spec.config, "given": configs.declared_dtype(entry["inbound_nodes"])},
            )
        if group is None or spec.kind != "layer":
            return spec
        inside = self._container_group(*group)
        if own and class_name in LOOKUPS:
            spec = replace(spec, config={**spec.config, **text_options(entry["config"])})
        if own and class_name in {"IntegerLookup", *LOOKUPS}:
            return replace(spec, config={**spec.config, **self._tables(path, spec, *group)})
        if own and class_name in CONTAINERS:
            return replace(spec, config={}, model=self.model(entry, inside, f"{path}/", depth + 1))
        parts = self._parts(path, spec, entry, group, depth) if own else {}
        weights = self._weights(path, spec, *group) if self.source.paths or not parts else ()
        return replace(spec, weights=dict(weights), parts=parts)

    def _tables(
        self, path: str, spec: LayerSpec, parent: h5py.Group, stored: str
    ) -> dict[str, Any]:
        """The learned state of a lookup layer, in addition to its config."""
        vocabulary = spec.config.get("vocabulary")
        if (
            vocabulary is None
            and (text := self.source.assets(f"{stored}/vocabulary.txt")) is not None
        ):
            special = int(
                spec.config.get("mask_token") is not None and spec.config["output_mode"] == "int"
            )
            if spec.class_name in LOOKUPS:
                vocabulary = read_lines(f"{self.source.path}: {path} ({spec.class_name})", text)
            else:
                vocabulary = [int(line) for line in text.decode().split()][
                    special + int(spec.config.get("num_oov_indices", 1)) :
                ]
        if vocabulary is not None and spec.class_name in LOOKUPS:
            vocabulary = learnt_tokens(
                f"{self.source.path}: {path} ({spec.class_name})", spec.config, vocabulary
            )
        found: dict[str, Any] = {} if vocabulary is None else {"vocabulary": vocabulary}
        if spec.config.get("output_mode") == "tf_idf" and not self.bare:
            store = member(self.source.path, parent, f"{stored}/vars/idf_weights")
            if store is None:
                raise SourceError(
                    f"{self.source.path}: {path} ({spec.class_name}): the file holds no"
                    " idf_weights; save the model as .keras"
                )
            found["idf_weights"] = read_array(
                self.source.path, f"{path} ({spec.class_name}) idf_weights", store
            ).tolist()
        return found

    def _parts(
        self,
        path: str,
        spec: LayerSpec,
        entry: Mapping[str, Any],
        group: tuple[h5py.Group, str],
        depth: int,
    ) -> dict[str, LayerSpec]:
        if depth > MAX_DEPTH:
            raise SourceError(
                f"{self.source.path}: layers nested more than {MAX_DEPTH} deep; refused"
            )
        parent, stored = group

        def lies(place: str) -> str:
            """The group of an inner layer. Keras 2 stores some under attributes that start with _."""
            places = (f"{stored}/{place}", f"{stored}/_{place}") if self.source.paths else ()
            return next(
                (found for found in places if member(self.source.path, parent, found) is not None),
                f"{stored}/{place}",
            )

        try:
            entries = part_entries(spec.class_name, entry["config"])
            return {
                place: self._layer(part, (parent, lies(place)), f"{path}/", depth + 1)
                for place, part in entries
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise SourceError(
                f"{self.source.path}: {path} ({spec.class_name}): its config is not one that Keras"
                f" writes ({error!r})"
            ) from error

    def _container_group(self, parent: h5py.Group, name: str) -> h5py.Group:
        node = member(self.source.path, parent, name) if self.source.paths else parent
        return node if isinstance(node, h5py.Group) else parent

    def _weights(
        self, path: str, spec: LayerSpec, parent: h5py.Group, name: str
    ) -> Iterable[tuple[str, Weight]]:
        if path in self.source.held:
            found: Iterable[tuple[str, Array]] = (
                (name, held.read()) for name, held in self.source.held[path].items()
            )
        else:
            found = (
                self._arrays_by_path(path, spec, parent, name)
                if self.source.paths
                else self._arrays_by_name(path, spec, parent)
            )
        for weight, array in found:
            yield (
                weight,
                Weight(
                    f"{path}/{weight}", add_blob(self.blobs, array), str(array.dtype), array.shape
                ),
            )

    def _arrays_by_path(
        self, path: str, spec: LayerSpec, parent: h5py.Group, group: str
    ) -> Iterable[tuple[str, Array]]:
        store = member(self.source.path, parent, f"{group}/vars")
        if not isinstance(store, h5py.Group):
            return
        saved_as = store.attrs.get("name", spec.name)
        if saved_as != spec.name:
            raise SourceError(
                f"{self.source.path}: the weights at {store.name} are of layer {saved_as!r},"
                f" expected {path!r}"
            )
        names = weight_names(spec.class_name, spec.config) if spec.own else ()
        for index in range(len(store)):
            name = names[index] if index < len(names) else f"var{index}"
            yield (
                name,
                read_array(
                    self.source.path,
                    f"{path} ({spec.class_name}) {name}",
                    member(self.source.path, store, str(index)),
                ),
            )

    def _arrays_by_name(
        self, path: str, spec: LayerSpec, weights: h5py.Group
    ) -> Iterable[tuple[str, Array]]:
        outer = path.partition("/")[0]
        group = member(self.source.path, weights, outer)
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
        chosen = (
            names if alone else [name for name in names if common[name] == best and best[0] > 0]
        )
        if len({owners[name][2] for name in chosen}) != len(chosen):
            raise SourceError(
                f"{self.source.path}: the weights of {path} cannot be told apart:"
                f" {', '.join(chosen)}; save it as .keras"
            )
        for name in chosen:
            where = f"{path} ({spec.class_name}) {owners[name][2]}"
            yield (
                owners[name][2],
                read_array(self.source.path, where, member(self.source.path, group, name)),
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


def _chain(
    config: Mapping[str, Any],
) -> tuple[list[Any], list[tuple[str, Ref]], list[tuple[str, Ref]]]:
    layers = [dict(layer) for layer in config["layers"]]
    if not layers or layers[0]["class_name"] != "InputLayer":
        first = layers[0]["config"] if layers else {}
        shape = (
            first.get("batch_shape")
            or first.get("batch_input_shape")
            or config.get("build_input_shape")
        )
        layers.insert(
            0,
            {
                "class_name": "InputLayer",
                "config": {"name": "input", "batch_shape": shape, "dtype": "float32"},
            },
        )
    names = [configs.layer_name(layer) for layer in layers]
    for layer, before in zip(layers[1:], names[:-1], strict=True):
        layer["inbound_nodes"] = [{"args": [[before, 0, 0]], "kwargs": {}}]
    return layers, [(names[0], Ref(names[0]))], [(names[-1], Ref(names[-1]))]


def _declared(entries: list[Any], layers: list[LayerSpec]) -> TensorTypes:
    """The declared types of tensors: Keras 3 writes them at operands and, for layers of a
    Sequential, in their build configs.
    """
    found: dict[Ref, tuple[list[int | None] | None, str | None]] = {}
    for entry, layer in zip(entries, layers, strict=True):
        refs = [call.refs() for call in layer.calls]
        operands = [configs.declared_operands(node) for node in entry.get("inbound_nodes", [])]
        for own, said in zip(refs, operands, strict=False):
            if len(own) == len(said):
                found |= zip(own, said, strict=True)
        shape = (entry.get("build_config") or {}).get("input_shape")
        if shape is not None and len(refs) == 1 and len(refs[0]) == 1:
            found.setdefault(refs[0][0], (configs.shape_of(shape), None))
    return found


def _without_offsets(
    layers: list[LayerSpec], outputs: list[Ref], *, together: bool
) -> tuple[list[LayerSpec], dict[str, int]]:
    """The layers with references that count actual calls only, and the excess in references of the
    model's outputs.

    Keras counts the creation of a nested Functional as its first call: Keras 2 in all references
    (`together`), Keras 3 in those of outputs.
    """
    inside = [ref for layer in layers for call in layer.calls for ref in call.refs()]
    offsets = _offsets(layers, [*inside, *outputs] if together else inside)
    shifted = [
        replace(layer, calls=tuple(_shift(call, offsets) for call in layer.calls))
        for layer in layers
    ]
    born = {
        layer.name: int(layer.class_name != "Sequential")
        for layer in layers
        if layer.model is not None
    }
    return shifted, offsets if together else born


def _offsets(layers: list[LayerSpec], refs: list[Ref]) -> dict[str, int]:
    latest: dict[Any, int] = {}
    for ref in refs:
        latest[ref.layer] = max(latest.get(ref.layer, 0), ref.call)
    return {
        layer.name: max(0, latest.get(layer.name, 0) - len(layer.calls) + 1)
        for layer in layers
        if layer.model is not None
    }


def _shift(value: Any, offsets: Mapping[str, int]) -> Any:
    return renamed(value, lambda ref: replace(ref, call=ref.call - offsets.get(ref.layer, 0)))
