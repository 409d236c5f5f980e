"""Scan: a nested graph that is applied to the slices of sequences, with states."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Size, known, known_shape
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.size_checks import require_all_equal
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.steps import View
from webkiln.ops.budget import hold
from webkiln.ops.operator import Case, Operator, define


@dataclass(frozen=True, slots=True)
class Scan(Attributes):
    body: Graph
    axes: tuple[int, ...]
    out_axes: tuple[int, ...] = ()
    reverse: bool = False


def _signature(attrs: Scan, types: Sequence[Type]) -> tuple[Graph, int, int, Size]:
    """The body, and the numbers of states, of scanned inputs and of steps."""
    body, axes = attrs.body, attrs.axes
    states = len(body.outputs) - len(attrs.out_axes)
    if len(types) != len(body.inputs) or states < 0 or states + len(axes) > len(types) or not axes:
        raise ShapeError(
            f"the body {body.name} has {len(body.inputs)} inputs and {len(body.outputs)} outputs,"
            f" which do not match {len(types)} operands"
        )
    lengths = [type_.shape[axis] for type_, axis in zip(types[states:], axes, strict=False)]
    steps = require_all_equal(lengths, "the scanned inputs have different numbers of steps")
    return body, states, len(axes), steps


def _scan_types(attrs: Scan, types: Sequence[Type]) -> tuple[Type, ...]:
    body, states, scanned, steps = _signature(attrs, types)
    slices = [
        Type(type_.dtype, (*type_.shape[:axis], *type_.shape[axis + 1 :]))
        for type_, axis in zip(types[states : states + scanned], attrs.axes, strict=True)
    ]
    operands = [*types[:states], *slices, *types[states + scanned :]]
    results = [body.type(name) for name in body.outputs.values()]
    for name, got, expected in zip(
        (*body.inputs, *body.outputs),
        [*operands, *results[:states]],
        map(body.type, body.inputs),
        strict=False,
    ):
        if got != expected:
            raise ShapeError(f"{name} of the body {body.name} is {expected}, got {got}")
    stacked = [
        Type(type_.dtype, (*type_.shape[:axis], steps, *type_.shape[axis:]))
        for type_, axis in zip(results[states:], attrs.out_axes, strict=True)
    ]
    return (*types[:states], *stacked)


def _scan_reference(attrs: Scan, *arrays: Array) -> tuple[Array, ...]:
    # Imported here because it imports the table of operators, which imports this module.
    from webkiln.ops.evaluate import run_graph

    body, states, scanned, steps = _signature(
        attrs, [Type(str(array.dtype), array.shape) for array in arrays]
    )
    count = known(steps, "the number of steps")
    state, rows, captured = (
        list(arrays[:states]),
        arrays[states : states + scanned],
        arrays[states + scanned :],
    )
    types = [body.type(name) for name in list(body.outputs.values())[states:]]
    stacked: list[list[Array]] = [[np.zeros((0,))] * count for _ in types]
    for step in range(count):
        index = count - 1 - step if attrs.reverse else step
        slices = [np.take(row, index, axis) for row, axis in zip(rows, attrs.axes, strict=True)]
        results = list(
            run_graph(body, dict(zip(body.inputs, (*state, *slices, *captured), strict=True)))[
                0
            ].values()
        )
        state = results[:states]
        for pile, result in zip(stacked, results[states:], strict=True):
            hold(result.nbytes)
            pile[index] = result
    empty = [np.zeros((0, *known_shape(type_.shape, "an output")), type_.dtype) for type_ in types]
    piles = [np.stack(pile) if pile else none for pile, none in zip(stacked, empty, strict=True)]
    return (
        *state,
        *(np.moveaxis(pile, 0, axis) for pile, axis in zip(piles, attrs.out_axes, strict=True)),
    )


def _lower_scan(low: Lowering, attrs: Scan) -> None:
    body, states, scanned, steps = _signature(attrs, [view.type for view in low.inputs])
    current, stacked = low.outputs[:states], low.outputs[states:]
    for initial, state in zip(low.inputs, current, strict=False):
        low.copy(initial, state)
    with low.repeat(steps) as step:
        index = steps - 1 - step if attrs.reverse else step
        slices = [
            _slice(low, view, axis, index)
            for view, axis in zip(low.inputs[states:], attrs.axes, strict=False)
        ]
        results = low.inline(body, [*current, *slices, *low.inputs[states + scanned :]])
        for result, out, axis in zip(results[states:], stacked, attrs.out_axes, strict=True):
            store_slice(low, result, out, axis, index)
        next_states = [copy_if_state(low, view, current) for view in results[:states]]
        for result, state in zip(next_states, current, strict=True):
            low.copy(result, state)


def _slice(low: Lowering, view: View, axis: int, position: Size) -> View:
    shape = view.shape
    out = low.temporary(view.type.dtype, (*shape[:axis], *shape[axis + 1 :]))
    nest = low.nest()
    index = nest.axes(out.shape)
    nest.store(out, nest.load(view, (*index[:axis], nest.number(position), *index[axis:])))
    nest.done()
    return out


def store_slice(low: Lowering, view: View, out: View, axis: int, position: Size) -> None:
    """Append a store of `view` to the slice of `out` at a position of `axis`."""
    nest = low.nest()
    index = nest.axes(view.shape)
    nest.store(out, nest.load(view, index), (*index[:axis], nest.number(position), *index[axis:]))
    nest.done()


def copy_if_state(low: Lowering, view: View, states: Sequence[View]) -> View:
    """Copy `view` if it is the buffer of a state, because the next value of another state may
    overwrite it before it is read.
    """
    if all(view.name != state.name for state in states):
        return view
    out = low.temporary(view.type.dtype, view.shape)
    low.copy(view, out)
    return out


def _cases() -> Iterable[Case]:
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((2, 5, 3)).astype(np.float32) for _ in range(2))
    start, scale = rng.standard_normal((2, 2, 3)).astype(np.float32)

    def body(name: str, inputs: str, *nodes: Node, outputs: str) -> Graph:
        names = [*inputs.split(), *(node.name for node in nodes)]
        variables = {item: Variable(item, Type("float32", (2, 3))) for item in names}
        return Graph(
            name,
            nodes,
            variables,
            tuple(inputs.split()),
            {f"out{n}": item for n, item in enumerate(outputs.split())},
        )

    total = body(
        "total",
        "h x k",
        Node("Mul", ("h", "k"), ("s",)),
        Node("Add", ("s", "x"), ("n",)),
        outputs="n n",
    )
    swap = body("swap", "a b x", Node("Add", ("a", "x"), ("n",)), outputs="b n b")
    yield Case((start, x, scale), {"body": total, "axes": (1,), "out_axes": (1,)}, name="sum")
    yield Case(
        (start, x.transpose(1, 0, 2), scale),
        {"body": total, "axes": (0,), "out_axes": (2,), "reverse": True},
        name="reverse",
    )
    yield Case(
        (start, scale, y), {"body": swap, "axes": (1,), "out_axes": (0,)}, name="swapped states"
    )
    yield Case(
        (start, x[:, :0], scale), {"body": total, "axes": (1,), "out_axes": (1,)}, name="no steps"
    )


SCAN = define(Operator(
    "Scan", _scan_types, _scan_reference, _lower_scan,
    Scan, (1, 64), _cases,
))  # fmt: skip
"""Applies the graph `body` to the slices of sequences.

Inputs: the initial states, the scanned inputs, captured Variables.
Outputs: the last states, and the results of all steps, stacked along `out_axes`.

The inputs of `body` are the states, a slice of each scanned input, and the captured Variables. Its
outputs are the next states, and the results to stack.

Attributes: `axes` has one axis per scanned input, `out_axes` one per result. With `reverse`, steps
proceed from the last slice to the first; results are stored at the positions of their slices.
"""
