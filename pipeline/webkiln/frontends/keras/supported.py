"""Find all layers without a handler before the conversion."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from webkiln.errors import Item
from webkiln.frontends.core.subgraph import add_subgraph_hints
from webkiln.frontends.keras.lambdas.source import is_loadable
from webkiln.frontends.keras.layers.activations import ACTIVATIONS
from webkiln.frontends.keras.layers.copied import class_of, reason_against
from webkiln.frontends.keras.policies import AUGMENTATIONS, UNTRACED_MODES, parse_policy
from webkiln.frontends.keras.registered_handlers import registered_handler
from webkiln.frontends.keras.spec import CALLING, FUNCTION, LayerSpec, ModelSpec, functions
from webkiln.frontends.keras.subgraph import vertices_of
from webkiln.frontends.keras.texts import LOOKUPS, refusal

Judge = Callable[[LayerSpec], bool]

POLICIES = ("float32", "float16", "bfloat16", "float64", "mixed_float16", "mixed_bfloat16")
NO_HANDLER = "no handler"

FOREIGN = "a program of another framework"

UNTRACED: Mapping[str, str] = {
    **dict.fromkeys(["FlaxLayer", "JaxLayer", "TFSMLayer", "TorchModuleWrapper"], FOREIGN),
}
"""Keras layers without a handler that cannot be traced either."""

COMPLEX = "complex numbers are not supported"
PAIRS = "Keep real and imaginary parts as two tensors, as keras.ops.fft, rfft and stft return them"
OPERATIONS_WITHOUT: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(["Angle", "Eig", "Polar", "ViewAsComplex", "ViewAsReal"], (COMPLEX, PAIRS)),
    "ElasticTransform": (
        "it draws random numbers itself",
        (
            "Draw them with keras.random.normal, and move the image with"
            " keras.ops.image.map_coordinates"
        ),
    ),
    "Bincount": (
        "the number of its counts depends on the largest element",
        "Sum keras.ops.one_hot(x, size) over the elements",
    ),
    "JVP": ("it differentiates a function", "Write the derivative with other operations"),
}
"""keras.ops operations that are deliberately not supported: the reason, and what to use instead."""

TRAINING_BY_DEFAULT = frozenset(
    {
        *AUGMENTATIONS,
        "AutoContrast",
        "CenterCrop",
        "ContrastLimitedAdaptiveHistogramEqualization",
        "Pipeline",
        "Resizing",
    }
)
"""Layers whose `call` has the default training=True, which Keras writes into every file."""
UNKNOWN = "unknown class, which is never imported"
BYTES = "it reads the bytes of bfloat16, which is computed as float32"
BYTES_HINT = "Cast to another dtype first"
CALLS = "its arguments are Python functions, which files do not contain"
CALLS_HINT = (
    "Convert the model from memory, or move the operation into the call of a custom layer and pass"
    " --plugin FILE.py that defines it"
)
STRINGS_HINT = (
    "Convert strings to numbers on the page, and start the model after this layer: --from-layer"
)
LAMBDA = "a Lambda layer is Python code inside the model file and is not executed"


def find_unsupported(
    model: ModelSpec, is_handled: Judge, may_be_traced: Judge = lambda _: False
) -> list[Item]:
    """(where, what, hint) for every layer, operation and activation that cannot be converted,
    including nested models.
    """
    items = list(_find(model, is_handled, may_be_traced, ""))
    return add_subgraph_hints(items, vertices_of(model)) if items else items


def may_be_traced(layer: LayerSpec) -> bool:
    """Whether a Keras layer might be traceable. User code must be tried."""
    return (
        layer.own
        and layer.kind == "layer"
        and layer.class_name not in UNTRACED
        and layer.class_name != "Lambda"
    )


def _find(model: ModelSpec, is_handled: Judge, may_be_traced: Judge, scope: str) -> Iterator[Item]:
    texts = {
        layer.name: layer
        for layer in model.layers
        if layer.class_name == "InputLayer" and layer.config.get("dtype") == "string"
    }
    for layer in model.layers:
        where = f"{scope}{layer.name} ({layer.class_name})"
        if (what := _strings(layer, texts, nested=bool(scope))) is not None:
            yield where, what, f"{STRINGS_HINT} {layer.name}"
            continue
        if layer.own and layer.kind == "layer":
            yield from (
                (where, what, hint)
                for what, hint in _modes(
                    layer,
                    built_in=is_handled(layer) and registered_handler(layer) is None,
                    traced=layer.traced or may_be_traced(layer),
                )
            )
        parts = tuple(layer.parts.values())
        yield from _find(
            ModelSpec(layer.name, parts, (), ()), is_handled, may_be_traced, f"{scope}{layer.name}/"
        )
        if (
            layer.kind == "operation"
            and layer.class_name == "View"
            and "bfloat16" in (layer.config.get("dtype"), layer.config.get("given"))
        ):
            yield where, BYTES, BYTES_HINT
        for call in (
            layer.calls if layer.kind == "operation" and layer.class_name in CALLING else ()
        ):
            if "functions" not in call.kwargs:
                yield where, CALLS, CALLS_HINT
            for function in functions(call):
                yield from _find(function, is_handled, may_be_traced, f"{scope}{layer.name}/")
        if is_handled(layer):
            for argument in (
                ("activation", "recurrent_activation")
                if layer.own and layer.kind == "layer"
                else ()
            ):
                activation = layer.config.get(argument)
                name = (
                    activation.get("class_name", activation)
                    if isinstance(activation, dict)
                    else activation
                )
                if name is not None and (not isinstance(name, str) or name not in ACTIVATIONS):
                    yield (
                        where,
                        f"{argument} {name!r} is not supported",
                        f"There are {', '.join(sorted(ACTIVATIONS))}",
                    )
        elif layer.model is not None:
            yield from _find(layer.model, is_handled, may_be_traced, f"{scope}{layer.name}/")
        elif not may_be_traced(layer):
            yield where, *_reason(layer)


def _strings(layer: LayerSpec, texts: Mapping[str, LayerSpec], *, nested: bool) -> str | None:
    """The reason why a layer cannot receive its strings, or None."""
    sources = [
        texts[ref.layer] for call in layer.calls for ref in call.refs() if ref.layer in texts
    ]
    if sources and nested:
        return "it has strings as inputs inside a nested model"
    if sources:
        return refusal(layer, sources[0].config.get("batch_shape") or ())
    lookup = layer.own and layer.kind == "layer" and layer.class_name in LOOKUPS
    return (
        refusal(layer, ())
        if lookup and layer.config.get("invert")
        else "it has strings as inputs that are not inputs of the model"
        if lookup
        else None
    )


def _modes(layer: LayerSpec, *, built_in: bool, traced: bool) -> Iterator[tuple[str, str]]:
    """Unsupported policies and arguments. Old files do not distinguish user-defined classes, whose
    arguments may mean anything, from Keras's.
    """
    name = str(layer.config.get("dtype") or "float32")
    try:
        policy = parse_policy(name)
    except ValueError:
        yield (
            f"dtype policy {name!r} is not supported",
            f"Save the model with one of {', '.join(POLICIES)}",
        )
    else:
        if policy.quantized and (not traced or policy.quantized in UNTRACED_MODES):
            as_before = (
                "Convert the model as it is before quantize(); the encoding int8 stores its weights"
                " in 8 bits"
            )
            in_memory = "Convert the model in memory, by which Keras's own code is traced"
            yield (
                f"it is quantized to {policy.quantized} by quantize()",
                as_before if policy.quantized in UNTRACED_MODES else in_memory,
            )
    if (
        built_in
        and layer.class_name not in TRAINING_BY_DEFAULT
        and any(call.kwargs.get("training") is True for call in layer.calls)
    ):
        yield (
            "it is called with training=True",
            "Build the model for inference, without that argument",
        )


def lambda_hint(name: str, config: Any) -> str:
    """How to convert a Lambda layer. --trust-source helps only if this Python can run its code."""
    handler = (
        f'Register a handler, @KerasConverter.register_handler("Lambda", "{name}"), in FILE.py and'
        " pass --plugin FILE.py"
    )
    return f"{handler}, or --trust-source if you trust the file" if is_loadable(config) else handler


def _reason(layer: LayerSpec) -> tuple[str, str]:
    if layer.kind == "operation" and layer.class_name in OPERATIONS_WITHOUT:
        reason, hint = OPERATIONS_WITHOUT[layer.class_name]
        return f"keras.ops operation {layer.class_name} is not supported: {reason}", hint
    if layer.kind == "operation" and layer.class_name.startswith(FUNCTION):
        return (
            f"{layer.class_name} is not supported",
            "Use a Keras layer instead",
        )
    if layer.kind == "operation":
        what = f"keras.ops operation {layer.class_name} is not supported"
        return what, "Use other operations, or write a handler for the layer that calls it"
    if layer.class_name == "Lambda" and layer.own:
        return LAMBDA, lambda_hint(layer.name, layer.config)
    if layer.own and UNTRACED.get(layer.class_name) == FOREIGN:
        return (
            FOREIGN,
            "Export the model to ONNX (model.export(..., format='onnx')), and build that file",
        )
    handler = f"write a handler with KerasConverter.register_handler({layer.class_name!r})"
    if layer.own:
        return NO_HANDLER, f"Express it with supported layers, or {handler}"
    against = reason_against(layer)
    known = f"It is not a known {class_of(layer)}: {against}. " if against else ""
    return UNKNOWN, f"{known}Pass --plugin FILE.py that defines it, or {handler} in such a file"
