"""The variables of a graph and their values."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.nodes.spec import NodeSpec
from webkiln.frontends.tflite.file import FileOperator
from webkiln.frontends.tflite.reading import Reading
from webkiln.ir.types import Array


class Variables:
    """The variables of a graph. The nodes and tensors that they need are added to the graph."""

    def __init__(
        self,
        reading: Reading,
        where: str,
        nodes: list[NodeSpec],
        tensors: dict[str, Weight | Literal],
    ) -> None:
        self.reading, self.where, self.nodes, self.tensors = reading, where, nodes, tensors
        self.values: dict[str, str] = {}
        self.changed: dict[str, str] = {}
        self.handles: dict[int, str] = {}
        self.initial: dict[str, Array] = {}

    def value(self, name: str, initial: Array) -> str:
        """The current value of a variable. Initially, it is the result of a STATE node."""
        if name not in self.values:
            begin, now = self.reading.fresh(), self.reading.fresh()
            self.tensors[begin] = self.reading.weights.store(f"{name}.initial", initial)
            self.nodes.append(NodeSpec(name, "STATE", "", (begin,), (now,), {"state": name}))
            self.values[name] = now
        return self.values[name]

    def assign(self, name: str, tensor: str) -> None:
        """Replace the value of a variable."""
        if name in self.initial:
            self.value(name, self.initial[name])
            self.changed[name] = tensor
        self.values[name] = tensor

    def read(self, name: str) -> str:
        """The current value of an assigned or initialised variable."""
        if name not in self.initial and name not in self.values:
            raise SourceError(
                f"{self.where}: the variable {name} is read before it is assigned; convert"
                " the model with its initial values"
            )
        return self.value(name, self.initial.get(name, np.zeros(0)))

    def update(self, name: str, tensor: str) -> None:
        """Record the value of a state operand after its operator."""
        self.values[name] = self.changed[name] = tensor

    def handle(self, operator: FileOperator) -> str:
        number = operator.inputs[0] if operator.inputs else -1
        if number not in self.handles:
            raise SourceError(
                f"{self.where}: {operator.op} has no variable; the file is damaged; convert the"
                " model again"
            )
        return self.handles[number]

    def initialise(self, index: int) -> None:
        """Read the values that the initialisation graph assigns."""
        self.reading.file.subgraph(index, "CALL_ONCE")
        items, handles = self.reading.file.tensors(index), dict[int, str]()
        for operator in self.reading.file.operators(index):
            if operator.op == "VAR_HANDLE":
                handles[operator.outputs[0]] = variable_name(operator.options)
            elif (
                operator.op == "ASSIGN_VARIABLE"
                and len(operator.inputs) == 2
                and operator.inputs[0] in handles
            ):
                value = items[operator.inputs[1]].value
                if value is None:
                    self.reading.unsupported.append(
                        (
                            handles[operator.inputs[0]],
                            "has a computed initial value",
                            "Make it a constant",
                        )
                    )
                    continue
                self.initial[handles[operator.inputs[0]]] = value
            else:
                self.reading.unsupported.append(
                    (
                        f"graph {index}",
                        f"has {operator.op} in the initialisation of variables",
                        "Initialise them with constants",
                    )
                )


def variable_name(options: Mapping[str, Any]) -> str:
    return "/".join(filter(None, (options["container"], options["shared_name"]))) or "variable"
