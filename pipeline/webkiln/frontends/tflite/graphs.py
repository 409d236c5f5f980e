"""The graphs of a file as specs."""

from collections.abc import Iterable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Literal, Weight, check_allowance
from webkiln.frontends.nodes import narrow
from webkiln.frontends.nodes.reading import is_structural, literal
from webkiln.frontends.nodes.spec import MAX_BYTES, Declared, GraphSpec, NodeSpec
from webkiln.frontends.tflite.file import FileOperator, FileSignature
from webkiln.frontends.tflite.quantization import derived
from webkiln.frontends.tflite.reading import Reading
from webkiln.frontends.tflite.signatures import end_names
from webkiln.frontends.tflite.tensors import FileTensor
from webkiln.frontends.tflite.variables import Variables, variable_name
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import DTYPES, Array

MAX_DEPTH = 32
STRUCTURAL = frozenset(
    {
        ("PADV2", 2),
        ("NON_MAX_SUPPRESSION_V4", 2),
        ("NON_MAX_SUPPRESSION_V5", 2),
        ("FILL", 1),
        ("RANGE", 0),
        ("RANGE", 1),
        ("RANGE", 2),
    }
)
"""Operands that are structure, whatever their dtype."""
BRANCHES = {
    "IF": {"then_subgraph_index": "then", "else_subgraph_index": "else"},
    "WHILE": {"cond_subgraph_index": "cond", "body_subgraph_index": "body"},
    "CALL": {"subgraph": "body"},
}
"""Options that refer to a graph -> their names in the spec."""
VARIABLES = frozenset({"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"})


