"""Who converts which layer: the user's handlers first, then the built-in tables."""

from webkiln.frontends.keras.facts import LayerFacts
from webkiln.frontends.keras.layer import LayerHandler
from webkiln.frontends.keras.layers.table import LAYERS
from webkiln.frontends.keras.operations.table import OPERATIONS
from webkiln.frontends.keras.registered import registered_handler


def find_handler(facts: LayerFacts) -> LayerHandler | None:
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
