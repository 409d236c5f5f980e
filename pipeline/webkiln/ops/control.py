"""Control flow: If runs one of two nested graphs, Loop runs one repeatedly."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir import symbols
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Size, known_shape
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.types import Array, Type, is_integer
from webkiln.nest.build import Lowering
from webkiln.nest.expr import cast
from webkiln.nest.nest import COMPUTE
from webkiln.nest.steps import View
from webkiln.ops.budget import hold
from webkiln.ops.conversion import Cast
from webkiln.ops.operator import Case, Operator, define
from webkiln.ops.reduce import Reduction
from webkiln.ops.scan import copy_if_state, store_slice


def _check(graph: Graph, types: Sequence[Type]) -> list[Type]:
    """Check the operands of a nested graph, and return the types of its outputs."""
    for name, got in zip(graph.inputs, types, strict=True):
        if got != graph.type(name):
            raise ShapeError(
                f"input {name} of the nested graph {graph.name} is {graph.type(name)}, got {got}"
            )
    return [graph.type(name) for name in graph.outputs.values()]


def _scalar_bool(type_: Type) -> None:
    if type_.dtype != "bool" or type_.shape != ():
        raise ShapeError(f"the condition is {type_}, expected bool[]")


@dataclass(frozen=True, slots=True)
class If(Attributes):
    then: Graph
    otherwise: Graph


def _if_types(attrs: If, types: Sequence[Type]) -> tuple[Type, ...]:
    then, otherwise = attrs.then, attrs.otherwise
    _scalar_bool(types[0])
    if len(types) != 1 + len(then.inputs) + len(otherwise.inputs):
        raise ShapeError(
            f"the branches have {len(then.inputs)} and {len(otherwise.inputs)} inputs, got"
            f" {len(types) - 1} operands"
        )
    split = 1 + len(then.inputs)
    results, others = _check(then, types[1:split]), _check(otherwise, types[split:])
    if results != others:
        raise ShapeError(
            f"one branch returns {', '.join(map(str, results))}, the other"
            f" {', '.join(map(str, others))}; the types must be equal"
        )
    return tuple(results)


def _if_reference(attrs: If, condition: Array, *arrays: Array) -> tuple[Array, ...]:
    count = len(attrs.then.inputs)
    graph, operands = (
        (attrs.then, arrays[:count]) if condition else (attrs.otherwise, arrays[count:])
    )
    return tuple(_run(graph, operands))


def _run(graph: Graph, arrays: Sequence[Array]) -> list[Array]:
    # Imported here because it imports the table of operators, which imports this module.
    from webkiln.ops.evaluate import run_graph

    return list(run_graph(graph, dict(zip(graph.inputs, arrays, strict=True)))[0].values())


def _lower_if(low: Lowering, attrs: If) -> None:
    condition, *captured = low.inputs
    split = len(attrs.then.inputs)

    def write(graph: Graph, inputs: Sequence[View]) -> None:
        for result, out in zip(low.inline(graph, inputs), low.outputs, strict=True):
            low.copy(result, out)

    low.branch(
        low.materialize(condition),
        lambda: write(attrs.then, captured[:split]),
        lambda: write(attrs.otherwise, captured[split:]),
    )


def _graph(
    name: str,
    inputs: dict[str, Type],
    nodes: Sequence[Node],
    results: dict[str, Type],
    outputs: Sequence[str],
) -> Graph:
    variables = {key: Variable(key, type_) for key, type_ in {**inputs, **results}.items()}
    return Graph(
        name,
        tuple(nodes),
        variables,
        tuple(inputs),
        {f"out{n}": key for n, key in enumerate(outputs)},
    )


ROW = Type("float32", (3,))
FLAG = Type("bool", ())


def _if_cases() -> Iterable[Case]:
    x, y = np.array([1, -2, 3], np.float32), np.array([0.5, 4, 8], np.float32)
    add = _graph(
        "add", {"a": ROW, "b": ROW}, [Node("Add", ("a", "b"), ("s",))], {"s": ROW}, ["s", "a"]
    )
    mul = _graph(
        "mul",
        {"a": ROW},
        [Node("Mul", ("a", "a"), ("p",)), Node("Neg", ("p",), ("n",))],
        {"p": ROW, "n": ROW},
        ["n", "p"],
    )
    for flag in (True, False):
        yield Case((np.array(flag), x, y, y), {"then": add, "otherwise": mul}, name=str(flag))
    long, many = Type("float32", (400,)), np.linspace(-1, 1, 400, dtype=np.float32)
    wide = _graph(
        "wide",
        {"a": long},
        [Node("Neg", ("a",), ("t",)), Node("Exp", ("t",), ("e",))],
        {"t": long, "e": long},
        ["e"],
    )
    nodes = [
        Node("ReduceMax", ("a",), ("e",), Reduction((0,))),
        Node("Mul", ("a", "e"), ("t",)),
    ]
    narrow = _graph("narrow", {"a": long}, nodes, {"e": Type("float32", ()), "t": long}, ["t"])
    for flag in (True, False):
        yield Case(
            (np.array(flag), many, many),
            {"then": wide, "otherwise": narrow},
            name=f"names alike, {flag}",
        )


IF = define(
    Operator(
        "If",
        _if_types,
        _if_reference,
        _lower_if,
        If,
        (1, 1 << 16),
        _if_cases,
    )
)
"""Runs one of two graphs.

