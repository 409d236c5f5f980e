"""Read a model file into spec and weight blobs, without importing Keras."""

import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Blobs, Weight, add_blob
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.archive import ModelFile, member, read_config, reading
from webkiln.frontends.keras.graph_config import (
    declared_types,
    sequential_graph,
    shift_calls,
    without_offsets,
)
from webkiln.frontends.keras.lambdas.recognised import recognised
from webkiln.frontends.keras.masks import with_masks
from webkiln.frontends.keras.parts import part_entries, snake_case
from webkiln.frontends.keras.spec import LayerSpec, ModelSpec, Ref
from webkiln.frontends.keras.stored_weights import layer_arrays, lookup_tables
from webkiln.frontends.keras.subgraph import cut_model
from webkiln.frontends.keras.texts import LOOKUPS, text_options
from webkiln.frontends.keras.versions.files import modern_file, open_model

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
        reader = Reader(source, cut)
        return reader.model(source.config, source.weights, "", 0), reader.blobs


def read_structure(path: Path, cut: Subgraph = ENTIRE_MODEL) -> ModelSpec | None:
    """The spec of a `.keras` file or a subgraph, without its weights, which may be large. None for
    other files, which must be probed first.
    """
    contents = read_config(path)
    if contents is None:
        return None
    config, version = contents
    with reading(path), h5py.File(io.BytesIO(), "w") as nothing:
        source = modern_file(ModelFile(path.name, config, nothing, paths=True, version=version))
        return Reader(source, cut, bare=True).model(source.config, nothing, "", 0)


class Reader:
    """Builds the spec of a file and collects its weights."""

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
            entries, inputs, outputs = sequential_graph(config)
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
                f"{self.source.path}: model {config.get('name')} has two layers with the same name"
            )
        old = configs.is_old(self.source.version)
        layers, offsets = without_offsets(layers, [ref for _, ref in outputs], together=old)
        shifted = [(name, shift_calls(ref, offsets)) for name, ref in outputs]
        stated, declared = {layer.name for layer in layers}, declared_types(entries, layers)
        layers = with_masks(layers, old=old)
        self._check_refs(str(config.get("name")), layers, [ref for _, ref in (*inputs, *shifted)])
        model = ModelSpec(
            str(config.get("name", "model")), tuple(layers), tuple(inputs), tuple(shifted)
        )
        return model if depth or not self.cut else cut_model(model, self.cut, stated, declared)

    def _check_refs(self, model: str, layers: list[LayerSpec], ends: list[Ref]) -> None:
        calls = {layer.name: 1 if layer.kind == "input" else len(layer.calls) for layer in layers}
        for ref in [ref for layer in layers for call in layer.calls for ref in call.refs()] + ends:
            valid = (
                type(ref.call) is int
                and type(ref.index) is int
                and ref.call >= 0
                and 0 <= ref.index < MAX_OUTPUTS
            )
            if not isinstance(ref.layer, str) or not valid or ref.call >= calls.get(ref.layer, 0):
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
            groups.append((weights, self._group_path(weights, stem, count)))
        return groups

    def _group_path(self, weights: h5py.Group, stem: str, count: int) -> str:
        """The group of a layer, by its number among the layers of its class. Keras 2.12 to 2.14
        counts layers with weights twice, and skips numbers.
        """
        folder = member(self.source.path, weights, CHECKPOINTS)
        if not isinstance(folder, h5py.Group):
            return f"layers/{stem}_{count}" if count else f"layers/{stem}"
        numbers = sorted(
            int(match[1] or 0)
            for name in folder
            if (match := re.fullmatch(rf"{stem}(?:_(\d+))?", name))
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
            tables = lookup_tables(self.source, path, spec, *group, with_weights=not self.bare)
            return replace(spec, config={**spec.config, **tables})
        if own and class_name in CONTAINERS:
            return replace(spec, config={}, model=self.model(entry, inside, f"{path}/", depth + 1))
        if own and class_name == "Lambda":
            counts = {len(call.refs()) for call in spec.calls}
            model = (
                recognised(
                    name, entry["config"], counts.pop(), self.source.version, self.source.backend
                )
                if len(counts) == 1
                else None
            )
            return spec if model is None else replace(spec, model=model, traced=True)
        parts = self._parts(path, spec, entry, group, depth) if own else {}
        weights = self._weights(path, spec, *group) if self.source.paths or not parts else {}
        return replace(spec, weights=weights, parts=parts)

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

        def group_of(name: str) -> str:
            """The group of an inner layer. Keras 2 stores some under names that start with _."""
            paths = (f"{stored}/{name}", f"{stored}/_{name}") if self.source.paths else ()
            return next(
                (path for path in paths if member(self.source.path, parent, path) is not None),
                f"{stored}/{name}",
            )

        try:
            entries = part_entries(spec.class_name, entry["config"])
            return {
                name: self._layer(part, (parent, group_of(name)), f"{path}/", depth + 1)
                for name, part in entries
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
    ) -> dict[str, Weight]:
        return {
            weight: Weight(
                f"{path}/{weight}", add_blob(self.blobs, array), str(array.dtype), array.shape
            )
            for weight, array in layer_arrays(self.source, path, spec, parent, name)
        }
