"""Random graphs of all kinds of operators: index operators, casts, comparisons, reductions,
products and convolutions. Values are read several times.
"""

import random

import numpy as np

from tests.passes.graphs import Builder
from webkiln.errors import ShapeError
from webkiln.ir.graph import Constant, Graph
from webkiln.ir.types import Type
from webkiln.passes.remove_unused import run as remove_unused

SHAPES = [(2, 3, 4), (1, 4, 5), (3, 17), (1, 1, 6), (2, 4, 4, 3), (16,), (1, 5, 16), (2, 1, 19)]
LARGEST = 4000


class Random(random.Random):
    """Random choices for a graph under construction."""

    def __init__(self, seed):
        super().__init__(seed)
        self.b = Builder()
        self.values = []

    def dtype(self, name):
        return self.b.variables[name].type.dtype

    def like(self, name, rank=None):
        """A value of the same dtype (and rank)."""
        return self.choice(
            [
                v
                for v in self.values
                if self.dtype(v) == self.dtype(name) and rank in (None, len(self.b.shape(v)))
            ]
        )

    def floats(self, least_rank=0):
        return self.choice(
            [
                v
                for v in self.values
                if self.dtype(v) == "float32" and len(self.b.shape(v)) >= least_rank
            ]
            or self.values[:1]
        )


def unary(r, x, shape):
    return r.b.op(r.choice(["Relu", "Tanh", "Neg", "Abs", "Sign", "Square", "Sigmoid", "Elu"]), x)


def binary(r, x, shape):
    return r.b.op(
        r.choice(["Add", "Sub", "Mul", "Max", "Min", "Less", "GreaterEqual"]), x, r.floats()
    )


def scaled(r, x, shape):
    return r.b.op("Mul", x, r.b.scalar(r.choice([1.0, 2.0, -0.5])))


def cast(r, x, shape):
    return r.b.op("Cast", x, dtype=r.choice(["int32", "bool", "int8", "float16", "uint8"]))


def transpose(r, x, shape):
    return r.b.op("Transpose", x, perm=tuple(r.sample(range(len(shape)), len(shape))))


def concat(r, x, shape):
    return r.b.op(
        "Concat", *r.sample([x, r.like(x, len(shape)), x], 3), axis=r.randrange(len(shape))
    )


