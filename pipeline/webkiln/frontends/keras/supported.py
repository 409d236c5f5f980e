"""Finds everything in a model that has no handler, before anything is converted."""

from collections.abc import Callable, Iterator

from webkiln.frontends.keras.facts import LayerFacts, ModelFacts
from webkiln.frontends.keras.layers.activations import ACTIVATIONS

Item = tuple[str, str, str]

POLICIES = ("float32", "float16", "float64")
NO_HANDLER = "no handler"
SAYS_TRAINING = frozenset({"Resizing"})
"""Layers that Keras itself calls with training=True, by which they mean nothing."""
UNKNOWN = "unknown class, which is never imported"
LAMBDA = "a Lambda layer is Python code inside the model file and is not executed"
LAMBDA_HINT = "Replace it by keras.ops operations, or pass --trust-source if you trust the file"


def find_unsupported(model: ModelFacts, is_handled: Callable[[LayerFacts], bool], scope: str = "") -> list[Item]:
    """(where, what, hint) of every layer, operation and activation that cannot be converted, with nested models."""
    return list(_find(model, is_handled, scope))


def _find(model: ModelFacts, is_handled: Callable[[LayerFacts], bool], scope: str) -> Iterator[Item]:
    for layer in model.layers:
        where = f"{scope}{layer.name} ({layer.class_name})"
        if layer.own and layer.kind == "layer":
            yield from ((where, what, hint) for what, hint in _modes(layer))
        parts = tuple(layer.parts.values())
        yield from _find(ModelFacts(layer.name, parts, (), ()), is_handled, f"{scope}{layer.name}/")
        if is_handled(layer):
            for argument in ("activation", "recurrent_activation") if layer.own and layer.kind == "layer" else ():
                activation = layer.config.get(argument)
                name = activation["class_name"] if isinstance(activation, dict) else activation
                if name is not None and name not in ACTIVATIONS:
                    yield where, f"{argument} {name!r} is not supported", f"There are {', '.join(sorted(ACTIVATIONS))}"
        elif layer.model is not None:
            yield from _find(layer.model, is_handled, f"{scope}{layer.name}/")
        else:
            yield where, *_reason(layer)


def _modes(layer: LayerFacts) -> Iterator[tuple[str, str]]:
    policy = layer.config.get("dtype") or "float32"
    if policy not in POLICIES:
        yield f"dtype policy {policy!r} is not supported", f"Save the model with one of {', '.join(POLICIES)}"
    if layer.class_name not in SAYS_TRAINING and any(call.kwargs.get("training") is True for call in layer.calls):
        yield "it is called with training=True", "Build the model without that argument, as it is used for inference"


def _reason(layer: LayerFacts) -> tuple[str, str]:
    if layer.kind == "operation":
        what = f"keras.ops operation {layer.class_name} is not supported"
        return what, "Write it with other operations, or convert the layer around it by a handler"
    if layer.class_name == "Lambda" and layer.own:
        return LAMBDA, LAMBDA_HINT
    handler = f"write a handler with KerasConverter.register_handler({layer.class_name!r})"
    if layer.own:
        return NO_HANDLER, f"Express it with supported layers, or {handler}"
    return UNKNOWN, f"Pass --plugin FILE.py that defines it, or {handler} in such a file"
