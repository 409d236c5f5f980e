"""TensorFlow graphs of a few kilobytes that need minutes of time or gigabytes of memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.frontends.tensorflow.messages import GraphDef

FLOAT, INT = 1, 3
SIDE = 32768


def graph() -> Any:
    definition = GraphDef()
    add(definition, "x", "Placeholder", dtype=FLOAT).attr["shape"].shape.dim.add(size=4)
    return definition


def add(definition: Any, name: str, op: str, *inputs: str, **types: int) -> Any:
    node = definition.node.add(name=name, op=op)
    node.input.extend(inputs)
    for key, value in types.items():
        node.attr[key].type = value
    return node


def constant(
    definition: Any, name: str, value: np.ndarray, repeated: tuple[int, ...] | None = None
) -> None:
    """A constant. With `repeated`, it has that shape, and the file stores the first element
    only.
    """
    dtype = FLOAT if value.dtype == np.float32 else INT
    tensor = add(definition, name, "Const", dtype=dtype).attr["value"].tensor
    tensor.dtype = dtype
    for size in repeated or value.shape:
        tensor.tensor_shape.dim.add(size=size)
    if repeated is None:
        tensor.tensor_content = value.tobytes()
    else:
        tensor.float_val.append(float(value.ravel()[0]))


def add_mean(definition: Any, name: str) -> Any:
    """The graph that adds the mean of a constant to its input."""
    constant(definition, "axes", np.array([0], np.int32))
    mean = add(definition, "mean", "Mean", f"{name}_flat", "axes", T=FLOAT, Tidx=INT)
    mean.attr["keep_dims"].b = False
    constant(definition, "flat", np.array([-1], np.int32))
    add(definition, f"{name}_flat", "Reshape", name, "flat", T=FLOAT, Tshape=INT)
    add(definition, "y", "AddV2", "x", "mean", T=FLOAT)
    return definition


def filled() -> Any:
    definition = graph()
    constant(definition, "dims", np.array([SIDE, SIDE], np.int32))
    constant(definition, "one", np.array(1, np.float32))
    add(definition, "c", "Fill", "dims", "one", T=FLOAT, index_type=INT)
    return add_mean(definition, "c")


def repeated() -> Any:
    definition = graph()
    constant(definition, "c", np.ones(1, np.float32), (SIDE, SIDE))
    return add_mean(definition, "c")


def many_repeated() -> Any:
    """Each has the largest permitted size, and they differ."""
    definition = graph()
    names = [f"c{n}" for n in range(40)]
    for n, name in enumerate(names):
        constant(definition, name, np.array([n], np.float32), (4096, 4096))
    add(definition, "c", "AddN", *names, T=FLOAT).attr["N"].i = len(names)
    return add_mean(definition, "c")


def tiled() -> Any:
    definition = graph()
    constant(definition, "w", np.ones((2, 3), np.float32))
    constant(definition, "times", np.array([SIDE, SIDE], np.int32))
    add(definition, "c", "Tile", "w", "times", T=FLOAT, Tmultiples=INT)
    return add_mean(definition, "c")


def counted() -> Any:
    definition = graph()
    for name, value in (("from", 0), ("to", 2**31 - 1), ("by", 1)):
        constant(definition, name, np.array(value, np.int32))
    add(definition, "range", "Range", "from", "to", "by", Tidx=INT)
    add(definition, "c", "Cast", "range", SrcT=INT, DstT=FLOAT)
    return add_mean(definition, "c")


def functions_of_functions() -> Any:
    """Inlined, these are 2^30 nodes."""
    definition = graph()
    for n in range(31):
        function = definition.library.function.add()
        function.signature.name = f"F{n}"
        function.signature.input_arg.add(name="a", type=FLOAT)
        function.signature.output_arg.add(name="b", type=FLOAT)
        if n:
            for name, argument in (("p", "a"), ("q", "p:output:0")):
                call = add_to(function.node_def, name, "PartitionedCall", argument)
                call.attr["f"].func.name = f"F{n - 1}"
                call.attr["Tin"].list.type.append(FLOAT)
                call.attr["Tout"].list.type.append(FLOAT)
            function.ret["b"] = "q:output:0"
        else:
            add_to(function.node_def, "r", "Relu", "a").attr["T"].type = FLOAT
            function.ret["b"] = "r:activations:0"
    call = add(definition, "y", "PartitionedCall", "x")
    call.attr["f"].func.name = "F30"
    call.attr["Tin"].list.type.append(FLOAT)
    call.attr["Tout"].list.type.append(FLOAT)
    return definition


def add_to(nodes: Any, name: str, op: str, *inputs: str) -> Any:
    node = nodes.add(name=name, op=op)
    node.input.extend(inputs)
    return node


def endless() -> Any:
    """A loop over a constant whose condition is always true."""
    definition = graph()
    for name, op in (("cond", "Less"), ("body", "AddV2")):
        function = definition.library.function.add()
        function.signature.name = name
        function.signature.input_arg.add(name="a", type=FLOAT)
        function.signature.output_arg.add(name="b", type=10 if name == "cond" else FLOAT)
        node = add_to(function.node_def, "n", op, "a", "a" if name == "body" else "limit:output:0")
        node.attr["T"].type = FLOAT
        if name == "cond":
            limit = add_to(function.node_def, "limit", "Const")
            limit.attr["dtype"].type = FLOAT
            limit.attr["value"].tensor.dtype = FLOAT
            limit.attr["value"].tensor.tensor_shape.SetInParent()
            limit.attr["value"].tensor.float_val.append(3e38)
        function.ret["b"] = "n:z:0"
    constant(definition, "start", np.zeros((), np.float32))
    loop = add(definition, "c", "StatelessWhile", "start")
    loop.attr["cond"].func.name, loop.attr["body"].func.name = "cond", "body"
    loop.attr["T"].list.type.append(FLOAT)
    loop.attr["output_shapes"].list.shape.add()
    return add_mean(definition, "c")


HOSTILE: tuple[Callable[[], Any], ...] = (
    filled,
    repeated,
    many_repeated,
    tiled,
    counted,
    functions_of_functions,
    endless,
)


def write(make: Callable[[], Any], folder: Path) -> str:
    data = make().SerializeToString()
    (folder / "net.pb").write_bytes(data)
    return f"{len(data)} bytes"