def slices(r, x, shape):
    starts, sizes, steps = [], [], []
    for size in shape:
        step = r.choice([1, 1, 1, -1, 2])
        count = r.randint(1, size if abs(step) == 1 else (size + 1) // 2)
        first = r.randint(0, size - 1 - (count - 1) * abs(step))
        starts.append(first + (count - 1) * abs(step) if step < 0 else first)
        sizes.append(count)
        steps.append(step)
    return r.b.op("Slice", x, starts=tuple(starts), sizes=tuple(sizes), steps=tuple(steps))


def reshape(r, x, shape):
    size = int(np.prod(shape))
    part = r.choice([q for q in range(1, size + 1) if size % q == 0])
    return r.b.op(
        "Reshape",
        x,
        shape=r.choice(
            [(size,), (part, size // part), (1, part, size // part), (size // part, part, 1)]
        ),
    )


def pad(r, x, shape):
    low, high = (tuple(r.choice([0, 0, maximum]) for _ in shape) for maximum in (2, 1))
    return r.b.op("Pad", x, low=low, high=high, value=r.choice([0, 1]))


def broadcast(r, x, shape):
    return r.b.op(
        "Broadcast",
        x,
        shape=(r.choice([1, 3]), *(r.choice([size, 4]) if size == 1 else size for size in shape)),
    )


def gather(r, x, shape):
    axis = r.randrange(len(shape))
    name = r.b.declare(f"i{len(r.b.variables)}", Type("int32", (3,)))
    r.b.constants[name] = Constant(tuple(r.randrange(-shape[axis], shape[axis]) for _ in range(3)))
    return r.b.op("Gather", x, name, axis=axis)


def reduction(r, x, shape):
    axes = tuple(sorted(r.sample(range(len(shape)), r.randint(1, len(shape)))))
    return r.b.op(
        r.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"]),
        x,
        axes=axes,
        keepdims=r.random() < 0.5,
    )


def softmax(r, x, shape):
    return r.b.op("Softmax", x, axis=r.randrange(len(shape)))


def trained_product(r, x, shape):
    return r.b.op("MatMul", x, r.b.slot(shape[-1], r.choice([1, 3, 8, 16, 17, 20])))


def product(r, x, shape):
    return r.b.op(
        "MatMul", x, r.floats(2), transpose_a=r.random() < 0.3, transpose_b=r.random() < 0.5
    )


def norm(r, x, shape):
    axis = r.choice([len(shape) - 1, r.randrange(len(shape))])
    scale, beta, mean = (r.b.slot(shape[axis]) for _ in range(3))
    variance = r.b.op("Add", r.b.op("Square", r.b.slot(shape[axis])), r.b.scalar(0.5))
    return r.b.op("BatchNorm", x, scale, beta, mean, variance, axis=axis, epsilon=0.01)


def conv(r, x, shape):
    features, last = r.choice([1, 4, 9, 16]), r.random() < 0.6
    bias = [r.b.slot(features)] if r.random() < 0.5 else []
    kernel = r.b.slot(2, 2, shape[3 if last else 1], features)
    return r.b.op(
        "Conv",
        x,
        kernel,
        *bias,
        x_dims=(0, 3, 1, 2) if last else (0, 1, 2, 3),
        w_dims=(3, 2, 0, 1),
        out_dims=r.choice([(0, 3, 1, 2), (0, 1, 2, 3)]),
        strides=(1, r.choice([1, 2])),
        dilation=(1, 1),
        pad_low=(1, r.choice([0, 1])),
        pad_high=(0, 1),
        groups=1,
    )


def pool(r, x, shape):
    window = {
        "window": (2, 2),
        "strides": (1, 2),
        "dilation": (1, 1),
        "pad_low": (0, 1),
        "pad_high": (1, 0),
    }
    return r.b.op(r.choice(["MaxPool", "AvgPool"]), x, axes=r.choice([(1, 2), (2, 3)]), **window)


ANY_DTYPE = {0: [reshape, broadcast], 1: [transpose, concat, slices, pad, gather]}
FLOAT_ONLY = {
    0: [unary, unary, binary, binary, scaled, cast],
    1: [reduction, softmax, norm],
    2: [trained_product, product],
    4: [conv, conv, pool],
}


def graph(seed):
    """A graph of 3 to 12 nodes. Nodes that fit no shape are left out."""
    r = Random(seed)
    inputs = [
        r.b.declare(f"x{n}", Type("float32", r.choice(SHAPES))) for n in range(r.choice([1, 2]))
    ]
    r.values = list(inputs)
    for _ in range(r.randint(3, 12)):
        x = r.choice(r.values[-4:] if r.random() < 0.7 else r.values)
        shape = r.b.shape(x)
        tables = [ANY_DTYPE, FLOAT_ONLY] if r.dtype(x) == "float32" else [ANY_DTYPE]
        steps = [
            step
            for table in tables
            for rank, rows in table.items()
            if rank <= len(shape) and (rank != 4 or len(shape) == 4)
            for step in rows
        ]
        count = len(r.b.nodes)
        try:
            y = (
                r.choice(steps)(r, x, shape)
                if r.dtype(x) == "float32" or r.random() < 0.5
                else r.b.op("Cast", x, dtype="float32")
            )
        except ShapeError:
            continue
        if 0 < np.prod(r.b.shape(y)) <= LARGEST:
            r.values.append(y)
        else:
            del r.b.nodes[count:]
            del r.b.variables[y]
    outputs = {"out": r.values[-1]} | {
        f"also{n}": r.choice(r.values) for n in range(r.choice([0, 0, 1, 2]))
    }
    return remove_unused(
        Graph(
            "g",
            tuple(r.b.nodes),
            r.b.variables,
            tuple(inputs),
            outputs,
            frozenset(r.b.slots),
            r.b.constants,
        )
    )
