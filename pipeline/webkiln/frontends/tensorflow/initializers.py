"""Find the checkpoint keys of variables and the contents of tables from the nodes that restore and
initialize them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from webkiln.frontends.core.arrays import Literal
from webkiln.frontends.nodes.inlining import Inlining
from webkiln.frontends.nodes.reading import literal
from webkiln.frontends.tensorflow.attributes import read_tensor
from webkiln.frontends.tensorflow.messages import DTYPES
from webkiln.frontends.tensorflow.scope import (
    CALLS,
    DEEPEST,
    PASS_THROUGH,
    TABLES,
    VARIABLES,
    Handle,
    Scope,
    TensorRef,
)
from webkiln.frontends.tensorflow.source import (
    GraphSource,
    control_inputs,
    data_inputs,
    split_reference,
)

ASSIGNING = frozenset({"AssignVariableOp", "Assign"})
IMPORTING = frozenset(
    {"LookupTableImportV2", "LookupTableImport", "InitializeTableV2", "InitializeTable"}
)


class Initializers:
    """Follows restore and initialization nodes, without computing anything."""

    def __init__(self, program: GraphSource) -> None:
        self.program = program
        self.keys = dict(program.stored.keys)
        """Variable -> its key in the checkpoint."""
        self.tables: dict[str, tuple[Literal, Literal]] = {}
        """Table -> its keys and values."""
        self._inlining = Inlining(program.name, program.node_count)
        self._constants: dict[str, Any] = {}
        for name in filter(None, (program.stored.restoring, *program.stored.initialising)):
            if name in program.main.nodes:
                self.run(Scope(program.main, {}), name)

    def run(self, scope: Scope, name: str) -> None:
        for reached in _dependencies(scope, name):
            node = scope.body.nodes[reached]
            inputs = [self._of(scope, item) for item in data_inputs(node)]
            scope.outputs[reached] = self._effects(scope, node, inputs)

    def _of(self, scope: Scope, reference: str) -> TensorRef:
        node, _, number = split_reference(reference)
        if node in scope.arguments:
            return scope.arguments[node]
        outputs = scope.outputs.get(node, ())
        return outputs[number] if number < len(outputs) else ""

    def _effects(self, scope: Scope, node: Any, inputs: Sequence[TensorRef]) -> Sequence[TensorRef]:
        op = node.op
        self._inlining.add()
        if op in VARIABLES:
            return [Handle("variable", node.name)]
        if op in TABLES:
            return [Handle("table", node.name)]
        if op == "Const":
            key = f"{scope.depth}:{id(node)}"
            self._constants[key] = node.attr["value"].tensor
            return [Handle("constant", key)]
        if op == "RestoreV2" and len(inputs) > 1 and isinstance(inputs[1], Handle):
            return [
                Handle("restored", key.decode(errors="replace"))
                for key in self._constants[inputs[1].name].string_val
            ]
        if op in PASS_THROUGH:
            return list(inputs)
        if (
            op in ASSIGNING
            and len(inputs) > 1
            and isinstance(inputs[0], Handle)
            and isinstance(inputs[1], Handle)
            and inputs[1].kind == "restored"
        ):
            self.keys[inputs[0].name] = inputs[1].name
        if (
            op in IMPORTING
            and len(inputs) > 2
            and isinstance(inputs[0], Handle)
            and all(isinstance(item, Handle) and item.kind == "constant" for item in inputs[1:3])
        ):
            tensors = [
                self._constants[item.name] for item in inputs[1:3] if isinstance(item, Handle)
            ]
            if all(tensor.dtype in DTYPES for tensor in tensors):
                keys, values = (
                    literal(read_tensor(tensor, f"{self.program.name}: table {inputs[0].name}"))
                    for tensor in tensors
                )
                self.tables[inputs[0].name] = keys, values
        called = node.attr["f"].func.name if op in CALLS else op
        body = self.program.functions.get(called)
        if body is not None and scope.depth < DEEPEST:
            inner = Scope(
                body,
                {name: value for (name, _), value in zip(body.arguments, inputs, strict=False)},
                depth=scope.depth + 1,
            )
            for name in body.nodes:
                if name not in inner.outputs:
                    self.run(inner, name)
            return [self._of(inner, item) for item in body.results]
        return [""]


def _dependencies(scope: Scope, name: str) -> Iterator[str]:
    """A node and its dependencies, data and control, in a valid execution order."""
    visited: set[str] = set(scope.outputs)
    stack = [(name, False)]
    while stack:
        current, is_left = stack.pop()
        if is_left:
            yield current
            continue
        if current in visited or current not in scope.body.nodes:
            continue
        visited.add(current)
        stack.append((current, True))
        node = scope.body.nodes[current]
        stack += [
            (split_reference(item)[0], False)
            for item in (*data_inputs(node), *control_inputs(node))
        ]
