"""A LiteRT (TensorFlow Lite) file -> spec and weight blobs. The file is untrusted: inconsistencies
raise SourceError.

Mutable state becomes explicit: variables become values that operators read and return, with a STATE
node at the start of a run and a SET_STATE node at its end. The integer factors of quantized
operators are computed here, from scales (`quantization.py`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.errors import RecipeError, SourceError
from webkiln.frontends.core.arrays import Blobs, Literal, Weight, check_allowance
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.inspect.header_only import report_unsupported
from webkiln.frontends.nodes.inlining import Inlining
from webkiln.frontends.nodes.reading import DistinctNames, StoredWeights, is_structural, literal
from webkiln.frontends.nodes.spec import MAX_BYTES, Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.frontends.nodes.subgraph import extract_subgraph
from webkiln.frontends.tflite.file import FileOperator, FileSignature, TfliteFile
from webkiln.frontends.tflite.quantization import derived
from webkiln.frontends.tflite.tensors import FileTensor
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


def read_model(
    path: Path, signature: str = "", cut: Subgraph = ENTIRE_MODEL
) -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of the main graph, of the graph of a signature or of this name, or
    of a subgraph of it.
    """
    file = TfliteFile(path)
    index, found = chosen(file, signature)
    reader = _Reader(file)
    try:
        graph = reader.main(index, found)
    except RecursionError:
        raise SourceError(
            f"{file.name}: its graphs hold each other without end; it is damaged; convert the model"
            " again"
        ) from None
    report_unsupported(file.name, reader.unsupported)
    return extract_subgraph(
        NodeModel(path.stem, {"": 3, "custom": 1}, graph),
        reader.weights.blobs,
        cut,
        file.name,
        reader.known,
    )


def chosen(file: TfliteFile, signature: str) -> tuple[int, FileSignature | None]:
    """The graph to convert, with the names of its inputs and outputs."""
    by_key = {item.key: item for item in file.signatures}
    if signature in by_key and signature:
        return by_key[signature].subgraph, by_key[signature]
    names = [table.text("name") for table in file.subgraphs]
    if signature:
        if signature not in names:
            known = ", ".join(dict.fromkeys((*by_key, *filter(None, names)))) or "none has a name"
            raise RecipeError(
                f"{file.name}: there is no signature or graph {signature!r}; there are: {known}"
            )
        index = names.index(signature)
    else:
        index = 0
    of_graph = [item for item in file.signatures if item.subgraph == index]
    return index, of_graph[0] if len(of_graph) == 1 else None


def end_names(
    file: TfliteFile, index: int, signature: FileSignature | None
) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """The inputs and outputs of a graph, by tensor, with the names of the signature or of the
    tensors.
    """
    tensors = file.tensors(index)

    def ends(role: str) -> list[tuple[int, str]]:
        names, given = DistinctNames(), getattr(signature, role) if signature else {}
        return [
            (number, names.distinct(given.get(number) or tensors[number].name))
            for number in file.ends(index, role)
        ]

    return ends("inputs"), ends("outputs")


def input_names(file: TfliteFile, signature: str) -> tuple[list[str], list[str]]:
    """The names of the converted graph's inputs and outputs, in the file's order."""
    inputs, outputs = end_names(file, *chosen(file, signature))
    return [name for _, name in inputs], [name for _, name in outputs]


def layer_tensors(path: Path) -> dict[str, int]:
    """The first output of every node of the main graph, by the node's name in the spec."""
    reader = _Reader(file := TfliteFile(path))
    reader.main(*chosen(file, ""))
    return reader.layers


class _Reader:
    """Names tensors, nodes and slots by position."""

    def __init__(self, file: TfliteFile) -> None:
        self.file = file
        self.weights = StoredWeights()
        self.unsupported: list[tuple[str, str, str]] = []
        self.labels = DistinctNames()
        self.count = 0
        self.opened: list[int] = []
        self.layers: dict[str, int] = {}
        self.named: dict[str, FileTensor] = {}
        self.inlining = Inlining(file.name, 0)

    def main(self, index: int, signature: FileSignature | None) -> GraphSpec:
        graph = _Graph(self, index, main=True)
        made = graph.spec(*end_names(self.file, index, signature))
        self.named = {tensor: graph.items[number] for number, tensor in graph.scope.items()}
        return made

    def known(self, called: str, tensor: str) -> Declared | None:
        """The file's metadata of a tensor of the main graph."""
        item = self.named.get(tensor)
        if item is None or item.dtype not in DTYPES:
            return None
        return Declared(
            called,
            tensor,
            item.dtype,
            tuple(None if size == -1 else size for size in item.signature),
        )

    def graph(self, index: int, where: str) -> GraphSpec:
        """Read a graph of a node. Its inputs and outputs are named by position."""
        self.file.subgraph(index, where)
        if index in self.opened or len(self.opened) >= MAX_DEPTH:
            raise SourceError(
                f"{self.file.name}: {where} calls graph {index} inside itself; the file is damaged;"
                " convert the model again"
            )
        self.opened.append(index)
        ends = (
            [
                (number, f"{role[:-1]}{place}")
                for place, number in enumerate(self.file.ends(index, role))
            ]
            for role in ("inputs", "outputs")
        )
        self.inlining.add(len(self.file.operators(index)))
        made = _Graph(self, index, main=False).spec(*ends)
        self.opened.pop()
        return made

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count - 1}"


