"""ONNX files of a few kilobytes that need minutes of time or gigabytes of memory."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.frontends.onnx.models import floats, literal, model, weight

FOREVER = 1 << 40
SIDE = 32768
node = helper.make_node


def one(value: float, name: str, dtype: type = np.float32) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(value, dtype), name)


TRUE = one(1, "true", np.bool_)


def add_mean(
    nodes: Sequence[onnx.NodeProto], tensors: Sequence[onnx.TensorProto], constant: str = "c"
) -> onnx.ModelProto:
    """A model that adds the mean of a constant to its input."""
    total = [node("ReduceMean", [constant], ["m"], keepdims=0), node("Add", ["x", "m"], ["y"])]
    return model([*nodes, *total], [floats("x", 4)], [floats("y", 4)], tensors)


def ones(*sizes: int, name: str = "c") -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """A constant of ones."""
    value = helper.make_tensor("value", onnx.TensorProto.FLOAT, [1], [1.0])
    return [node("ConstantOfShape", [f"{name}s"], [name], value=value)], [
        literal(f"{name}s", list(sizes))
    ]


def body(
    nodes: Sequence[onnx.NodeProto],
    shape: Sequence[int],
    result: str = "b",
    *,
    stacked: bool = False,
) -> onnx.GraphProto:
    inputs = [
        helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
        helper.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
        floats("a", *shape),
    ]
    outputs = [
        helper.make_tensor_value_info("more", onnx.TensorProto.BOOL, []),
        floats(result, *shape),
    ]
    outputs += [floats("pile", *shape)] if stacked else []
    copies = [node("Identity", ["go"], ["more"])] + (
        [node("Identity", [result], ["pile"])] if stacked else []
    )
    return helper.make_graph([*nodes, *copies], "body", inputs, outputs)


def looped(
    steps: int, nodes: Sequence[onnx.NodeProto], start: onnx.TensorProto, *, stacked: bool = False
) -> onnx.ModelProto:
    graph = body(nodes, start.dims, stacked=stacked)
    outputs = ["c", "piled"] if stacked else ["c"]
    all_nodes = [node("Loop", ["steps", "true", "start"], outputs, "loop", body=graph)]
    tensors = [one(steps, "steps", np.int64), TRUE, start]
    return add_mean(all_nodes, tensors, outputs[-1])


def loop_of_a_slot() -> onnx.ModelProto:
    return looped(FOREVER, [node("Mul", ["a", "a"], ["b"])], weight("start", 3))


def loop_of_a_number() -> onnx.ModelProto:
    return looped(FOREVER, [node("Mul", ["a", "a"], ["b"])], one(1.0, "start"))


def loop_of_nothing() -> onnx.ModelProto:
    return looped(FOREVER, [node("Identity", ["a"], ["b"])], weight("start", 3))


def loop_that_stacks() -> onnx.ModelProto:
    return looped(1 << 14, [node("Mul", ["a", "a"], ["b"])], weight("start", 20000), stacked=True)


def loop_without_end() -> onnx.ModelProto:
    graph = body([node("Mul", ["a", "a"], ["b"])], [3])
    all_nodes = [node("Loop", ["", "true", "start"], ["c"], "loop", body=graph)]
    return add_mean(all_nodes, [TRUE, weight("start", 3)])


def nested_loops() -> onnx.ModelProto:
    graph = body([node("Mul", ["a", "a"], ["b"])], [3])
    for depth in range(5):
        inner = node("Loop", ["steps", "true", "a"], ["b"], f"loop{depth}", body=graph)
        graph = body([inner], [3])
    all_nodes = [node("Loop", ["steps", "true", "start"], ["c"], "loop", body=graph)]
    return add_mean(all_nodes, [one(64, "steps", np.int64), TRUE, weight("start", 3)])


def nested_loops_of_data() -> onnx.ModelProto:
    """Unrolled, these are 64^5 nodes."""
    graph = body([node("Mul", ["a", "a"], ["b"])], [3])
    for depth in range(4):
        graph = body([node("Loop", ["steps", "true", "a"], ["b"], f"loop{depth}", body=graph)], [3])
    all_nodes = [node("Loop", ["steps", "true", "x"], ["y"], "loop", body=graph)]
    return model(all_nodes, [floats("x", 3)], [floats("y", 3)], [one(64, "steps", np.int64), TRUE])


def loop_that_grows() -> onnx.ModelProto:
    """The state grows in each step, so that the loop cannot be repeated."""
    grown = node("Concat", ["a", "a"], ["b"], axis=0)
    graph = body([grown], [None])
    all_nodes = [node("Loop", ["steps", "true", "x"], ["y"], "loop", body=graph)]
    return model(
        all_nodes, [floats("x", 3)], [floats("y", None)], [one(1 << 30, "steps", np.int64), TRUE]
    )


def loop_that_grows_slowly() -> onnx.ModelProto:
    grown = node("Concat", ["a", "one"], ["b"], axis=0)
    graph = body([grown], [None])
    all_nodes = [node("Loop", ["steps", "true", "x"], ["y"], "loop", body=graph)]
    tensors = [one(1 << 30, "steps", np.int64), TRUE, weight("one", 1)]
    return model(all_nodes, [floats("x", 3)], [floats("y", None)], tensors)


def scan_of_a_constant() -> onnx.ModelProto:
    graph = helper.make_graph(
        [node("Add", ["a", "b"], ["d"]), node("Identity", ["d"], ["e"])],
        "body", [floats("a", 1), floats("b", 1)], [floats("d", 1), floats("e", 1)],
    )  # fmt: skip
    nodes, tensors = ones(1 << 22, 1, name="s")
    all_nodes = [
        *nodes,
        node("Scan", ["z", "s"], ["last", "c"], "scan", body=graph, num_scan_inputs=1),
    ]
    return add_mean(all_nodes, [*tensors, weight("z", 1)])


def large() -> onnx.ModelProto:
    return add_mean(*ones(SIDE, SIDE))


def large_and_shown() -> onnx.ModelProto:
    nodes, tensors = ones(SIDE, SIDE)
    return model(
        [*nodes, node("Relu", ["x"], ["y"])],
        [floats("x", 4)],
        [floats("y", 4), floats("c", SIDE, SIDE)],
        tensors,
    )


def expanded() -> onnx.ModelProto:
    return add_mean(
        [node("Expand", ["w", "s"], ["c"], "expand")], [weight("w", 1), literal("s", [SIDE, SIDE])]
    )


def tiled() -> onnx.ModelProto:
    return add_mean(
        [node("Tile", ["w", "s"], ["c"], "tile")],
        [weight("w", 4, 4), literal("s", [SIDE // 4, SIDE // 4])],
    )


def many_expanded() -> onnx.ModelProto:
    """Each is small enough, the sum is not."""
    all_nodes = [node("Expand", [f"w{n}", "s"], [f"c{n}"], f"expand{n}") for n in range(200)]
    all_nodes += [node("Concat", [f"c{n}" for n in range(200)], ["c"], "concat", axis=0)]
    return add_mean(
        all_nodes, [*(weight(f"w{n}", 1) for n in range(200)), literal("s", [2048, 2048])]
    )


def many_results() -> onnx.ModelProto:
    all_nodes = [node("Expand", [f"w{n}", "s"], [f"c{n}"], f"expand{n}") for n in range(200)]
    return model(
        [*all_nodes, node("Relu", ["x"], ["y"])],
        [floats("x", 4)],
        [floats("y", 4), *(floats(f"c{n}", 2048, 2048) for n in range(200))],
        [*(weight(f"w{n}", 1) for n in range(200)), literal("s", [2048, 2048])],
    )


def product() -> onnx.ModelProto:
    nodes, tensors = ones(4096, 4096, name="a")
    all_nodes = [
        *nodes,
        *(
            node("MatMul", [f"{'a' if not n else f'p{n}'}", "a"], [f"p{n + 1}"], f"product{n}")
            for n in range(30)
        ),
    ]
    return add_mean(all_nodes, tensors, "p30")


def einsum() -> onnx.ModelProto:
    nodes, tensors = ones(1000, 1000, name="a")
    return add_mean(
        [*nodes, node("Einsum", ["a", "a", "a"], ["c"], "einsum", equation="ab,bc,cd->ad")], tensors
    )


def convolution() -> onnx.ModelProto:
    nodes, tensors = ones(1, 1, 2048, 2048, name="a")
    kernel_nodes, kernel_tensors = ones(1, 1, 1024, 1024, name="k")
    return add_mean(
        [*nodes, *kernel_nodes, node("Conv", ["a", "k"], ["c"], "conv")],
        [*tensors, *kernel_tensors],
    )


def pooled() -> onnx.ModelProto:
    nodes, tensors = ones(1, 1, 2048, 2048, name="a")
    return add_mean(
        [*nodes, node("MaxPool", ["a"], ["c"], "pool", kernel_shape=[1024, 1024])], tensors
    )


def error_function() -> onnx.ModelProto:
    nodes, tensors = ones(4096, 4096, name="a")
    return add_mean(
        [
            *nodes,
            *(node("Erf", ["a" if not n else f"e{n}"], [f"e{n + 1}"], f"erf{n}") for n in range(8)),
        ],
        tensors,
        "e8",
    )


def determinant() -> onnx.ModelProto:
    nodes, tensors = ones(4096, 4096, name="a")
    return add_mean([*nodes, node("Det", ["a"], ["c"], "det")], tensors)


def identity() -> onnx.ModelProto:
    nodes, tensors = ones(SIDE, SIDE, name="a")
    return add_mean([*nodes, node("EyeLike", ["a"], ["c"], "eye")], tensors)


def ranged() -> onnx.ModelProto:
    limits = [one(0, "from", np.int64), one(1 << 31, "to", np.int64), one(1, "by", np.int64)]
    return add_mean(
        [node("Range", ["from", "to", "by"], ["r"], "range"), node("Cast", ["r"], ["c"], to=1)],
        limits,
    )


def one_hot() -> onnx.ModelProto:
    tensors = [
        literal("at", list(range(1000))),
        one(1 << 24, "depth", np.int64),
        weight("values", 2),
    ]
    return add_mean([node("OneHot", ["at", "depth", "values"], ["c"], "hot")], tensors)


def resized() -> onnx.ModelProto:
    tensors = [weight("w", 1, 1, 4, 4), literal("s", [1, 1, SIDE, SIDE])]
    return add_mean([node("Resize", ["w", "", "", "s"], ["c"], "resize", mode="cubic")], tensors)


def padded() -> onnx.ModelProto:
    tensors = [weight("w", 4, 4), literal("s", [SIDE, SIDE, SIDE, SIDE])]
    return add_mean([node("Pad", ["w", "s"], ["c"], "pad")], tensors)


def window() -> onnx.ModelProto:
    return add_mean([node("HannWindow", ["n"], ["c"], "hann")], [one(1 << 30, "n", np.int64)])


def suppressed() -> onnx.ModelProto:
    nodes, tensors = ones(1, 20000, 4, name="b")
    score_nodes, score_tensors = ones(1, 8, 20000, name="s")
    all_nodes = [
        node("NonMaxSuppression", ["b", "s", "most"], ["n"], "nms"),
        node("Cast", ["n"], ["c"], to=1),
    ]
    return add_mean(
        [*nodes, *score_nodes, *all_nodes], [*tensors, *score_tensors, literal("most", [20000])]
    )


def doubled_sizes() -> onnx.ModelProto:
    all_nodes = [
        node("Shape", ["x"], ["s0"]),
        *(node("Concat", [f"s{n}", f"s{n}"], [f"s{n + 1}"], axis=0) for n in range(34)),
    ]
    return add_mean([*all_nodes, node("Cast", ["s34"], ["c"], to=1)], [])


def doubled_weights() -> onnx.ModelProto:
    all_nodes = [
        node(
            "Concat",
            [f"w{n}" if n else "w", f"w{n}" if n else "w"],
            [f"w{n + 1}"],
            f"concat{n}",
            axis=0,
        )
        for n in range(30)
    ]
    return add_mean(all_nodes, [weight("w", 4)], "w30")


def functions_of_functions() -> onnx.ModelProto:
    """Inlined, these are 2^40 nodes."""
    outer = model([node("F40", ["x"], ["y"], domain="own")], [floats("x", 3)], [floats("y", 3)], [])
    outer.opset_import.append(helper.make_opsetid("own", 1))
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    for n in range(41):
        functions = [
            node(f"F{n - 1}", ["a"], ["m"], domain="own"),
            node(f"F{n - 1}", ["m"], ["b"], domain="own"),
        ]
        nodes = functions if n else [node("Relu", ["a"], ["b"])]
        outer.functions.append(helper.make_function("own", f"F{n}", ["a"], ["b"], nodes, opsets))
    return outer


def deep_branches() -> onnx.ModelProto:
    graph = helper.make_graph([node("Relu", ["x"], ["r"])], "leaf", [], [floats("r", 3)])
    for n in range(9):
        inner = node("If", ["flag"], [f"r{n}"], f"if{n}", then_branch=graph, else_branch=graph)
        graph = helper.make_graph([inner], "branch", [], [floats(f"r{n}", 3)])
    flag = helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    all_nodes = [node("If", ["flag"], ["y"], "outermost", then_branch=graph, else_branch=graph)]
    return model(all_nodes, [floats("x", 3), flag], [floats("y", 3)], [])


HOSTILE: tuple[Callable[[], onnx.ModelProto], ...] = (
    loop_of_a_slot,
    loop_of_a_number,
    loop_of_nothing,
    loop_that_stacks,
    loop_without_end,
    nested_loops,
    nested_loops_of_data,
    loop_that_grows,
    loop_that_grows_slowly,
    scan_of_a_constant,
    large,
    large_and_shown,
    expanded,
    tiled,
    many_expanded,
    many_results,
    product,
    einsum,
    convolution,
    pooled,
    error_function,
    determinant,
    identity,
    ranged,
    one_hot,
    resized,
    padded,
    window,
    suppressed,
    doubled_sizes,
    doubled_weights,
    functions_of_functions,
    deep_branches,
)


def write(make: Callable[[], onnx.ModelProto], folder: Path) -> str:
    data = make().SerializeToString()
    (folder / "net.onnx").write_bytes(data)
    return f"{len(data)} bytes"
