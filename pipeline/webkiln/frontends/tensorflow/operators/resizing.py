"""Raw operators that resize images or rearrange their elements.

https://www.tensorflow.org/api_docs/python/tf/raw_ops
"""

from collections.abc import Mapping, Sequence
from typing import Any

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tensorflow.operators.windows import layout
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.interpolate import Interpolation, resize_axis
from webkiln.ops.functional.patches import depth_to_space as deep_to_wide
from webkiln.ops.functional.patches import extract_patches as patches
from webkiln.ops.functional.patches import space_to_depth as wide_to_deep
from webkiln.ops.functional.resize import BICUBIC_STEPS
from webkiln.ops.functional.warp import projected
from webkiln.ops.pieces import cast

FLOORED = Interpolation("nearest", "asymmetric", "floor")
"""The nearest element at or before each position."""


def resize(method: str) -> NodeHandler:
    """Resize images [N, H, W, C] to the sizes in the second operand. Computes in float32, except
    for nearest neighbour.
    """

    def handler(call: NodeCall) -> Tensor:
        x, sizes = call.tensor(0), call.sizes(1)
        x = x if method == "nearest" else cast(call.builder, x, "float32")
        if (
            method == "nearest"
            and not call.flag("align_corners")
            and not call.flag("half_pixel_centers")
        ):
            return _floored(call, x, sizes)
        corners, half = call.flag("align_corners"), call.flag("half_pixel_centers")
        if method == "area" and not corners:
            return call.op("Resize", [x], {"axes": (1, 2), "sizes": tuple(sizes), "method": "area"})
        if method == "area" or (corners and half):
            raise call.unsupported(
                "resizes with an option that is not supported",
                "Resize with half_pixel_centers, or without options",
            )
        if method == "cubic" and not half:
            raise call.unsupported(
                "resizes by TensorFlow 1's bicubic method",
                "Resize with half_pixel_centers, as tf.image.resize of TensorFlow 2 does",
            )
        attrs: dict[str, Any] = {
            "axes": (1, 2),
            "sizes": tuple(sizes),
            "method": method,
            "resolution": BICUBIC_STEPS if method == "cubic" else 0,
        }
        attrs |= {
            "coordinates": "align_corners" if corners else "half_pixel" if half else "asymmetric"
        }
        return call.op("Resize", [x], attrs)

    return handler


def _floored(call: NodeCall, x: Tensor, sizes: Sequence[Size]) -> Tensor:
    for axis, size in zip((1, 2), sizes, strict=True):
        x = resize_axis(call.builder, x, axis, size, None, FLOORED)
    return x


def depth_to_space(call: NodeCall) -> Tensor:
    return deep_to_wide(call.builder, call.tensor(0), call.attr("block_size"), layout(call))


def space_to_depth(call: NodeCall) -> Tensor:
    return wide_to_deep(call.builder, call.tensor(0), call.attr("block_size"), layout(call))


def extract_patches(call: NodeCall) -> Tensor:
    """[N, H, W, C] -> [N, rows, columns, window * C]."""
    window, strides, rates = (call.attr(name)[1:-1] for name in ("ksizes", "strides", "rates"))
    return patches(
        call.builder, call.tensor(0), window, strides, rates, call.attr("padding").lower()
    )


def vector_permute(call: NodeCall) -> Tensor:
    """`DataFormatVecPermute`: permute the axes of a shape from one layout to another."""
    source, target = call.attr("src_format", "NHWC"), call.attr("dst_format", "NCHW")
    indices = [source.index(letter) for letter in target]
    return call.op("Gather", [call.tensor(0), call.constant(indices, "int32")], {"axis": 0})


def projective_transform(call: NodeCall) -> Tensor:
    """`ImageProjectiveTransformV2`, `V3`: images, transforms, the size of the result and, in `V3`,
    the value outside.
    """
    x, size, original = call.tensor(0), call.sizes(2), call.type(0).dtype
    x = x if original == "float64" else cast(call.builder, x, "float32")
    y = projected(
        call.builder,
        x,
        call.tensor(1),
        size,
        call.attr("interpolation").lower(),
        call.attr("fill_mode", "CONSTANT").lower(),
        float(call.scalar(3, 0)),
    )
    return cast(call.builder, y, original)


RESIZING: Mapping[str, NodeHandler] = {
    "ResizeBilinear": resize("linear"),
    "ResizeNearestNeighbor": resize("nearest"),
    "ResizeBicubic": resize("cubic"),
    "ResizeArea": resize("area"),
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "ExtractImagePatches": extract_patches,
    "DataFormatVecPermute": vector_permute,
    "ImageProjectiveTransformV2": projective_transform,
    "ImageProjectiveTransformV3": projective_transform,
}
