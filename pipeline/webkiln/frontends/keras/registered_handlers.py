"""Registered converter handlers. They are separate from the built-in ones, so that stages which run
user code do not depend on these.
"""

from collections.abc import Callable

from webkiln.frontends.keras.layer import LayerHandler
from webkiln.frontends.keras.spec import LayerSpec

REGISTERED: dict[tuple[str, str | None], LayerHandler] = {}
"""(class, layer name or None for all) -> the registered handler."""


def register_handler(
    class_name: str, layer_name: str | None = None
) -> Callable[[LayerHandler], LayerHandler]:
    """Decorator that registers a function of converter and layer for this class, or for the layer
    `layer_name`. It takes precedence over built-in handlers and tracing.
    """

    def register(handler: LayerHandler) -> LayerHandler:
        REGISTERED[class_name, layer_name] = handler
        return handler

    return register


def registered_handler(spec: LayerSpec) -> LayerHandler | None:
    """The registered handler of a layer, or None."""
    return REGISTERED.get((spec.class_name, spec.name)) or REGISTERED.get((spec.class_name, None))
