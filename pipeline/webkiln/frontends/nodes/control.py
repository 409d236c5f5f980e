"""Branches and loops that are graphs inside nodes, as TensorFlow and LiteRT write them."""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import GraphValue, NodeCall, as_tensor
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.control_flow import Block
from webkiln.ops.pieces import reshaped

WRITTEN_OUT = 64
"""How many steps of a loop are written out rather than repeated."""


def either(
    call: NodeCall, condition: Tensor, branches: Sequence[GraphSpec], given: Sequence[GraphValue]
) -> tuple[Tensor, ...]:
    """The results of one of two graphs, by a bool scalar."""

    def block(graph: GraphSpec) -> Block:
        return lambda builder, _: [
            as_tensor(builder, item) for item in call.subgraph(builder, graph, given)
        ]

    then, otherwise = map(block, branches)
    return call.builder.branch(condition, then, otherwise)


def unchanged(body: GraphSpec) -> frozenset[int]:
    """Which of a loop's states its body gives as it took them: these are no states, and may be
    known.
    """
    return frozenset(
        place
        for place, (given, result) in enumerate(zip(body.inputs, body.outputs, strict=True))
        if given.tensor == result.tensor
    )


def carried(call: NodeCall, same: frozenset[int]) -> list[int]:
    """The states of a loop besides those that stay as they are."""
    return [place for place in range(len(call)) if place not in same]


def repeated(
    call: NodeCall, same: frozenset[int], begins: Sequence[Tensor]
) -> list[Tensor | GraphValue]:
    """A loop of the program, by the graphs `cond` and `body`; `begins` are its states, without
    those
    that stay the `same`. The condition is computed once before it, and at the end of each step.
    """
    condition, body, places = call.attr("cond"), call.attr("body"), carried(call, same)

    def whole(current: Sequence[Tensor]) -> list[Tensor | GraphValue]:
        found: list[Tensor | GraphValue] = [call.operand(place) for place in range(len(call))]
        for place, tensor in zip(places, current, strict=True):
            found[place] = tensor
        return found

    def goes_on(builder: GraphBuilder, current: Sequence[Tensor]) -> Tensor:
        (result,) = call.subgraph(builder, condition, whole(current))
        if result.type.dtype != "bool" or result.type.size != 1:
            raise call.error(f"its condition gives {result.type}, expected one bool")
        return reshaped(builder, as_tensor(builder, result), ())

    def step(builder: GraphBuilder, given: list[Tensor]) -> Sequence[Tensor]:
        results = call.subgraph(builder, body, whole(given[2:]))
        following = [as_tensor(builder, results[place]) for place in places]
        return [goes_on(builder, following), *following]

    lasts, _ = call.builder.loop(goes_on(call.builder, begins), begins, step)
    return whole(lasts)
