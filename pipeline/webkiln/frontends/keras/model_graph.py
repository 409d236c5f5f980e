"""The graph of a Keras model in memory: its nodes, inputs and outputs."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import keras
import numpy as np
from keras.src import backend
from keras.src.models.functional import Functional, make_node_key

from webkiln.errors import SourceError
from webkiln.frontends.keras.literals import literal
from webkiln.frontends.keras.spec import Ref


def nodes_of(model: Any, operation: Any) -> list[Any]:
    """The calls of an operation in a Functional or Sequential model."""
    graph = graph_of(model)
    return [
        node
        for index, node in enumerate(operation._inbound_nodes)
        if make_node_key(operation, index) in graph._nodes
    ]


def tensors_at(model: Any, refs: Sequence[Ref]) -> list[Any]:
    """The symbolic tensors at `refs` in a Functional or Sequential model."""
    operations = {operation.name: operation for operation in graph_of(model).operations}
    return [nodes_of(model, operations[ref.layer])[ref.call].outputs[ref.index] for ref in refs]


def root_of(model: Any) -> str:
    """The roots of paths in a model: its layers if it is a graph of layers; otherwise the model."""
    return "" if graph_of(model) is not None else str(model.name)


def graph_of(layer: Any) -> Any:
    """The Functional graph of a model that does not override `call`, or None."""
    if isinstance(layer, keras.Sequential) and type(layer).call is keras.Sequential.call:
        return layer._functional
    return layer if isinstance(layer, Functional) and type(layer).call is Functional.call else None


def output_names(model: Any, tensors: Sequence[Any], count: int) -> list[str]:
    """The keys of a dict that a subclassed model returns, in Keras's order of flattening; otherwise
    numbers.
    """
    with suppress(Exception):
        outputs = model.compute_output_spec(*tensors)
        if (
            isinstance(outputs, dict)
            and len(outputs) == count
            and all(isinstance(value, keras.KerasTensor) for value in outputs.values())
        ):
            return [str(key) for key, _ in sorted(outputs.items())]
    return [f"output_{index}" for index in range(count)] if count > 1 else ["output"]


def opaque_inputs(model: Any) -> list[tuple[str, tuple[int | None, ...], str]]:
    """The names, shapes and dtypes of the inputs of a model that was built by a call. The call's
    batch size is ignored.
    """
    shapes = getattr(model, "_build_shapes_dict", None)
    if not model.built or not shapes:
        raise SourceError(
            f"{model.name}: the shapes of its inputs are unknown; call the model once, or"
            " model.build(input_shape)"
        )
    if not all(
        isinstance(shape, list | tuple)
        and all(size is None or isinstance(size, int) for size in shape)
        for shape in shapes.values()
    ):
        raise SourceError(
            f"{model.name}: the arguments of its call are not all tensors, such as a list of"
            " tensors; pass each tensor as a separate argument, or build a functional model from"
            " keras.Input that calls it"
        )
    single = len(shapes) == 1
    return [
        ("input" if single else name.removesuffix("_shape"), (None, *shape[1:]), "float32")
        for name, shape in shapes.items()
    ]


def map_tensors(value: Any, ref: Callable[[Any], Ref]) -> Any:
    """The arguments of a call with references for tensors, and literals for arrays."""
    if isinstance(value, keras.KerasTensor):
        return ref(value)
    if isinstance(value, list | tuple):
        return [map_tensors(item, ref) for item in value]
    if isinstance(value, dict):
        return {key: map_tensors(item, ref) for key, item in value.items()}
    return (
        literal(keras.ops.convert_to_numpy(value))
        if isinstance(value, np.ndarray | np.generic) or backend.is_tensor(value)
        else value
    )


def structure_of(value: Any, ref: Callable[[Any], Ref]) -> Any:
    """The inputs or outputs of a model, in the form of its config."""
    if isinstance(value, keras.KerasTensor):
        output = ref(value)
        return [output.layer, output.call, output.index]
    if isinstance(value, dict):
        return {key: structure_of(item, ref) for key, item in value.items()}
    return [structure_of(item, ref) for item in value]
