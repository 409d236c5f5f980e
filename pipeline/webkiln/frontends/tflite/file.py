"""A model file as tables: subgraphs, signatures and operators. Each is checked when it is read."""

import mmap
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.tflite.enumerations import OPERATORS
from webkiln.frontends.tflite.flatbuffer import FlatBuffer, FlatTable
from webkiln.frontends.tflite.option_tables import CHOICES, OPTION_TABLES, OPTIONS
from webkiln.frontends.tflite.schema import SCHEMA
from webkiln.frontends.tflite.tensors import FileTensor, read_tensor, stored_bytes

IDENTIFIER = b"TFL3"
CUSTOM = 32
PLACEHOLDER = 127
"""The value of the deprecated 8-bit operator code that refers to the 32-bit one."""
MAX_SUBGRAPHS = 10_000
MAX_OPERATORS = 1 << 20


@dataclass(frozen=True)
class FileSignature:
    """The names of a signature's inputs and outputs, by tensor of the subgraph."""

    key: str
    subgraph: int
    inputs: Mapping[int, str]
    outputs: Mapping[int, str]


@dataclass(frozen=True)
class FileOperator:
    """A node. `op` is the name of the builtin or custom operator. An absent operand is -1."""

    op: str
    is_custom: bool
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    options: Mapping[str, Any]
    custom_options: bytes


