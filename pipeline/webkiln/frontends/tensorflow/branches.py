"""Branches and loops: functions that nodes call conditionally, and the control flow of TensorFlow
1, as graphs of nodes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from webkiln.errors import Item, SourceError
from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.nodes.reading import DistinctNames
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeSpec
from webkiln.frontends.tensorflow.legacy import ControlFlow, LoopFrame
from webkiln.frontends.tensorflow.messages import dtype_name
from webkiln.frontends.tensorflow.scope import Handle, Scope, TensorRef
from webkiln.frontends.tensorflow.source import Body, GraphSource

BRANCHES = {
    "If": ("then_branch", "else_branch"),
    "StatelessIf": ("then_branch", "else_branch"),
    "While": ("cond", "body"),
    "StatelessWhile": ("cond", "body"),
}
"""Operators that call functions conditionally, and their attributes."""
CASES = frozenset({"Case", "StatelessCase"})


class GraphWalk(Protocol):
    """Methods of the program traversal that branches and loops call."""

    program: GraphSource
    labels: DistinctNames
    unsupported: list[Item]
    tensors: dict[str, Weight | Literal]
    nodes: list[NodeSpec]

    def fresh(self) -> str:
        """The name of a new tensor."""

    def value(self, scope: Scope, reference: str) -> TensorRef:
        """Resolve a reference to an output or an argument."""

    def flow(self, scope: Scope) -> ControlFlow: ...

    def inside(
        self, inner: Scope, inputs: Sequence[Declared], references: Sequence[str]
    ) -> GraphSpec:
        """Write the nodes of a scope that the references need as a graph of a node."""


def function_of(program: GraphSource, node: Any, name: str) -> Body:
    body = program.functions.get(name)
    if body is None:
        raise SourceError(
            f"{program.name}: {node.name} calls the function {name!r}, which is not in the file"
        )
    return body


def branch_outputs(
    walk: GraphWalk, scope: Scope, node: Any, inputs: Sequence[TensorRef]
) -> Sequence[TensorRef]:
    """The results of a node of `BRANCHES` or `CASES`."""
    if node.op in CASES:
        return _case(walk, scope, node, inputs)
    first, second = BRANCHES[node.op]
    arguments = inputs[1:] if first == "then_branch" else inputs
    graphs = {}
    for name in (first, second):
        graphs[name] = _graph(
            walk, scope, function_of(walk.program, node, node.attr[name].func.name), arguments
        )
    if first == "cond":
        return _while(walk, node.name, arguments, graphs)
    operands = (str(inputs[0]), *(item for item in arguments if isinstance(item, str)))
    outputs = [walk.fresh() for _ in graphs[second].outputs]
    walk.nodes.append(
        NodeSpec(walk.labels.distinct(node.name), "If", "", operands, tuple(outputs), graphs)
    )
    return outputs


def final_value(walk: GraphWalk, scope: Scope, name: str) -> TensorRef:
    """The final value of a loop variable. The first call writes the loop."""
    frame, number = walk.flow(scope).loop_of(name)
    if frame.name not in scope.final_values:
        scope.final_values[frame.name] = _looped(walk, scope, frame)
    return scope.final_values[frame.name][number]


def _looped(walk: GraphWalk, scope: Scope, frame: LoopFrame) -> Sequence[TensorRef]:
    initial = [walk.value(scope, item.begin) for item in frame.variables]
    constants = {name: walk.value(scope, reference) for name, reference in frame.constants.items()}

    def graph(targets: Sequence[Sequence[str]], results: Sequence[str]) -> GraphSpec:
        names = [walk.fresh() if isinstance(item, str) else item for item in initial]
        arguments = {
            target: name
            for name, references in zip(names, targets, strict=True)
            for target in references
        }
        inputs = tuple(
            Declared(str(number), item, "", None)
            for number, item in enumerate(names)
            if isinstance(item, str)
        )
        return walk.inside(
            Scope(scope.body, {**scope.arguments, **constants, **arguments}, depth=scope.depth + 1),
            inputs,
            results,
        )

    merges = [(item.merge,) for item in frame.variables]
    graphs = {
        "cond": graph(merges, [frame.condition]),
        "body": graph(
            [(item.merge, *item.switches) for item in frame.variables],
            [item.following for item in frame.variables],
        ),
    }
    return _while(walk, frame.name, initial, graphs)


def _while(
    walk: GraphWalk, label: str, initial: Sequence[TensorRef], graphs: Mapping[str, GraphSpec]
) -> list[TensorRef]:
    """A handle among the operands of a loop does not change; the loop returns it."""
    tensors = tuple(item for item in initial if isinstance(item, str))
    outputs = [walk.fresh() for _ in tensors]
    walk.nodes.append(
        NodeSpec(walk.labels.distinct(label), "While", "", tensors, tuple(outputs), graphs)
    )
    fresh = iter(outputs)
    return [next(fresh) if isinstance(item, str) else item for item in initial]


def merged_value(walk: GraphWalk, scope: Scope, name: str) -> TensorRef:
    """A value that both branches of a condition return. All of them are written together."""
    choice = walk.flow(scope).choice_of(name)
    predicate = str(walk.value(scope, choice.predicate))
    (_, first), *others = sorted(choice.inputs.items())
    result = walk.value(scope, first)
    for port, reference in others:
        value, chosen = walk.value(scope, reference), predicate
        if isinstance(result, Handle) or isinstance(value, Handle):
            walk.unsupported.append(
                (
                    f"{name} (Merge)",
                    "chooses between variables or tables",
                    "Read them before the condition",
                )
            )
            return ""
        if choice.is_index:
            number, chosen = walk.fresh(), walk.fresh()
            walk.tensors[number] = Literal("int32", (), (port,))
            walk.nodes.append(
                NodeSpec(
                    walk.labels.distinct(f"{name}/is"),
                    "Equal",
                    "",
                    (predicate, number),
                    (chosen,),
                    {},
                )
            )
        joined = walk.fresh()
        walk.nodes.append(
            NodeSpec(
                walk.labels.distinct(name), "Merge", "", (chosen, value, result), (joined,), {}
            )
        )
        result = joined
    return result


def _case(
    walk: GraphWalk, scope: Scope, node: Any, inputs: Sequence[TensorRef]
) -> Sequence[TensorRef]:
    graphs: dict[str, Any] = {}
    for number, item in enumerate(node.attr["branches"].list.func):
        graphs[f"branch_{number}"] = _graph(
            walk, scope, function_of(walk.program, node, item.name), inputs[1:]
        )
    if not graphs:
        raise SourceError(f"{walk.program.name}: {node.name} has no branches")
    outputs = [walk.fresh() for _ in graphs["branch_0"].outputs]
    operands = tuple(item for item in inputs if isinstance(item, str))
    walk.nodes.append(
        NodeSpec(
            walk.labels.distinct(node.name),
            "Case",
            "",
            operands,
            tuple(outputs),
            {**graphs, "count": len(graphs)},
        )
    )
    return outputs


def _graph(walk: GraphWalk, scope: Scope, body: Body, operands: Sequence[TensorRef]) -> GraphSpec:
    """A function as a graph of a node. Handles among its arguments are passed through."""
    if len(body.arguments) != len(operands):
        raise SourceError(
            f"{walk.program.name}: a function with {len(body.arguments)} parameters is called"
            f" with {len(operands)} arguments; the graph is damaged"
        )
    arguments: dict[str, TensorRef] = {}
    inputs = []
    for (name, code), item in zip(body.arguments, operands, strict=True):
        arguments[name] = walk.fresh() if isinstance(item, str) else item
        if isinstance(item, str):
            inputs.append(Declared(name, str(arguments[name]), dtype_name(code), None))
    return walk.inside(Scope(body, arguments, depth=scope.depth + 1), inputs, body.results)
