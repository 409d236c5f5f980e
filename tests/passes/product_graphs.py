"""Random graphs of products and the operators around them: transposed operands, biases and
normalisations along any axis, casts, integers. Sizes are small and often equal, so that a wrong
axis is not a shape error.
"""

from hypothesis import strategies as st

from tests.lower.mixed_graphs import Random
from webkiln.errors import ShapeError
from webkiln.ir.graph import Graph
from webkiln.ir.types import Type
from webkiln.passes.remove_unused import run as remove_unused

SIZES = (1, 2, 3, 3, 3)
LARGEST = 600


class Draw(Random):
    """Draws graphs. `exact` holds the values that no rewriting of products or normalisations
    changes in the last bit, so that casts of them are unchanged.
    """

    def __init__(self, seed):
        super().__init__(seed)
        self.exact = set()

    def shaped(self, shape):
        """An existing value of a shape, or a new weight."""
        candidates = [
            name
            for name in self.values
            if self.b.shape(name) == shape and self.dtype(name) == "float32"
        ]
        return (
            self.choice(candidates) if candidates and self.random() < 0.5 else self.b.slot(*shape)
        )

    def transposed(self, x):
        """`x`, or a random transpose of it."""
        rank = len(self.b.shape(x))
        return (
            self.b.op("Transpose", x, perm=tuple(self.sample(range(rank), rank)))
            if self.random() < 0.6
            else x
        )


def product(r, x, shape):
    """A product with a weight, or with a computed value."""
    left = r.transposed(x)
    *batch, rows, inner = r.b.shape(left)
    flip_a, flip_b = r.random() < 0.3, r.random() < 0.4
    if flip_a:
        rows, inner = inner, rows
    columns = r.choice(SIZES)
    matrix = (columns, inner) if flip_b else (inner, columns)
    lead = tuple(batch) if r.random() < 0.5 else ()
    if r.random() < 0.5:
        right = r.b.slot(*lead, *matrix)
    else:
        source = r.shaped((*lead, *matrix[::-1]))
        right = r.b.op("Transpose", source, perm=(*range(len(lead)), len(lead) + 1, len(lead)))
    return r.b.op("MatMul", left, right, transpose_a=flip_a, transpose_b=flip_b)


def norm(r, x, shape):
    axis = r.randrange(len(shape))
    scale, beta, mean = (r.b.slot(shape[axis]) for _ in range(3))
    variance = r.b.op("Add", r.b.op("Square", r.b.slot(shape[axis])), r.b.scalar(0.5))
    return r.b.op("BatchNorm", x, scale, beta, mean, variance, axis=axis, epsilon=0.01)


def normed_product(r, x, shape):
    """A product, sometimes with a bias, and a normalisation over any axis; sometimes other nodes
    read the intermediate values.
    """
    y = product(r, x, shape)
    if r.random() < 0.3:
        r.values.append(y)
    if r.random() < 0.5:
        y = bias(r, y, r.b.shape(y))
    if r.random() < 0.2:
        r.values.append(y)
    return norm(r, y, r.b.shape(y))


def bias(r, x, shape):
    """A binary operator with a vector along any axis, a scalar or a tensor, constant or computed,
    as either operand.
    """
    axis = r.randrange(len(shape))
    shapes = [
        (shape[-1],),
        tuple(size if dim == axis else 1 for dim, size in enumerate(shape)),
        (1,),
        shape,
    ]
    operands = [x, r.shaped(r.choice(shapes))]
    return r.b.op(
        r.choice(["Add", "Add", "Mul", "Sub"]), *(operands if r.random() < 0.7 else operands[::-1])
    )


def transpose(r, x, shape):
    return r.b.op("Transpose", x, perm=tuple(r.sample(range(len(shape)), len(shape))))


def undone(r, x, shape):
    perm = r.sample(range(len(shape)), len(shape))
    y = r.b.op(r.choice(["Relu", "Neg"]), r.b.op("Transpose", x, perm=tuple(perm)))
    return r.b.op("Transpose", y, perm=tuple(perm.index(dim) for dim in range(len(perm))))


def cast(r, x, shape):
    """A cast to another dtype, and sometimes back, of a value that is `exact`."""
    if x not in r.exact:
        raise ShapeError(x)
    y = r.b.op("Cast", x, dtype=r.choice(["int32", "float16", "int8", "bool", "float64", "uint8"]))
    return r.b.op("Cast", y, dtype="float32") if r.random() < 0.7 else y


