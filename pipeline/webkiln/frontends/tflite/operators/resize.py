"""Image resizing. If sizes are known, positions are computed as in the interpreter, in float32 or
fixed point.
"""

import numpy as np

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.operators.integers import (
    is_quantized,
    literal,
    number,
    shifted_left,
    shifted_right,
)
from webkiln.ir.dim import Shape, Size, all_known, is_symbolic, known, known_shape
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast, reshaped

F32 = np.float32
ONE = 1 << 10


def line(call: NodeCall, size: Size, out: Size) -> dict[str, Size]:
    """The map from output indices to positions: (o * scale + start) / unit."""
    if call.attr("align_corners", 0) and not (not is_symbolic(out) and out == 1):
        return {"scale": size - 1, "start": 0, "unit": out - 1}
    if call.attr("half_pixel_centers", 0):
        return {"scale": 2 * size, "start": size - out, "unit": 2 * out}
    return {"scale": size, "start": 0, "unit": out}


def has_symbolic_sizes(x: Tensor, sizes: Shape) -> bool:
    return any(map(is_symbolic, (*x.shape[1:3], *sizes)))


def resize_bilinear(call: NodeCall) -> Tensor:
    x, sizes = call.tensor(0), call.sizes(1)
    if is_quantized(call):
        if has_symbolic_sizes(x, sizes):
            raise call.unsupported(
                "resizes integers of symbolic size", "Set the sizes with --dim, or use float32"
            )
        resized = bilinear_8bit if x.dtype == "uint8" else bilinear_quantized
        return resized(call, x, known_shape(sizes, "the result"))
    for axis, out in zip((1, 2), sizes, strict=True):
        x = call.op(
            "Interpolate",
            [x],
            {"axis": axis, "size": out, **line(call, x.shape[axis], out), "mode": "linear"},
        )
    return x