Inputs: a bool scalar, the inputs of the graph `then`, the inputs of the graph `otherwise`.
Outputs: those of the graph that runs. Both graphs have outputs of the same types.
"""


@dataclass(frozen=True, slots=True)
class Loop(Attributes):
    body: Graph
    states: int
    bound: Size | None = None
    count: str = ""


def _signature(attrs: Loop, types: Sequence[Type]) -> tuple[Graph, int]:
    """The body, and the number of states."""
    body: Graph = attrs.body
    if (
        len(types) + 1 != len(body.inputs)
        or not is_integer(body.type(body.inputs[0]).dtype)
        or body.type(body.inputs[0]).shape
    ):
        raise ShapeError(
            f"the body {body.name} expects an integer scalar and {len(body.inputs) - 1} more"
            f" operands, got {len(types)}"
        )
    return body, attrs.states


def _loop_types(attrs: Loop, types: Sequence[Type]) -> tuple[Type, ...]:
    body, states = _signature(attrs, types)
    _scalar_bool(types[0])
    results = _check(body, [body.type(body.inputs[0]), *types])
    for name, got, expected in zip(body.outputs, results, types[: 1 + states], strict=False):
        if got != expected:
            raise ShapeError(
                f"output {name} of the body {body.name} is {got}, but its initial value is"
                f" {expected}"
            )
    stacked = results[1 + states :]
    if stacked and attrs.bound is None:
        raise ShapeError(
            f"the body {body.name} has stacked results, but the number of its iterations is"
            " unbounded, so no memory can be allocated for them"
        )
    return (
        *types[1 : 1 + states],
        *(
            Type(type_.dtype, (symbols.data_dependent(attrs.count), *type_.shape))
            for type_ in stacked
        ),
    )


def _loop_reference(attrs: Loop, condition: Array, *arrays: Array) -> tuple[Array, ...]:
    body, states = _signature(
        attrs, [Type(str(array.dtype), array.shape) for array in (condition, *arrays)]
    )
    current, captured = list(arrays[:states]), arrays[states:]
    types = [body.type(name) for name in list(body.outputs.values())[1 + states :]]
    stacked: list[list[Array]] = [[] for _ in types]
    step = 0
    while bool(condition) and (attrs.bound is None or step < attrs.bound):
        number = np.array(step, body.type(body.inputs[0]).dtype)
        condition, *results = _run(body, [number, np.asarray(condition), *current, *captured])
        current = results[:states]
        for pile, result in zip(stacked, results[states:], strict=True):
            hold(result.nbytes)
            pile.append(result)
        step += 1
    piles = [
        np.stack(pile)
        if pile
        else np.zeros((0, *known_shape(type_.shape, "an output")), type_.dtype)
        for pile, type_ in zip(stacked, types, strict=True)
    ]
    return (*current, *piles)


def _lower_loop(low: Lowering, attrs: Loop) -> None:
    body, states = _signature(attrs, [view.type for view in low.inputs])
    condition, *rest = low.inputs
    current, stacked = low.outputs[:states], low.outputs[states:]
    flag, number = low.temporary("bool", ()), low.temporary(body.type(body.inputs[0]).dtype, ())
    low.copy(condition, flag)
    for initial, state in zip(rest, current, strict=False):
        low.copy(initial, state)
    length = (attrs.count, attrs.bound) if stacked and attrs.bound is not None else None
    with low.loop(flag, attrs.bound, length) as step:
        nest = low.nest()
        nest.store(number, cast(nest.argument(step), COMPUTE[number.type.dtype]), nest.axes(()))
        nest.done()
        condition_out, *results = low.inline(body, [number, flag, *current, *rest[states:]])
        for result, out in zip(results[states:], stacked, strict=True):
            store_slice(low, result, out, 0, step)
        next_states = [
            copy_if_state(low, view, (flag, *current))
            for view in (condition_out, *results[:states])
        ]
        for result, state in zip(next_states, (flag, *current), strict=True):
            low.copy(result, state)


def _loop_cases() -> Iterable[Case]:
    number, one = Type("int64", ()), Type("float32", ())
    inputs = {"i": number, "go": FLAG, "x": ROW, "limit": one}
    nodes = [
        Node("Add", ("x", "x"), ("y",)),
        Node("ReduceMax", ("y",), ("top",), Reduction((0,))),
        Node("Less", ("top", "limit"), ("more",)),
        Node("Cast", ("i",), ("f",), Cast("float32")),
    ]
    results = {"y": ROW, "top": one, "more": FLAG, "f": one}
    grow = _graph("grow", inputs, nodes, results, ["more", "y", "x", "f"])
    x = np.array([1, -2, 3], np.float32)
    for limit, bound, go in ((40, 9, True), (1000, 3, True), (40, 9, False)):
        attrs = {"body": grow, "states": 1, "bound": bound, "count": "u0"}
        yield Case(
            (np.array(go), x, np.array(limit, np.float32)), attrs, name=f"{limit} {bound} {go}"
        )
    last = _graph("last", inputs, nodes, results, ["more", "y"])
    yield Case(
        (np.array(1, bool), x, np.array(1e6, np.float32)),
        {"body": last, "states": 1},
        name="without a bound",
    )


LOOP = define(
    Operator(
        "Loop",
        _loop_types,
        _loop_reference,
        _lower_loop,
        Loop,
        (1, 1 << 16),
        _loop_cases,
    )
)
"""Runs the graph `body` while a condition holds.

Inputs: the initial condition (a bool scalar), the initial states, captured Variables.
Outputs: the last states, and the results of all iterations, stacked along a new first axis.

The inputs of `body` are the iteration number (an integer scalar), the condition, the states and the
captured Variables. Its outputs are the next condition, the next states, and the results to stack.

Attributes: `states` is the number of states. `bound` is the maximum number of iterations; None
means unbounded, which excludes stacked results. `count` is the name of the data-dependent number of
iterations, the size of the first axis of the stacks.
"""
