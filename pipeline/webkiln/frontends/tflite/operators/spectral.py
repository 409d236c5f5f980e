"""Fourier transforms and complex numbers, which are pairs of floats along a last axis."""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ops.builder import Tensor
from webkiln.ops.fourier import transformed
from webkiln.ops.pieces import element, part, stacked, transposed


def rfft_2d(call: NodeCall) -> Tensor:
    """Real FFT over the last two axes, one-sided in the last. Axes are truncated or zero-padded to
    the lengths in the second operand.
    """
    b, x = call.builder, call.tensor(0)
    rows, columns = call.sizes(1)
    x = part(b, x, x.type.rank - 2, 0, min(rows, x.shape[-2]))
    real, imaginary = transformed(b, (x, None), columns, inverse=False, onesided=True)
    assert imaginary is not None
    perm = (*range(x.type.rank - 2), x.type.rank - 1, x.type.rank - 2)
    parts = transposed(b, real, perm), transposed(b, imaginary, perm)
    results = [
        item
        for item in transformed(b, parts, rows, inverse=False, onesided=False)
        if item is not None
    ]
    return stacked(b, [transposed(b, item, perm) for item in results], x.type.rank)


def piece(index: int) -> NodeHandler:
    return lambda call: element(call.builder, call.tensor(0), -1, index)


def magnitude(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    square = x * x
    return call.op(
        "Sqrt", [call.op("ReduceSum", [square], {"axes": (x.type.rank - 1,), "keepdims": False})]
    )


SPECTRAL: dict[str, NodeHandler] = {
    "RFFT2D": rfft_2d,
    "REAL": piece(0),
    "IMAG": piece(1),
    "COMPLEX_ABS": magnitude,
}
