"""What is decided while the program runs: one of two graphs, or one again and again."""

from collections.abc import Iterable, Sequence

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir import symbols
from webkiln.ir.graph import Attributes, Graph, Node, Variable
from webkiln.ir.types import Array, Type, is_integer
from webkiln.nest.build import Lowering
from webkiln.nest.expr import cast
from webkiln.nest.nest import COMPUTE
from webkiln.nest.steps import View
from webkiln.ops.budget import hold
from webkiln.ops.operator import REQUIRED, Case, Operator, define
from webkiln.ops.scan import apart, store_slice


def _check(graph: Graph, types: Sequence[Type]) -> list[Type]:
    """The types of a graph's results when it is given operands of these types."""
    for name, got in zip(graph.inputs, types, strict=True):
        if got != graph.type(name):
            raise ShapeError(f"{name} of the graph {graph.name} is {graph.type(name)}, got {got}")
    return [graph.type(name) for name in graph.outputs.values()]


def _scalar_bool(type_: Type) -> None:
    if type_.dtype != "bool" or type_.shape != ():
        raise ShapeError(f"the condition is {type_}, expected bool[]")


def _if_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    then, otherwise = attrs["then"], attrs["otherwise"]
    _scalar_bool(types[0])
    if len(types) != 1 + len(then.inputs) + len(otherwise.inputs):
        raise ShapeError(
            f"the graphs take {len(then.inputs)} and {len(otherwise.inputs)} operands, got"
            f" {len(types) - 1}"
        )
    split = 1 + len(then.inputs)
    results, others = _check(then, types[1:split]), _check(otherwise, types[split:])
    if results != others:
        raise ShapeError(
            f"one branch gives {', '.join(map(str, results))}, the other"
            f" {', '.join(map(str, others))}; they must be equal"
        )
    return tuple(results)


def _if_reference(attrs: Attributes, condition: Array, *arrays: Array) -> tuple[Array, ...]:
    count = len(attrs["then"].inputs)
    graph, given = (
        (attrs["then"], arrays[:count]) if condition else (attrs["otherwise"], arrays[count:])
    )
    return tuple(_run(graph, given))


def _run(graph: Graph, arrays: Sequence[Array]) -> list[Array]:
    from webkiln.ops.evaluate import (
        run_graph,
    )  # it imports the table of operators, which imports this module

    return list(run_graph(graph, dict(zip(graph.inputs, arrays, strict=True)))[0].values())


def _lower_if(low: Lowering, attrs: Attributes) -> None:
    condition, *captured = low.inputs
    split = len(attrs["then"].inputs)

    def write(graph: Graph, inputs: Sequence[View]) -> None:
        for result, out in zip(low.inline(graph, inputs), low.outputs, strict=True):
            low.copy(result, out)

    low.branch(
        low.materialize(condition),
        lambda: write(attrs["then"], captured[:split]),
        lambda: write(attrs["otherwise"], captured[split:]),
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
    found = [
        Node("ReduceMax", ("a",), ("e",), {"axes": (0,), "keepdims": False}),
        Node("Mul", ("a", "e"), ("t",)),
    ]
    narrow = _graph("narrow", {"a": long}, found, {"e": Type("float32", ()), "t": long}, ["t"])
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
        {"then": REQUIRED, "otherwise": REQUIRED},
        (1, 1 << 16),
        _if_cases,
    )
)
"""Inputs: a bool scalar, what the graph `then` takes, what the graph `otherwise` takes. Outputs:
those
of the graph that is run; both have the same types.
"""


def _signature(attrs: Attributes, types: Sequence[Type]) -> tuple[Graph, int]:
    """The body and the number of states."""
    body: Graph = attrs["body"]
    if (
        len(types) + 1 != len(body.inputs)
        or not is_integer(body.type(body.inputs[0]).dtype)
        or body.type(body.inputs[0]).shape
    ):
        raise ShapeError(
            f"the body {body.name} takes an integer scalar and {len(body.inputs) - 1} more"
            f" operands, got {len(types)}"
        )
    return body, attrs["states"]


