"""Raw operators on complex numbers, whose last axis has the real and imaginary parts. Inputs and
outputs of bundles are real.
"""

from webkiln.frontends.nodes.call import (
    GraphValue,
    NodeCall,
    NodeHandler,
    NodeResult,
    as_tensor,
    known,
)
from webkiln.frontends.nodes.converter import as_operands
from webkiln.frontends.nodes.fold import array_of_sizes
from webkiln.frontends.tensorflow.operators.control import CONTROL
from webkiln.frontends.tensorflow.operators.elementwise import ELEMENTWISE
from webkiln.frontends.tensorflow.operators.indexing import INDEXING
from webkiln.frontends.tensorflow.operators.linear import LINEAR
from webkiln.frontends.tensorflow.operators.reduce import REDUCE
from webkiln.frontends.tensorflow.operators.shape import SHAPE
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.types import broadcast, is_float
from webkiln.ops.builder import Tensor
from webkiln.ops.fourier import Complex, transformed
from webkiln.ops.pieces import cast, element, filled, part, stacked, transposed

REAL = {"complex64": "float32", "complex128": "float64"}


def parts(call: NodeCall, position: int) -> tuple[Tensor, Tensor]:
    x = call.tensor(position)
    return element(call.builder, x, x.type.rank - 1, 0), element(
        call.builder, x, x.type.rank - 1, 1
    )


def joined(call: NodeCall, real: Tensor, imaginary: Tensor | None) -> Tensor:
    """One of the parts, broadcast. The imaginary part of a real number is 0."""
    if imaginary is None:
        imaginary = filled(call.builder, 0, real.dtype, real.shape)
    if real.shape != imaginary.shape:
        shape = broadcast((real.shape, imaginary.shape))
        real, imaginary = (
            call.op("Broadcast", [item], {"shape": shape}) for item in (real, imaginary)
        )
    return stacked(call.builder, [real, imaginary], real.type.rank)


def applied(call: NodeCall, handler: NodeHandler, *tensors: Tensor) -> Tensor:
    """Apply a handler of real numbers to other operands."""
    (result,) = as_operands(
        handler(call.with_operands(call.builder, [GraphValue(item.type, item) for item in tensors]))
    )
    return as_tensor(call.builder, result)


def each_part(handler: NodeHandler) -> NodeHandler:
    """Apply an operator that moves or adds elements to real and imaginary parts."""

    def apply(call: NodeCall) -> list[Tensor]:
        complexes = [item is not None and is_float(item.type.dtype) for item in call.operands]
        by_part = []
        for number in (0, 1):
            operands: list[GraphValue | None] = []
            for position, is_complex in enumerate(complexes):
                if is_complex:
                    half = parts(call, position)[number]
                    operands.append(GraphValue(half.type, half))
                else:
                    operands.append(call.operands[position])
            results: NodeResult = handler(call.with_operands(call.builder, operands))
            by_part.append([as_tensor(call.builder, item) for item in as_operands(results)])
        return [joined(call, real, imaginary) for real, imaginary in zip(*by_part, strict=True)]

    return apply


def shape(call: NodeCall) -> GraphValue:
    return known(array_of_sizes(call.type(0).shape[:-1]), call.attr("out_type", "int32"))


def rank(call: NodeCall) -> GraphValue:
    return known(call.type(0).rank - 1, "int32")


def multiply(call: NodeCall) -> Tensor:
    (a, b), (c, d) = parts(call, 0), parts(call, 1)
    return joined(call, a * c - b * d, a * d + b * c)


def divide(call: NodeCall) -> Tensor:
    (a, b), (c, d) = parts(call, 0), parts(call, 1)
    size = c * c + d * d
    return joined(
        call, call.op("Div", [a * c + b * d, size]), call.op("Div", [b * c - a * d, size])
    )


def exponential(call: NodeCall) -> Tensor:
    real, imaginary = parts(call, 0)
    size = call.op("Exp", [real])
    return joined(call, size * call.op("Cos", [imaginary]), size * call.op("Sin", [imaginary]))


def square(call: NodeCall) -> Tensor:
    real, imaginary = parts(call, 0)
    return joined(call, real * real - imaginary * imaginary, real * imaginary * 2.0)


def magnitude(call: NodeCall) -> Tensor:
    """Divide by the larger part first, so that squares neither overflow nor underflow."""
    real, imaginary = (call.op("Abs", [item]) for item in parts(call, 0))
    most, least = call.op("Max", [real, imaginary]), call.op("Min", [real, imaginary])
    is_zero = call.op("Equal", [most, call.like(0, most)])
    ratio = call.op("Div", [least, call.op("Where", [is_zero, call.like(1, most), most])])
    return most * call.op("Sqrt", [ratio * ratio + 1.0])


def conjugate(call: NodeCall) -> Tensor:
    real, imaginary = parts(call, 0)
    return joined(call, real, -imaginary)


def converted(call: NodeCall) -> Tensor:
    source, target = call.attr("SrcT"), call.attr("DstT")
    if source not in REAL:
        return joined(call, cast(call.builder, call.tensor(0), REAL[target]), None)
    if target in REAL:
        return cast(call.builder, call.tensor(0), REAL[target])
    return cast(call.builder, parts(call, 0)[0], target)


