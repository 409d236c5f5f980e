"""Random numbers that a model draws are inputs of the bundle: `<node>_noise`.

Formats compute all distributions from uniform and normal numbers, with the functions below.
"""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import NodeCall
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.graph import Distribution
from webkiln.ir.symbols import DATA_DEPENDENT, from_name, names
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast, element, part, reshaped, total
from webkiln.random_inputs import DISTRIBUTIONS


def noise_name(node: str) -> str:
    """The name of the input that a node draws from."""
    return f"{node}_noise"


def drawn(
    call: NodeCall,
    distribution: str,
    first: float,
    second: float,
    shape: Sequence[Size],
    dtype: str,
) -> Tensor:
    """An input of numbers from one of `DISTRIBUTIONS` with its two parameters. Those of float16 are
    drawn as float32, and cast.

    Raises UnsupportedError in a branch or loop, whose draws differ between iterations, and for a
    size that is computed from others, which an input cannot have.
    """
    if call.builder.is_nested:
        raise call.unsupported(
            "draws random numbers in a branch or loop",
            "Draw them before it, or make them an input of the model",
        )
    for size in shape:
        if is_symbolic(size) and not _is_placeholder(size):
            raise call.unsupported(
                f"draws random numbers of the size {size}",
                "Draw a number of them that is known, or set the size with --dim",
            )
    parameters = dict(zip(DISTRIBUTIONS[distribution], (first, second), strict=True))
    numbers = call.builder.input(
        noise_name(call.spec.name),
        "float32" if dtype == "float16" else dtype,
        shape,
        distribution=Distribution.of(distribution, parameters),
    )
    return cast(call.builder, numbers, dtype)


def _is_placeholder(size: Size) -> bool:
    """Whether a size is one that is set when the model runs."""
    (name, *_) = sorted(names([size]))
    return from_name(name) == size and not DATA_DEPENDENT.match(name)


def uniform(call: NodeCall, shape: Sequence[Size], dtype: str = "float32") -> Tensor:
    """Numbers in [0, 1). Those of float16 may round to 1."""
    return drawn(call, "uniform", 0.0, 1.0, shape, dtype)


def normal(call: NodeCall, shape: Sequence[Size], dtype: str = "float32") -> Tensor:
    """Numbers of mean 0 and standard deviation 1."""
    return drawn(call, "normal", 0.0, 1.0, shape, dtype)


def bernoulli(call: NodeCall, probability: Tensor, shape: Sequence[Size]) -> Tensor:
    """bool of a shape: true with a probability, which is broadcast to the shape."""
    draws = uniform(call, shape, "float64" if probability.dtype == "float64" else "float32")
    return call.op("Less", [draws, cast(call.builder, probability, draws.dtype)])


def categories(call: NodeCall, weights: Tensor, count: Size, *, replacement: bool) -> Tensor:
    """int64[..., count]: indices of the last axis of `weights` [..., classes], by its weights."""
    b, (*rows, classes) = call.builder, weights.shape
    if not replacement:
        # The classes that arrive first, of exponential times with the weights as rates.
        draws = uniform(call, weights.shape, weights.dtype)
        times = b.op("Max", [-b.op("Log", [1.0 - draws]), b.constant(1e-30, draws.dtype)])
        axis = len(rows)
        attrs = {"axis": axis, "descending": True}
        _, order = b.ops("Sort", [b.op("Div", [weights, times])], attrs)
        return cast(b, part(b, order, axis, 0, count), "int64")
    draws = uniform(call, (*rows, count), weights.dtype)
    attrs = {"axis": len(rows), "exclusive": False, "reverse": False}
    bounds = b.op("CumSum", [weights], attrs)
    # The last bound is the sum: a draw times it stays below.
    scaled = draws * reshaped(b, element(b, bounds, len(rows), classes - 1), (*rows, 1))
    passed = b.op(
        "LessEqual",
        [reshaped(b, bounds, (*rows, 1, classes)), reshaped(b, scaled, (*rows, count, 1))],
    )
    return cast(b, total(b, cast(b, passed, "int32"), len(rows) + 1), "int64")
