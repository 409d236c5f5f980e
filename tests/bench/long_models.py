"""ONNX models of thousands of nodes: chains, fans, diamonds."""

import numpy as np
from onnx import helper, numpy_helper

from tests.frontends.onnx.models import floats, model, weight

KINDS = ("adds", "functions", "diamonds", "fan", "joined", "dense")


def long_model(kind, count):
    """A model of about `count` nodes, with input x and output y."""
    node = helper.make_node
    nodes, weights, x = [], [], "x"
    if kind == "adds":
        weights.append(numpy_helper.from_array(np.array([0.001], np.float32), "step"))
        for n in range(count):
            nodes += [node("Add", [x, "step"], [f"v{n}"])]
            x = f"v{n}"
    elif kind == "functions":
        for n in range(count):
            nodes += [node(("Tanh", "Neg", "Sigmoid", "Abs")[n % 4], [x], [f"v{n}"])]
            x = f"v{n}"
    elif kind == "diamonds":
        for n in range(count // 3):
            nodes += [
                node("Relu", [x], [f"a{n}"]),
                node("Tanh", [x], [f"b{n}"]),
                node("Sub", [f"a{n}", f"b{n}"], [f"v{n}"]),
            ]
            x = f"v{n}"
    elif kind == "dense":
        for n in range(count):
            weights.append(weight(f"w{n}", 16, 16))
            nodes.append(node("MatMul", [x, f"w{n}"], [x := f"v{n}"]))
    else:
        for n in range(count):
            nodes.append(node("Tanh", ["x"], [f"v{n}"]))
        outputs = [f"v{n}" for n in range(count)]
        nodes.append(
            node("Sum", outputs, [x := "end"])
            if kind == "fan"
            else node("Concat", outputs, [x := "end"], axis=1)
        )
    nodes.append(node("Identity", [x], ["y"]))
    return model(
        nodes,
        [floats("x", 2, 16)],
        [floats("y", 2, 16 * count if kind == "joined" else 16)],
        weights,
    )