def matrices(call: NodeCall) -> Tensor:
    """(A + iB)(C + iD). Adjoint operands are transposed, with negated imaginary parts."""
    (a, b), (c, d) = parts(call, 0), parts(call, 1)
    b = -b if call.flag("adj_x") else b
    d = -d if call.flag("adj_y") else d
    handler = LINEAR[call.spec.op]

    def product(x: Tensor, y: Tensor) -> Tensor:
        return applied(call, handler, x, y)

    return joined(call, product(a, c) - product(b, d), product(a, d) + product(b, c))


def along(
    call: NodeCall, x: Complex, axis: int, length: Size, *, inverse: bool, onesided: bool = False
) -> Complex:
    """The Fourier transform along one axis, counted from the end."""
    rank = x[0].type.rank
    perm = list(range(rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    real, imaginary = (None if item is None else transposed(call.builder, item, perm) for item in x)
    assert real is not None
    a, b = transformed(call.builder, (real, imaginary), length, inverse=inverse, onesided=onesided)
    return transposed(call.builder, a, perm), None if b is None else transposed(
        call.builder, b, perm
    )


def cropped_or_padded(call: NodeCall, x: Tensor, axis: int, length: Size) -> Tensor:
    """Truncate or zero-pad an axis, counted from the end."""
    at = x.type.rank + axis
    size = x.shape[at]
    if is_symbolic(size) or is_symbolic(length):
        if size == length:
            return x
        raise call.unsupported(
            "crops or pads a size that is set at run time",
            "Set the size with --dim, or omit fft_length",
        )
    if size > length:
        return part(call.builder, x, at, 0, length)
    after = tuple(length - size if axis == at else 0 for axis in range(x.type.rank))
    return (
        call.op("Pad", [x], {"low": (0,) * x.type.rank, "high": after, "value": 0})
        if size < length
        else x
    )


def complex_transform(count: int, *, inverse: bool) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x: Complex = parts(call, 0)
        for axis in range(-count, 0):
            x = along(call, x, axis, x[0].shape[axis], inverse=inverse)
        return joined(call, *x)

    return handler


def transform_of_real(count: int) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x, (*others, last) = call.tensor(0), zip(range(-count, 0), call.sizes(1), strict=True)
        for axis, length in (*others, last):
            x = cropped_or_padded(call, x, axis, length)
        pair = along(call, (x, None), *last, inverse=False, onesided=True)
        for axis, length in others:
            pair = along(call, pair, axis, length, inverse=False)
        return joined(call, *pair)

    return handler


def transform_to_real(count: int) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        (real, imaginary), (*others, last) = (
            parts(call, 0),
            zip(range(-count, 0), call.sizes(1), strict=True),
        )
        for axis, length in others:
            real, imaginary = (
                cropped_or_padded(call, real, axis, length),
                cropped_or_padded(call, imaginary, axis, length),
            )
        pair: Complex = real, imaginary
        for axis, length in others:
            pair = along(call, pair, axis, length, inverse=True)
        return along(call, pair, *last, inverse=True, onesided=True)[0]

    return handler


AXES = {"": 1, "2D": 2, "3D": 3}
"""The number of axes of a transform, from the suffix of its name."""
TABLES = {**SHAPE, **REDUCE, **INDEXING, **ELEMENTWISE, **CONTROL}
LINEAR_MAPS = (
    "Reshape",
    "ExpandDims",
    "Squeeze",
    "Transpose",
    "Concat",
    "ConcatV2",
    "Pack",
    "Unpack",
    "Split",
    "SplitV",
    "Slice",
    "StridedSlice",
    "Pad",
    "Tile",
    "ReverseV2",
    "Roll",
    "BroadcastTo",
    "GatherV2",
    "GatherNd",
    "Add",
    "AddV2",
    "AddN",
    "Sub",
    "Neg",
    "Sum",
    "Mean",
    "Cumsum",
    "Select",
    "SelectV2",
    "Merge",
    "ZerosLike",
    "MirrorPad",
    "UnsortedSegmentSum",
    "ReverseSequence",
)
"""Operators whose result's real part depends only on the operands' real parts."""
COMPLEX: dict[str, NodeHandler] = {
    **{name: each_part(TABLES[name]) for name in LINEAR_MAPS},
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), matrices),
    **{f"FFT{of}": complex_transform(count, inverse=False) for of, count in AXES.items()},
    **{f"IFFT{of}": complex_transform(count, inverse=True) for of, count in AXES.items()},
    **{f"RFFT{of}": transform_of_real(count) for of, count in AXES.items()},
    **{f"IRFFT{of}": transform_to_real(count) for of, count in AXES.items()},
    "Shape": shape,
    "Rank": rank,
    "Mul": multiply,
    "RealDiv": divide,
    "Exp": exponential,
    "Square": square,
    "Cast": converted,
    "Complex": lambda call: joined(call, call.tensor(0), call.tensor(1)),
    "Conj": conjugate,
    "Real": lambda call: parts(call, 0)[0],
    "Imag": lambda call: parts(call, 0)[1],
    "ComplexAbs": magnitude,
    "Angle": lambda call: applied(call, ELEMENTWISE["Atan2"], *reversed(parts(call, 0))),
}
"""By raw operator."""
