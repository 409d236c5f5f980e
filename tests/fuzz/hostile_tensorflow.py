"""TensorFlow graphs of a few kilobytes that need minutes of time or gigabytes of memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.frontends.tensorflow.messages import GraphDef

FLOAT, INT = 1, 3
SIDE = 32768


def graph() -> Any:
    made = GraphDef()
    add(made, "x", "Placeholder", dtype=FLOAT).attr["shape"].shape.dim.add(size=4)
    return made


def add(made: Any, name: str, op: str, *inputs: str, **types: int) -> Any:
    node = made.node.add(name=name, op=op)
    node.input.extend(inputs)
    for key, value in types.items():
        node.attr[key].type = value
    return node


def constant(
    made: Any, name: str, value: np.ndarray, repeated: tuple[int, ...] | None = None
) -> None:
    """A constant. With `repeated`, it has that shape, and the file stores the first element
    only.
    """
    dtype = FLOAT if value.dtype == np.float32 else INT
    tensor = add(made, name, "Const", dtype=dtype).attr["value"].tensor
    tensor.dtype = dtype
    for size in repeated or value.shape:
        tensor.tensor_shape.dim.add(size=size)
    if repeated is None:
        tensor.tensor_content = value.tobytes()
    else:
        tensor.float_val.append(float(value.ravel()[0]))


def ended(made: Any, name: str) -> Any:
    """The graph that adds the mean of a constant to its input."""
    constant(made, "axes", np.array([0], np.int32))
    mean = add(made, "mean", "Mean", f"{name}_flat", "axes", T=FLOAT, Tidx=INT)
    mean.attr["keep_dims"].b = False
    constant(made, "flat", np.array([-1], np.int32))
    add(made, f"{name}_flat", "Reshape", name, "flat", T=FLOAT, Tshape=INT)
    add(made, "y", "AddV2", "x", "mean", T=FLOAT)
    return made


def filled() -> Any:
    made = graph()
    constant(made, "dims", np.array([SIDE, SIDE], np.int32))
    constant(made, "one", np.array(1, np.float32))
    add(made, "c", "Fill", "dims", "one", T=FLOAT, index_type=INT)
    return ended(made, "c")


def repeated() -> Any:
    made = graph()
    constant(made, "c", np.ones(1, np.float32), (SIDE, SIDE))
    return ended(made, "c")


def many_repeated() -> Any:
    """Each has the largest permitted size, and they differ."""
    made = graph()
    names = [f"c{n}" for n in range(40)]
    for n, name in enumerate(names):
        constant(made, name, np.array([n], np.float32), (4096, 4096))
    add(made, "c", "AddN", *names, T=FLOAT).attr["N"].i = len(names)
    return ended(made, "c")


def tiled() -> Any:
    made = graph()
    constant(made, "w", np.ones((2, 3), np.float32))
    constant(made, "times", np.array([SIDE, SIDE], np.int32))
    add(made, "c", "Tile", "w", "times", T=FLOAT, Tmultiples=INT)
    return ended(made, "c")


def counted() -> Any:
    made = graph()
    for name, value in (("from", 0), ("to", 2**31 - 1), ("by", 1)):
        constant(made, name, np.array(value, np.int32))
    add(made, "range", "Range", "from", "to", "by", Tidx=INT)
    add(made, "c", "Cast", "range", SrcT=INT, DstT=FLOAT)
    return ended(made, "c")


def functions_of_functions() -> Any:
    """Inlined, these are 2^30 nodes."""
    made = graph()
    for n in range(31):
        function = made.library.function.add()
        function.signature.name = f"F{n}"
        function.signature.input_arg.add(name="a", type=FLOAT)
        function.signature.output_arg.add(name="b", type=FLOAT)
        if n:
            for name, given in (("p", "a"), ("q", "p:output:0")):
                call = add_to(function.node_def, name, "PartitionedCall", given)
                call.attr["f"].func.name = f"F{n - 1}"
                call.attr["Tin"].list.type.append(FLOAT)
                call.attr["Tout"].list.type.append(FLOAT)
            function.ret["b"] = "q:output:0"
        else:
            add_to(function.node_def, "r", "Relu", "a").attr["T"].type = FLOAT
            function.ret["b"] = "r:activations:0"
    call = add(made, "y", "PartitionedCall", "x")
    call.attr["f"].func.name = "F30"
    call.attr["Tin"].list.type.append(FLOAT)
    call.attr["Tout"].list.type.append(FLOAT)
    return made


def add_to(nodes: Any, name: str, op: str, *inputs: str) -> Any:
    node = nodes.add(name=name, op=op)
    node.input.extend(inputs)
    return node


def endless() -> Any:
    """A loop over a constant whose condition is always true."""
    made = graph()
    for name, op in (("cond", "Less"), ("body", "AddV2")):
        function = made.library.function.add()
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
    constant(made, "start", np.zeros((), np.float32))
    loop = add(made, "c", "StatelessWhile", "start")
    loop.attr["cond"].func.name, loop.attr["body"].func.name = "cond", "body"
    loop.attr["T"].list.type.append(FLOAT)
    loop.attr["output_shapes"].list.shape.add()
    return ended(made, "c")


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
