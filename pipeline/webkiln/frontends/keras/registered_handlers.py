"""Converter handlers that the user registers: known without the built-in ones, so that what runs
code of the user's need not depend on these.
"""

from collections.abc import Callable

from webkiln.frontends.keras.layer import LayerHandler
from webkiln.frontends.keras.spec import LayerSpec

REGISTERED: dict[tuple[str, str | None], LayerHandler] = {}
"""(class, layer name or None for all) -> the user's handler."""


def register_handler(
    class_name: str, layer_name: str | None = None
) -> Callable[[LayerHandler], LayerHandler]:
    """Decorator: convert layers of this class (or the one called `layer_name`) by a function of
    converter and layer. It precedes built-in handlers and tracing.
    """

    def register(handler: LayerHandler) -> LayerHandler:
        REGISTERED[class_name, layer_name] = handler
        return handler

    return register


def registered_handler(spec: LayerSpec) -> LayerHandler | None:
    """The user's handler for a layer, if any."""
    return REGISTERED.get((spec.class_name, spec.name)) or REGISTERED.get((spec.class_name, None))
