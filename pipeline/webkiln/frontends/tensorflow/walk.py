"""A graph -> the spec: functions are inlined, variables become weights, and nodes without effect on
the outputs are omitted.
"""

from collections.abc import Sequence
from typing import Any

from webkiln.errors import Item, SourceError
from webkiln.frontends.core.arrays import Literal, Weight, two_parts
from webkiln.frontends.nodes.inlining import Inlining
from webkiln.frontends.nodes.reading import (
    DistinctNames,
    StoredWeights,
    is_structural,
    literal,
    tensors_read,
)
from webkiln.frontends.nodes.size_constants import (
    SizeOperators,
    with_size_constants,
)
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.frontends.tensorflow.attributes import attribute, read_tensor
from webkiln.frontends.tensorflow.branches import (
    BRANCHES,
    CASES,
    branch_outputs,
    final_value,
    function_of,
    merged_value,
)
from webkiln.frontends.tensorflow.domains import COMPLEX_DTYPES, domain_of
from webkiln.frontends.tensorflow.dtypes import declared_shape, dtype_of
from webkiln.frontends.tensorflow.effects import WRITES, Effects
from webkiln.frontends.tensorflow.initializers import Initializers
from webkiln.frontends.tensorflow.legacy import EXITS, MERGES, SWITCHES, ControlFlow
from webkiln.frontends.tensorflow.messages import COMPLEX, DTYPES, dtype_name
from webkiln.frontends.tensorflow.ordering import WITHOUT_OUTPUTS, ordered_nodes
from webkiln.frontends.tensorflow.origins import Origin, passed_dtype
from webkiln.frontends.tensorflow.outputs import drop_unread_outputs, output_count, output_index
from webkiln.frontends.tensorflow.scope import (
    CALLS,
    DEEPEST,
    PASS_THROUGH,
    TABLES,
    VARIABLES,
    WITHIN,
    Handle,
    Scope,
    TensorRef,
)
from webkiln.frontends.tensorflow.source import (
    GraphSource,
    data_inputs,
    split_reference,
)
from webkiln.frontends.tensorflow.variables import Variables, assign, read_variable, variable
from webkiln.ir.types import is_integer

MOST_TENSORS = 1_000_000
"""A limit, since functions that call others several times grow exponentially."""
BRANCHED = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
FEWEST_INPUTS = {**dict.fromkeys(SWITCHES, 2), **dict.fromkeys(PASS_THROUGH | BRANCHED, 1)}
"""The minimum number of inputs, for operators that the walk itself inspects."""


SIZES = {
    *(("Reshape", 1), ("BroadcastTo", 1), ("Fill", 0), ("Range", 1), ("Tile", 1), ("Pad", 1)),
    *(("ResizeBilinear", 1), ("ResizeNearestNeighbor", 1), ("ResizeBicubic", 1)),
    *(("ResizeArea", 1), ("Slice", 2), ("StridedSlice", 2), ("TopKV2", 1), ("PadV2", 1)),
}
SIZE_OPERATORS = SizeOperators(
    of_types=("Shape", "ShapeN", "Size", "Rank"),
    readers={*SIZES, ("Range", 0), ("Range", 2)},
    sizes=SIZES,
    is_integer_cast=lambda node: node.op == "Cast" and is_integer(str(node.attrs.get("DstT"))),
)


