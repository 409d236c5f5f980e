"""Random graphs of all families, based on the steps of `tests/lower/mixed_graphs.py`: other dtypes,
symbolic and empty sizes, scalars, branches chosen at run time.
"""

import numpy as np
from hypothesis import strategies as st

from tests.lower import mixed_graphs
from tests.lower.mixed_graphs import ANY_DTYPE, FLOAT_ONLY, LARGEST, Random
from tests.passes.graphs import Builder
from webkiln.errors import ShapeError
from webkiln.ir import dim, symbols
from webkiln.ir.bind import bind
from webkiln.ir.graph import Graph, Node
from webkiln.ir.types import Type
from webkiln.ops.table import attributes_of, infer
from webkiln.passes.remove_unused import run as remove_unused

T = symbols.placeholder("T")
OPEN = [(T, 4), (2, T), (1, T, 8), (T,), (2, 3, T)]
EMPTY = [(0, 4), (2, 0), (3, 1, 0)]
SHAPES = [*mixed_graphs.SHAPES, (), (1,), (7, 1, 3), (33, 5)]
DTYPES = ["float32"] * 6 + ["int32", "int64", "uint8", "bool"]


class Draw(Random):
    def ops(self, op, *inputs, **attrs):
        """Add a node and return all its outputs."""
        count, attributes = len(self.b.variables), attributes_of(op, attrs)
        types = infer(
            Node(op, inputs, ("?",), attributes, op),
            [self.b.variables[name].type for name in inputs],
        )
        names = tuple(self.b.declare(f"v{count}_{n}", type_) for n, type_ in enumerate(types))
        self.b.nodes.append(Node(op, inputs, names, attributes, f"layer{len(self.b.nodes)}"))
        return names

    def integers(self, x):
        """Convert `x` to integers that every backend represents."""
        return self.b.op(
            "Cast",
            self.b.op("Clip", x, min=-100.0, max=100.0) if self.dtype(x) == "float32" else x,
            dtype="int32",
        )


def ordered(r, x, shape):
    return r.choice(r.ops("Sort", x, axis=r.randrange(len(shape)), descending=r.random() < 0.5))


def different(r, x, shape):
    """Exclude computed floats: whether two of them are equal depends on the last bit."""
    if r.dtype(x) == "float32" and not x.startswith("x"):
        raise ShapeError(x)
    return r.choice(
        r.ops(
            "Unique", x, axis=r.choice([None, 0]), sorted=r.random() < 0.5, count=data_dependent(r)
        )
    )


def nonzero(r, x, shape):
    return r.b.op("NonZero", x, count=data_dependent(r))


def data_dependent(r):
    return f"u{len(r.b.variables)}"


def where(r, x, shape):
    other = r.like(x)
    condition = r.b.op("Less", x, other) if r.dtype(x) != "bool" else x
    return r.b.op("Where", condition, other, x)


def branch(r, x, shape):
    """Select one of two graphs by a comparison."""
    axes = tuple(range(len(shape)))
    condition = r.b.op(
        "Less",
        r.b.op("ReduceMean", x, axes=axes, keepdims=False),
        r.b.scalar(r.choice([-0.1, 0.0, 0.1])),
    )
    type_ = r.b.variables[x].type
    graphs = []
    for op in r.sample(["Relu", "Neg", "Square", "Tanh"], 2):
        inner = Builder()
        inner.declare("a", type_)
        out = inner.op(op, "a")
        graphs.append(Graph(op, tuple(inner.nodes), inner.variables, ("a",), {"out": out}))
    return r.ops("If", condition, x, x, then=graphs[0], otherwise=graphs[1])[0]


def arithmetic(r, x, shape):
    return r.b.op(
        r.choice(
            [
                "Add",
                "Sub",
                "Mul",
                "Max",
                "Min",
                "FloorDiv",
                "Mod",
                "BitAnd",
                "BitOr",
                "BitXor",
                "Less",
                "Equal",
            ]
        ),
        x,
        r.like(x),
    )


def sums(r, x, shape):
    return r.b.op(
        r.choice(["ReduceSum", "ReduceMax", "ReduceMin"]),
        x,
        axes=(r.randrange(len(shape)),),
        keepdims=r.random() < 0.5,
    )


def position(r, x, shape):
    return r.b.op(
        r.choice(["ArgMax", "ArgMin"]), x, axis=r.randrange(len(shape)), keepdims=r.random() < 0.5
    )


