"""A program of torch.export -> spec and weight blobs."""

import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from webkiln.errors import SourceError, WebkilnError
from webkiln.frontends.core.arrays import Blobs, Literal, Weight
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.inspect.header_only import report_unsupported
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.frontends.nodes.subgraph import TypeOf, extract_subgraph
from webkiln.frontends.torch.aten import NUMBER, TENSOR
from webkiln.frontends.torch.read import Reading, dtype_name, named_arguments
from webkiln.ir.types import DTYPES

KEPT = (
    "lstm.input",
    "gru.input",
    "rnn_tanh.input",
    "rnn_relu.input",
    "linear.default",
    "matmul.default",
    "einsum.default",
    "instance_norm.default",
    "scaled_dot_product_attention.default",
    "upsample_nearest1d.vec",
    "upsample_nearest2d.vec",
    "upsample_nearest3d.vec",
    "_upsample_nearest_exact1d.vec",
    "_upsample_nearest_exact2d.vec",
    "_upsample_nearest_exact3d.vec",
    "upsample_linear1d.vec",
    "upsample_bilinear2d.vec",
    "upsample_trilinear3d.vec",
    "upsample_bicubic2d.vec",
    "_upsample_bilinear2d_aa.vec",
    "_upsample_bicubic2d_aa.vec",
    "pad.default",
    "im2col.default",
    "affine_grid_generator.default",
    "adaptive_max_pool1d.default",
    "adaptive_max_pool2d.default",
    "adaptive_max_pool3d.default",
    "adaptive_avg_pool1d.default",
    "pixel_shuffle.default",
    "pixel_unshuffle.default",
    "roll.default",
    "cosine_similarity.default",
    "conv1d.padding",
    "conv2d.padding",
    "conv3d.padding",
    "hardsigmoid.default",
    "hardswish.default",
    "mish.default",
    "silu.default",
    "softplus.default",
    "celu.default",
    "selu.default",
    "log_sigmoid_forward.default",
    "rms_norm.default",
    "bilinear.default",
    "lstm_cell.default",
    "gru_cell.default",
    "rnn_tanh_cell.default",
    "tril.default",
    "triu.default",
    "unfold.default",
    "linspace.default",
    "median.dim",
    "median.default",
    "one_hot.default",
    "tensordot.default",
    "searchsorted.Tensor",
    "bucketize.Tensor",
    "index_add.default",
    "index_copy.default",
    "channel_shuffle.default",
    "nan_to_num.default",
    "log_softmax.int",
    "softmax.int",
    "logsumexp.default",
    "embedding_bag.padding_idx",
    "std.correction",
    "var_mean.correction",
    "repeat_interleave.self_int",
    "take_along_dim.default",
    "atan2.default",
    "hypot.default",
    "lerp.Scalar",
    "lerp.Tensor",
    "xlogy.Tensor",
)
"""Operators that are converted directly and not decomposed."""
IGNORED = frozenset(
    {
        "_assert_tensor_metadata",
        "_assert_async",
        "sym_constrain_range",
        "sym_constrain_range_for_size",
        "_functional_assert_async",
        "_print",
    }
)
NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)
SYMBOLS = {
    operator.add: "add",
    operator.sub: "sub",
    operator.mul: "mul",
    operator.floordiv: "floordiv",
    operator.truediv: "truediv",
    operator.mod: "mod",
    operator.neg: "neg",
    operator.pow: "pow",
    operator.eq: "eq",
    operator.ne: "ne",
    operator.lt: "lt",
    operator.le: "le",
    operator.gt: "gt",
    operator.ge: "ge",
    operator.and_: "and",
    operator.or_: "or",
    torch.sym_max: "max",
    torch.sym_min: "min",
    torch.sym_float: "float",
    torch.sym_int: "int",
    torch.sym_not: "not",
}


_DECOMPOSED: WeakKeyDictionary[torch.export.ExportedProgram, torch.export.ExportedProgram] = (
    WeakKeyDictionary()
)


