"""Run ONNX models with webkiln and with onnxruntime."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime

from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.load import describe_model
from webkiln.ir.graph import Graph


def converted(model: onnx.ModelProto, **options: object) -> Graph:
    spec, blobs = describe_model(model, "model.onnx")
    return OnnxConverter(**options).convert(spec, blobs)  # type: ignore[arg-type]


def onnxruntime_outputs(
    model: onnx.ModelProto, values: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [item.name for item in session.get_outputs()]
    return {
        name: rows_of(output) if _is_map_list(output) else output
        for name, output in zip(names, session.run(names, dict(values)), strict=True)
    }


def _is_map_list(output: object) -> bool:
    return isinstance(output, list) and bool(output) and isinstance(output[0], dict)


def rows_of(maps: Sequence[Mapping[object, float]]) -> np.ndarray:
    """The values of a list of dictionaries, [rows, keys]; onnxruntime sorts the keys."""
    return np.array([list(row.values()) for row in maps], np.float32)


def source_inputs(graph: GraphSpec, tensor: str) -> list[str]:
    """The model inputs that a tensor depends on, through nested graphs as well."""
    makers: dict[str, set[str]] = {}

    def visit(part: GraphSpec) -> set[str]:
        """The tensors that the nodes of a graph read."""
        mentioned = {item.tensor for item in part.outputs}
        for node in part.nodes:
            reads = set(filter(None, node.inputs))
            for value in node.attrs.values():
                if isinstance(value, GraphSpec):
                    reads |= visit(value)
            for name in node.outputs:
                makers[name] = reads
            mentioned |= reads
        return mentioned

    visit(graph)
    queue, visited = [tensor], {tensor}
    while queue:
        fresh = makers.get(queue.pop(), set()) - visited
        visited |= fresh
        queue += fresh
    return sorted(item.name for item in graph.inputs if item.tensor in visited)