class GraphReader:
    """Reads one graph. Maps tensors and variables to the values that they currently have."""

    def __init__(self, reading: Reading, index: int, *, main: bool) -> None:
        self.reading, self.index, self.is_main = reading, index, main
        self.file = reading.file
        self.items = self.file.tensors(index)
        self.operators = self.file.operators(index)
        self.where = f"{self.file.name}: graph {index}"
        self.scope: dict[int, str] = {}
        self.tensors: dict[str, Weight | Literal] = {}
        self.nodes: list[NodeSpec] = []
        self.uses: dict[int, list[tuple[str, int]]] = {}
        self.variables = Variables(reading, self.where, self.nodes, self.tensors)

    def spec(
        self, inputs: Iterable[tuple[int, str]], outputs: Iterable[tuple[int, str]]
    ) -> GraphSpec:
        named = list(inputs)
        for operator in self.operators:
            for position, number in enumerate(operator.inputs):
                if number != -1:
                    self.uses.setdefault(number, []).append((operator.op, position))
        for number, _ in named:
            if number in self.scope:
                raise SourceError(
                    f"{self.where}: tensor {number} is an input twice; the file is damaged;"
                    " convert the model again"
                )
            self.scope[number] = self.reading.fresh()
        declared = tuple(self.declared(number, name) for number, name in named)
        for operator in self.operators:
            self.operator(operator)
        for variable, tensor in self.variables.changed.items():
            self.nodes.append(
                NodeSpec(f"{variable}.next", "SET_STATE", "", (tensor,), (), {"state": variable})
            )
        results = tuple(
            replace(self.declared(number, name), tensor=self.tensor(number))
            for number, name in outputs
        )
        return GraphSpec(declared, results, self.tensors, tuple(self.nodes))

    def declared(self, number: int, name: str) -> Declared:
        item = self.items[number]
        if item.dtype not in DTYPES:
            self.reading.unsupported.append(
                (
                    name,
                    f"is of {item.stored}",
                    "Only numbers and booleans can be inputs and outputs",
                )
            )
        shape = tuple(None if size == -1 else size for size in item.signature)
        return Declared(name, self.scope.get(number, ""), item.dtype, shape)

    def tensor(self, number: int) -> str:
        """The value of a tensor. Constants are created on first use."""
        if number == -1:
            return ""
        if number not in self.scope:
            item = self.items[number]
            if item.is_variable:
                check_allowance(
                    prod(item.shape) * np.dtype(item.dtype).itemsize,
                    f"{self.where}: tensor {number}",
                )
                return self.variables.value(
                    f"{item.name}.{number}",
                    np.full(_checked(item, self.where), item.zero, item.dtype),
                )
            if item.value is None and prod(item.shape) != 0:
                if item.stored == "string":
                    self.reading.unsupported.append(
                        (item.name, "holds strings", "Only numbers are supported")
                    )
                else:
                    raise SourceError(
                        f"{self.where}: tensor {number} ({item.name}) is read before an"
                        " operator writes it; the file is damaged"
                    )
            value = (
                item.value
                if item.value is not None
                else np.zeros(item.shape, item.dtype if item.dtype in DTYPES else "int8")
            )
            self.scope[number] = self.reading.fresh()
            self.tensors[self.scope[number]] = self.constant(item, value, self.uses.get(number, []))
        return self.scope[number]

    def constant(
        self, item: FileTensor, value: Array, uses: list[tuple[str, int]]
    ) -> Weight | Literal:
        if is_structure(item, value, uses):
            return literal(value)
        if item.stored in narrow.BITS:
            stored = narrow.packed(value, item.stored)
            return self.reading.weights.store_bytes(
                _stem(item.name), stored, item.stored, item.shape
            )
        return self.reading.weights.store(_stem(item.name), value.astype(item.dtype, copy=False))

    def operator(self, operator: FileOperator) -> None:
        if operator.op in VARIABLES:
            self.resource(operator)
            return
        if not operator.outputs:
            return
        label = self.reading.labels.distinct(_stem(self.items[operator.outputs[0]].name))
        if self.is_main:
            self.reading.layers[label] = operator.outputs[0]
        inputs = [self.tensor(number) for number in operator.inputs]
        attrs = {
            key: value
            for key, value in operator.options.items()
            if key not in BRANCHES.get(operator.op, {})
        }
        for option, name in BRANCHES.get(operator.op, {}).items():
            attrs[name] = nested_graph(self.reading, operator.options[option], label)
        attrs |= self.types(operator)
        if operator.is_custom:
            attrs["custom_options"] = tuple(operator.custom_options)
        attrs["state_inputs"] = positions = tuple(
            position
            for position, number in enumerate(operator.inputs)
            if number != -1 and self.items[number].is_variable
        )
        outputs = [self.result(number) for number in operator.outputs]
        for position in positions:
            item = self.items[operator.inputs[position]]
            after = self.reading.fresh()
            self.variables.update(f"{item.name}.{item.index}", after)
            outputs.append(after)
        if positions and not self.is_main:
            self.reading.unsupported.append(
                (label, "keeps a state inside a branch or loop", "Convert the model without it")
            )
        extra = self.factors(operator, label, attrs)
        clean = {key: value for key, value in attrs.items() if value not in ((), "")}
        self.nodes.append(
            NodeSpec(
                label,
                operator.op,
                "custom" if operator.is_custom else "",
                (*inputs, *extra),
                tuple(outputs),
                clean,
            )
        )

    def types(self, operator: FileOperator) -> dict[str, Any]:
        """Attributes that handlers need: the types of the outputs and, for quantized nodes, zero
        points.
        """
        outputs = [self.items[number] for number in operator.outputs]
        attrs: dict[str, Any] = {
            "dtypes": tuple(item.dtype for item in outputs),
            "shapes": tuple(item.signature for item in outputs),
        }
        items = [self.items[number] if number != -1 else None for number in operator.inputs]
        if any(item is not None and item.is_quantized for item in (*items, *outputs)):
            attrs["zeros"] = tuple(item.zero if item is not None else 0 for item in items)
            attrs["out_zeros"] = tuple(item.zero for item in outputs)
            attrs["quantized"] = tuple(
                bool(item is not None and item.is_quantized) for item in items
            )
        return attrs

    def factors(self, operator: FileOperator, label: str, attrs: dict[str, Any]) -> list[str]:
        """Operands after those of the file: the integer factors derived from scales."""
        items = [self.items[number] if number != -1 else None for number in operator.inputs]
        factors = derived(
            operator,
            items,
            [self.items[number] for number in operator.outputs],
            [self.items[number] if number != -1 else None for number in operator.intermediates],
            f"{self.where}: {label}",
        )
        names = []
        for name, value in factors.items():
            if isinstance(value, np.ndarray):
                tensor = self.reading.fresh()
                self.tensors[tensor] = self.reading.weights.store(f"{label}/{name}", value)
                names.append((name, tensor))
            else:
                attrs[name] = value
        attrs["extra"] = tuple(name for name, _ in names)
        return [tensor for _, tensor in names]

    def result(self, number: int) -> str:
        if number in self.scope:
            raise SourceError(
                f"{self.where}: tensor {number} ({self.items[number].name}) is written twice; the"
                " file is damaged"
            )
        self.scope[number] = self.reading.fresh()
        return self.scope[number]

    def resource(self, operator: FileOperator) -> None:
        """Variables: a read returns the current value, an assignment replaces it."""
        if not self.is_main:
            self.reading.unsupported.append(
                (
                    self.where,
                    f"has {operator.op} inside a branch or loop",
                    "Keep the variables outside of it",
                )
            )
            return
        match operator.op:
            case "CALL_ONCE":
                self.variables.initialise(operator.options["init_subgraph_index"])
            case "VAR_HANDLE":
                self.variables.handles[operator.outputs[0]] = variable_name(operator.options)
            case "READ_VARIABLE":
                variable = self.variables.handle(operator)
                self.scope[operator.outputs[0]] = self.variables.read(variable)
            case "ASSIGN_VARIABLE":
                variable = self.variables.handle(operator)
                self.variables.assign(variable, self.tensor(operator.inputs[1]))