class SpecWriter:
    """Writes the spec of a program. `GraphSpec`s of branches and loops may read tensors of outer
    graphs. Placeholders with a default are that default, unless they are `starts` of a subgraph.
    """

    def __init__(self, program: GraphSource, starts: Sequence[str] = ()) -> None:
        self.program, self.starts = program, frozenset(starts)
        self.weights = StoredWeights()
        self.labels = DistinctNames()
        self.unsupported: list[Item] = []
        self.tensors: dict[str, Weight | Literal] = {}
        self.nodes: list[NodeSpec] = []
        self.count = 0
        self.inlining = Inlining(program.name, program.node_count)
        self.initializers = Initializers(program)
        self.variables = Variables()
        self.flows: dict[int, ControlFlow] = {}
        self.effects = Effects(program.functions)
        self.depth = 0
        self.origins: dict[str, Origin] = {}
        """Origins of tensors of the main graph."""
        self.passed: dict[str, str] = {}
        """Nodes that the spec omits since they return an operand -> the tensor of the operand."""

    def model(self) -> NodeModel:
        """The spec of the entire program. `unsupported` has what it cannot represent."""
        program = self.program
        names = {item.tensor: self.fresh() for item in program.inputs}
        scope = Scope(program.main, {})
        for item in program.inputs:
            node, _, number = split_reference(item.tensor)
            scope.outputs[node] = (
                [*scope.outputs.get(node, ()), names[item.tensor]]
                if number
                else [names[item.tensor]]
            )
        self._run(scope, [item.tensor for item in program.outputs])
        for name, state in self.variables.states.items():
            self.nodes.append(
                NodeSpec(
                    self.labels.distinct(f"{state}.next"),
                    "SET_STATE",
                    "",
                    (self.variables.current[name],),
                    (),
                    {"state": state},
                )
            )
        read = self._read_names(outputs := self._outputs(scope))
        retained = [
            item for item in program.inputs if program.is_signature or names[item.tensor] in read
        ]
        inputs = tuple(
            Declared(item.name, names[item.tensor], item.dtype, item.shape) for item in retained
        )
        graph = drop_unread_outputs(GraphSpec(inputs, outputs, self.tensors, tuple(self.nodes)))
        graph, sizes = with_size_constants(graph, self.weights, SIZE_OPERATORS)
        return NodeModel(program.name, {"": 1}, graph, sizes=sizes)

    def _outputs(self, scope: Scope) -> tuple[Declared, ...]:
        outputs = []
        for item in self.program.outputs:
            tensor = self.value(scope, item.tensor)
            if isinstance(tensor, Handle):
                self.unsupported.append(
                    (
                        item.name,
                        f"is an output that is a {tensor.kind}",
                        "Return dense tensors only",
                    )
                )
                continue
            if item.dtype in COMPLEX_DTYPES:
                self.unsupported.append(
                    (
                        item.name,
                        f"is an output of {item.dtype}",
                        "Return its parts, tf.math.real(x) and tf.math.imag(x)",
                    )
                )
            outputs.append(Declared(item.name, tensor, item.dtype, item.shape))
        return tuple(outputs)

    def _read_names(self, outputs: Sequence[Declared]) -> set[str]:
        return tensors_read(self.nodes) | {item.tensor for item in outputs}

    def fresh(self) -> str:
        self.count += 1
        if self.count > MOST_TENSORS:
            raise SourceError(
                f"{self.program.name}: its inlined functions have more than {MOST_TENSORS} tensors,"
                " which is the limit"
            )
        return f"t{self.count - 1}"

    def _run(self, scope: Scope, references: Sequence[str]) -> None:
        effects = self.effects.nodes(scope.body)
        starts = [*references, *(name for name in effects if name not in scope.outputs)]
        for name in ordered_nodes(
            scope, starts, self.program, self.flow(scope), has_effects=bool(effects)
        ):
            if name not in scope.outputs:
                scope.outputs[name] = self._node(scope, scope.body.nodes[name])
                self._record_origin(scope, scope.body.nodes[name], scope.outputs[name])

    def _record_origin(self, scope: Scope, node: Any, outputs: Sequence[TensorRef]) -> None:
        """Record the declared type of a node's outputs, unless it only passes on its operand."""
        op = node.op
        if (
            self.depth
            or op in SWITCHES
            or (op in BRANCHED and len(outputs) != len(node.attr["Tout"].list.type))
        ):
            return
        flow = self.flow(scope)
        for index, tensor in enumerate(outputs):
            if isinstance(tensor, str) and tensor not in self.origins:
                passed = [str(self.value(scope, item)) for item in flow.passed_on(node)]
                dtype = passed_dtype(
                    dtype_of(node, index, self.program.operators),
                    [self.origins.get(item) for item in passed],
                )
                self.origins[tensor] = Origin(
                    f"{scope.path}{node.name}",
                    index,
                    dtype,
                    declared_shape(node, index),
                    node.name in flow.partial,
                )

    def flow(self, scope: Scope) -> ControlFlow:
        key = id(scope.body)
        if key not in self.flows:
            self.flows[key] = ControlFlow(scope.body, self.program.name)
        return self.flows[key]

    def value(self, scope: Scope, reference: str) -> TensorRef:
        node, part, number = split_reference(reference)
        if node in scope.arguments:
            return scope.arguments[node]
        outputs = scope.outputs.get(node)
        if outputs is None:
            raise SourceError(f"{self.program.name}: {reference} is the output of no node")
        index = (
            output_index(self.program, scope.body.nodes[node], part, number, len(outputs))
            if part
            else number
        )
        if index >= len(outputs):
            raise SourceError(
                f"{self.program.name}: {node} has {len(outputs)} outputs, and {reference} is read"
            )
        return outputs[index]

    def _node(self, scope: Scope, node: Any) -> Sequence[TensorRef]:
        op = node.op
        self.inlining.add()
        if op in WITHOUT_OUTPUTS:
            return []
        if op in VARIABLES:
            return [variable(self, node)]
        if op in TABLES:
            return [Handle("table", node.name)]
        if op == "Const":
            return [self._constant(node)]
        if op == "Placeholder":
            raise SourceError(
                f"{self.program.name}: the outputs need the placeholder {node.name}, which is"
                " not an input of the signature"
            )
        if op in EXITS:
            return [final_value(self, scope, node.name)]
        if op in MERGES:
            return [merged_value(self, scope, node.name)]
        inputs = [self.value(scope, item) for item in data_inputs(node)]
        fewest = FEWEST_INPUTS.get(op, 0)
        if len(inputs) < fewest:
            raise SourceError(
                f"{self.program.name}: {node.name} ({op}) has {len(inputs)} inputs, expected at"
                f" least {fewest}; the graph is damaged"
            )
        if op.startswith(WRITES):
            assign(self, node, inputs)
            return []
        if op in SWITCHES:
            return [inputs[0]] * max(2, int(node.attr["num_outs"].i))
        if op in PASS_THROUGH and not (op == "PlaceholderWithDefault" and node.name in self.starts):
            return self._pass(node, inputs)
        attrs = {key: attribute(item) for key, item in node.attr.items() if not key.startswith("_")}
        called = (
            node.attr["f"].func.name if op in CALLS else op if op in self.program.functions else ""
        )
        if called:
            return self._call(scope, node, called, inputs)
        if op in BRANCHES or op in CASES:
            return branch_outputs(self, scope, node, inputs)
        tensors = self._operands(node, inputs, attrs)
        outputs = tuple(self.fresh() for _ in range(output_count(self.program, node, attrs)))
        self.nodes.append(
            NodeSpec(
                self.labels.distinct(node.name), op, domain_of(op, attrs), tensors, outputs, attrs
            )
        )
        return outputs

    def _pass(self, node: Any, inputs: Sequence[TensorRef]) -> Sequence[TensorRef]:
        if node.op == "ReadVariableOp":
            return [read_variable(self, item) for item in inputs[:1]]
        if isinstance(inputs[0], str):
            self.passed.setdefault(node.name, inputs[0])
        return inputs

    def _operands(
        self, node: Any, inputs: Sequence[TensorRef], attrs: dict[str, Any]
    ) -> tuple[str, ...]:
        """The operands that are tensors. The contents of tables become attributes."""
        operands = []
        for item in inputs:
            if isinstance(item, str) or item.kind == "variable":
                operands.append(item if isinstance(item, str) else read_variable(self, item))
            elif item.kind == "table" and item.name in self.initializers.tables:
                attrs["keys"], attrs["values"] = self.initializers.tables[item.name]
            else:
                self.unsupported.append(
                    (
                        f"{node.name} ({node.op})",
                        f"reads a {item.kind} with unknown contents",
                        "Build the table into the model",
                    )
                )
                operands.append("")
        return tuple(operands)

    def _call(
        self, scope: Scope, node: Any, function: str, inputs: Sequence[TensorRef]
    ) -> Sequence[TensorRef]:
        body = function_of(self.program, node, function)
        if scope.depth >= DEEPEST:
            raise SourceError(
                f"{self.program.name}: functions call each other more than {DEEPEST} deep"
            )
        inner = Scope(
            body,
            {name: value for (name, _), value in zip(body.arguments, inputs, strict=False)},
            depth=scope.depth + 1,
        )
        inner.path = f"{scope.path}{node.name}{WITHIN}"
        self._run(inner, body.results)
        return [self.value(inner, item) for item in body.results]

    def inside(
        self, inner: Scope, inputs: Sequence[Declared], references: Sequence[str]
    ) -> GraphSpec:
        if inner.depth > DEEPEST:
            raise SourceError(
                f"{self.program.name}: functions call each other more than {DEEPEST} deep"
            )
        outer_nodes, outer_tensors = self.nodes, self.tensors
        outer_variables = dict(self.variables.current)
        self.nodes, self.tensors = [], {}
        self.depth += 1
        self._run(inner, references)
        self.depth -= 1
        results = [self.value(inner, item) for item in references]
        outputs = tuple(
            Declared(str(number), item, "", None)
            for number, item in enumerate(results)
            if isinstance(item, str)
        )
        graph = GraphSpec(tuple(inputs), outputs, self.tensors, tuple(self.nodes))
        self.variables.read_inside |= self.variables.current.keys() - outer_variables.keys()
        self.variables.current = outer_variables
        self.nodes, self.tensors = outer_nodes, outer_tensors
        return graph

    def _constant(self, node: Any) -> TensorRef:
        item = node.attr["value"].tensor if node.attr["value"].HasField("tensor") else None
        dtype = node.attr["dtype"].type if item is None else item.dtype
        if dtype and dtype not in DTYPES and dtype not in COMPLEX:
            return Handle(f"constant of {dtype_name(dtype)}", node.name)
        where = f"{self.program.name}: constant {node.name}"
        if item is not None:
            array = read_tensor(item, where)
        elif self.program.stored.read is not None:
            array = two_parts(self.program.stored.read(node.name))
        else:
            raise SourceError(f"{where}: has no value")
        name = self.fresh()
        self.tensors[name] = (
            literal(array) if is_structural(array) else self.weights.store(node.name, array)
        )
        return name
