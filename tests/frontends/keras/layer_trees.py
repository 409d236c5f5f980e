"""Models that contain many layers, so that a few programs test all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from pathlib import Path

import keras
import numpy as np
from keras import layers as L

from tests.backends.harness import Job, run
from tests.frontends.keras.cases import randomise
from tests.frontends.keras.layer_cases import LayerCase
from webkiln.backends.compare import relative_error
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import constant_values
from webkiln.passes.pipeline import PASSES

BATCH = 2
CLASSES = {thing.__name__: thing for thing in vars(L).values() if isinstance(thing, type)}


def spread(layer: L.Layer) -> bool:
    """Whether a layer has its tensors as separate arguments."""
    return isinstance(layer, L.MultiHeadAttention | L.GroupQueryAttention)


def values(rng: np.random.Generator, case: LayerCase) -> Iterator[np.ndarray]:
    for shape in case.shapes:
        if case.dtype == "float32" and "input_dim" not in case.options:
            value = rng.standard_normal((BATCH, *shape)) * 1.5
            yield np.where(
                rng.random(value.shape[:-1])[..., None] < 0.2,
                case.options.get("mask_value", 0.0),
                value,
            ).astype("float32")
        elif case.call:
            yield rng.standard_normal((BATCH, *shape)).astype("float32")
        else:
            yield rng.integers(
                0,
                case.options.get("input_dim", case.options.get("num_tokens", 256)),
                (BATCH, *shape),
            ).astype(case.dtype)


def expected(layer: L.Layer, case: LayerCase, inputs: list[np.ndarray]) -> np.ndarray:
    """The outputs of Keras, computed by another layer if TensorFlow has no kernel for this one."""
    given = inputs if len(inputs) > 1 else inputs[0]
    if not case.oracle:
        options = {**case.call, "training": False} if layer._call_has_training_arg else case.call
        return np.array(layer(*inputs, **options) if spread(layer) else layer(given, **options))
    options, weights = {**case.options, "dtype": layer.dtype_policy}, layer.get_weights()
    if case.oracle == "channels_last":
        twin = type(layer)(**options | {"data_format": "channels_last"})
        axis = 2 if isinstance(layer, L.RNN) else 1
        given = np.moveaxis(given, axis, -1)
    else:
        rank = weights[0].ndim - 2
        gaps = options.pop("dilation_rate")
        gaps = (gaps,) * rank if isinstance(gaps, int) else gaps
        sizes = tuple(
            (size - 1) * gap + 1 for size, gap in zip(weights[0].shape, gaps, strict=False)
        )
        kernel = np.zeros((*sizes, *weights[0].shape[-2:]), weights[0].dtype)
        kernel[tuple(slice(None, None, gap) for gap in gaps)] = weights[0]
        twin, weights = type(layer)(**options | {"kernel_size": sizes}), [kernel, *weights[1:]]
    twin.build(given.shape)
    twin.set_weights(weights)
    result = np.array(twin(given))
    return np.moveaxis(result, -1, axis) if case.oracle == "channels_last" else result


@dataclass(frozen=True)
class Tree:
    """A model with a branch for each case, its inputs, and the outputs of Keras."""

    model: keras.Model
    inputs: dict[str, np.ndarray]
    expected: dict[str, np.ndarray]

    def graph(self) -> Graph:
        return KerasConverter(batch_size=BATCH).convert(self.model)

    def differences(self, outputs: Mapping[str, np.ndarray]) -> dict[str, float]:
        """The cases whose error exceeds the bound."""
        found = {}
        for name, reference in self.expected.items():
            assert (outputs[name].shape, outputs[name].dtype) == (
                reference.shape,
                reference.dtype,
            ), name
            found[name] = relative_error(outputs[name], reference)
        return {name: value for name, value in found.items() if not value < 1e-4}


def tree(rows: Mapping[str, Sequence[LayerCase]]) -> Tree:
    """Each layer by its class name and index."""
    rng = np.random.default_rng(3)
    tensors, outputs, inputs, wanted = [], {}, {}, {}
    for name, cases in rows.items():
        for number, case in enumerate(cases):
            layer = CLASSES[name](**case.options, name=f"{name}_{number}")
            arrays = list(values(rng, case))
            made = [
                keras.Input(array.shape[1:], dtype=array.dtype.name, name=f"{layer.name}_{i}")
                for i, array in enumerate(arrays)
            ]
            outputs[layer.name] = (
                layer(*made, **case.call)
                if spread(layer)
                else layer(made if len(made) > 1 else made[0], **case.call)
            )
            randomise(layer, len(outputs))
            if isinstance(layer, L.Normalization):
                layer.finalize_state()
            tensors += made
            inputs |= zip((tensor.name for tensor in made), arrays, strict=True)
            wanted[layer.name] = expected(layer, case, arrays).astype(outputs[layer.name].dtype)
    return Tree(keras.Model(tensors, outputs, name="tree"), inputs, wanted)


def run_trees(
    trees: Sequence[Tree], backend: str, folder: Path, variant: str
) -> list[dict[str, float]]:
    """The differences of each optimised, compiled and executed model."""
    jobs = []
    for item in trees:
        graph = item.graph()
        optimised = reduce(
            lambda g, name: import_module(f"webkiln.passes.{name}").run(g), PASSES, graph
        )
        jobs.append(Job(optimised, item.inputs, constant_values(optimised, graph.weights)))
    return [
        item.differences(outputs)
        for item, outputs in zip(trees, run(jobs, backend, folder, variant), strict=True)
    ]