def sample_rows(call: NodeCall, size: int, out: int) -> tuple[list[int], list[int], list[int]]:
    """In steps of 1 / 1024: the rows below and above each position, and the distance from the
    first.
    """
    scale = (ONE * size + out // 2) // out
    if call.attr("align_corners", 0) and out > 1:
        scale = (ONE * (size - 1) + (out - 1) // 2) // (out - 1)
    lower, upper, shares = [], [], []
    for row in range(out):
        coordinate = row * scale + (
            scale // 2 - (ONE >> 1) if call.attr("half_pixel_centers", 0) else 0
        )
        first = max(int(coordinate / ONE), 0)
        lower.append(first)
        upper.append(min(int((coordinate + ONE - 1) / ONE), size - 1))
        shares.append(coordinate - ONE * first)
    return lower, upper, shares


def bilinear_quantized(call: NodeCall, x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Round once, ties away from zero. Sums of int16 may exceed 32 bits, so the upper and lower
    bytes are summed separately.
    """
    b, wide = call.builder, cast(call.builder, x, "int32")
    if x.dtype != "int16":
        total = interpolated(call, wide, sizes)
        half = call.op(
            "Where",
            [b.binary("Greater", total, 0), number(call, 1 << 19), number(call, -(1 << 19))],
        )
        return cast(
            b, call.op("Div", [call.op("Add", [total, half]), number(call, 1 << 20)]), x.dtype
        )
    upper = interpolated(call, shifted_right(call, wide, 8), sizes)
    rest = shifted_left(call, call.op("BitAnd", [upper, number(call, 4095)]), 8)
    rest = rest + interpolated(call, call.op("BitAnd", [wide, number(call, 255)]), sizes)
    total = shifted_right(call, upper, 12) + shifted_right(call, rest, 20)
    half = call.op(
        "Where", [b.binary("Less", total, 0), number(call, (1 << 19) - 1), number(call, 1 << 19)]
    )
    rest = call.op("BitAnd", [rest, number(call, (1 << 20) - 1)])
    return cast(b, total + shifted_right(call, rest + half, 20), x.dtype)


def interpolated(call: NodeCall, wide: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Weighted sums of the rows and columns around each position, in steps of 2**-20."""
    b = call.builder
    for axis, out in zip((1, 2), sizes, strict=True):
        lower, upper, shares = sample_rows(call, known(wide.shape[axis], "a resized axis"), out)
        first, second = (
            b.op("Gather", [wide, literal(b, rows)], {"axis": axis}) for rows in (lower, upper)
        )
        share = reshaped(b, literal(b, shares), [out if d == axis else 1 for d in range(4)])
        wide = call.op("Mul", [first, call.op("Sub", [number(call, ONE), share])]) + call.op(
            "Mul", [second, share]
        )
    return wide


def bilinear_8bit(call: NodeCall, x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """uint8 in float32, corner by corner, ties rounded up."""
    b, wide = call.builder, cast(call.builder, x, "float32")
    lines = []
    for axis, out in zip((1, 2), sizes, strict=True):
        size = known(x.shape[axis], "a resized axis")
        aligned = bool(call.attr("align_corners", 0)) and out > 1
        scale = F32(size - 1) / F32(out - 1) if aligned else F32(size) / F32(out)
        half = F32(0.5 if call.attr("half_pixel_centers", 0) else 0.0)
        positions = [(F32(row) + half) * scale - half for row in range(out)]
        lower = [max(int(np.floor(coordinate)), 0) for coordinate in positions]
        upper = [min(int(np.ceil(coordinate)), size - 1) for coordinate in positions]
        shares = np.array(
            [coordinate - F32(first) for coordinate, first in zip(positions, lower, strict=True)],
            np.float32,
        )
        shape = [out if d == axis else 1 for d in range(4)]
        lines.append(
            [
                (lower, b.constant((F32(1) - shares).reshape(shape))),
                (upper, b.constant(shares.reshape(shape))),
            ]
        )
    total: Tensor | None = None
    for columns, across in lines[1]:
        for rows, down in lines[0]:
            corner = b.op(
                "Gather",
                [b.op("Gather", [wide, literal(b, rows)], {"axis": 1}), literal(b, columns)],
                {"axis": 2},
            )
            weighted = single(
                call, call.op("Mul", [single(call, call.op("Mul", [corner, down])), across])
            )
            total = weighted if total is None else single(call, call.op("Add", [total, weighted]))
    assert total is not None
    return cast(b, single(call, total + 0.5), "uint8")


def single(call: NodeCall, x: Tensor) -> Tensor:
    """Round to float32 here, even if the expression is computed with more digits."""
    return call.op("BitCast", [call.op("BitCast", [x], {"dtype": "int32"})], {"dtype": "float32"})


def nearest_rows(call: NodeCall, size: int, out: int) -> list[int]:
    aligned = bool(call.attr("align_corners", 0)) and out > 1
    scale = F32(size - 1) / F32(out - 1) if aligned else F32(size) / F32(out)
    offset = F32(0.5 if call.attr("half_pixel_centers", 0) else 0.0)
    nearest = []
    for row in range(out):
        coordinate = (F32(row) + offset) * scale
        nearest.append(
            min(
                int(np.floor(coordinate + F32(0.5))) if aligned else int(np.floor(coordinate)),
                size - 1,
            )
        )
    return [max(row, 0) for row in nearest]


def resize_nearest(call: NodeCall) -> Tensor:
    x, sizes = call.tensor(0), call.sizes(1)
    if (numbers := all_known((*x.shape[1:3], *sizes))) is not None:
        for axis, *pair in zip((1, 2), numbers[:2], numbers[2:], strict=True):
            rows = literal(call.builder, nearest_rows(call, *pair))
            x = call.op("Gather", [x, rows], {"axis": axis})
        return x
    for axis, out in zip((1, 2), sizes, strict=True):
        size = x.shape[axis]
        if call.attr("align_corners", 0):
            attrs = {**line(call, size, out), "rounding": "prefer_ceil"}
        elif call.attr("half_pixel_centers", 0):
            attrs = {"scale": 2 * size, "start": size, "unit": 2 * out, "rounding": "floor"}
        else:
            attrs = {"scale": size, "start": 0, "unit": out, "rounding": "floor"}
        x = call.op("Interpolate", [x], {"axis": axis, "size": out, "mode": "nearest", **attrs})
    return x


RESIZE: dict[str, NodeHandler] = {
    "RESIZE_BILINEAR": resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest,
}
