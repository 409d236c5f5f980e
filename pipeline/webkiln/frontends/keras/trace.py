"""Trace the `call` of a layer to a model of keras.ops operations."""

from collections.abc import Callable
from typing import Any

import keras

from webkiln.canonical import key
from webkiln.errors import UnsupportedError
from webkiln.frontends.core.arrays import Weight
from webkiln.frontends.keras.callables import called
from webkiln.frontends.keras.framework import first_sentence
from webkiln.frontends.keras.literals import literal
from webkiln.frontends.keras.recording import Arguments, Walk
from webkiln.frontends.keras.spec import LayerCall, ModelSpec, Ref, to_json
from webkiln.frontends.keras.tracer import Tracer

HINT = (
    "Write the call with keras.ops and the layer's own weights, or write a handler with"
    " KerasConverter.register_handler"
)


def trace_layer(
    walker: Walk,
    layer: Any,
    path: str,
    arguments: list[Arguments],
    method: Callable[..., Any] | None = None,
) -> tuple[ModelSpec, dict[str, Weight]]:
    """The operations in the call of `layer`, or another `method`, and the weights that they read,
    by slot.

    A call that fails with a dynamic batch size is traced again with the walker's. Raises
    UnsupportedError, naming everything that cannot be traced.
    """
    where = f"{path} ({type(layer).__name__})"
    traces = []
    for call in arguments:
        try:
            try:
                traces.append(Tracer(walker, layer, path, None, method=method).run(*call))
            except UnsupportedError:
                raise
            except Exception:  # noqa: BLE001 - user code fails on a dynamic batch size in any way
                traces.append(
                    Tracer(walker, layer, path, walker.batch_size, method=method).run(*call)
                )
        except UnsupportedError:
            raise
        except Exception as error:
            raise UnsupportedError(
                path, [(where, f"its call cannot be traced: {first_sentence(error)}", HINT)]
            ) from error
    if len({key(to_json(model)) for model, _ in traces}) != 1:
        what = f"its {len(traces)} calls execute different operations"
        raise UnsupportedError(
            path, [(where, what, "Use a separate layer for each shape, or write a handler")]
        )
    return traces[0]


def function_call(
    walker: Walk,
    operation: Any,
    path: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ref: Callable[[Any], Ref],
) -> LayerCall:
    """A call of an operation with functions as arguments, in a functional model. `ref` maps a
    tensor to its layer's output.
    """
    where = f"{path} ({type(operation).__name__})"
    tracer = Tracer(walker, operation, path, None)
    try:
        with tracer.tracing():
            call = called(operation, args, kwargs)
            functions = {
                name: tracer.function(name, *signature)[0]
                for name, signature in call.functions.items()
            }
        tracer.check_self_contained(functions)
        operands = [
            ref(value) if isinstance(value, keras.KerasTensor) else literal(value)
            for value in call.operands
        ]
    except Exception as error:
        raise UnsupportedError(
            path, [(where, f"its functions cannot be traced: {first_sentence(error)}", HINT)]
        ) from error
    return LayerCall(tuple(operands), {"functions": functions, **call.options})
