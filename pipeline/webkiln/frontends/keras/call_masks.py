"""The masks that `Layer.__call__` passes to a call and attaches to its outputs."""

import inspect
from collections.abc import Callable
from typing import Any

import keras
from keras.src import backend, tree


def mask_arguments(
    method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The masks that `Layer.__call__` passes to the call: `mask` for a single tensor argument,
    otherwise one per argument by name.
    """
    bound = inspect.signature(method).bind(*args, **kwargs)
    bound.apply_defaults()
    tensors = {name: value for name, value in bound.arguments.items() if _of_tensors(value)}
    named = {
        "mask" if len(tensors) == 1 else f"{name}_mask": value for name, value in tensors.items()
    }
    missing = [name for name in named if name in bound.arguments and bound.arguments[name] is None]
    return {name: tree.map_structure(backend.get_keras_mask, named[name]) for name in missing}


def attach_masks(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: Any) -> None:
    """Attach the masks that `Layer.__call__` attaches to outputs after the call."""
    first = args[0] if args else next(iter(kwargs.values()), None)
    if layer.supports_masking and first is not None:
        mask = kwargs.get("mask")
        layer._set_mask_metadata(
            first,
            results,
            tree.map_structure(backend.get_keras_mask, first) if mask is None else mask,
        )


def _of_tensors(value: Any) -> bool:
    """Whether Keras treats an argument as tensors; some items of a list may be None."""
    flat = tree.flatten(value) if tree.is_nested(value) else [value]
    return any(isinstance(item, keras.KerasTensor) for item in flat) and all(
        item is None or isinstance(item, keras.KerasTensor) for item in flat
    )