def decomposed(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program with functional operators only, in core ATen plus KEPT. Cached per program: torch
    takes half a second even for a single operator.
    """
    found = _DECOMPOSED.get(program)
    if found is None:
        table = torch.export.default_decompositions()
        for name in KEPT:
            packet, _, overload = name.partition(".")
            table.pop(getattr(getattr(torch.ops.aten, packet, None), overload, None), None)
        found = _DECOMPOSED[program] = program.run_decompositions(table)
    return found


def read_program(
    program: torch.export.ExportedProgram, name: str, inputs: Sequence[str] = (), cut: Subgraph = ENTIRE_MODEL
) -> tuple[NodeModel, Blobs]:  # fmt: skip
    """The spec and weight blobs of a program, or of a subgraph of it. Messages call it `name`.
    `inputs` renames its inputs.
    """
    try:
        reader = _Reader(name, decomposed(program), inputs)
        graph = reader.model()
    except WebkilnError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise SourceError(
            f"{name}: the program does not hold together ({type(error).__name__}: {said}); export"
            " it again"
        ) from None
    report_unsupported(name, reader.read.unsupported)
    whole = NodeModel(Path(name).stem, {"": 1, "complex": 1, "torchvision": 1, "state": 1}, graph)
    return extract_subgraph(whole, reader.read.weights.blobs, cut, name, reader.known())


def output_names(program: torch.export.ExportedProgram) -> list[str]:
    """The names of the outputs: keys and fields of the module's result, or `output` and a number."""
    spec = program.call_spec.out_spec
    filled = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    found = []
    for path, _ in pytree.tree_flatten_with_path(filled)[0]:
        parts = [
            str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path
        ]
        known = "_".join(
            part if part.isidentifier() or number else f"output_{part}"
            for number, part in enumerate(parts)
        )
        found.append(known or "output")
    return found


def label(read: Reading, node: Node) -> str:
    """A node's name in messages and layers: its module, and its operator if the module has several."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path, kind = stack[-1] if stack else ("", "")
    path = str(path) if "_empty_nn_module" not in str(path) else ""
    op = opname(node)
    own = str(kind).startswith("torch.nn.modules.") and "container" not in str(kind)
    return read.labels.distinct(path if path and own else f"{path}.{op}" if path else op)


def opname(node: Node) -> str:
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return str(target._schema.name.rpartition("::")[2])
    return f"sym_{SYMBOLS.get(target, getattr(target, '__name__', str(target)))}"


class _Reader:
    def __init__(
        self, name: str, program: torch.export.ExportedProgram, inputs: Sequence[str]
    ) -> None:
        self.read, self.program, self.called = Reading(name), program, iter(inputs)
        self.nodes: list[NodeSpec] = []
        self.tensors: dict[str, Weight | Literal] = {}
        self.names: dict[Node, str] = {}
        self.parts: dict[tuple[Node, int], str] = {}
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
                self.held(
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
                        "Only tensors can be held by a model",
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
                attrs = {"state": spec.target, "dtype": dtype_name(buffer.dtype)}
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
            raise SourceError(f"{self.read.name}: gives no tensor; return one")
        return GraphSpec(tuple(inputs), tuple(outputs), self.tensors, tuple(self.nodes))

    def buffer(self, target: str) -> torch.Tensor:
        state = self.program.state_dict
        found = state[target] if target in state else self.program.constants[target]
        assert isinstance(found, torch.Tensor)
        return found

    def held(self, node: Node, target: str, *, trained: bool, state: bool) -> None:
        if not node.users and not state:
            return
        name = self.read.fresh()
        self.tensors[name] = self.read.tensor(self.buffer(target), target, trained=trained)
        self.names[node] = name
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
                    f"is an input of {type(value).__name__}",
                    "Only tensors can go in; make it a constant of the model",
                )
            )
            return Declared(name, self.names[node], "float32", ())
        shape = tuple(self.size(size, f"{name}_{axis}") for axis, size in enumerate(value.shape))
        return Declared(name, self.names[node], dtype_name(value.dtype), shape)

    def known(self) -> TypeOf:
        """The program's metadata of tensors. Dynamic sizes are named by the part that is built."""
        values = {
            name: node.meta["val"]
            for node, name in self.names.items()
            if isinstance(node.meta.get("val"), torch.Tensor)
        }
        self.sizes = {}

        def found(called: str, tensor: str) -> Declared | None:
            if tensor not in values or dtype_name(values[tensor].dtype) not in DTYPES:
                return None
            shape = tuple(
                self.size(size, f"{called}_{axis}")
                for axis, size in enumerate(values[tensor].shape)
            )
            return Declared(called, tensor, dtype_name(values[tensor].dtype), shape)

        return found

    def size(self, size: Any, place: str) -> int | str | None:
        """A dynamic size is named after its first occurrence. A computed size is named after its
        own position.
        """
        if isinstance(size, int):
            return size
        expression = size.node.expr
        return self.sizes.setdefault(str(expression), place) if expression.is_symbol else None

    def output(self, name: str, item: Any, outputs: list[Declared]) -> None:
        if isinstance(item, Node):
            value = item.meta.get("val")
            if isinstance(value, torch.Tensor) and dtype_name(value.dtype) not in DTYPES:
                hint = (
                    "Give out its real and imaginary parts: torch.view_as_real"
                    if value.is_complex()
                    else HINT
                )
                self.read.unsupported.append((name, f"is an output of {value.dtype}", hint))
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

    def body(self, graph: GraphModule) -> Sequence[Any]:
        """Read the nodes of a graph. Returns its results."""
        for node in graph.graph.nodes:
            if node.op == "call_function":
                self.node(graph, node)
            elif node.op == "output":
                return (
                    tuple(node.args[0])
                    if isinstance(node.args[0], list | tuple)
                    else (node.args[0],)
                )
            elif node.op == "get_attr" and not isinstance(attribute(graph, node), GraphModule):
                self.names[node] = self.read.fresh()
                self.tensors[self.names[node]] = self.read.tensor(
                    attribute(graph, node), str(node.target), trained=False
                )
        raise SourceError(f"{self.read.name}: its graph has no output")

    def node(self, graph: GraphModule, node: Node) -> None:
        target = node.target
        if target is operator.getitem:
            source, position = node.args
            assert isinstance(source, Node)
            assert isinstance(position, int)
            self.names[node] = self.parts[source, position]
            return
        if isinstance(target, torch._ops.HigherOrderOperator):
            self.nested(graph, node)
            return
        if isinstance(target, torch._ops.OpOverload):
            domain, op = target._schema.name.split("::")
            if op in IGNORED:
                return
            given = named_arguments(target._schema, node.args, dict(node.kwargs))
            overload = target._overloadname
        else:
            domain, op, overload = "aten", opname(node), ""
            given = dict(zip(("a", "b"), node.args, strict=False))
        operands: list[str] = []
        where = label(self.read, node)
        attrs = {key: self.encoded(value, operands, where) for key, value in given.items()}
        attrs = {key: value for key, value in attrs.items() if value is not None}
        imaginary = tuple(key for key, value in given.items() if is_complex(value))
        if imaginary:
            domain, attrs["complex"] = "complex", imaginary
        domain = "" if domain == "aten" else domain
        self.nodes.append(
            NodeSpec(
                where,
                op,
                domain,
                tuple(operands),
                self.results(node),
                attrs | {"overload": overload},
            )
        )

    def results(self, node: Node) -> tuple[str, ...]:
        """The names of a node's results. Of several results, those that are read."""
        value = node.meta.get("val")
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            self.names[node] = self.read.fresh()
            return (self.names[node],)
        read = {user.args[1] for user in node.users if user.target is operator.getitem}
        names = [self.read.fresh() if position in read else "" for position in range(len(value))]
        self.parts |= {(node, position): name for position, name in enumerate(names)}
        return tuple(names)

    def encoded(self, value: Any, operands: list[str], where: str) -> Any:
        """An argument as an attribute. For a computed tensor or number, the attribute is the
        operand's position.
        """
        if isinstance(value, Node):
            operands.append(self.names[value])
            found = value.meta.get("val")
            return f"{NUMBER if isinstance(found, NUMBERS) else TENSOR}{len(operands) - 1}"
        if isinstance(value, list | tuple):
            return tuple(self.encoded(item, operands, where) for item in value)
        if isinstance(value, torch.dtype):
            return dtype_name(value)
        if isinstance(value, complex):
            self.read.unsupported.append(
                (where, "computes with a complex number", "Write it with real ones")
            )
            return None
        if value is None or isinstance(value, bool | int | float | str):
            return value
        return None

    def nested(self, graph: GraphModule, node: Node) -> None:
        """Convert torch.cond and torch.while_loop."""
        kind = getattr(node.target, "__name__", str(node.target))
        where = self.read.labels.distinct(kind)
        if kind == "cond":
            condition, *branches, operands = node.args
            then, otherwise = (self.inside(attribute(graph, item), operands) for item in branches)
            attrs: dict[str, Any] = {"then_branch": then, "else_branch": otherwise}
            self.nodes.append(
                NodeSpec(where, "If", "", (self.names[condition],), self.results(node), attrs)
            )
        elif kind == "while_loop":
            test, body, carried, more = node.args
            self.loop(
                attribute(graph, test), attribute(graph, body), [*carried], [*more], where, node
            )
        else:
            self.read.unsupported.append(
                (
                    where,
                    f"is torch's {kind}",
                    "Write it with torch.cond or torch.while_loop, or without",
                )
            )

    def inside(self, graph: GraphModule, operands: Sequence[Node]) -> GraphSpec:
        """A graph of a node, which may read tensors of the outer graph."""
        outer, self.nodes, held, self.tensors = self.nodes, [], self.tensors, {}
        for node, operand in zip(inputs_of(graph), operands, strict=True):
            self.names[node] = self.names[operand]
        results = self.body(graph)
        outputs = tuple(
            Declared(f"out{n}", self.names[item], "float32", None) for n, item in enumerate(results)
        )
        made = GraphSpec((), outputs, self.tensors, tuple(self.nodes))
        self.nodes, self.tensors = outer, held
        return made

    def loop(
        self,
        test: GraphModule,
        body: GraphModule,
        carried: list[Node],
        more: list[Node],
        where: str,
        node: Node,
    ) -> None:
        """The condition is computed before the loop, and at the end of each iteration for the next
        one.
        """
        begins = self.inlined(test, [self.names[item] for item in (*carried, *more)])[0]
        outer, self.nodes, held, self.tensors = self.nodes, [], self.tensors, {}
        states = [self.read.fresh() for _ in carried]
        given = [
            Declared("number", self.read.fresh(), "int64", ()),
            Declared("going", self.read.fresh(), "bool", ()),
        ]
        given += [Declared(f"in{n}", name, "float32", None) for n, name in enumerate(states)]
        following = self.inlined(body, [*states, *(self.names[item] for item in more)])
        goes_on = self.inlined(test, [*following, *(self.names[item] for item in more)])[0]
        outputs = [
            Declared(f"out{n}", name, "float32", None)
            for n, name in enumerate([goes_on, *following])
        ]
        made = GraphSpec(tuple(given), tuple(outputs), self.tensors, tuple(self.nodes))
        self.nodes, self.tensors = outer, held
        operands = ("", begins, *(self.names[item] for item in carried))
        self.nodes.append(NodeSpec(where, "Loop", "", operands, self.results(node), {"body": made}))

    def inlined(self, graph: GraphModule, operands: Sequence[str]) -> list[str]:
        for node, operand in zip(inputs_of(graph), operands, strict=True):
            self.names[node] = operand
        return [self.names[item] for item in self.body(graph)]


def is_complex(value: Any) -> bool:
    """Whether an argument is a complex tensor or contains one."""
    if isinstance(value, list | tuple):
        return any(map(is_complex, value))
    found = value.meta.get("val") if isinstance(value, Node) else None
    return isinstance(found, torch.Tensor) and found.is_complex()


HINT = f"Supported are {', '.join(DTYPES)}"


def attribute(graph: GraphModule, node: Node) -> Any:
    found: Any = graph
    for part in str(node.target).split("."):
        found = getattr(found, part)
    return found


def inputs_of(graph: GraphModule) -> list[Node]:
    return [node for node in graph.graph.nodes if node.op == "placeholder"]


def layer_values(program: torch.export.ExportedProgram, name: str) -> Mapping[Node, str]:
    """The name in the spec for each node with a single result."""
    read = Reading(name)
    found = {}
    signature = program.graph_signature
    changed = set(signature.buffers_to_mutate.values())
    for node, spec in zip(inputs_of(program.graph_module), signature.input_specs, strict=True):
        del node
        if spec.target in changed:
            read.labels.distinct(str(spec.target))
    for node in program.graph_module.graph.nodes:
        if (
            node.op == "call_function"
            and node.target is not operator.getitem
            and not isinstance(node.target, torch._ops.HigherOrderOperator)
            and opname(node) not in IGNORED
        ):
            found[node] = label(read, node)
    return found