class TfliteFile:
    """A model. Messages call it `name`."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.name = name or path.name
        data = _mapped(path)
        if len(data) < 8 or bytes(data[4:8]) != IDENTIFIER:
            raise SourceError(
                f"{self.name}: is not a LiteRT (TensorFlow Lite) model, or is damaged"
            )
        self.buffer = FlatBuffer(data, self.name, SCHEMA)
        self.model = self.buffer.root("Model")
        if self.model["version"] != 3:
            raise SourceError(
                f"{self.name}: has version {self.model['version']} of the format, expected 3;"
                " convert the model again"
            )
        self.subgraphs = (
            list(self.model.vector("subgraphs"))
            if len(self.model.vector("subgraphs")) < MAX_SUBGRAPHS
            else []
        )
        if not self.subgraphs:
            raise SourceError(
                f"{self.name}: contains no graph; the file is damaged; convert the model again"
            )
        self.codes = self.model.vector("operator_codes")
        self._tensors: dict[int, tuple[FileTensor, ...]] = {}

    @cached_property
    def buffers(self) -> list[FlatTable]:
        return list(self.model.vector("buffers"))

    @cached_property
    def signatures(self) -> tuple[FileSignature, ...]:
        result = []
        for item in self.model.vector("signature_defs"):
            names = [
                {entry["tensor_index"]: entry.text("name") for entry in item.vector(role)}
                for role in ("inputs", "outputs")
            ]
            result.append(FileSignature(item.text("signature_key"), item["subgraph_index"], *names))
        return tuple(result)

    def subgraph(self, index: int, where: str = "") -> FlatTable:
        if not 0 <= index < len(self.subgraphs):
            raise SourceError(
                f"{self.name}: {where or 'it'} refers to graph {index}, the file has"
                f" {len(self.subgraphs)}; it is damaged"
            )
        result: FlatTable = self.subgraphs[index]
        return result

    def tensors(self, index: int) -> tuple[FileTensor, ...]:
        if index not in self._tensors:
            tables = self.subgraph(index).vector("tensors")
            result = (
                read_tensor(
                    self.buffer,
                    table,
                    number,
                    self.buffers,
                    f"{self.name}: tensor {number} of graph {index}",
                )
                for number, table in enumerate(tables)
            )
            self._tensors[index] = tuple(result)
        return self._tensors[index]

    def ends(self, index: int, role: str) -> tuple[int, ...]:
        """The numbers of the tensors that are inputs or outputs of a graph."""
        numbers = tuple(self.subgraph(index).vector(role).numbers())
        self._check(numbers, index, f"the {role} of graph {index}")
        return numbers

    def operators(self, index: int) -> list[FileOperator]:
        tables = self.subgraph(index).vector("operators")
        if len(tables) > MAX_OPERATORS:
            raise SourceError(
                f"{self.name}: graph {index} has {len(tables)} operators, expected at most"
                f" {MAX_OPERATORS}; it is damaged"
            )
        return [self._operator(table, index, number) for number, table in enumerate(tables)]

    def _operator(self, table: FlatTable, graph: int, number: int) -> FileOperator:
        where = f"operator {number} of graph {graph}"
        code = (
            self.codes[table["opcode_index"]] if table["opcode_index"] < len(self.codes) else None
        )
        if code is None:
            raise SourceError(
                f"{self.name}: {where} refers to operator code {table['opcode_index']}, the file"
                f" has {len(self.codes)}; it is damaged"
            )
        builtin = max(code["builtin_code"], code["deprecated_builtin_code"])
        if not 0 <= builtin < len(OPERATORS):
            raise SourceError(
                f"{self.name}: {where} has the number {builtin}, supported are 0 to"
                f" {len(OPERATORS) - 1}; the file is newer, or damaged"
            )
        inputs, outputs, intermediates = (
            tuple(table.vector(role).numbers()) for role in ("inputs", "outputs", "intermediates")
        )
        self._check([item for item in (*inputs, *intermediates) if item != -1], graph, where)
        self._check(outputs, graph, where)
        custom = code.text("custom_code") if builtin == CUSTOM else ""
        if builtin == CUSTOM and not custom:
            raise SourceError(
                f"{self.name}: {where} is a custom operator without a name; the file is damaged;"
                " convert the model again"
            )
        op = custom or OPERATORS[builtin]
        raw = bytes(table.vector("custom_options").data())
        if table["large_custom_options_offset"] > 1:
            offset, size = table["large_custom_options_offset"], table["large_custom_options_size"]
            self.buffer.check(offset, size)
            raw = bytes(self.buffer.data[offset : offset + size])
        options = {} if custom else self._options(table, op)
        return FileOperator(
            op, bool(custom), code["version"], inputs, outputs, intermediates, options, raw
        )

    def _options(self, table: FlatTable, op: str) -> dict[str, Any]:
        """The options of an operator. Absent ones have their defaults."""
        if op not in OPTIONS:
            return {}
        kind = OPTIONS[op]
        number, layout = OPTION_TABLES[kind]
        stored = (
            table.opened("builtin_options", kind)
            if table.union("builtin_options") == number
            else None
        )
        options: dict[str, Any] = {}
        for name, field in layout.items():
            value = field.default if stored is None else stored[name]
            if field.kind.startswith("["):
                options[name] = (
                    tuple(value.numbers()) if stored is not None and value is not None else ()
                )
            elif field.kind == "string":
                options[name] = value or ""
            elif name in CHOICES:
                if not 0 <= value < len(CHOICES[name]):
                    raise SourceError(
                        f"{self.name}: the option {name} of {op} is {value}; the file is newer than"
                        " webkiln, or damaged"
                    )
                options[name] = CHOICES[name][value]
            else:
                options[name] = value
        return options

    def metadata(self, name: str) -> memoryview | None:
        """The bytes of a metadata entry."""
        for item in self.model.vector("metadata"):
            if item.text("name") == name and item["buffer"] < len(self.buffers):
                return stored_bytes(self.buffer, self.buffers[item["buffer"]])
        return None

    def _check(self, numbers: tuple[int, ...] | list[int], graph: int, where: str) -> None:
        count = len(self.subgraphs[graph].vector("tensors"))
        if wrong := [number for number in numbers if not 0 <= number < count]:
            raise SourceError(
                f"{self.name}: {where}: tensor {wrong[0]} does not exist, the graph has {count};"
                " the file is damaged; convert it again"
            )


def _mapped(path: Path) -> memoryview:
    try:
        with path.open("rb") as file:
            with suppress(ValueError):
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            return memoryview(file.read())
    except OSError as error:
        raise SourceError(f"{path.name}: cannot be read: {error.strerror}") from None
