"""Who converts which layer: the user's handlers first, then the built-in tables."""

from collections.abc import Callable

from webkiln.frontends.keras.facts import LayerFacts
from webkiln.frontends.keras.layer import Handler
from webkiln.frontends.keras.layers.table import LAYERS
from webkiln.frontends.keras.operations.table import OPERATIONS

REGISTERED: dict[tuple[str, str | None], Handler] = {}
"""(class, layer name or None for all) -> the user's handler."""


def register_handler(class_name: str, layer_name: str | None = None) -> Callable[[Handler], Handler]:
    """Decorator: convert layers of this class (or the one called `layer_name`) by a function of converter and layer. It precedes
    built-in handlers and tracing."""

    def register(handler: Handler) -> Handler:
        REGISTERED[class_name, layer_name] = handler
        return handler

    return register


def registered_handler(facts: LayerFacts) -> Handler | None:
    """The user's handler for a layer, if any."""
    return REGISTERED.get((facts.class_name, facts.name)) or REGISTERED.get((facts.class_name, None))


def find_handler(facts: LayerFacts) -> Handler | None:
    """The user's handler for a layer, else the built-in one, else None."""
    built_in = LAYERS.get(facts.class_name) if facts.own and facts.kind == "layer" else None
    return registered_handler(facts) or built_in


def is_handled(facts: LayerFacts) -> bool:
    """Whether a layer or operation has a handler, the user's or a built-in one; inputs and noise need none."""
    return (
        facts.kind in {"input", "noise"}
        or (facts.kind == "operation" and facts.class_name in OPERATIONS)
        or find_handler(facts) is not None
    )
