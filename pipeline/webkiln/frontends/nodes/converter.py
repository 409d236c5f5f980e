"""NodeConverter converts the spec of a model of nodes to a Graph, with the handlers of its
format.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from webkiln.errors import (
    InternalError,
    Item,
    ShapeError,
    SourceError,
    UnsupportedError,
    WebkilnError,
)
from webkiln.frontends.core.arrays import Blobs, Literal, Weight, stored_array
from webkiln.frontends.core.subgraph import Vertex, add_subgraph_hints
from webkiln.frontends.nodes import narrow
from webkiln.frontends.nodes.advice import advice_for
from webkiln.frontends.nodes.call import (
    DataDependentError,
    GraphValue,
    NodeCall,
    NodeResult,
    as_tensor,
    known,
)
from webkiln.frontends.nodes.fold import array_of_sizes
from webkiln.frontends.nodes.handlers import NodeHandlers
from webkiln.frontends.nodes.reading import all_graphs
from webkiln.frontends.nodes.size_arithmetic import element
from webkiln.frontends.nodes.size_evaluation import evaluate_call
from webkiln.frontends.nodes.sizes import element_sizes, fixed_values, input_shapes
from webkiln.frontends.nodes.spec import MAX_BYTES, Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.frontends.nodes.states import STATES
from webkiln.ir.dim import Size, is_symbolic, known_shape
from webkiln.ir.graph import INLINE_ELEMENTS, Graph
from webkiln.ir.input_names import by_input
from webkiln.ir.types import DTYPES, Array, Type
from webkiln.ops.budget import limited
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import RULES

FOLDING_ERRORS = (WebkilnError, ArithmeticError, LookupError, TypeError, ValueError)
"""What handlers raise for operands that they cannot compute with before the model runs."""


class NodeConverter:
    """Converts one model at a time. Each format has a subclass with its `handlers`.

    `dims` fixes or renames symbolic sizes of the model, `input_shapes` replaces entire shapes of
    inputs, and `values` fixes inputs: these are no inputs of the graph.
    """

    handlers: ClassVar[NodeHandlers]

    def __init__(
        self,
        dims: Mapping[str, int | str] | None = None,
        input_shapes: Mapping[str, Sequence[int | str]] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> None:
        self.dims = dict(dims or {})
        self.input_shapes = dict(input_shapes or {})
        self.values = dict(values or {})
        self.builder = GraphBuilder("model", RULES)
        self.digests: dict[str, Weight] = {}
        self._main: GraphSpec | None = None
        self._opsets: Mapping[str, int] = {}
        self._blobs: Blobs = {}

    def convert(
        self, source: NodeModel, blobs: Blobs | None = None, name: str | None = None
    ) -> Graph:
        """Convert a model to a graph; `blobs` provides values of weights, if available.

        Raise UnsupportedError with all nodes without a handler, before anything is converted.
        """
        self._main = source.graph
        self._check_supported(source.graph, source.opsets, name or source.name)
        self.builder = GraphBuilder(name or source.name, RULES)
        self.digests, self._blobs, self._opsets = {}, blobs or {}, source.opsets
        names = [item.name for item in source.graph.inputs]
        values = by_input(self.values, names)
        shapes = input_shapes(source, self.dims, by_input(self.input_shapes, names), values)
        fixed = fixed_values(source, shapes, values)
        inputs = [
            self._input(
                item, shapes[item.name], fixed.get(item.name), is_sizes=item.name in source.sizes
            )
            for item in source.graph.inputs
        ]
        with limited(spec_nodes=sum(len(graph.nodes) for graph in all_graphs(source.graph))):
            try:
                outputs = self._convert_graph(self.builder, source.graph, inputs, {})
            except DataDependentError as error:
                advice = advice_for(
                    source, error.tensor, self.handlers.folds.of_types, self.builder
                )
                raise DataDependentError(f"{error}; {advice}", error.tensor) from error
        outputs_by_name: dict[str, Tensor] = {}
        for item, operand in zip(source.graph.outputs, outputs, strict=True):
            tensor = as_tensor(self.builder, operand)
            outputs_by_name[item.name] = (
                tensor
                if tensor.name not in self.builder.inputs
                else self.builder.op("Identity", [tensor])
            )
        self.digests = self.builder.by_variable(self.digests)
        return self.builder.graph(outputs_by_name)

    def _check_supported(self, graph: GraphSpec, opsets: Mapping[str, int], name: str) -> None:
        """With fixed values of inputs, a branch may never be converted; its nodes are checked when
        it is.
        """
        if unsupported := list(
            find_unsupported(self.handlers, graph, opsets, branches=not self.values)
        ):
            vertices = [
                Vertex(
                    node.name, tuple(filter(None, node.inputs)), tuple(filter(None, node.outputs))
                )
                for node in graph.nodes
            ]
            raise UnsupportedError(
                name,
                (
                    add_subgraph_hints(unsupported, vertices)
                    if graph is self._main and self.handlers.supports_subgraphs
                    else unsupported
                ),
            )

    def _input(
        self, item: Declared, shape: Sequence[Size], value: Array | None, *, is_sizes: bool = False
    ) -> GraphValue:
        if item.dtype not in DTYPES:
            raise UnsupportedError(
                item.name,
                [(item.name, f"is an input of {item.dtype}", f"Supported are {', '.join(DTYPES)}")],
            )
        if value is not None:
            return known(value, item.dtype)
        sizes = element_sizes(item, shape) if is_sizes else ()
        tensor = self.builder.input(item.name, item.dtype, shape, sizes=sizes)
        _check_size(tensor.type, item.name)
        elements = [element(size, item.dtype) for size in sizes]
        values = (
            array_of_sizes(elements).reshape(known_shape(shape, item.name)) if is_sizes else None
        )
        return GraphValue(tensor.type, tensor, values)

    def _convert_graph(
        self,
        builder: GraphBuilder,
        graph: GraphSpec,
        inputs: Sequence[GraphValue],
        outer: Mapping[str, GraphValue],
    ) -> list[GraphValue]:
        """Convert the nodes of a graph and return its outputs."""
        values: dict[str, GraphValue] = dict(outer)
        values |= zip((item.tensor for item in graph.inputs), inputs, strict=True)
        values |= {name: self._initialiser(tensor) for name, tensor in graph.tensors.items()}
        for node in graph.nodes:
            operands = [values[name] if name else None for name in node.inputs]
            results = self._convert_node(builder, node, operands, values)
            if len(results) < len([name for name in node.outputs if name]):
                raise ShapeError(
                    f"{node.name} ({node.op}): the model reads {len(node.outputs)} outputs, there"
                    f" are {len(results)}"
                )
            values |= {
                name: result for name, result in zip(node.outputs, results, strict=False) if name
            }
        return [values[item.tensor] for item in graph.outputs]

    def _initialiser(self, tensor: Weight | Literal) -> GraphValue:
        """An initialiser: a weight slot, or the known value of a literal."""
        if isinstance(tensor, Literal):
            return known(np.array(tensor.values, tensor.dtype).reshape(tensor.shape), tensor.dtype)
        is_narrow = tensor.dtype in narrow.BITS
        weight = narrow.stored_weight(tensor) if is_narrow else tensor
        self.digests[tensor.slot] = weight
        type_ = Type(weight.dtype, weight.shape)
        slot = self.builder.slot(tensor.slot, stored_array(self._blobs, tensor.digest, type_))
        if is_narrow:
            slot = narrow.decode(self.builder, slot, tensor.dtype, tensor.shape)
        return GraphValue(slot.type, slot)

    def _convert_node(
        self,
        builder: GraphBuilder,
        node: NodeSpec,
        operands: Sequence[GraphValue | None],
        values: Mapping[str, GraphValue],
    ) -> list[GraphValue]:
        before, builder.layer = builder.layer, node.name

        def convert_subgraph(
            inner: GraphBuilder, graph: GraphSpec, inputs: Sequence[Tensor | GraphValue]
        ) -> list[GraphValue]:
            if self.values:
                self._check_supported(graph, self._opsets, self.builder.name)
            arguments = [
                GraphValue(item.type, item) if isinstance(item, Tensor) else item for item in inputs
            ]
            return self._convert_graph(inner, graph, arguments, values)

        def infer_values(
            graph: GraphSpec, arguments: Mapping[str, GraphValue]
        ) -> Mapping[str, GraphValue]:
            return self._infer_values(graph, {**values, **arguments})

        call = NodeCall(
            node,
            self._version(node),
            builder,
            operands,
            convert_subgraph,
            infer_values,
        )
        folds = self.handlers.folds
        try:
            results = folds.apply(call) or self._evaluate(call) or self._call_handler(call)
            if (conditions := folds.conditions(call)) is not None:
                results = [replace(result, conditions=conditions) for result in results]
            for result in results:
                _check_size(result.type, f"{node.name} ({node.op}): a result")
        except (WebkilnError, RecursionError) as error:
            raise self._with_node_name(error, node) from error
        except MemoryError as error:
            raise ShapeError(
                f"{node.name} ({node.op}): its results do not fit the memory of this machine"
            ) from error
        except (
            IndexError,
            KeyError,
            TypeError,
            ValueError,
            ArithmeticError,
            AttributeError,
        ) as error:
            detail = f"{type(error).__name__}: {error}"
            raise SourceError(
                f"{node.name} ({node.op}): its attributes or operands do not match the operator"
                f" ({detail})"
            ) from error
        builder.layer = before
        return results

    def _infer_values(
        self, graph: GraphSpec, outer: Mapping[str, GraphValue]
    ) -> dict[str, GraphValue]:
        """Infer the values and size relations of tensors in a graph from the values known around
        it.

        This is constant propagation over symbolic sizes; nodes with other operands, and nodes with
        graphs, are skipped.
        """
        known_values = {
            name: item
            for name, item in outer.items()
            if item.value is not None or item.conditions is not None
        }
        known_values |= {
            name: self._initialiser(tensor)
            for name, tensor in graph.tensors.items()
            if isinstance(tensor, Literal)
        }
        scratch = GraphBuilder(self.builder.name, RULES)

        def refuse(*_: object) -> Any:
            raise InternalError("shape arithmetic contains no graphs")

        for node in graph.nodes:
            if not all(name in known_values for name in node.inputs if name) or any(
                isinstance(value, GraphSpec) for value in node.attrs.values()
            ):
                continue
            operands = [known_values[name] if name else None for name in node.inputs]
            call = NodeCall(node, self._version(node), scratch, operands, refuse, refuse)
            conditions = self.handlers.folds.conditions(call)
            results = self._fold(call) or (
                [] if conditions is None else [GraphValue(Type("bool", call.type(0).shape))]
            )
            known_values |= {
                name: replace(result, conditions=conditions)
                for name, result in zip(node.outputs, results, strict=False)
            }
        return known_values

    def _version(self, node: NodeSpec) -> int:
        """The opset of a node's domain: its own, or that of the model."""
        return node.version or self._opsets.get(node.domain, 1)

    def _fold(self, call: NodeCall) -> list[GraphValue] | None:
        try:
            return self.handlers.folds.apply(call) or self._evaluate(call)
        except FOLDING_ERRORS:
            return None

    def _with_node_name(self, error: BaseException, node: NodeSpec) -> BaseException:
        if isinstance(error, ShapeError) and node.name not in str(error):
            return ShapeError(f"{node.name} ({node.op}): {error}")
        return error

    def _call_handler(self, call: NodeCall) -> list[GraphValue]:
        handler = self.handlers.find(call.spec.domain, call.spec.op)
        if handler is None:
            raise call.unsupported(
                "computes a size from data",
                "Make it a constant of the model, or fix sizes with --dim",
            )
        return as_operands(handler(call))

    def _evaluate(self, call: NodeCall) -> list[GraphValue] | None:
        """Constant folding: evaluate a node whose operands are all known with the numpy references
        of its operators; None if that is not possible.
        """
        operands = [item for item in call.operands if item is not None]
        has_graphs = any(isinstance(value, GraphSpec) for value in call.spec.attrs.values())
        if (
            not operands
            or call.spec.op in STATES
            or has_graphs
            or any(item.value is None for item in operands)
        ):
            return None
        if all(item.is_constant for item in operands):
            return self._evaluate_constants(call)
        try:
            return evaluate_call(call, self._call_handler)
        except FOLDING_ERRORS:
            return None

    def _evaluate_constants(self, call: NodeCall) -> list[GraphValue] | None:
        scratch = GraphBuilder(call.spec.name, RULES)
        results = self._call_handler(call.with_operands(scratch, call.operands))
        has_no_value = any(item.tensor is None and item.value is None for item in results)
        if (
            has_no_value
            or scratch.inputs
            or any(
                is_symbolic(item.type.size) or item.type.size > INLINE_ELEMENTS for item in results
            )
        ):
            return None
        tensors = {str(position): as_tensor(scratch, item) for position, item in enumerate(results)}
        outputs, _ = run_graph(scratch.graph(tensors), {})
        return [
            known(outputs[str(position)], item.type.dtype) for position, item in enumerate(results)
        ]


