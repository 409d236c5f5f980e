"""Variables: tensors with their values, which assignments replace during a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from webkiln.errors import Item, SourceError
from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.nodes.reading import DistinctNames, StoredWeights
from webkiln.frontends.nodes.spec import NodeSpec
from webkiln.frontends.tensorflow.effects import COMBINING
from webkiln.frontends.tensorflow.initializers import Initializers
from webkiln.frontends.tensorflow.scope import Handle, TensorRef
from webkiln.frontends.tensorflow.source import GraphSource


@dataclass
class Variables:
    """The variables of a program during its traversal.

    `current`: variable -> the tensor with its current value. `states`: variables that a run assigns
    -> their states. `read_inside`: variables that branches and loops read before any assignment.
    """

    current: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    read_inside: set[str] = field(default_factory=set)


class VariableWalk(Protocol):
    """Methods of the program traversal that variables call."""

    program: GraphSource
    labels: DistinctNames
    weights: StoredWeights
    unsupported: list[Item]
    tensors: dict[str, Weight | Literal]
    nodes: list[NodeSpec]
    initializers: Initializers
    variables: Variables
    depth: int

    def fresh(self) -> str:
        """The name of a new tensor."""


def variable(walk: VariableWalk, node: Any) -> TensorRef:
    handle = Handle("variable", node.name)
    return handle if node.op == "VarHandleOp" else read_variable(walk, handle)


def read_variable(walk: VariableWalk, handle: TensorRef) -> str:
    """The tensor with the current value of a variable."""
    if isinstance(handle, str):
        return handle
    if handle.kind != "variable":
        raise SourceError(f"{walk.program.name}: a {handle.kind} is read as a variable")
    variables = walk.variables.current
    if handle.name not in variables:
        read = walk.program.stored.read
        if read is None:
            raise SourceError(
                f"{walk.program.name}: has the variable {handle.name}, but no checkpoint; pass"
                " the SavedModel, or a frozen graph"
            )
        array = read(walk.initializers.keys.get(handle.name, handle.name))
        variables[handle.name] = walk.fresh()
        walk.tensors[variables[handle.name]] = walk.weights.store(handle.name, array)
    return variables[handle.name]


def assign(walk: VariableWalk, node: Any, inputs: Sequence[TensorRef]) -> None:
    """Rebind the variable to another tensor. Its last tensor is the state's value for the next
    run.
    """
    label = f"{node.name} ({node.op})"
    handle, value = (*inputs, "", "")[:2]
    if (
        node.op not in COMBINING
        or not isinstance(handle, Handle)
        or handle.kind != "variable"
        or not isinstance(value, str)
    ):
        walk.unsupported.append(
            (
                label,
                "changes part of a variable, or a table",
                "Assign entire variables, or save the model without this node",
            )
        )
        return
    if walk.depth or handle.name in walk.variables.read_inside:
        walk.unsupported.append(
            (
                label,
                "assigns a variable that a branch or loop reads or assigns",
                "Read it before the branch or loop, and assign it after it",
            )
        )
        return
    current = read_variable(walk, handle)
    variables = walk.variables
    if handle.name not in variables.states:
        initial = walk.fresh()
        walk.tensors[initial] = walk.tensors.pop(current)
        variables.states[handle.name] = state = walk.labels.distinct(handle.name)
        walk.nodes.insert(0, NodeSpec(state, "STATE", "", (initial,), (current,), {"state": state}))
    variables.current[handle.name] = _combined(
        walk, node, COMBINING[node.op], variables.current[handle.name], value
    )


def _combined(walk: VariableWalk, node: Any, op: str, current: str, value: str) -> str:
    """The new value of an assigned variable: the operand, or the result of an operator on both."""
    if not op:
        return value
    result = walk.fresh()
    walk.nodes.append(
        NodeSpec(walk.labels.distinct(node.name), op, "", (current, value), (result,), {})
    )
    return result
