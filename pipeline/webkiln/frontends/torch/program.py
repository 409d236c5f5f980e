"""A program of torch.export -> spec and weight blobs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx import Node

from webkiln.errors import SourceError, WebkilnError
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.inspect.header_only import report_unsupported
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.frontends.nodes.subgraph import TypeOf, extract_subgraph
from webkiln.frontends.torch.decompositions import decomposed
from webkiln.frontends.torch.labels import output_names
from webkiln.frontends.torch.program_nodes import NodeReader
from webkiln.frontends.torch.read import Reading, dtype_name, real_of
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import DTYPES


def read_program(
    program: torch.export.ExportedProgram,
    name: str,
    inputs: Sequence[str] = (),
    cut: Subgraph = ENTIRE_MODEL,
    *,
    settings: Sequence[str] = (),
) -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of a program, or of a subgraph of it. Messages call it `name`.
    `inputs` renames its inputs; `settings` are arguments whose values it contains.
    """
    try:
        reader = _Reader(name, decomposed(program), inputs)
        graph = reader.model()
    except WebkilnError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise SourceError(
            f"{name}: the program is inconsistent ({type(error).__name__}: {reason}); export it"
            " again"
        ) from None
    report_unsupported(name, reader.read.unsupported)
    opsets = {"": 1, "complex": 1, "torchvision": 1, "webkiln": 1, "state": 1}
    model = NodeModel(Path(name).stem, opsets, graph, settings=tuple(settings))
    return extract_subgraph(model, reader.read.weights.blobs, cut, name, reader.types())


def _is_filled(value: torch.Tensor) -> bool:
    """Whether a tensor is large, and all its elements are one number."""
    is_large = value.dtype == torch.float32 and value.numel() > INLINE_ELEMENTS
    return is_large and bool((value == value.flatten()[0]).all())


class _Reader(NodeReader):
    """Reads the graph, inputs, outputs and states of a program."""

    def __init__(
        self, name: str, program: torch.export.ExportedProgram, inputs: Sequence[str]
    ) -> None:
        super().__init__(Reading(name))
        self.program, self.called = program, iter(inputs)
        self.sizes: dict[str, str] = {}

    def model(self) -> GraphSpec:
        signature = self.program.graph_signature
        graph = self.program.graph_module
        placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        changed = set(signature.buffers_to_mutate.values())
        inputs: list[Declared] = []
        for node, spec in zip(placeholders, signature.input_specs, strict=True):
            if spec.kind == InputKind.USER_INPUT:
                if isinstance(spec.arg, ConstantArgument):
                    continue
                inputs.append(self.declared(node))
            elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                self.stored(
                    node,
                    str(spec.target),
                    trained=spec.kind == InputKind.PARAMETER or spec.target in changed,
                    state=spec.target in changed,
                )
            else:
                self.read.unsupported.append(
                    (
                        str(spec.target or node.name),
                        f"is a {spec.kind.name.lower()}",
                        "Only tensors can be parameters, buffers and constants",
                    )
                )
        results = self.body(graph)
        outputs: list[Declared] = []
        names = iter(output_names(self.program))
        for item, spec in zip(results, signature.output_specs, strict=True):
            if spec.kind == OutputKind.USER_OUTPUT:
                self.output(next(names), item, outputs)
            elif spec.kind == OutputKind.BUFFER_MUTATION:
                buffer = self.buffer(str(spec.target))
                attrs = {"state": spec.target, "dtype": dtype_name(real_of(buffer).dtype)}
                self.nodes.append(
                    NodeSpec(
                        self.read.labels.distinct(f"{spec.target}.next"),
                        "SET_STATE",
                        "state",
                        (self.names[item],),
                        (),
                        attrs,
                    )
                )
        if not outputs:
            raise SourceError(f"{self.read.name}: returns no tensor; return at least one")
        return GraphSpec(tuple(inputs), tuple(outputs), self.tensors, tuple(self.nodes))

    def buffer(self, target: str) -> torch.Tensor:
        state = self.program.state_dict
        value = state[target] if target in state else self.program.constants[target]
        assert isinstance(value, torch.Tensor)
        return value

    def stored(self, node: Node, target: str, *, trained: bool, state: bool) -> None:
        if not node.users and not state:
            return
        name, value = self.read.fresh(), self.buffer(target)
        self.names[node] = name
        if state and _is_filled(value):
            attrs = {"size": tuple(value.shape), "fill_value": value.flatten()[0].item()}
            label = self.read.labels.distinct(f"{target}.initial")
            self.nodes.append(NodeSpec(label, "full", "", (), (name,), attrs))
        else:
            self.tensors[name] = self.read.tensor(value, target, trained=trained)
        if state:
            self.names[node] = self.read.fresh()
            attrs = {"state": target}
            self.nodes.append(
                NodeSpec(
                    self.read.labels.distinct(target),
                    "STATE",
                    "state",
                    (name,),
                    (self.names[node],),
                    attrs,
                )
            )

    def declared(self, node: Node) -> Declared:
        self.names[node] = self.read.fresh()
        value, name = node.meta["val"], next(self.called, node.name)
        if not isinstance(value, torch.Tensor):
            self.read.unsupported.append(
                (
                    name,
                    f"is an input of type {type(value).__name__}",
                    "Only tensors can be inputs; make it a constant of the model",
                )
            )
            return Declared(name, self.names[node], "float32", ())
        shape = tuple(self.size(size, f"{name}_{axis}") for axis, size in enumerate(value.shape))
        return Declared(name, self.names[node], dtype_name(value.dtype), shape)

    def types(self) -> TypeOf:
        """The program's metadata of tensors. Dynamic sizes are named by the part that is built."""
        values = {
            name: node.meta["val"]
            for node, name in self.names.items()
            if isinstance(node.meta.get("val"), torch.Tensor)
        }
        self.sizes = {}

        def declare(name: str, tensor: str) -> Declared | None:
            if tensor not in values or dtype_name(values[tensor].dtype) not in DTYPES:
                return None
            shape = tuple(
                self.size(size, f"{name}_{axis}") for axis, size in enumerate(values[tensor].shape)
            )
            return Declared(name, tensor, dtype_name(values[tensor].dtype), shape)

        return declare

    def size(self, size: Any, name: str) -> int | str | None:
        """A dynamic size is named after its first occurrence. A computed size is named after its
        own position.
        """
        if isinstance(size, int):
            return size
        expression = size.node.expr
        return self.sizes.setdefault(str(expression), name) if expression.is_symbol else None

    def output(self, name: str, item: Any, outputs: list[Declared]) -> None:
        if isinstance(item, Node):
            value = item.meta.get("val")
            if isinstance(value, torch.Tensor) and dtype_name(value.dtype) not in DTYPES:
                hint = (
                    "Return its real and imaginary parts: torch.view_as_real"
                    if value.is_complex()
                    else DTYPE_HINT
                )
                self.read.unsupported.append((name, f"is an output of dtype {value.dtype}", hint))
            outputs.append(
                Declared(
                    name,
                    self.names[item],
                    dtype_name(value.dtype) if isinstance(value, torch.Tensor) else "int64",
                    None,
                )
            )
        elif item is not None:
            tensor = self.read.fresh()
            self.tensors[tensor] = self.read.tensor(torch.as_tensor(item), name, trained=False)
            outputs.append(Declared(name, tensor, dtype_name(torch.as_tensor(item).dtype), None))


DTYPE_HINT = f"Supported are {', '.join(DTYPES)}"
