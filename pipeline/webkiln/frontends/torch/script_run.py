"""Runs of a TorchScript graph, node by node."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from webkiln.errors import SourceError
from webkiln.frontends.torch.script_attributes import (
    AttributePath,
    ScriptAttributes,
    attribute_path,
    identity,
)
from webkiln.frontends.torch.script_operators import call, number_dtype

MAX_STEPS = 1 << 16
"""The maximum number of unrolled iterations."""
CREATING = frozenset(
    f"aten::{name}" for name in ("zeros", "ones", "full", "tensor", "ones_like", "full_like")
)
MUTATING = frozenset(
    f"aten::{name}"
    for name in ("append", "_set_item", "insert", "extend", "pop", "clear", "reverse", "sort")
)
"""Operators on lists and dicts that change their first operand."""


class Raised(Exception):
    """An exception that the TorchScript program raised."""


class Run:
    """One run of the graph."""

    def __init__(
        self,
        program: ScriptAttributes,
        attributes: Mapping[str, Any] = MappingProxyType({}),
        *,
        recording: bool = False,
    ) -> None:
        self.program, self.recording = program, recording
        self.attributes = dict(attributes)
        self.assigned: dict[str, list[Any]] = {}
        self.created: list[Tensor] = []
        self.owned: list[Any] = []
        self.constants: list[Tensor] = []
        self.results: Any = None

    def block(self, block: Any, values: dict[str, Any]) -> list[Any]:
        """Run the nodes of a block. Returns its results."""
        for node in block.nodes():
            results = self.node(node, values)
            for output, result in zip(node.outputs(), results, strict=True):
                values[output.debugName()] = result
        outputs = block.outputs() if hasattr(block, "outputs") else []
        return [values[item.debugName()] for item in outputs]

    def node(self, node: Any, values: dict[str, Any]) -> Sequence[Any]:
        kind = node.kind()
        if kind == "prim::Constant":
            return [self.constant(node)]
        operands = [values[item.debugName()] for item in node.inputs()]
        count = len(list(node.outputs()))
        if kind == "prim::GetAttr":
            return [self.attribute(operands[0], node.s("name"))]
        if kind == "prim::SetAttr":
            self.set_attribute(operands[0], node.s("name"), operands[1])
            return []
        if kind == "prim::If":
            return self.branch(node, operands[0], values)
        if kind == "prim::Loop":
            return self.loop(node, operands, values)
        if kind == "prim::RaiseException":
            raise Raised(str(operands[0]))
        if kind in MUTATING and any(operands[0] is item for item in self.owned):
            raise SourceError(
                f"changes a {type(operands[0]).__name__} that is an attribute ({kind}); keep each"
                " tensor in an attribute of its own, or return them"
            )
        result = call(self.program, self.constants, node, kind, operands)
        if self.recording and kind in CREATING and isinstance(result, Tensor):
            self.created.append(result.clone())
        return (
            list(result)
            if count != 1 and isinstance(result, list | tuple)
            else [result]
            if count
            else []
        )

    def constant(self, node: Any) -> Any:
        if not node.hasAttribute("value"):
            return None
        value = next(iter(node.outputs())).toIValue()
        if (
            isinstance(value, Tensor)
            and value.dim() == 0
            and value.dtype in (torch.float32, torch.float64, torch.int64, torch.bool)
        ):
            return value.item()  # traces represent Python numbers like this, and promote them so
        if isinstance(value, Tensor):
            self.constants.append(value)
        return value

    def attribute(self, owner: Any, name: str) -> Any:
        path = AttributePath((*owner, name))
        dotted = ".".join(path)
        if dotted in self.attributes:
            value = self.attributes[dotted]
        elif dotted in self.program.names:
            value = self.program.get_buffer(dotted)
        else:
            value = self.stored(self.program.original(dotted), dotted, path)
        if isinstance(value, list | dict):
            self.owned.append(value)
        return value

    def stored(self, value: Any, dotted: str, path: AttributePath) -> Any:
        if isinstance(value, Tensor):
            name = (
                dotted
                if dotted in self.program.names
                else self.program.aliases.get(identity(value))
            )
            return value.detach() if name is None else self.program.get_buffer(name)
        if isinstance(value, list | tuple) and value and isinstance(value[0], Tensor):
            return [self.stored(item, "", path) for item in value]
        return (
            path
            if isinstance(value, torch.jit.ScriptModule | torch.ScriptObject)
            or hasattr(value, "_c")
            else value
        )

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        dotted = ".".join((*owner, name))
        if self.recording:
            self.assigned.setdefault(dotted, []).append(value)
        elif isinstance(value, Tensor) and dotted in self.program.names:
            buffer = self.program.get_buffer(dotted)
            if buffer.shape != value.shape or buffer.dtype != value.dtype:
                raise SourceError(
                    f"{dotted} is initially {buffer.dtype}{list(buffer.shape)} and"
                    f" {value.dtype}{list(value.shape)} after a run; the type of a state must"
                    " not change"
                )
            buffer.copy_(value)
        self.attributes[dotted] = value

    def branch(self, node: Any, condition: Any, values: dict[str, Any]) -> Sequence[Any]:
        then, otherwise = node.blocks()
        if not isinstance(condition, Tensor):
            return self.block(then if condition else otherwise, values)
        for block, other in ((then, otherwise), (otherwise, then)):
            if any(item.kind() == "prim::RaiseException" for item in block.nodes()):
                return self.block(other, values)
        if not list(node.outputs()):
            raise SourceError(
                "a branch that depends on data changes values outside of it; return the result from"
                " the branch instead"
            )
        captures = Captures(self, node, values)

        def run(block: Any) -> Callable[..., tuple[Any, ...]]:
            return lambda *operands: tuple(
                _copied(item) for item in captures.block(block, operands, {})
            )

        return list(
            torch.ops.higher_order.cond(
                condition.reshape(()), run(then), run(otherwise), tuple(captures.tensors)
            )
        )

    def loop(self, node: Any, operands: Sequence[Any], values: dict[str, Any]) -> Sequence[Any]:
        limit, condition, *states = operands
        (block,) = node.blocks()
        number, *names = [item.debugName() for item in block.inputs()]
        if isinstance(condition, Tensor) or isinstance(limit, Tensor):
            return self.data_loop(node, block, operands, values)
        step = 0
        while condition and step < limit:
            if step >= MAX_STEPS:
                raise SourceError(
                    f"a loop has more than {MAX_STEPS} iterations, which would all be unrolled;"
                    " make their number depend on data or a size"
                )
            results = self.block(
                block, {**values, number: step, **dict(zip(names, states, strict=True))}
            )
            condition, *states = results
            step += 1
            if isinstance(condition, Tensor):
                return self.data_loop(node, block, (limit, condition, *states), values, step)
        return states

    def data_loop(
        self, node: Any, block: Any, operands: Sequence[Any], values: dict[str, Any], done: int = 0
    ) -> Sequence[Any]:
        """A loop with a data-dependent end. Its states are tensors."""
        limit, condition, *states = operands
        number, *names = [item.debugName() for item in block.inputs()]
        tensors = [
            item
            if isinstance(item, Tensor)
            else torch.scalar_tensor(item, dtype=number_dtype(item))
            for item in states
        ]
        are_tensors = [isinstance(item, Tensor) for item in states]
        if not all(are_tensors):
            raise SourceError(
                "a loop whose end depends on data has Python numbers as states; use tensors"
            )
        start = torch.full((), done, dtype=torch.int64)
        first = condition if isinstance(condition, Tensor) else torch.full((), bool(condition))
        captures, count = Captures(self, node, values), len(states)

        def holds(condition: Tensor, step: Tensor, *rest: Tensor) -> Tensor:
            return torch.logical_and(condition.reshape(()), step < limit)

        def body(condition: Tensor, step: Tensor, *rest: Tensor) -> tuple[Any, ...]:
            following, *results = captures.block(
                block, rest[count:], {number: step, **dict(zip(names, rest[:count], strict=True))}
            )
            following = (
                following if isinstance(following, Tensor) else torch.full((), bool(following))
            )
            return (following.reshape(()).clone(), step + 1, *(_copied(item) for item in results))

        carried = (first.reshape(()).clone(), start, *(item.clone() for item in tensors))
        return list(
            torch.ops.higher_order.while_loop(holds, body, carried, tuple(captures.tensors))[2:]
        )


def _copied(item: Any) -> Any:
    return (
        item.clone()
        if isinstance(item, Tensor)
        else torch.scalar_tensor(item, dtype=number_dtype(item))
    )


class Captures:
    """The tensors that the blocks of a node read, including attributes of the program."""

    def __init__(self, run: Run, node: Any, values: Mapping[str, Any]) -> None:
        self.run, self.values = run, values
        read: dict[str, None] = {}
        attributes: dict[str, None] = {}
        for block in node.blocks():
            _collect(block, read, attributes)
        self.names = [name for name in read if isinstance(values.get(name), Tensor)]
        values_by_path = {
            name: run.attribute(tuple(name.split(".")[:-1]), name.rpartition(".")[2])
            for name in attributes
        }
        self.attributes = {
            name: value for name, value in values_by_path.items() if isinstance(value, Tensor)
        }
        self.tensors = [*(values[name] for name in self.names), *self.attributes.values()]

    def block(self, block: Any, operands: Sequence[Any], own: Mapping[str, Any]) -> list[Any]:
        """The results of a block that reads these tensors."""
        run, before = self.run, self.run.attributes
        count = len(self.names)
        inside = {**before, **dict(zip(self.attributes, operands[count:], strict=True))}
        run.attributes = dict(inside)
        try:
            results = run.block(
                block,
                {**self.values, **dict(zip(self.names, operands[:count], strict=True)), **own},
            )
            if any(run.attributes.get(name) is not value for name, value in inside.items()):
                raise SourceError(
                    "a branch or loop that depends on data sets an attribute; return the value, and"
                    " set the attribute outside"
                )
        finally:
            run.attributes = before
        return results


def _collect(block: Any, read: dict[str, None], attributes: dict[str, None]) -> None:
    for node in block.nodes():
        if node.kind() == "prim::GetAttr":
            attributes.setdefault(".".join(attribute_path(next(iter(node.outputs())))))
        for value in node.inputs():
            read.setdefault(value.debugName())
        for inner in node.blocks():
            _collect(inner, read, attributes)
    for value in block.outputs():
        read.setdefault(value.debugName())
