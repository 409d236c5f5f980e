"""Images: sizes, colours and filters."""

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size
from webkiln.ir.types import Array
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import Argument, Operation, floating, operands, tensor
from webkiln.ops.functional.resize import resized_to
from webkiln.ops.functional.windows import by_channel, convolved, plain, window_of
from webkiln.ops.pieces import cast, element, reshaped, stacked, total, transposed, widened

GREY = (0.2989, 0.5870, 0.1140)
SOBEL = (((-1, -2, -1), (0, 0, 0), (1, 2, 1)), ((-1, 0, 1), (-2, 0, 2), (-1, 0, 1)))


def axes_of_image(data_format: str | None, rank: int) -> tuple[int, int, int]:
    """Height, width and channels of one image or a batch."""
    return (
        (rank - 2, rank - 1, rank - 3)
        if data_format == "channels_first"
        else (rank - 3, rank - 2, rank - 1)
    )


def channels_last(
    b: GraphBuilder, images: Tensor, data_format: str | None
) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Images as [N, H, W, C], and a function that restores the layout."""
    single, first = images.type.rank == 3, data_format == "channels_first"
    batch = reshaped(b, images, (1, *images.shape)) if single else images

    def back(y: Tensor) -> Tensor:
        y = transposed(b, y, (0, 3, 1, 2)) if first else y
        return reshaped(b, y, y.shape[1:]) if single else y

    return transposed(b, batch, (0, 2, 3, 1)) if first else batch, back


def resize(
    b: GraphBuilder,
    images: Argument,
    size: Sequence[int],
    interpolation: str = "bilinear",
    data_format: str | None = None,
    fill_mode: str = "constant",
    **options: bool,
) -> Tensor:
    x = tensor(b, images)
    height, width, _ = axes_of_image(data_format, x.type.rank)
    return resized_to(b, x, (height, width), tuple(size), interpolation, **options)


def pad_images(
    b: GraphBuilder, images: Argument, data_format: str | None = None, **original: int | None
) -> Tensor:
    x = tensor(b, images)
    low: list[Size] = [0] * x.type.rank
    high: list[Size] = [0] * x.type.rank
    for axis, first, last, target in _sides(x, data_format, original, "padding"):
        spare = 0 if target is None else target - x.shape[axis]
        low[axis] = spare - (last or 0) if first is None else first
        high[axis] = spare - low[axis] if last is None else last
    if any(side < 0 for side in (*low, *high)):
        raise ShapeError(
            f"{b.layer}: images of {list(x.shape)} are padded by {low} and {high}; none may be"
            " negative"
        )
    return (
        b.op("Pad", [x], {"low": tuple(low), "high": tuple(high), "value": 0.0})
        if any((*low, *high))
        else x
    )


def crop_images(
    b: GraphBuilder, images: Argument, data_format: str | None = None, **original: int | None
) -> Tensor:
    x = tensor(b, images)
    starts: list[Size] = [0] * x.type.rank
    sizes = list(x.shape)
    for axis, first, last, target in _sides(x, data_format, original, "cropping"):
        starts[axis] = x.shape[axis] - (target or 0) - (last or 0) if first is None else first
        sizes[axis] = x.shape[axis] - starts[axis] - (last or 0) if target is None else target
    if any(
        start < 0 or size < 0 or start + size > extent
        for start, size, extent in zip(starts, sizes, x.shape, strict=True)
    ):
        raise ShapeError(
            f"{b.layer}: {sizes} from {starts} on is not within images of {list(x.shape)}"
        )
    return b.op(
        "Slice", [x], {"starts": tuple(starts), "sizes": tuple(sizes), "steps": (1,) * x.type.rank}
    )


def _sides(
    x: Tensor, data_format: str | None, requested: dict[str, int | None], what: str
) -> list[tuple[int, int | None, int | None, int | None]]:
    """For height and width: the axis, the padding before and after, and the target size."""
    height, width, _ = axes_of_image(data_format, x.type.rank)
    rows = ((height, "top", "bottom", "height"), (width, "left", "right", "width"))
    return [
        (
            a,
            requested.get(f"{first}_{what}"),
            requested.get(f"{last}_{what}"),
            requested.get(f"target_{size}"),
        )
        for a, first, last, size in rows
    ]


def rgb_to_grayscale(b: GraphBuilder, images: Argument, data_format: str | None = None) -> Tensor:
    x = tensor(b, images)
    axis = axes_of_image(data_format, x.type.rank)[2]
    if x.shape[axis] == 1:
        return x
    weights = b.constant(
        np.array(GREY).reshape([3 if a == axis else 1 for a in range(x.type.rank)]),
        floating(b, x).dtype,
    )
    return cast(b, total(b, b.op("Mul", [floating(b, x), weights]), axis, keepdims=True), x.dtype)


def colours(
    function: Callable[[GraphBuilder, Tensor, Tensor, Tensor], Sequence[Tensor]],
) -> Operation:
    """An operation on the three channels of floating-point images."""

    def apply(b: GraphBuilder, images: Argument, data_format: str | None = None) -> Tensor:
        x = tensor(b, images)
        axis = axes_of_image(data_format, x.type.rank)[2]
        return stacked(
            b, function(b, *(element(b, x, axis, channel) for channel in range(3))), axis
        )

    return apply


def hsv_of(b: GraphBuilder, red: Tensor, green: Tensor, blue: Tensor) -> list[Tensor]:
    """Smith 1978. The hue is a fraction of the circle."""
    zero = b.constant(0.0, red.dtype)
    value = b.op("Max", [b.op("Max", [red, green]), blue])
    spread = b.op("Sub", [value, b.op("Min", [b.op("Min", [red, green]), blue])])
    saturation = b.op("Where", [b.op("Greater", [value, zero]), b.op("Div", [spread, value]), zero])

    def third(first: Tensor, second: Tensor, offset: float) -> Tensor:
        return b.op("Div", [b.op("Sub", [first, second]), spread * 6.0]) + offset

    hue = b.op(
        "Where", [b.op("Equal", [green, value]), third(blue, red, 1 / 3), third(red, green, 2 / 3)]
    )
    hue = b.op("Where", [b.op("Equal", [red, value]), third(green, blue, 0.0), hue])
    hue = b.op("Where", [b.op("Greater", [spread, zero]), hue, zero])
    return [b.op("Where", [b.op("Less", [hue, zero]), hue + 1.0, hue]), saturation, value]


def rgb_of(b: GraphBuilder, hue: Tensor, saturation: Tensor, value: Tensor) -> list[Tensor]:
    angle = hue * 6.0

    def shade(centre: float, sign: float, offset: float) -> Tensor:
        share = b.op(
            "Clip", [b.op("Abs", [angle - centre]) * sign + offset], {"min": 0.0, "max": 1.0}
        )
        return b.op(
            "Mul", [b.op("Add", [1.0 - saturation, b.op("Mul", [saturation, share])]), value]
        )

    return [shade(3.0, 1.0, -1.0), shade(2.0, -1.0, 2.0), shade(4.0, -1.0, 2.0)]


def bell(size: int, sigma: float) -> Array:
    """A centred Gaussian at `size` points, with sum 1."""
    weights = np.exp(-0.5 * ((np.arange(size) - (size - 1) / 2) / sigma) ** 2)
    return np.asarray(weights / weights.sum())


def _filtered(b: GraphBuilder, x: Tensor, kernel: Array, padding: str) -> Tensor:
    """Apply each of the filters [H, W, filters] to each channel of [N, H, W, C]."""
    *window, filters = kernel.shape
    weights = b.constant(kernel.reshape(*window, 1, filters), x.dtype)
    attrs = window_of(x, window, None, padding, 1, 1) if padding == "same" else plain(2)
    return convolved(
        b,
        x,
        by_channel(b, widened(b, weights, (*window, x.shape[3], filters))),
        None,
        x.shape[3],
        attrs,
    )


def gaussian_blur(
    b: GraphBuilder,
    images: Argument,
    kernel_size: Sequence[int] = (3, 3),
    sigma: Sequence[float] = (1.0, 1.0),
    data_format: str | None = None,
) -> Tensor:
    """A kernel that is not square is built transposed and reshaped, as in Keras."""
    x, back = channels_last(b, floating(b, images), data_format)
    kernel = np.outer(
        bell(int(kernel_size[1]), sigma[1]), bell(int(kernel_size[0]), sigma[0])
    ).reshape(*map(int, kernel_size), 1)
    return back(_filtered(b, x, kernel, "same"))


def sobel_edges(b: GraphBuilder, images: Argument, data_format: str | None = None) -> Tensor:
    """The vertical and horizontal derivatives, as a new last axis. Edges are reflected."""
    x, _ = channels_last(b, floating(b, images), data_format)
    wide = b.op("PadFrom", [x], {"low": (0, 1, 1, 0), "high": (0, 1, 1, 0), "mode": "reflect"})
    y = reshaped(b, _filtered(b, wide, np.moveaxis(np.array(SOBEL), 0, -1), "valid"), (*x.shape, 2))
    return transposed(b, y, (0, 3, 1, 2, 4)) if data_format == "channels_first" else y


def ssim(
    b: GraphBuilder,
    image1: Argument,
    image2: Argument,
    max_val: float = 1.0,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    data_format: str | None = None,
) -> Tensor:
    """Wang et al. 2004: the mean over positions and channels."""
    original = tensor(b, image1)
    one, two = (
        channels_last(b, x, data_format)[0] for x in operands(b, image1, image2, floating=True)
    )
    kernel = np.outer(bell(filter_size, filter_sigma), bell(filter_size, filter_sigma))[..., None]

    def blurred(*factors: Tensor) -> Tensor:
        return _filtered(b, reduce(lambda a, c: b.op("Mul", [a, c]), factors), kernel, "valid")

    mean1, mean2 = blurred(one), blurred(two)
    square1, square2, product = (
        b.op("Mul", [a, c]) for a, c in ((mean1, mean1), (mean2, mean2), (mean1, mean2))
    )
    spread = b.op(
        "Add",
        [b.op("Sub", [blurred(one, one), square1]), b.op("Sub", [blurred(two, two), square2])],
    )
    common = b.op("Sub", [blurred(one, two), product])
    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    above = b.op("Mul", [product * 2.0 + c1, common * 2.0 + c2])
    below = b.op("Mul", [b.op("Add", [square1, square2]) + c1, spread + c2])
    y = b.op("ReduceMean", [b.op("Div", [above, below])], {"axes": (1, 2, 3), "keepdims": False})
    return cast(b, reshaped(b, y, ()) if original.type.rank == 3 else y, original.dtype)
