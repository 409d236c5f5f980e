"""Evaluates operators whose operands are symbolic sizes, and numbers computed from them.

The handler of a node writes its operators to a graph of their own, which is evaluated over arrays
of sizes: elementwise operators by `size_arithmetic.py`, and operators that move or add elements by
their numpy references.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import GraphValue, NodeCall, known
from webkiln.frontends.nodes.size_arithmetic import SCALARS, convert, element, wrapped
from webkiln.ir.dim import is_symbolic
from webkiln.ir.graph import INLINE_ELEMENTS, Guard, Node
from webkiln.ir.size_checks import Equality, guards
from webkiln.ir.types import Array, Type, is_float, is_integer
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.table import RULES, find

INDICES: Mapping[str, Sequence[int]] = {
    "Gather": (1,),
    "GatherElements": (1,),
    "GatherND": (1,),
    "ScatterElements": (1,),
    "ScatterND": (1,),
}
"""The operands that are indices, which must be constant."""
REFERENCES = frozenset(
    {
        *INDICES,
        *("Identity", "Reshape", "Transpose", "Broadcast", "Concat", "Slice", "Pad", "PadFrom"),
        *("ReduceSum", "ReduceProd", "CumSum", "CumProd", "MatMul", "Einsum", "Iota", "Sizes"),
    }
)
"""The operators whose numpy references compute with any elements."""
MAX_SORTED = 6
"""The size of a sorted axis grows with the square of it."""


def evaluate_call(
    call: NodeCall, convert_call: Callable[[NodeCall], list[GraphValue]]
) -> list[GraphValue] | None:
    """The results of a node whose operands are known and contain symbolic sizes; None if they
    cannot be computed before the model runs.

    `convert_call` calls the handler.
    """
    scratch = GraphBuilder(call.spec.name, RULES)
    operands: list[GraphValue | None] = []
    values: dict[str, Array] = {}
    for position, item in enumerate(call.operands):
        if item is None or item.value is None or item.is_constant:
            operands.append(item)
            continue
        tensor = scratch.input(f"operand{position}", item.type.dtype, item.type.shape)
        values[tensor.name] = _elements(item.value, item.type.dtype)
        operands.append(GraphValue(item.type, tensor, item.value, item.conditions))
    with guards() as required:
        results = convert_call(call.with_operands(scratch, operands))
        tensors = {str(n): item.tensor for n, item in enumerate(results) if item.tensor is not None}
        if any(
            is_symbolic(item.type.size)
            or item.type.size > INLINE_ELEMENTS
            or (item.tensor is None and item.value is None)
            for item in results
        ):
            return None
        graph = scratch.graph(tensors)
        if graph.constraints or graph.states:
            return None
        for name in graph.constants:
            value = graph.constant(name)
            assert value is not None
            values[name] = _elements(value, graph.type(name).dtype)
        for node in graph.nodes:
            types = [graph.type(name) for name in node.inputs]
            outputs = _evaluate(node, types, [values[name] for name in node.inputs])
            for name, array in zip(node.outputs, outputs, strict=True):
                values[name] = _in_dtype(array, graph.type(name))
    call.builder.require(
        Guard(call.spec.name, item.a, item.b) for item in required if isinstance(item, Equality)
    )
    return [
        item if item.tensor is None else known(values[graph.outputs[str(n)]], item.type.dtype)
        for n, item in enumerate(results)
    ]


def _elements(value: Array, dtype: str) -> Array:
    return _mapped(lambda item: element(item, dtype), value)


def _mapped(function: Callable[..., Any], *arrays: Array) -> Array:
    """Apply a function to the elements of arrays that broadcast."""
    broadcast = np.broadcast_arrays(*(np.asarray(item, object) for item in arrays))
    result = np.empty(broadcast[0].shape, object)
    for index in np.ndindex(result.shape):
        result[index] = function(*(item[index] for item in broadcast))
    return result


def _in_dtype(array: Array, type_: Type) -> Array:
    """Results in a dtype: references also fill in numbers."""
    if is_float(type_.dtype):
        return _mapped(lambda item: element(item, type_.dtype), array)
    if is_integer(type_.dtype):
        return _mapped(lambda item: wrapped(element(item, type_.dtype), type_.dtype), array)
    return array


def _evaluate(node: Node, types: Sequence[Type], operands: Sequence[Array]) -> Sequence[Array]:
    attrs = node.attrs.as_dict()
    if node.op == "Cast":
        return [_mapped(lambda x: convert(x, types[0].dtype, attrs["dtype"]), operands[0])]
    if node.op == "ReduceMean":
        total = find("ReduceSum").reference(node.attrs, operands[0])[0]
        count = element(prod(operands[0].shape[axis] for axis in attrs["axes"]), types[0].dtype)
        return [_mapped(lambda x: SCALARS["Div"](attrs, x, count), total)]
    if node.op in ("ArgMax", "ArgMin"):
        order = sorted_elements(operands[0], attrs["axis"], descending=node.op == "ArgMax")[1]
        first = np.take(order, 0, attrs["axis"])
        return [np.expand_dims(first, attrs["axis"]) if attrs["keepdims"] else first]
    if node.op == "Sort":
        return sorted_elements(operands[0], attrs["axis"], descending=attrs["descending"])
    if node.op in ("ReduceMax", "ReduceMin"):
        combine = SCALARS[node.op.removeprefix("Reduce")]
        return [_reduced(lambda a, b: combine(attrs, a, b), operands[0], attrs)]
    if node.op in SCALARS:
        function = SCALARS[node.op]
        return [_mapped(lambda *items: function(attrs, *items), *operands)]
    if node.op not in REFERENCES:
        raise ShapeError(f"{node.op} is not evaluated over sizes")
    arrays = list(operands)
    for position in INDICES.get(node.op, ()):
        if any(map(is_symbolic, arrays[position].ravel().tolist())):
            raise ShapeError("indices contain sizes")
        arrays[position] = arrays[position].astype(np.int64)
    if attrs.get("reduction") in ("max", "min"):
        return [_scattered(node.op, attrs, *arrays)]
    return [np.asarray(item) for item in find(node.op).reference(node.attrs, *arrays)]


def _scattered(op: str, attrs: Mapping[str, Any], x: Array, index: Array, updates: Array) -> Array:
    """The maximum or minimum of the elements and their updates."""
    combine = SCALARS[attrs["reduction"].capitalize()]
    result = np.array(x, object)
    for place in np.ndindex(index.shape if op == "ScatterElements" else index.shape[:-1]):
        if op == "ScatterElements":
            target = (*place[: attrs["axis"]], int(index[place]), *place[attrs["axis"] + 1 :])
        else:
            target = tuple(int(item) for item in index[place])
        if all(-size <= item < size for item, size in zip(target, x.shape, strict=False)):
            result[target] = _mapped(
                lambda a, b: combine(attrs, a, b), result[target], updates[place]
            )[()]
    return result


def sorted_elements(x: Array, axis: int, *, descending: bool) -> tuple[Array, Array]:
    """The elements along an axis in ascending or descending order, and their indices. Equal
    elements keep their order.
    """
    values = [np.asarray(row, object) for row in np.moveaxis(x, axis, 0)]
    indices = [np.full(row.shape, n, object) for n, row in enumerate(values)]
    if len(values) > MAX_SORTED:
        raise ShapeError(f"{len(values)} sizes are not sorted before the model runs")
    for last in range(len(values) - 1, 0, -1):
        for n in range(last):
            pair = (values[n], values[n + 1])
            swap = _mapped(
                lambda a, b: SCALARS["Less"]({}, a, b), *(pair if descending else pair[::-1])
            )
            for rows in (values, indices):
                rows[n], rows[n + 1] = (
                    _chosen(swap, rows[n + 1], rows[n]),
                    _chosen(swap, rows[n], rows[n + 1]),
                )
    return np.stack(values, axis), np.stack(indices, axis)


def _chosen(condition: Array, yes: Array, no: Array) -> Array:
    return _mapped(lambda c, a, b: SCALARS["Where"]({}, c, a, b), condition, yes, no)


def _reduced(combine: Callable[[Any, Any], Any], x: Array, attrs: Mapping[str, Any]) -> Array:
    axes = tuple(attrs["axes"])
    moved = np.moveaxis(x, axes, range(len(axes)))
    rows = moved.reshape(-1, *moved.shape[len(axes) :])
    if not len(rows):
        raise ShapeError("there are no elements")
    result = reduce(lambda a, b: _mapped(combine, a, b), rows)
    return np.expand_dims(result, axes) if attrs["keepdims"] else np.asarray(result, object)
