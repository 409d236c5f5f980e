"""Find the handler of a layer: registered handlers first, then the tables of Keras's layers,
operations, and TensorFlow functions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from webkiln.frontends.keras.layer import LayerHandler
from webkiln.frontends.keras.layers.copied import find_copy
from webkiln.frontends.keras.layers.table import LAYERS
from webkiln.frontends.keras.operations.table import OPERATIONS
from webkiln.frontends.keras.operations.tensorflow import TENSORFLOW
from webkiln.frontends.keras.registered_handlers import registered_handler
from webkiln.frontends.keras.spec import LayerSpec


@dataclass(frozen=True, slots=True)
class Handlers:
    """Handlers of Keras's layers and of keras.ops operations, by class."""

    layers: Mapping[str, LayerHandler]
    operations: Mapping[str, Callable[..., Any]]

    def built_in(self, spec: LayerSpec) -> LayerHandler | None:
        """The built-in handler of a layer, or of a copy of a known definition, unless a registered
        handler overrides it.
        """
        if spec.kind != "layer" or registered_handler(spec) is not None:
            return None
        return self.layers.get(spec.class_name) if spec.own else find_copy(spec)

    def find(self, spec: LayerSpec) -> LayerHandler | None:
        """The registered handler of a layer, or the built-in one, or None."""
        return registered_handler(spec) or self.built_in(spec)

    def handles(self, spec: LayerSpec) -> bool:
        """Whether a layer or operation has a handler, registered or built-in. Inputs and noise need
        none.
        """
        known = spec.kind in {"input", "noise"} or (
            spec.kind == "operation" and spec.class_name in self.operations
        )
        return known or self.find(spec) is not None

    def handles_in_memory(self, spec: LayerSpec) -> bool:
        """Whether a layer of a model in memory has a handler. A user-defined class has none without
        a registered one: it is traced, since its name does not determine what it computes.
        """
        own = spec.own or spec.kind != "layer" or registered_handler(spec) is not None
        return own and self.handles(spec)


HANDLERS = Handlers(LAYERS, {**OPERATIONS, **TENSORFLOW})