def running(r, x, shape):
    return r.b.op(
        "CumSum",
        x,
        axis=r.randrange(len(shape)),
        exclusive=r.random() < 0.5,
        reverse=r.random() < 0.5,
    )


def gathered(r, x, shape):
    """Gather elements by computed indices."""
    index = r.integers(r.choice(r.values))
    return r.b.op("Gather", x, index, axis=r.randrange(len(shape)))


def flattened(r, x, shape):
    size = (
        int(np.prod(shape)) if not any(map(dim.is_symbolic, shape)) else r.b.variables[x].type.size
    )
    return r.b.op("Reshape", x, shape=r.choice([(size,), (1, *shape), (*shape, 1)]))


MORE = {0: [flattened], 1: [ordered, ordered, nonzero, different, where, gathered]}
FLOATS = {0: [branch, where], 1: [position, running]}
WHOLE = {0: [arithmetic, arithmetic], 1: [sums, position, running]}


def graph(seed):
    """A graph of 3 to 14 steps, some over symbolic or empty sizes. Steps that fit no shape are left
    out.
    """
    r = Draw(seed)
    shapes = SHAPES if r.random() < 0.6 else [*OPEN, *OPEN, *EMPTY, *SHAPES]
    inputs = [
        r.b.declare(f"x{n}", Type(r.choice(DTYPES) if n else "float32", r.choice(shapes)))
        for n in range(r.choice([1, 2, 3]))
    ]
    r.values = list(inputs)
    for _ in range(r.randint(3, 14)):
        x = r.choice(r.values[-4:] if r.random() < 0.7 else r.values)
        add_step(r, x, r.b.shape(x))
    outputs = {"out": r.values[-1]} | {
        f"also{n}": r.choice(r.values) for n in range(r.choice([0, 1, 2]))
    }
    result = Graph(
        "g",
        tuple(r.b.nodes),
        r.b.variables,
        tuple(inputs),
        outputs,
        frozenset(r.b.slots),
        r.b.constants,
    )
    return remove_unused(result)


def is_trained_open(r):
    """Whether a weight has a symbolic size, which no trained weight can have."""
    return any(dim.is_symbolic(size) for name in r.b.slots for size in r.b.shape(name))


def add_step(r, x, shape):
    dtype, opens = r.dtype(x), any(map(dim.is_symbolic, shape))
    tables = [
        ANY_DTYPE,
        MORE,
        *([FLOAT_ONLY, FLOATS] if dtype == "float32" else [WHOLE] if dtype != "bool" else []),
    ]
    steps = [
        step
        for table in tables
        for rank, rows in table.items()
        if rank <= len(shape) and (rank != 4 or len(shape) == 4)
        for step in rows
    ]
    before, declared = len(r.b.nodes), set(r.b.variables)
    try:
        narrow = dtype not in ("float32", "bool") and r.random() < 0.3
        y = r.b.op("Cast", x, dtype="float32") if narrow else r.choice(steps)(r, x, shape)
        fits = (
            opens
            or dim.is_symbolic(np.prod([1, *r.b.shape(y)], dtype=object))
            or np.prod(r.b.shape(y)) <= LARGEST
        )
    except (ShapeError, TypeError, ValueError, IndexError):
        fits = False
    if fits and not is_trained_open(r):
        r.values.append(y)
        return
    del r.b.nodes[before:]
    for name in set(r.b.variables) - declared:
        del r.b.variables[name]
        r.b.slots.discard(name)
        r.b.constants.pop(name, None)


def values_for(graph, seed, sizes):
    """Inputs and weights for given sizes of the placeholders."""
    rng = np.random.default_rng(seed)
    bound = bind(graph, sizes)
    variances = {node.inputs[4] for node in graph.nodes if node.op == "BatchNorm"}

    def values(name):
        type_ = bound.type(name)
        if type_.dtype == "float32":
            return rng.uniform(
                *((0.2, 1.5) if name in variances else (-1.5, 1.5)), type_.shape
            ).astype(np.float32)
        if type_.dtype == "bool":
            return rng.random(type_.shape) < 0.5
        return rng.integers(0 if type_.dtype == "uint8" else -9, 10, type_.shape).astype(
            type_.dtype
        )

    return {name: values(name) for name in (*graph.inputs, *sorted(graph.slots))}


graphs = st.integers(0, 2**40).map(graph)
