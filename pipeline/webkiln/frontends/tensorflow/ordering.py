"""The order in which the walk visits the nodes of a body."""

from collections.abc import Iterator, Sequence
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.tensorflow.legacy import EXITS, ControlFlow
from webkiln.frontends.tensorflow.scope import Scope
from webkiln.frontends.tensorflow.source import (
    GraphSource,
    control_inputs,
    data_inputs,
    split_reference,
)

WITHOUT_OUTPUTS = frozenset(
    {
        "Assert",
        "NoOp",
        "Print",
        "PrintV2",
        "VarIsInitializedOp",
        "IsVariableInitialized",
        "TensorArrayCloseV3",
    }
)
"""Operators that output nothing at inference."""


def ordered_nodes(
    scope: Scope,
    references: Sequence[str],
    program: GraphSource,
    flow: ControlFlow,
    *,
    has_effects: bool,
) -> Iterator[str]:
    """The nodes that the references need, in topological order; with side effects, also their
    control dependencies.
    """
    state: dict[str, bool] = {}
    stack = [(split_reference(item)[0], False) for item in reversed(references)]
    while stack:
        name, is_left = stack.pop()
        if is_left:
            state[name] = True
            yield name
            continue
        if state.get(name) or name in scope.arguments or name in scope.outputs:
            continue
        if name in state:
            raise SourceError(f"{program.name}: {name} needs its own output")
        node = scope.body.nodes.get(name)
        if node is None:
            raise SourceError(f"{program.name}: {name} is read, but the graph has no such node")
        state[name] = False
        stack.append((name, True))
        needed = (
            split_reference(item)[0]
            for item in (*_needs(node, flow), *(control_inputs(node) if has_effects else ()))
        )
        stack += [(item, False) for item in needed if not state.get(item)]


def _needs(node: Any, flow: ControlFlow) -> Sequence[str]:
    """The dependencies of a node: for the end of a loop its initial values, for a conditional value
    its predicate.
    """
    if node.op in WITHOUT_OUTPUTS:
        return ()
    if node.op in EXITS:
        return flow.loop_of(node.name)[0].begins
    choice = flow.choices.get(node.name)
    return [*data_inputs(node), *([choice.predicate] if choice is not None else [])]
