"""Reference outputs: computed by Keras on random inputs, with their float32 noise and the outputs
of layers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.frontends.keras.framework import put_weights
from webkiln.frontends.keras.input_shapes import input_shape, input_shapes
from webkiln.frontends.keras.noise import fed
from webkiln.frontends.keras.policies import storable
from webkiln.frontends.keras.ranges import natural_scales
from webkiln.frontends.keras.spec import ModelSpec, noises
from webkiln.frontends.keras.supported import POLICIES
from webkiln.frontends.keras.texts import known_words
from webkiln.ir.types import Array
from webkiln.random_inputs import (
    SAMPLE_SIZE,
    Inputs,
    distinguishing_inputs,
    make_inputs,
    reference_arrays,
)


def input_table(
    model: ModelSpec,
    batch_size: int,
    given: Mapping[str, Sequence[int | str]],
    sample_sizes: Mapping[str, int],
    dims: Mapping[str, int | str] | None = None,
) -> Inputs:
    """Name -> (dtype, shape) of every input. Dynamic sizes are those of `sample_sizes`, or 16."""
    layers = {layer.name: layer for layer in model.layers}
    shapes = input_shapes(model, given, dims or {}, batch_size)
    table = {}
    for name, ref in model.inputs:
        config = layers[ref.layer].config
        if name not in shapes:
            shapes[name] = input_shape(name, layers[ref.layer], None, batch_size)
        shape = shapes[name]
        sizes = tuple(
            sample_sizes.get(size, SAMPLE_SIZE) if isinstance(size, str) else size for size in shape
        )
        table[name] = (storable(str(config.get("dtype") or "float32")), sizes)
    batch = next(iter(table.values()))[1][0]
    for noise in noises(model):
        table[noise.name] = (
            storable(noise.config["dtype"]),
            tuple(batch if size is None else size for size in noise.config["shape"]),
        )
    return table


def compute_reference(
    keras: Any, model: Any, spec: ModelSpec, table: Inputs
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The arrays of reference.npz and of layers.npz.

    Natural inputs are in 0..1, or in a wider range if the model expects one or hardly reacts to
    0..1. Raises VerificationError if it never reacts.
    """
    run = _Runner(keras, model, spec)
    sets = _natural_sets(spec, table, run)
    double = _in_float64(keras, model, spec)
    return reference_arrays(
        sets,
        run,
        (
            []
            if double is None
            else [lambda values: double({key: _widened(value) for key, value in values.items()})]
        ),
    )


def _natural_sets(spec: ModelSpec, table: Inputs, run: "_Runner") -> dict[str, dict[str, Array]]:
    drawn = {
        noise.name: (noise.config["distribution"], noise.config["parameters"])
        for noise in noises(spec)
    }
    words = known_words(spec)
    scales = natural_scales((layer.class_name, layer.config) for layer in spec.layers)
    return distinguishing_inputs(
        lambda scale: make_inputs(table, scale, drawn, words),
        lambda values: run(values)[0],
        spec.name,
        scales,
    )


def _widened(value: Array) -> Array:
    return value.astype(np.float64) if value.dtype.kind == "f" else value


def _stored(value: Array) -> Array:
    return value.astype(storable(value.dtype.name))


class _Runner:
    """A model as a function of named inputs. Every run starts with the initial states."""

    def __init__(self, keras: Any, model: Any, spec: ModelSpec) -> None:
        from webkiln.frontends.keras.model_graph import root_of, tensors_at
        from webkiln.frontends.keras.variables import layers_by_path

        self.keras, self.model = keras, model
        self.convert = keras.ops.convert_to_numpy
        # Keras does not count the states of stateful layers among the variables.
        states = [
            layer.states
            for layer in model._flatten_layers()
            if isinstance(layer, keras.layers.RNN) and layer.stateful
        ]
        self.variables = [*model.variables, *keras.tree.flatten(states)]
        self.inputs = [name for name, _ in spec.inputs]
        self.noises = {
            (noise.config["layer"], noise.config["draw"]): noise.name for noise in noises(spec)
        }
        self.paths = {
            id(layer): path for path, layer in layers_by_path(model, root_of(model)).items()
        }
        self.outputs = [name for name, _ in spec.outputs]
        self.layers: list[str] = []
        self.function = None
        self.declared: list[str] = []
        if len(spec.layers) > 1 and not any(
            layer.traced and layer.name == model.name for layer in spec.layers
        ):
            tensors = _tensors(model)
            single = [
                layer for layer in spec.layers if len(layer.calls) == 1 and layer.name in tensors
            ]
            self.layers = [layer.name for layer in single]
            if spec.ends is None:
                ordered, results = (
                    [tensors[ref.layer] for _, ref in spec.inputs],
                    keras.tree.flatten(model.outputs),
                )
            else:
                ordered, results = (tensors_at(model, refs) for refs in spec.ends)
            self.declared = [storable(tensor.dtype) for tensor in results]
            self.function = keras.Function(
                ordered, [*results, *(tensors[name] for name in self.layers)]
            )

    def __call__(self, values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        before = [self.convert(variable) for variable in self.variables]
        given = [values[name] for name in self.inputs]
        drawn = {draw: values[name] for draw, name in self.noises.items()}
        with fed(self.paths, drawn):
            results = self.keras.tree.flatten(
                self.function(given)
                if self.function is not None
                else self.model(*given, training=False)
            )
        for variable, value in zip(self.variables, before, strict=True):
            variable.assign(value)
        arrays = [_stored(self.convert(result)) for result in results]
        count = len(self.outputs)
        arrays[: len(self.declared)] = [
            array.astype(dtype) for array, dtype in zip(arrays, self.declared, strict=False)
        ]
        return dict(zip(self.outputs, arrays[:count], strict=True)), dict(
            zip(self.layers, arrays[count:], strict=True)
        )


def _tensors(model: Any) -> dict[str, Any]:
    """The output of every operation with a single output, in a Functional or Sequential model."""
    graph = getattr(model, "_functional", None) or model
    tensors = {}
    for operation in getattr(graph, "operations", ()):
        nodes = [
            node
            for index, node in enumerate(operation._inbound_nodes)
            if f"{id(operation)}_ib-{index}" in graph._nodes
        ]
        if len(nodes) == 1 and len(nodes[0].outputs) == 1:
            tensors[operation.name] = nodes[0].outputs[0]
    return tensors


def _in_float64(keras: Any, model: Any, spec: ModelSpec) -> _Runner | None:
    """The same model in float64, or None if Keras cannot create it."""

    def widened(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: widened(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(widened(item) for item in value)
        return "float64" if isinstance(value, str) and value in POLICIES else value

    try:
        double = type(model).from_config(widened(model.get_config()))
        put_weights(double, model.get_weights())
        return _Runner(keras, double, spec)
    except Exception:  # noqa: BLE001 - Keras refuses float64 in as many ways as there are layers
        return None