def _check_size(type_: Type, what: str) -> None:
    size = type_.size * np.dtype(type_.dtype).itemsize
    if not is_symbolic(size) and size > MAX_BYTES:
        raise ShapeError(
            f"{what} is {type_}, which has {size} bytes; the limit of every backend is {MAX_BYTES}"
        )


def as_operands(result: NodeResult) -> list[GraphValue]:
    """The outputs of a handler as a list of values."""
    items = [result] if isinstance(result, Tensor | GraphValue) else list(result)
    return [GraphValue(item.type, item) if isinstance(item, Tensor) else item for item in items]


def find_unsupported(
    handlers: NodeHandlers, graph: GraphSpec, opsets: Mapping[str, int], *, branches: bool = True
) -> Iterator[Item]:  # fmt: skip
    """Yield (where, what, hint) for every node that cannot be converted, including those in graph
    attributes; with `branches=False`, the branches of an If are skipped.
    """
    for node in graph.nodes:
        where = f"{node.name} ({node.op})"
        if node.domain not in handlers.domains():
            known_domains = ", ".join(
                domain or handlers.own_domain for domain in handlers.domains()
            )
            yield (
                where,
                f"is in the domain {node.domain}",
                f"Use operators of {known_domains} in the export, or register a handler",
            )
        elif node.domain not in opsets and node.domain == "":
            yield where, "the model does not declare its opset", "Export the model again"
        elif handlers.find(node.domain, node.op) is None and (
            node.domain or node.op not in handlers.folds.ops
        ):
            yield (where, *handlers.refused.get(node.op, ("no handler", handlers.advice)))
        for value in node.attrs.values():
            if isinstance(value, GraphSpec) and (branches or node.op != "If"):
                yield from find_unsupported(handlers, value, opsets, branches=branches)
