"""The methods of graph builders that append operators with nested graphs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from webkiln.ir.dim import Size
from webkiln.ir.graph import Graph
from webkiln.ir.types import Type

if TYPE_CHECKING:
    from webkiln.ops.builder import GraphBuilder, Tensor

Block = Callable[["GraphBuilder", list["Tensor"]], Sequence["Tensor"]]
"""Builds a nested graph: (builder, inputs) -> outputs."""
StepFunction = Callable[
    ["GraphBuilder", list["Tensor"], list["Tensor"]], tuple[Sequence["Tensor"], Sequence["Tensor"]]
]
"""Builds one step of a Scan: (builder, states, slices) -> (next states, results)."""


class ControlFlow(ABC):
    """A base class of `GraphBuilder`."""

    @abstractmethod
    def nested(self, name: str) -> "GraphBuilder": ...

    @abstractmethod
    def data_dependent(self) -> str: ...

    @abstractmethod
    def tensor(self, name: str) -> "Tensor": ...

    @abstractmethod
    def ops(
        self, op: str, inputs: Sequence["Tensor"], attrs: Mapping[str, Any] | None = None
    ) -> tuple["Tensor", ...]: ...

    def scan(
        self,
        states: Sequence["Tensor"],
        sequences: Sequence["Tensor"],
        step: StepFunction,
        *,
        axis: int,
        reverse: bool = False,
    ) -> tuple[list["Tensor"], list["Tensor"]]:
        """Append a Scan over the slices of `sequences` along `axis`. Returns the last states, and
        the results of all steps, stacked along that axis.

        `step(builder, states, slices)` returns the next states and the results. It appends to
        `builder`, and may capture tensors of this graph.
        """
        body = self.nested("step")
        current = [
            body.input(f"state{n}", state.dtype, state.shape) for n, state in enumerate(states)
        ]
        slices = [
            body.input(f"slice{n}", item.dtype, (*item.shape[:axis], *item.shape[axis + 1 :]))
            for n, item in enumerate(sequences)
        ]
        next_states, results = step(body, current, slices)
        outputs_of_body = [(f"state{n}", tensor) for n, tensor in enumerate(next_states)] + [
            (f"result{n}", tensor) for n, tensor in enumerate(results)
        ]
        graph = body.graph({name: body.capture(tensor) for name, tensor in outputs_of_body})
        captured = [self.tensor(name) for name in body.captured]
        attrs = {
            "body": graph,
            "axes": (axis,) * len(sequences),
            "out_axes": (axis,) * len(results),
            "reverse": reverse,
        }
        outputs = self.ops("Scan", [*states, *sequences, *captured], attrs)
        return list(outputs[: len(states)]), list(outputs[len(states) :])

    def _inner(
        self, name: str, inputs: Sequence[Type], write: Block
    ) -> tuple[Graph, list["Tensor"]]:
        """Build a nested graph with `write`. Returns it, and the tensors that it captures."""
        body = self.nested(name)
        tensors = [body.input(f"in{n}", type_.dtype, type_.shape) for n, type_ in enumerate(inputs)]
        outputs = {f"out{n}": body.capture(tensor) for n, tensor in enumerate(write(body, tensors))}
        return body.graph(outputs), [self.tensor(name) for name in body.captured]

    def branch(self, condition: "Tensor", then: Block, otherwise: Block) -> tuple["Tensor", ...]:
        """Append an If on a bool scalar. The functions build its graphs; their outputs have the
        same types.
        """
        yes, first = self._inner("then", [], then)
        no, second = self._inner("else", [], otherwise)
        return self.ops("If", [condition, *first, *second], {"then": yes, "otherwise": no})

    def loop(
        self,
        condition: "Tensor",
        states: Sequence["Tensor"],
        step: Block,
        *,
        bound: Size | None = None,
        number: str = "int64",
    ) -> tuple[list["Tensor"], list["Tensor"]]:
        """Append a Loop that runs while a bool scalar holds, at most `bound` times. Returns the
        last states, and the results of all iterations, stacked along a new first axis.

        `step(builder, (number, condition, *states))` returns the next condition, the next states
        and the results. The iteration number has the dtype `number`.
        """
        types = [Type(number, ()), condition.type, *(state.type for state in states)]
        body, captured = self._inner("step", types, step)
        stacked = len(body.outputs) - 1 - len(states)
        attrs = {
            "body": body,
            "states": len(states),
            "bound": bound,
            "count": self.data_dependent() if stacked else "",
        }
        outputs = self.ops("Loop", [condition, *states, *captured], attrs)
        return list(outputs[: len(states)]), list(outputs[len(states) :])
