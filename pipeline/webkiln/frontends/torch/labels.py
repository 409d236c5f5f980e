"""Names of the nodes and outputs of an exported program."""

import operator
from collections.abc import Mapping

import torch
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from webkiln.frontends.torch.read import Reading

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


def output_names(program: torch.export.ExportedProgram) -> list[str]:
    """The names of the outputs: keys and fields of the result, or `output` and a number."""
    spec = program.call_spec.out_spec
    filled = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    result = []
    for path, _ in pytree.tree_flatten_with_path(filled)[0]:
        parts = [
            str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path
        ]
        name = "_".join(
            part if part.isidentifier() or number else f"output_{part}"
            for number, part in enumerate(parts)
        )
        result.append(name or "output")
    return result


def node_label(read: Reading, node: Node) -> str:
    """A node's name in messages and layers: its module, and its operator unless the module is a
    layer of torch.nn.
    """
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path, kind = stack[-1] if stack else ("", "")
    path = str(path) if "_empty_nn_module" not in str(path) else ""
    op = operator_name(node)
    own = str(kind).startswith("torch.nn.modules.") and "container" not in str(kind)
    return read.labels.distinct(path if path and own else f"{path}.{op}" if path else op)


def operator_name(node: Node) -> str:
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return str(target._schema.name.rpartition("::")[2])
    return f"sym_{SYMBOLS.get(target, getattr(target, '__name__', str(target)))}"


def inputs_of(graph: GraphModule) -> list[Node]:
    return [node for node in graph.graph.nodes if node.op == "placeholder"]


def layer_values(program: torch.export.ExportedProgram, name: str) -> Mapping[Node, str]:
    """The name in the spec for each node with a single result."""
    read = Reading(name)
    labels = {}
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
            and operator_name(node) not in IGNORED
        ):
            labels[node] = node_label(read, node)
    return labels
