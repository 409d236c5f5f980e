"""Trace keras.ops operations that take functions, such as `while_loop`, by how each calls its
functions.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import keras
from keras.src import tree
from keras.src.ops import core

Specs = Any
"""Symbolic tensors in lists, tuples and dicts, as in an operation's arguments."""


@dataclass(frozen=True)
class Called:
    """A call of such an operation: its tensors, flattened; the arguments of each function; the
    `options` for its handler; and its result, computed from those of the functions.
    """

    operands: list[Any]
    functions: Mapping[str, tuple[Callable[..., Any], tuple[Specs, ...]]]
    options: Mapping[str, Any]
    outputs: Callable[[Mapping[str, Any]], Specs]


def _spec(value: Any) -> Any:
    """A symbolic tensor of the same type."""
    if isinstance(value, bool | int | float):
        return keras.KerasTensor((), {bool: "bool", int: "int32", float: "float32"}[type(value)])
    return keras.KerasTensor(value.shape, keras.backend.standardize_dtype(value.dtype))


def _slice(value: Any) -> Any:
    return keras.KerasTensor(value.shape[1:], keras.backend.standardize_dtype(value.dtype))


def _specs(values: Specs, change: Callable[[Any], Any] = _spec) -> Specs:
    return tree.map_structure(change, values)


def _stacked(count: int | None, specs: Specs) -> Specs:
    return _specs(specs, lambda value: keras.KerasTensor((count, *value.shape), value.dtype))


def _cond(_: Any, pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Called:
    return Called(
        [pred],
        {"then": (true_fn, ()), "otherwise": (false_fn, ())},
        {},
        lambda results: _specs(results["then"]),
    )


def _switch(_: Any, index: Any, branches: Iterable[Callable[..., Any]], *operands: Any) -> Called:
    specs = tuple(map(_specs, operands))
    functions = {f"branch_{number}": (branch, specs) for number, branch in enumerate(branches)}
    return Called(
        [index, *tree.flatten(operands)], functions, {}, lambda results: _specs(results["branch_0"])
    )


def _while_loop(operation: Any, loop_vars: Specs) -> Called:
    variables = tuple(loop_vars) if isinstance(loop_vars, list | tuple) else (loop_vars,)
    specs = tuple(map(_specs, variables))
    functions = {"condition": (operation.cond, specs), "body": (operation.body, specs)}
    most = operation.maximum_iterations
    options = {"most": None if most is None else int(most)}
    return Called(tree.flatten(variables), functions, options, lambda _: _specs(loop_vars))


def _fori_loop(operation: Any, init_val: Specs) -> Called:
    functions = {"body": (operation.body_fun, (keras.KerasTensor((), "int32"), _specs(init_val)))}
    return Called(
        [operation.lower, operation.upper, *tree.flatten(init_val)],
        functions,
        {},
        lambda _: _specs(init_val),
    )


def _scan(operation: Any, f: Callable[..., Any], init: Specs, xs: Specs = None) -> Called:
    carry, sequences = tree.flatten(init), tree.flatten(xs) if xs is not None else []
    count = int(operation.length) if operation.length is not None else sequences[0].shape[0]
    options = {"states": len(carry), "count": operation.length, "reverse": operation.reverse}
    specs = (_specs(init), None if xs is None else _specs(xs, _slice))
    return Called(
        [*carry, *sequences],
        {"body": (f, specs)},
        options,
        lambda results: (_specs(init), _stacked(count, results["body"][1])),
    )


def _associative_scan(operation: Any, f: Callable[..., Any], elems: Specs) -> Called:
    def first(value: Any) -> Any:
        axis = operation.axis % len(value.shape)
        return keras.KerasTensor(
            (*value.shape[:axis], 1, *value.shape[axis + 1 :]),
            keras.backend.standardize_dtype(value.dtype),
        )

    specs = (_specs(elems, first), _specs(elems, first))
    options = {"axis": operation.axis, "reverse": operation.reverse}
    return Called(tree.flatten(elems), {"body": (f, specs)}, options, lambda _: _specs(elems))


def _map(_: Any, f: Callable[..., Any], xs: Specs) -> Called:
    flat = tree.flatten(xs)
    return Called(
        flat,
        {"body": (f, (_specs(xs, _slice),))},
        {},
        lambda results: _stacked(flat[0].shape[0], results["body"]),
    )


CALLED: Mapping[str, Callable[..., Called]] = {
    "AssociativeScan": _associative_scan,
    "Cond": _cond,
    "ForiLoop": _fori_loop,
    "Map": _map,
    "Scan": _scan,
    "Switch": _switch,
    "VectorizedMap": lambda operation, elements: _map(operation, operation.function, elements),
    "WhileLoop": _while_loop,
}


def takes_functions(operation: Any) -> bool:
    return type(operation).__name__ in CALLED and type(operation).__module__ == core.__name__


def called(operation: Any, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Called:
    return CALLED[type(operation).__name__](operation, *args, **kwargs)


@contextmanager
def stated(call: Callable[..., Any]) -> Any:
    """In the block, symbolic calls of these operations become `call(operation, *args, **kwargs)`,
    and custom gradients are ignored.
    """
    with ExitStack() as stack:
        for module in (keras.ops, keras.src.ops):
            stack.enter_context(
                patch.object(
                    module, "custom_gradient", lambda function: lambda *args: function(*args)[0]
                )
            )
        for name in CALLED:
            stack.enter_context(patch.object(getattr(core, name), "symbolic_call", call))
        yield