def reshape(r, x, shape):
    size = r.b.variables[x].type.size
    rows = r.choice([n for n in range(1, size + 1) if size % n == 0])
    return r.b.op("Reshape", x, shape=r.choice([(rows, size // rows), (1, *shape), shape]))


def neutral(r, x, shape):
    """A binary operator with a scalar that may be its neutral element."""
    op = r.choice(["Add", "Sub", "Mul", "Div", "Pow"])
    operands = [
        x,
        r.b.scalar(
            r.choice([0.0, 1.0, 1.0, 2.0])
            if op not in ("Div", "Pow")
            else r.choice([1.0, 1.0, 2.0])
        ),
    ]
    return r.b.op(
        op, *(operands[::-1] if op in ("Add", "Sub", "Mul") and r.random() < 0.4 else operands)
    )


def unary(r, x, shape):
    return r.b.op(r.choice(["Relu", "Neg", "Abs", "Square"]), x)


def smooth(r, x, shape):
    return r.b.op(r.choice(["Tanh", "Sigmoid"]), x)


def soft(r, x, shape):
    return r.b.op("Softmax", x, axis=r.randrange(len(shape)))


def reduce(r, x, shape):
    return r.b.op("ReduceSum", x, axes=(r.randrange(len(shape)),), keepdims=True)


def pad(r, x, shape):
    low, high = (tuple(r.choice([0, 0, 1]) for _ in shape) for _ in range(2))
    return r.b.op("Pad", x, low=low, high=high, value=r.choice([0, 1]))


def concat(r, x, shape):
    return r.b.op(
        "Concat",
        x,
        *r.choice([[], [x], [r.b.op("Transpose", x, perm=tuple(range(len(shape))))]]),
        axis=r.randrange(len(shape)),
    )


def slices(r, x, shape):
    starts = tuple(r.randrange(size) for size in shape)
    sizes = tuple(r.randint(1, size - start) for size, start in zip(shape, starts, strict=True))
    whole = r.random() < 0.3
    return r.b.op(
        "Slice",
        x,
        starts=(0,) * len(shape) if whole else starts,
        sizes=shape if whole else sizes,
        steps=(1,) * len(shape),
    )


EXACT = [transpose, undone, reshape, unary, pad, concat, slices]
"""Steps for any dtype that return exact values for exact operands."""
FLOATS = [product, normed_product, normed_product, norm, bias, smooth, soft, reduce, neutral]


def graph(seed):
    """A graph of 2 to 8 steps."""
    r = Draw(seed)
    for n in range(r.choice([1, 1, 2])):
        shape = tuple(r.choice(SIZES) for _ in range(r.choice([2, 2, 3, 4])))
        r.values.append(
            r.b.declare(
                f"x{n}",
                Type(
                    r.choice(["float32", "float32", "float32", "int32"]) if n else "float32", shape
                ),
            )
        )
    inputs = tuple(r.values)
    r.exact |= {*inputs}
    for _ in range(r.randint(2, 8)):
        x = r.choice(r.values[-3:])
        table = [*EXACT, cast, *(FLOATS * 2 if r.dtype(x) == "float32" else [])]
        step = r.choice(
            [one for one in table if not (r.dtype(x) == "bool" and one in (unary, undone))]
        )
        node_count, existing, value_count = len(r.b.nodes), set(r.b.variables), len(r.values)
        try:
            y = step(r, x, r.b.shape(x))
            fits = r.b.variables[y].type.size <= LARGEST
        except ShapeError:
            fits = False
        if not fits:
            del r.b.nodes[node_count:], r.values[value_count:]
            for name in set(r.b.variables) - existing:
                del r.b.variables[name]
                r.b.slots.discard(name)
                r.b.constants.pop(name, None)
            continue
        r.values.append(y)
        if x in r.exact and step in (*EXACT, cast):
            r.exact.add(y)
    outputs = {"out": r.values[-1]} | {
        f"also{n}": r.choice(r.values) for n in range(r.choice([0, 0, 1, 2]))
    }
    return remove_unused(
        Graph(
            "g",
            tuple(r.b.nodes),
            r.b.variables,
            inputs,
            outputs,
            frozenset(r.b.slots),
            r.b.constants,
        )
    )


graphs = st.integers(0, 2**40).map(graph)
