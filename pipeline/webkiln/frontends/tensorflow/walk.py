"""A graph -> the spec: functions are inlined, variables become weights, and nodes without effect on
the outputs are omitted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from webkiln.errors import Item, SourceError
from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.inspect.header_only import report_unsupported
from webkiln.frontends.nodes.inlining import Inlining
from webkiln.frontends.nodes.reading import (
    DistinctNames,
    StoredWeights,
    is_structural,
    literal,
    tensors_read,
)
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.frontends.tensorflow.attributes import attribute, read_tensor
from webkiln.frontends.tensorflow.branches import (
    BRANCHES,
    CASES,
    branched,
    function_of,
    left,
    merged,
)
from webkiln.frontends.tensorflow.domains import COMPLEX_DTYPES, domain_of
from webkiln.frontends.tensorflow.dtypes import dtype_of, shape_said
from webkiln.frontends.tensorflow.effects import ADDED, WRITES, Effects
from webkiln.frontends.tensorflow.initializers import Beginnings
from webkiln.frontends.tensorflow.legacy import EXITS, MERGES, SWITCHES, ControlFlow
from webkiln.frontends.tensorflow.messages import COMPLEX, DTYPES, dtype_name
from webkiln.frontends.tensorflow.origins import Origin, handed_on
from webkiln.frontends.tensorflow.scope import (
    CALLS,
    DEEPEST,
    PASSED,
    TABLES,
    VARIABLES,
    WITHIN,
    Handle,
    Scope,
    TensorRef,
)
from webkiln.frontends.tensorflow.source import (
    PARTS,
    GraphSource,
    control_inputs,
    data_inputs,
    split_reference,
)

MOST_TENSORS = 1_000_000
"""A limit, since functions that call others several times grow exponentially."""
UNSAID = frozenset(
    {"Assert", "NoOp", "Print", "PrintV2", "VarIsInitializedOp", "IsVariableInitialized"}
)
"""Operators without results at inference."""
BRANCHED = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
FEWEST_INPUTS = {**dict.fromkeys(SWITCHES, 2), **dict.fromkeys(PASSED | BRANCHED, 1)}
"""The minimum number of inputs, for operators that the walk itself inspects."""


class SpecWriter:
    """Writes the spec of a program. `GraphSpec`s of branches and loops may read tensors of outer
    graphs.
    """

    def __init__(self, program: GraphSource) -> None:
        self.program = program
        self.weights = StoredWeights()
        self.labels = DistinctNames()
        self.unsupported: list[Item] = []
        self.tensors: dict[str, Weight | Literal] = {}
        self.nodes: list[NodeSpec] = []
        self.count = 0
        self.inlining = Inlining(program.name, program.node_count)
        self.beginnings = Beginnings(program)
        self.variables: dict[str, str] = {}
        self.flows: dict[int, ControlFlow] = {}
        self.effects = Effects(program.functions)
        self.states: dict[str, str] = {}
        """Variables that the run assigns -> their states."""
        self.read_inside: set[str] = set()
        """Variables that branches and loops read before any assignment."""
        self.depth = 0
        self.origins: dict[str, Origin] = {}
        """Origins of tensors of the main graph."""
        self.passed: dict[str, str] = {}
        """Nodes that are not in the spec since they return an operand -> this operand's tensor."""

    def model(self) -> NodeModel:
        program = self.program
        given = {item.tensor: self.fresh() for item in program.inputs}
        scope = Scope(program.main, {})
        for item in program.inputs:
            node, _, number = split_reference(item.tensor)
            scope.made[node] = (
                [*scope.made.get(node, ()), given[item.tensor]] if number else [given[item.tensor]]
            )
        self._run(scope, [item.tensor for item in program.outputs])
        for name, state in self.states.items():
            self.nodes.append(
                NodeSpec(
                    self.labels.distinct(f"{state}.next"),
                    "SET_STATE",
                    "",
                    (self.variables[name],),
                    (),
                    {"state": state},
                )
            )
        read = self._read_names(outputs := self._outputs(scope))
        kept = [
            item for item in program.inputs if program.is_signature or given[item.tensor] in read
        ]
        inputs = tuple(
            Declared(item.name, given[item.tensor], item.dtype, item.shape) for item in kept
        )
        report_unsupported(program.name, list(dict.fromkeys(self.unsupported)))
        return NodeModel(
            program.name,
            {"": 1},
            only_what_is_read(GraphSpec(inputs, outputs, self.tensors, tuple(self.nodes))),
        )

    def _outputs(self, scope: Scope) -> tuple[Declared, ...]:
        found = []
        for item in self.program.outputs:
            tensor = self.value(scope, item.tensor)
            if isinstance(tensor, Handle):
                self.unsupported.append(
                    (
                        item.name,
                        f"is an output that is a {tensor.kind}",
                        "Only dense tensors can go in and out",
                    )
                )
                continue
            if item.dtype in COMPLEX_DTYPES:
                self.unsupported.append(
                    (
                        item.name,
                        f"is an output of {item.dtype}",
                        "Give its parts, tf.math.real(x) and tf.math.imag(x)",
                    )
                )
            found.append(Declared(item.name, tensor, item.dtype, item.shape))
        return tuple(found)

    def _read_names(self, outputs: Sequence[Declared]) -> set[str]:
        return tensors_read(self.nodes) | {item.tensor for item in outputs}

    def fresh(self) -> str:
        self.count += 1
        if self.count > MOST_TENSORS:
            raise SourceError(
                f"{self.program.name}: its functions amount to more than {MOST_TENSORS} tensors;"
                " refused"
            )
        return f"t{self.count - 1}"

    def _run(self, scope: Scope, wanted: Sequence[str]) -> None:
        effects = self.effects.nodes(scope.body)
        starts = [*wanted, *(name for name in effects if name not in scope.made)]
        for name in _ordered(
            scope, starts, self.program, self.flow(scope), has_effects=bool(effects)
        ):
            if name not in scope.made:
                scope.made[name] = self._node(scope, scope.body.nodes[name])
                self._note(scope, scope.body.nodes[name], scope.made[name])

    def _note(self, scope: Scope, node: Any, made: Sequence[TensorRef]) -> None:
        """Record the declared type of a node's outputs, unless it only passes on its operand."""
        op = node.op
        if (
            self.depth
            or op in SWITCHES
            or (op in BRANCHED and len(made) != len(node.attr["Tout"].list.type))
        ):
            return
        flow = self.flow(scope)
        for place, tensor in enumerate(made):
            if isinstance(tensor, str) and tensor not in self.origins:
                handed = [str(self.value(scope, item)) for item in flow.handed_on(node)]
                dtype = handed_on(
                    dtype_of(node, place, self.program.results),
                    [self.origins.get(item) for item in handed],
                )
                self.origins[tensor] = Origin(
                    f"{scope.path}{node.name}",
                    place,
                    dtype,
                    shape_said(node, place),
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
        made = scope.made.get(node)
        if made is None:
            raise SourceError(f"{self.program.name}: {reference} is made by no node")
        place = self._place(scope.body.nodes[node], part, number, len(made)) if part else number
        if place >= len(made):
            raise SourceError(
                f"{self.program.name}: {node} has {len(made)} outputs, and {reference} is read"
            )
        return made[place]

    def _place(self, node: Any, part: str, number: int, count: int) -> int:
        """The index of an output within a named output, which may be a list."""
        listed = self.program.parts.get(node.op)
        names = (
            [name for name, _ in listed]
            if listed is not None
            else list(PARTS.get(node.op, (part,)))
        )
        if part not in names:
            raise SourceError(
                f"{self.program.name}: {node.name} ({node.op}) has no output {part!r}"
            )
        before = names.index(part)
        longer = count - len(names)
        is_after_list = listed is not None and any(is_list for _, is_list in listed[:before])
        return before + number + (longer if is_after_list else 0)

    def _node(self, scope: Scope, node: Any) -> Sequence[TensorRef]:
        op = node.op
        self.inlining.add()
        if op in UNSAID:
            return []
        if op in VARIABLES:
            return [self._variable(node)]
        if op in TABLES:
            return [Handle("table", node.name)]
        if op == "Const":
            return [self._constant(node)]
        if op == "Placeholder":
            raise SourceError(
                f"{self.program.name}: the outputs need the placeholder {node.name}, which is no"
                " input of the signature"
            )
        if op in EXITS:
            return [left(self, scope, node.name)]
        if op in MERGES:
            return [merged(self, scope, node.name)]
        inputs = [self.value(scope, item) for item in data_inputs(node)]
        fewest = FEWEST_INPUTS.get(op, 0)
        if len(inputs) < fewest:
            raise SourceError(
                f"{self.program.name}: {node.name} ({op}) has {len(inputs)} inputs, expected at"
                f" least {fewest}; the graph is damaged"
            )
        if op.startswith(WRITES):
            self._assign(node, inputs)
            return []
        if op in SWITCHES:
            return [inputs[0]] * max(2, int(node.attr["num_outs"].i))
        if op in PASSED:
            return self._pass(node, inputs)
        attrs = {key: attribute(item) for key, item in node.attr.items() if not key.startswith("_")}
        called = (
            node.attr["f"].func.name if op in CALLS else op if op in self.program.functions else ""
        )
        if called:
            return self._call(scope, node, called, inputs)
        if op in BRANCHES or op in CASES:
            return branched(self, scope, node, inputs)
        tensors = self._operands(node, inputs, attrs)
        outputs = tuple(self.fresh() for _ in range(self._output_count(node, attrs)))
        self.nodes.append(
            NodeSpec(
                self.labels.distinct(node.name), op, domain_of(op, attrs), tensors, outputs, attrs
            )
        )
        return outputs

    def _pass(self, node: Any, inputs: Sequence[TensorRef]) -> Sequence[TensorRef]:
        if node.op == "ReadVariableOp":
            return [self._read(item) for item in inputs[:1]]
        if isinstance(inputs[0], str):
            self.passed.setdefault(node.name, inputs[0])
        return inputs

    def _operands(
        self, node: Any, inputs: Sequence[TensorRef], attrs: dict[str, Any]
    ) -> tuple[str, ...]:
        """The operands that are tensors. The contents of tables become attributes."""
        found = []
        for item in inputs:
            if isinstance(item, str) or item.kind == "variable":
                found.append(item if isinstance(item, str) else self._read(item))
            elif item.kind == "table" and item.name in self.beginnings.tables:
                attrs["keys"], attrs["values"] = self.beginnings.tables[item.name]
            else:
                self.unsupported.append(
                    (
                        f"{node.name} ({node.op})",
                        f"reads a {item.kind} whose contents are not known",
                        "Build the table into the model",
                    )
                )
                found.append("")
        return tuple(found)

    def _output_count(self, node: Any, attrs: Mapping[str, Any]) -> int:
        for name in ("num_split", "num", "N_out"):
            if name in attrs and node.op in ("Split", "SplitV", "Unpack"):
                return int(attrs[name])
        listed = self.program.parts.get(node.op)
        if listed is not None and not any(is_list for _, is_list in listed):
            return len(listed)
        return max(len(PARTS.get(node.op, ())), 1)

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

    def inside(self, inner: Scope, inputs: Sequence[Declared], wanted: Sequence[str]) -> GraphSpec:
        if inner.depth > DEEPEST:
            raise SourceError(
                f"{self.program.name}: functions call each other more than {DEEPEST} deep"
            )
        outer_nodes, outer_tensors, outer_variables = self.nodes, self.tensors, dict(self.variables)
        self.nodes, self.tensors = [], {}
        self.depth += 1
        self._run(inner, wanted)
        self.depth -= 1
        results = [self.value(inner, item) for item in wanted]
        outputs = tuple(
            Declared(str(number), item, "", None)
            for number, item in enumerate(results)
            if isinstance(item, str)
        )
        graph = GraphSpec(tuple(inputs), outputs, self.tensors, tuple(self.nodes))
        self.read_inside |= self.variables.keys() - outer_variables.keys()
        self.nodes, self.tensors, self.variables = outer_nodes, outer_tensors, outer_variables
        return graph

    def _variable(self, node: Any) -> TensorRef:
        handle = Handle("variable", node.name)
        return handle if node.op == "VarHandleOp" else self._read(handle)

    def _read(self, handle: TensorRef) -> str:
        """The tensor of a variable."""
        if isinstance(handle, str):
            return handle
        if handle.kind != "variable":
            raise SourceError(f"{self.program.name}: a {handle.kind} is read as a variable")
        if handle.name not in self.variables:
            if self.program.read is None:
                raise SourceError(
                    f"{self.program.name}: has the variable {handle.name}, and no checkpoint; give"
                    " the SavedModel, or a frozen graph"
                )
            array = self.program.read(self.beginnings.keys.get(handle.name, handle.name))
            self.variables[handle.name] = self.fresh()
            self.tensors[self.variables[handle.name]] = self.weights.store(handle.name, array)
        return self.variables[handle.name]

    def _assign(self, node: Any, inputs: Sequence[TensorRef]) -> None:
        """Rebind the variable to another tensor. Its last tensor is the state's value for the next
        run.
        """
        what = f"{node.name} ({node.op})"
        handle, value = (*inputs, "", "")[:2]
        if (
            node.op not in ADDED
            or not isinstance(handle, Handle)
            or handle.kind != "variable"
            or not isinstance(value, str)
        ):
            self.unsupported.append(
                (
                    what,
                    "changes part of a variable, or a table",
                    "Assign whole variables, or save the model without it",
                )
            )
            return
        if self.depth or handle.name in self.read_inside:
            self.unsupported.append(
                (
                    what,
                    "assigns a variable that a branch or loop reads or assigns",
                    "Read it before, assign it behind",
                )
            )
            return
        now = self._read(handle)
        if handle.name not in self.states:
            begin = self.fresh()
            self.tensors[begin] = self.tensors.pop(now)
            self.states[handle.name] = state = self.labels.distinct(handle.name)
            self.nodes.insert(0, NodeSpec(state, "STATE", "", (begin,), (now,), {"state": state}))
        self.variables[handle.name] = self._combined(
            node, ADDED[node.op], self.variables[handle.name], value
        )

    def _combined(self, node: Any, op: str, now: str, value: str) -> str:
        """The new value of an assigned variable: the operand, or the result of an operator on both."""
        if not op:
            return value
        made = self.fresh()
        self.nodes.append(
            NodeSpec(self.labels.distinct(node.name), op, "", (now, value), (made,), {})
        )
        return made

    def _constant(self, node: Any) -> TensorRef:
        item = node.attr["value"].tensor if node.attr["value"].HasField("tensor") else None
        if item is not None and item.dtype not in DTYPES and item.dtype not in COMPLEX:
            return Handle(f"constant of {dtype_name(item.dtype)}", node.name)
        where = f"{self.program.name}: constant {node.name}"
        if item is None and self.program.read is None:
            raise SourceError(f"{where}: has no value")
        array = read_tensor(item, where) if item is not None else self.program.read(node.name)  # type: ignore[misc]
        name = self.fresh()
        self.tensors[name] = (
            literal(array) if is_structural(array) else self.weights.store(node.name, array)
        )
        return name


def only_what_is_read(graph: GraphSpec) -> GraphSpec:
    """The graph, with unnamed outputs if no node reads them: those used for training, for example,
    are not computed.
    """
    read = tensors_read(graph.nodes) | {item.tensor for item in graph.outputs}

    def changed(part: GraphSpec) -> GraphSpec:
        nodes = []
        for node in part.nodes:
            attrs = {
                key: changed(value) if isinstance(value, GraphSpec) else value
                for key, value in node.attrs.items()
            }
            nodes.append(
                replace(
                    node,
                    outputs=tuple(name if name in read else "" for name in node.outputs),
                    attrs=attrs,
                )
            )
        return replace(part, nodes=tuple(nodes))

    return changed(graph)


def _ordered(
    scope: Scope,
    wanted: Sequence[str],
    program: GraphSource,
    flow: ControlFlow,
    *,
    has_effects: bool,
) -> Iterator[str]:
    """The nodes that the references need, in topological order; with side effects, also their
    control dependencies.
    """
    state: dict[str, bool] = {}
    stack = [(split_reference(item)[0], False) for item in reversed(wanted)]
    while stack:
        name, is_left = stack.pop()
        if is_left:
            state[name] = True
            yield name
            continue
        if state.get(name) or name in scope.arguments or name in scope.made:
            continue
        if name in state:
            raise SourceError(f"{program.name}: {name} needs its own output")
        node = scope.body.nodes.get(name)
        if node is None:
            raise SourceError(f"{program.name}: {name} is read, and no node is called so")
        state[name] = False
        stack.append((name, True))
        needed = (
            split_reference(item)[0]
            for item in (*_needs(node, flow), *(control_inputs(node) if has_effects else ()))
        )
        stack += [(item, False) for item in needed if not state.get(item)]


def _needs(node: Any, flow: ControlFlow) -> Sequence[str]:
    """The dependencies of a node: for the end of a loop its initial values, for a conditional value
    its predicate.
    """
    if node.op in UNSAID:
        return ()
    if node.op in EXITS:
        return flow.loop_of(node.name)[0].begins
    choice = flow.choices.get(node.name)
    return [*data_inputs(node), *([choice.predicate] if choice is not None else [])]