def main_graph(reading: Reading, index: int, signature: FileSignature | None) -> GraphSpec:
    """Read the main graph."""
    graph = GraphReader(reading, index, main=True)
    spec = graph.spec(*end_names(reading.file, index, signature))
    reading.named = {tensor: graph.items[number] for number, tensor in graph.scope.items()}
    return spec


def nested_graph(reading: Reading, index: int, where: str) -> GraphSpec:
    """Read a graph of a node. Its inputs and outputs are named by position."""
    file = reading.file
    file.subgraph(index, where)
    if index in reading.opened or len(reading.opened) >= MAX_DEPTH:
        raise SourceError(
            f"{file.name}: {where} calls graph {index} inside itself; the file is damaged;"
            " convert the model again"
        )
    reading.opened.append(index)
    ends = (
        [
            (number, f"{role[:-1]}{position}")
            for position, number in enumerate(file.ends(index, role))
        ]
        for role in ("inputs", "outputs")
    )
    reading.inlining.add(len(file.operators(index)))
    spec = GraphReader(reading, index, main=False).spec(*ends)
    reading.opened.pop()
    return spec


def is_structure(item: FileTensor, value: Array, uses: list[tuple[str, int]]) -> bool:
    """Whether a constant is part of the structure: a small one that is a scalar or has integers, or
    one whose only reader requires it.
    """
    if value.dtype == np.float16:
        return False
    if set(uses) & STRUCTURAL or value.size == 0:
        return value.size <= INLINE_ELEMENTS
    return item.quantization is None and is_structural(value)


def _checked(item: FileTensor, where: str) -> tuple[int, ...]:
    if item.dtype not in DTYPES or prod(item.shape) * np.dtype(item.dtype).itemsize > MAX_BYTES:
        raise SourceError(
            f"{where}: the variable {item.name} is {item.stored}{list(item.shape)}; the file is"
            " damaged; convert it again"
        )
    return item.shape


def _stem(name: str) -> str:
    """The name of the first of the fused operators."""
    return name.partition(";")[0] or "tensor"
