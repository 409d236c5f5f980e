"""Who converts which layer: the user's handlers first, then the built-in tables."""

from webkiln.frontends.keras.layer import LayerHandler
from webkiln.frontends.keras.layers.table import LAYERS
from webkiln.frontends.keras.operations.table import OPERATIONS
from webkiln.frontends.keras.registered import registered_handler
from webkiln.frontends.keras.spec import LayerSpec


def find_handler(spec: LayerSpec) -> LayerHandler | None:
    """The user's handler for a layer, else the built-in one, else None."""
    built_in = LAYERS.get(spec.class_name) if spec.own and spec.kind == "layer" else None
    return registered_handler(spec) or built_in


def is_handled(spec: LayerSpec) -> bool:
    """Whether a layer or operation has a handler, the user's or a built-in one; inputs and noise need none."""
    return spec.kind in {"input", "noise"} or (spec.kind == "operation" and spec.class_name in OPERATIONS) or find_handler(spec) is not None