def _loop_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    body, states = _signature(attrs, types)
    _scalar_bool(types[0])
    results = _check(body, [body.type(body.inputs[0]), *types])
    for name, got, expected in zip(body.outputs, results, types[: 1 + states], strict=False):
        if got != expected:
            raise ShapeError(
                f"{name} of the body {body.name} is {got}, at the start it is {expected}"
            )
    stacked = results[1 + states :]
    if stacked and attrs["bound"] is None:
        raise ShapeError(
            f"how often the body {body.name} runs is not bounded, so there is no room for the"
            " results that it stacks"
        )
    return (
        *types[1 : 1 + states],
        *(
            Type(type_.dtype, (symbols.data_dependent(attrs["count"]), *type_.shape))
            for type_ in stacked
        ),
    )


def _loop_reference(attrs: Attributes, condition: Array, *arrays: Array) -> tuple[Array, ...]:
    body, states = _signature(
        attrs, [Type(str(array.dtype), array.shape) for array in (condition, *arrays)]
    )
    current, captured = list(arrays[:states]), arrays[states:]
    types = [body.type(name) for name in list(body.outputs.values())[1 + states :]]
    stacked: list[list[Array]] = [[] for _ in types]
    step = 0
    while bool(condition) and (attrs["bound"] is None or step < attrs["bound"]):
        number = np.array(step, body.type(body.inputs[0]).dtype)
        condition, *results = _run(body, [number, np.asarray(condition), *current, *captured])
        current = results[:states]
        for pile, result in zip(stacked, results[states:], strict=True):
            hold(result.nbytes)
            pile.append(result)
        step += 1
    piles = [
        np.stack(pile) if pile else np.zeros((0, *type_.shape), type_.dtype)
        for pile, type_ in zip(stacked, types, strict=True)
    ]
    return (*current, *piles)


def _lower_loop(low: Lowering, attrs: Attributes) -> None:
    body, states = _signature(attrs, [view.type for view in low.inputs])
    condition, *rest = low.inputs
    current, stacked = low.outputs[:states], low.outputs[states:]
    flag, number = low.temporary("bool", ()), low.temporary(body.type(body.inputs[0]).dtype, ())
    low.copy(condition, flag)
    for initial, state in zip(rest, current, strict=False):
        low.copy(initial, state)
    with low.loop(
        flag, attrs["bound"], (attrs["count"], attrs["bound"]) if stacked else None
    ) as step:
        nest = low.nest()
        nest.store(number, cast(nest.argument(step), COMPUTE[number.type.dtype]), nest.axes(()))
        nest.done()
        goes_on, *results = low.inline(body, [number, flag, *current, *rest[states:]])
        for result, out in zip(results[states:], stacked, strict=True):
            store_slice(low, result, out, 0, step)
        following = [apart(low, view, (flag, *current)) for view in (goes_on, *results[:states])]
        for result, state in zip(following, (flag, *current), strict=True):
            low.copy(result, state)


def _loop_cases() -> Iterable[Case]:
    number, one = Type("int64", ()), Type("float32", ())
    inputs = {"i": number, "go": FLAG, "x": ROW, "limit": one}
    nodes = [
        Node("Add", ("x", "x"), ("y",)),
        Node("ReduceMax", ("y",), ("top",), {"axes": (0,), "keepdims": False}),
        Node("Less", ("top", "limit"), ("more",)),
        Node("Cast", ("i",), ("f",), {"dtype": "float32"}),
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
        {"body": REQUIRED, "states": REQUIRED, "bound": None, "count": ""},
        (1, 1 << 16),
        _loop_cases,
    )
)
"""Inputs: whether to begin (a bool scalar), initial states, captured Variables. The graph `body`
takes
the number of the repetition, whether to begin, the states and the captured Variables; it gives
whether to go on, the next states and values that are stacked along a new first axis, whose
data_dependent size is called `count`. It is run at most `bound` times (None: as long as the
condition holds, with nothing stacked). Outputs: the last states and the stacks.
"""