class _Graph:
    """Reads one graph. Maps tensors and variables to the values that they currently have."""

    def __init__(self, reader: _Reader, index: int, *, main: bool) -> None:
        self.reader, self.index, self.is_main = reader, index, main
        self.file = reader.file
        self.items = self.file.tensors(index)
        self.operators = self.file.operators(index)
        self.where = f"{self.file.name}: graph {index}"
        self.scope: dict[int, str] = {}
        self.tensors: dict[str, Weight | Literal] = {}
        self.nodes: list[NodeSpec] = []
        self.uses: dict[int, list[tuple[str, int]]] = {}
        self.variables: dict[str, str] = {}
        self.changed: dict[str, str] = {}
        self.handles: dict[int, str] = {}
        self.initial: dict[str, Array] = {}

    def spec(
        self, inputs: Iterable[tuple[int, str]], outputs: Iterable[tuple[int, str]]
    ) -> GraphSpec:
        taken = list(inputs)
        for operator in self.operators:
            for place, number in enumerate(operator.inputs):
                if number != -1:
                    self.uses.setdefault(number, []).append((operator.op, place))
        for number, _ in taken:
            if number in self.scope:
                raise SourceError(
                    f"{self.where}: tensor {number} is two of its inputs; the file is damaged;"
                    " convert the model again"
                )
            self.scope[number] = self.reader.fresh()
        declared = tuple(self.declared(number, name) for number, name in taken)
        for operator in self.operators:
            self.operator(operator)
        for variable, tensor in self.changed.items():
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
            self.reader.unsupported.append(
                (name, f"is of {item.stored}", "Only numbers and truth values go in and out")
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
                return self.variable(
                    f"{item.name}.{number}",
                    np.full(_checked(item, self.where), item.zero, item.dtype),
                )
            if item.value is None and prod(item.shape) != 0:
                if item.stored == "string":
                    self.reader.unsupported.append(
                        (item.name, "holds texts", "Only numbers are supported")
                    )
                else:
                    raise SourceError(
                        f"{self.where}: tensor {number} ({item.name}) is read before anything makes"
                        " it; the file is damaged"
                    )
            value = (
                item.value
                if item.value is not None
                else np.zeros(item.shape, item.dtype if item.dtype in DTYPES else "int8")
            )
            self.scope[number] = self.reader.fresh()
            self.tensors[self.scope[number]] = self.constant(item, value, self.uses.get(number, []))
        return self.scope[number]

    def constant(
        self, item: FileTensor, value: Array, uses: list[tuple[str, int]]
    ) -> Weight | Literal:
        if is_structure(item, value, uses):
            return literal(value)
        return self.reader.weights.store(_stem(item.name), value.astype(item.dtype, copy=False))

    def variable(self, name: str, initial: Array) -> str:
        """The current value of a variable. Initially, it is the result of a STATE node."""
        if name not in self.variables:
            begin, now = self.reader.fresh(), self.reader.fresh()
            self.tensors[begin] = self.reader.weights.store(f"{name}.initial", initial)
            self.nodes.append(NodeSpec(name, "STATE", "", (begin,), (now,), {"state": name}))
            self.variables[name] = now
        return self.variables[name]

    def operator(self, operator: FileOperator) -> None:
        if operator.op in VARIABLES:
            self.resource(operator)
            return
        if not operator.outputs:
            return
        label = self.reader.labels.distinct(_stem(self.items[operator.outputs[0]].name))
        if self.is_main:
            self.reader.layers[label] = operator.outputs[0]
        inputs = [self.tensor(number) for number in operator.inputs]
        attrs = {
            key: value
            for key, value in operator.options.items()
            if key not in BRANCHES.get(operator.op, {})
        }
        for option, name in BRANCHES.get(operator.op, {}).items():
            attrs[name] = self.reader.graph(operator.options[option], label)
        attrs |= self.types(operator)
        if operator.is_custom:
            attrs["custom_options"] = tuple(operator.custom_options)
        attrs["state_inputs"] = places = tuple(
            place
            for place, number in enumerate(operator.inputs)
            if number != -1 and self.items[number].is_variable
        )
        outputs = [self.made(number) for number in operator.outputs]
        for place in places:
            item = self.items[operator.inputs[place]]
            after = self.reader.fresh()
            self.variables[f"{item.name}.{item.index}"] = self.changed[
                f"{item.name}.{item.index}"
            ] = after
            outputs.append(after)
        if places and not self.is_main:
            self.reader.unsupported.append(
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
        made = derived(
            operator,
            items,
            [self.items[number] for number in operator.outputs],
            [self.items[number] if number != -1 else None for number in operator.intermediates],
            f"{self.where}: {label}",
        )
        names = []
        for name, value in made.items():
            if isinstance(value, np.ndarray):
                tensor = self.reader.fresh()
                self.tensors[tensor] = self.reader.weights.store(f"{label}/{name}", value)
                names.append((name, tensor))
            else:
                attrs[name] = value
        attrs["extra"] = tuple(name for name, _ in names)
        return [tensor for _, tensor in names]

    def made(self, number: int) -> str:
        if number in self.scope:
            raise SourceError(
                f"{self.where}: tensor {number} ({self.items[number].name}) is made twice; the file"
                " is damaged"
            )
        self.scope[number] = self.reader.fresh()
        return self.scope[number]

    def resource(self, operator: FileOperator) -> None:
        """Variables: a read returns the current value, an assignment replaces it."""
        if not self.is_main:
            self.reader.unsupported.append(
                (
                    self.where,
                    f"has {operator.op} inside a branch or loop",
                    "Keep the variables outside of it",
                )
            )
            return
        match operator.op:
            case "CALL_ONCE":
                self.initialise(operator.options["init_subgraph_index"])
            case "VAR_HANDLE":
                self.handles[operator.outputs[0]] = _variable_name(operator.options)
            case "READ_VARIABLE":
                name = self.handle(operator)
                if name not in self.initial and name not in self.variables:
                    raise SourceError(
                        f"{self.where}: the variable {name} is read before it is assigned; convert"
                        " the model with its initial values"
                    )
                self.scope[operator.outputs[0]] = self.variable(
                    name, self.initial.get(name, np.zeros(0))
                )
            case "ASSIGN_VARIABLE":
                name, value = self.handle(operator), self.tensor(operator.inputs[1])
                if name in self.initial:
                    self.variable(name, self.initial[name])
                    self.changed[name] = value
                self.variables[name] = value

    def handle(self, operator: FileOperator) -> str:
        number = operator.inputs[0] if operator.inputs else -1
        if number not in self.handles:
            raise SourceError(
                f"{self.where}: {operator.op} has no variable; the file is damaged; convert the"
                " model again"
            )
        return self.handles[number]

    def initialise(self, index: int) -> None:
        """The values that the initialization graph assigns."""
        self.file.subgraph(index, "CALL_ONCE")
        items, handles = self.file.tensors(index), dict[int, str]()
        for operator in self.file.operators(index):
            if operator.op == "VAR_HANDLE":
                handles[operator.outputs[0]] = _variable_name(operator.options)
            elif (
                operator.op == "ASSIGN_VARIABLE"
                and len(operator.inputs) == 2
                and operator.inputs[0] in handles
            ):
                value = items[operator.inputs[1]].value
                if value is None:
                    self.reader.unsupported.append(
                        (
                            handles[operator.inputs[0]],
                            "has an initial value that is computed",
                            "Make it a constant",
                        )
                    )
                    continue
                self.initial[handles[operator.inputs[0]]] = value
            else:
                self.reader.unsupported.append(
                    (
                        f"graph {index}",
                        f"has {operator.op} while variables are made",
                        "Make them of constants",
                    )
                )


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


def _variable_name(options: Mapping[str, Any]) -> str:
    return "/".join(filter(None, (options["container"], options["shared_name"]))) or "variable"


def _stem(name: str) -> str:
    """The name of the first of the fused operators."""
    return name.partition(";")[0] or "tensor"
