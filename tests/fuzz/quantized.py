"""Random quantised graphs: the cross product of operator, dtypes, granularity of scales, zero
points, sizes that divide a block of a kernel or not, and how sums become codes.

Weights are part of the graph. Codes have all values, or only the extreme ones.
"""

import random
from itertools import product

import numpy as np

from tests.fuzz.quantized_blocks import BLOCKS, CODINGS, READERS, Coded, coded
from tests.fuzz.quantized_layers import (
    CHANNELS,
    FIRST,
    FORMS,
    LAST,
    NARROW,
    PRODUCTS,
    ROWS,
    SIZES,
    Layers,
    Point,
)
from webkiln.errors import ShapeError
from webkiln.ir.bind import bind
from webkiln.ir.graph import Graph
from webkiln.passes.remove_unused import run as remove_unused


def point(r):
    if r.random() < 0.3:
        bits = r.choice([2, 4, 4, 4, 8, 8])
        return Coded(
            bits,
            r.random() < 0.3,
            r.choice(CODINGS),
            r.choice(BLOCKS),
            r.random() < 0.5,
            r.choice([*READERS, "product", "product"]),
        )
    flags = (r.random() < 0.5 for _ in range(3))
    return Point(r.choice(PRODUCTS), r.choice(NARROW), r.choice(NARROW), *flags, r.choice(FORMS))


def corners():
    """Every product of dtypes, granularities and zero points, and all kinds of blocks. Sizes and
    forms rotate.
    """
    flags = (False, True)
    products = [
        Point(*at, whole=number % 3 == 0, form=FORMS[number * 3 % len(FORMS)])
        for number, at in enumerate(product(PRODUCTS, NARROW, NARROW, flags, flags))
    ]
    coded = [
        Coded(bits, number % 3 == 0, coding, block, number % 5 < 2, READERS[number % 7 % 4])
        for number, (bits, coding, block) in enumerate(product((4, 8), CODINGS, BLOCKS))
    ]
    return [*products, *coded]


def graph(seed, points=None) -> Graph:
    """One to three layers; `points` of the cross product replace drawn ones. Weights in blocks are
    in a graph of their own.
    """
    r = random.Random(seed)
    layers = Layers(r)
    drawn = points or [point(r)]
    if isinstance(drawn[0], Coded):
        return remove_unused(layers.b.graph({"out": coded(layers, drawn[0])}))
    if points is None:
        others = (point(r) for _ in range(r.choice([0, 0, 1, 3])))
        drawn += [item for item in others if isinstance(item, Point)]
    first = drawn[0]
    layers.dims = r.choice([FIRST, LAST])
    channels = r.choice(CHANNELS[first.whole])
    if first.family == "matmul":
        shape = (*r.choice([(), (), (2,)]), r.choice(ROWS[first.whole]), channels)
    else:
        sizes = [r.choice(SIZES[first.whole]) for _ in range(2)]
        shape = [0] * 4
        for axis, size in zip(layers.dims, (r.choice([1, 2]), channels, *sizes), strict=True):
            shape[axis] = size
    x = layers.b.input("x", first.x, shape)
    outputs = {}
    for at in drawn:
        if x.dtype not in NARROW or (at.family != "matmul" and x.type.rank != 4):
            break
        try:
            x = layers.layer(x, at)
        except ShapeError:
            break
        outputs[f"out{len(outputs)}"] = x
    return remove_unused(layers.b.graph(outputs or {"out": x}))


def values_for(graph, seed, sizes):
    """Weights, and inputs for sizes of the placeholders: all codes, floats of both signs, and
    indices of the largest table.
    """
    rng = np.random.default_rng(seed)
    bound = bind(graph, sizes)

    def values(name):
        type_ = bound.type(name)
        if type_.dtype == "float32":
            return rng.normal(0, 1, type_.shape).astype(np.float32)
        limits = np.iinfo(type_.dtype)
        if type_.dtype in NARROW and rng.random() < 0.2:
            return rng.choice([limits.min, limits.max], type_.shape).astype(type_.dtype)
        low, high = (-200, 200) if type_.dtype == "int32" else (limits.min, limits.max)
        return rng.integers(low, high, type_.shape, type_.dtype, endpoint=True)

    return {**graph.weights, **{name: values(name) for name in graph.inputs}}
