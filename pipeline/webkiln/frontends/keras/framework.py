"""Keras itself, imported only where spec alone do not do."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from webkiln.errors import MissingPackageError
from webkiln.ir.types import Array


def import_keras(why: str) -> Any:
    """The keras module; MissingPackageError says why it is needed where it is missing."""
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
"""Packages that Keras imports where they are installed, for `keras.visualization` and
`keras.wrappers`, which no model uses.
"""


@contextmanager
def without_extras() -> Iterator[None]:
    """Import Keras as if `EXTRAS` were not installed: importing them takes a third of the time."""
    hidden = [name for name in EXTRAS if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # which makes an import of it raise ImportError
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def put_weights(model: Any, arrays: Sequence[Array]) -> None:
    """Set a model's weights, and what its layers have computed from them: a Normalization keeps its
    mean and variance twice.
    """
    model.set_weights(arrays)
    for layer in model._flatten_layers():
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()


WRAPPED = re.compile(
    r"Exception encountered when calling [^\n]*|Could not automatically infer .*?Error"
    r" encountered:|\x1b\[[0-9;]*m",
    re.DOTALL,
)
"""What Keras writes around the error of a layer's call."""


def first_sentence(error: Exception) -> str:
    """What a framework's error says before it explains itself."""
    text = " ".join(WRAPPED.sub("", str(error)).split())
    return text.split(". ")[0].rstrip(".") or type(error).__name__
