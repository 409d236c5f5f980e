"""Random graphs that resemble real networks: convolution, normalisation, padding, pooling,
branches, shared slots, neutral scalars.
"""

import numpy as np
from hypothesis import strategies as st

from webkiln.ir.graph import Constant, Graph, Node, Variable
from webkiln.ir.text import print_graph
from webkiln.ir.types import Type
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import attributes_of, infer, parse

NHWC = {"x_dims": (0, 3, 1, 2), "w_dims": (3, 2, 0, 1), "out_dims": (0, 3, 1, 2)}


class Builder:
    def __init__(self):
        self.nodes, self.variables, self.slots, self.constants = [], {}, set(), {}

    def declare(self, name, type_):
        self.variables[name] = Variable(name, type_)
        return name

    def slot(self, *shape):
        name = self.declare(f"w{len(self.variables)}", Type("float32", shape))
        self.slots.add(name)
        return name

    def scalar(self, value):
        name = self.declare(f"c{len(self.variables)}", Type("float32", ()))
        self.constants[name] = Constant((value,))
        return name

    def op(self, op, *inputs, **attrs):
        name = f"v{len(self.variables)}"
        node = Node(op, inputs, (name,), attributes_of(op, attrs), f"layer{len(self.nodes)}")
        self.declare(name, infer(node, [self.variables[item].type for item in inputs])[0])
        self.nodes.append(node)
        return name

    def shape(self, name):
        return self.variables[name].shape


def conv(b, draw, x):
    channels, kernel = b.shape(x)[3], draw(st.sampled_from([1, 2, 3]))
    pads = tuple(draw(st.integers(0, 2)) for _ in range(4))
    if min(b.shape(x)[1] + pads[0] + pads[2], b.shape(x)[2] + pads[1] + pads[3]) < kernel:
        return x
    features = draw(st.sampled_from([1, 3, 4, 8]))
    w = b.slot(kernel, kernel, channels, features)
    bias = [b.slot(features)] if draw(st.booleans()) else []
    spread = draw(st.sampled_from([{}, {}, {"x_dilation": (1, 2)}]))
    return b.op(
        "Conv",
        x,
        w,
        *bias,
        **NHWC,
        strides=(1, draw(st.sampled_from([1, 2]))),
        dilation=(1, 1),
        pad_low=pads[:2],
        pad_high=pads[2:],
        groups=1,
        **spread,
    )


def pad(b, draw, x):
    low, high = (0, draw(st.integers(0, 1)), 1, 0), (0, 1, draw(st.integers(0, 1)), 0)
    return b.op("Pad", x, low=low, high=high, value=draw(st.sampled_from([0.0, 0.0, 1.5])))


def norm(b, draw, x):
    parameters = [b.slot(b.shape(x)[3]) for _ in range(4)]
    return b.op("BatchNorm", x, *parameters, axis=3, epsilon=1e-2)


def pool(b, draw, x):
    if min(b.shape(x)[1:3]) < 2:
        return x
    op = draw(st.sampled_from(["MaxPool", "AvgPool"]))
    return b.op(
        op,
        x,
        axes=(1, 2),
        window=(2, 2),
        strides=(1, 2),
        dilation=(1, 1),
        pad_low=(0, draw(st.integers(0, 1))),
        pad_high=(0, 0),
    )


def unary(b, draw, x):
    return b.op(draw(st.sampled_from(["Relu", "Tanh", "Identity", "Sigmoid", "Neg"])), x)


def scalar(b, draw, x):
    op = draw(st.sampled_from(["Add", "Sub", "Mul", "Div"]))
    inputs = [
        x,
        b.scalar(
            draw(st.sampled_from([0.0, 1.0, 2.0]))
            if op != "Div"
            else draw(st.sampled_from([1.0, 2.0]))
        ),
    ]
    return b.op(op, *(reversed(inputs) if op != "Div" and draw(st.booleans()) else inputs))


def transposed(b, draw, x):
    return b.op("Transpose", b.op("Transpose", x, perm=(0, 3, 1, 2)), perm=(0, 2, 3, 1))


def branch(b, draw, x):
    return b.op(
        draw(st.sampled_from(["Add", "Max"])),
        b.op("Relu", x),
        b.op(draw(st.sampled_from(["Relu", "Neg"])), x),
    )


def joined(b, draw, x):
    return b.op("Concat", x, b.op("Relu", x), axis=draw(st.sampled_from([1, 3])))


def mean(b, draw, x):
    return b.op("Mul", x, b.op("ReduceMean", x, axes=(1, 2), keepdims=True))


STEPS = [conv, conv, pad, norm, pool, unary, scalar, transposed, branch, joined, mean]


@st.composite
def graphs(draw, steps=6):
    b = Builder()
    x = b.declare(
        "x",
        Type(
            "float32",
            (
                draw(st.integers(1, 2)),
                draw(st.integers(2, 6)),
                draw(st.integers(2, 6)),
                draw(st.sampled_from([1, 3, 5])),
            ),
        ),
    )
    values = [x]
    for _ in range(draw(st.integers(1, steps))):
        values.append(draw(st.sampled_from(STEPS))(b, draw, draw(st.sampled_from(values[-2:]))))
    outputs = {"out": values[-1]} | ({"early": values[1]} if draw(st.booleans()) else {})
    return Graph("g", tuple(b.nodes), b.variables, ("x",), outputs, frozenset(b.slots), b.constants)


def values_for(graph, seed=0):
    """Random values of both signs for inputs and slots; variances are positive."""
    rng = np.random.default_rng(seed)
    variances = {node.inputs[4] for node in graph.nodes if node.op == "BatchNorm"}

    def values(name):
        low, high = (0.2, 1.5) if name in variances else (-1.5, 1.5)
        return rng.uniform(low, high, graph.type(name).shape).astype(np.float32)

    return {name: values(name) for name in (*graph.inputs, *sorted(graph.slots))}


def evaluate_graph(graph, values, target=None):
    """The reference outputs; of a graph in float32 if the target holds float16 as float32."""
    if target is None or not target.holds_float16:
        return run_graph(graph, values, values)[0]
    held = parse(print_graph(graph).replace("float16", "float32"))
    dtypes = {output: graph.type(name).dtype for output, name in graph.outputs.items()}
    widened = {
        name: value.astype(np.float32) if value.dtype == np.float16 else value
        for name, value in values.items()
    }
    results, _ = run_graph(held, widened, widened)
    return {output: value.astype(dtypes[output]) for output, value in results.items()}
