"""Keras itself, imported only if the spec alone is not sufficient."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from webkiln.errors import MissingPackageError
from webkiln.ir.types import Array


def import_keras(why: str) -> Any:
    """Import Keras. Raises MissingPackageError, with the purpose, if it is missing."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        with without_extras():
            import keras
    except ImportError:
        raise MissingPackageError(
            f"{why}; this needs Keras, which is not installed: pip install keras tensorflow-cpu",
            "keras",
        ) from None
    return keras


EXTRAS = ("matplotlib", "sklearn")
"""Packages that Keras imports if installed, for `keras.visualization` and `keras.wrappers`, which
models do not use.
"""


@contextmanager
def without_extras() -> Iterator[None]:
    """Import Keras as if `EXTRAS` were not installed. They take a third of the import time."""
    hidden = [name for name in EXTRAS if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # which makes an import of it raise ImportError
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def put_weights(model: Any, arrays: Sequence[Array]) -> None:
    """Set a model's weights, and update values derived from them: a Normalization stores its mean
    and variance twice.
    """
    model.set_weights(arrays)
    for layer in model._flatten_layers():
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()


@contextmanager
def without_quantization_structure(model: Any) -> Iterator[None]:
    """In the block, configs of layers lack the `quantization_layer_structure` of a GPTQConfig or
    AWQConfig. It contains layers, whose configs would contain it again.
    """
    removed: list[tuple[Any, Any]] = []
    try:
        for layer in model._flatten_layers():
            item: Any = getattr(layer, "quantization_config", None)
            structure = getattr(item, "quantization_layer_structure", None)
            if structure is not None:
                removed.append((item, structure))
                item.quantization_layer_structure = None
        yield
    finally:
        for item, structure in removed:
            item.quantization_layer_structure = structure


WRAPPED = re.compile(
    r"Exception encountered when calling [^\n]*|Could not automatically infer .*?Error"
    r" encountered:|\x1b\[[0-9;]*m",
    re.DOTALL,
)
"""The text that Keras adds around an error in a layer's call."""


def first_sentence(error: Exception) -> str:
    """The first part of a framework's error message."""
    text = " ".join(WRAPPED.sub("", str(error)).split())
    return text.split(". ")[0].rstrip(".") or type(error).__name__
