"""TensorFlow Lite files of a few kilobytes that need minutes of time or gigabytes of memory."""

from collections.abc import Callable, Sequence
from pathlib import Path

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

SIDE = 16384
DTYPES = {"float32": schema.TensorType.FLOAT32, "int32": schema.TensorType.INT32}


class Writer:
    """Write one graph, which adds the mean of a constant to its input."""

    def __init__(self) -> None:
        self.model = schema.ModelT()
        self.model.version, self.model.buffers, self.model.operatorCodes = 3, [schema.BufferT()], []
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators = [], []
        self.model.subgraphs = [self.graph]
        self.x = self.tensor("x", "float32", (4,))

    def tensor(
        self, name: str, dtype: str, shape: Sequence[int], value: np.ndarray | None = None
    ) -> int:
        result = schema.TensorT()
        result.name, result.type, result.shape, result.buffer = name, DTYPES[dtype], list(shape), 0
        if value is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(value.tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            result.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(result)
        return len(self.graph.tensors) - 1

    def constant(self, name: str, value: np.ndarray) -> int:
        return self.tensor(name, str(value.dtype), value.shape, value)

    def op(
        self,
        code: int,
        inputs: Sequence[int],
        output: int,
        options: tuple[int, object] | None = None,
    ) -> int:
        kind = schema.OperatorCodeT()
        kind.builtinCode, kind.deprecatedBuiltinCode, kind.version = code, min(code, 127), 1
        self.model.operatorCodes.append(kind)
        result = schema.OperatorT()
        result.opcodeIndex, result.inputs, result.outputs = (
            len(self.model.operatorCodes) - 1,
            list(inputs),
            [output],
        )
        if options is not None:
            result.builtinOptionsType, result.builtinOptions = options
        self.graph.operators.append(result)
        return output

    def bytes(self, constant: int) -> bytes:
        axes = self.constant(
            "axes", np.arange(len(self.graph.tensors[constant].shape), dtype=np.int32)
        )
        reducing = schema.ReducerOptionsT()
        mean = self.op(
            schema.BuiltinOperator.MEAN,
            [constant, axes],
            self.tensor("mean", "float32", ()),
            (schema.BuiltinOptions.ReducerOptions, reducing),
        )
        adding = schema.BuiltinOptions.AddOptions, schema.AddOptionsT()
        y = self.op(
            schema.BuiltinOperator.ADD, [self.x, mean], self.tensor("y", "float32", (4,)), adding
        )
        self.graph.inputs, self.graph.outputs = [self.x], [y]
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def filled() -> bytes:
    w = Writer()
    operands = [
        w.constant("sizes", np.array([SIDE, SIDE], np.int32)),
        w.constant("one", np.array(1, np.float32)),
    ]
    return w.bytes(
        w.op(schema.BuiltinOperator.FILL, operands, w.tensor("c", "float32", (SIDE, SIDE)))
    )


def tiled() -> bytes:
    w = Writer()
    operands = [
        w.constant("w", np.eye(2, dtype=np.float32)),
        w.constant("times", np.array([SIDE, SIDE], np.int32)),
    ]
    return w.bytes(
        w.op(schema.BuiltinOperator.TILE, operands, w.tensor("c", "float32", (2 * SIDE, 2 * SIDE)))
    )


def broadcast() -> bytes:
    w = Writer()
    operands = [
        w.constant("w", np.eye(1, 4, dtype=np.float32)),
        w.constant("shape", np.array([1 << 27, 4], np.int32)),
    ]
    return w.bytes(
        w.op(schema.BuiltinOperator.BROADCAST_TO, operands, w.tensor("c", "float32", (1 << 27, 4)))
    )


def multiplied() -> bytes:
    w = Writer()
    side = 4096
    operands = [
        w.constant("sizes", np.array([side, side], np.int32)),
        w.constant("one", np.array(1, np.float32)),
    ]
    a = w.op(schema.BuiltinOperator.FILL, operands, w.tensor("a", "float32", (side, side)))
    for n in range(20):
        options = schema.BuiltinOptions.BatchMatMulOptions, schema.BatchMatMulOptionsT()
        a = w.op(
            schema.BuiltinOperator.BATCH_MATMUL,
            [a, a],
            w.tensor(f"p{n}", "float32", (side, side)),
            options,
        )
    return w.bytes(a)


def functions_of_functions() -> bytes:
    """Graphs that call the next one twice: inlined, these are 2^30 operators."""
    w = Writer()
    graphs = []
    for n in range(31):
        inner = Writer()
        inner.model = w.model
        inner.graph.inputs, at = [inner.x], inner.x
        for half in range(2):
            options = schema.CallOptionsT()
            options.subgraph = n + 2
            out = inner.tensor(f"t{half}", "float32", (4,))
            if n < 30:
                at = inner.op(
                    schema.BuiltinOperator.CALL,
                    [at],
                    out,
                    (schema.BuiltinOptions.CallOptions, options),
                )
            else:
                at = inner.op(schema.BuiltinOperator.RELU, [at], out)
        inner.graph.outputs = [at]
        graphs.append(inner.graph)
    w.model.subgraphs = [w.graph, *graphs]
    options = schema.CallOptionsT()
    options.subgraph = 1
    return w.bytes(
        w.op(
            schema.BuiltinOperator.CALL,
            [w.x],
            w.tensor("c", "float32", (4,)),
            (schema.BuiltinOptions.CallOptions, options),
        )
    )


HOSTILE: tuple[Callable[[], bytes], ...] = (
    filled,
    tiled,
    broadcast,
    multiplied,
    functions_of_functions,
)


def write(make: Callable[[], bytes], folder: Path) -> str:
    data = make()
    (folder / "net.tflite").write_bytes(data)
    return f"{len(data)} bytes"
