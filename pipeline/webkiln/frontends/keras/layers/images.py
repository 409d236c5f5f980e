"""Image preprocessing layers at inference, for one image or a batch."""

from collections.abc import Sequence

import numpy as np

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.resize import images_of, spatial_axes
from webkiln.ir.dim import Size, all_known, is_symbolic, known_shape
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.resize import resized

LEVELS = 256
"""The number of brightness levels."""


def augmentation(converter: Converter, layer: Layer) -> None:
    """Layers that augment images in training, and return them unchanged at inference."""
    converter.set_variable(converter.get_output_tensor(layer)[0], images_of(converter, layer))


def pipeline(converter: Converter, layer: Layer) -> None:
    """Apply layers in sequence."""
    x = images_of(converter, layer)
    for part in layer.spec.parts.values():
        (x,) = converter.apply(part, layer.path, [x])
    converter.set_variable(converter.get_output_tensor(layer)[0], x)


def center_crop(converter: Converter, layer: Layer) -> None:
    """Crop the centre. Smaller images are resized after cropping the largest centred part with the
    target's aspect ratio.
    """
    x, b = images_of(converter, layer), converter.builder
    axes, shape = spatial_axes(layer, x), (layer.config["height"], layer.config["width"])
    sizes = all_known(x.shape[axis] for axis in axes)
    if sizes is None:
        raise layer.error(
            f"x is {list(x.shape)}; give its height and width with --input-shape, as numbers"
        )
    if all(size >= least for size, least in zip(sizes, shape, strict=True)):
        y = _middle(b, x, axes, shape)
    else:
        fitting = (
            int(float(sizes[1] * shape[0]) / shape[1]),
            int(float(sizes[0] * shape[1]) / shape[0]),
        )
        y = _middle(
            b, x, axes, [max(min(size, most), 1) for size, most in zip(sizes, fitting, strict=True)]
        )
        y = resized(b, converter.cast(y, "float32"), axes, shape, "bilinear")
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def _middle(b: GraphBuilder, x: Tensor, axes: Sequence[int], target: Sequence[int]) -> Tensor:
    starts: list[Size] = [0] * x.type.rank
    sizes = list(x.shape)
    for axis, size in zip(axes, target, strict=True):
        starts[axis], sizes[axis] = (x.shape[axis] - size) // 2, size
    return b.op(
        "Slice", [x], {"starts": tuple(starts), "sizes": tuple(sizes), "steps": (1,) * x.type.rank}
    )


def auto_contrast(converter: Converter, layer: Layer) -> None:
    """Stretch the range of each channel to the full range. A constant channel is unchanged."""
    x, b = images_of(converter, layer), converter.builder
    value_range, full = layer.config["value_range"], (0, LEVELS - 1)
    y = _ranged(b, x, value_range, full)
    over = {"axes": (x.type.rank - 3, x.type.rank - 2), "keepdims": True}
    low, high = b.op("ReduceMin", [y], over), b.op("ReduceMax", [y], over)
    flat = b.op("Equal", [low, high])
    scale = b.binary(
        "Div",
        float(LEVELS - 1),
        b.op("Where", [flat, b.constant(1.0, y.dtype), b.op("Sub", [high, low])]),
    )
    offset = b.op("Mul", [b.op("Neg", [low]), scale])
    y = b.op(
        "Clip",
        [b.op("Add", [b.op("Mul", [y, scale]), offset])],
        {"min": 0.0, "max": float(LEVELS - 1)},
    )
    y = b.op("Where", [flat, x, _ranged(b, y, full, value_range)])
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def _ranged(b: GraphBuilder, x: Tensor, source: Sequence[float], target: Sequence[float]) -> Tensor:
    """Map x linearly from one range to another."""
    if tuple(source) == tuple(target):
        return x
    unit = b.binary(
        "Div", b.binary("Sub", x, float(source[0])), float(source[1]) - float(source[0])
    )
    return b.binary(
        "Add", b.binary("Mul", unit, float(target[1]) - float(target[0])), float(target[0])
    )


def clahe(converter: Converter, layer: Layer) -> None:
    """Contrast-limited adaptive histogram equalization: histograms of tiles, interpolated between
    their centres (Zuiderveld 1994).
    """
    x, b, config = images_of(converter, layer), converter.builder, layer.config
    if any(map(is_symbolic, x.shape[-3:])):
        raise layer.error(
            f"x is {list(x.shape)}; give its height and width with --input-shape, as numbers"
        )
    first, whole = config.get("data_format") == "channels_first", x.shape
    y = x if x.type.rank == 4 else b.op("Reshape", [x], {"shape": (1, *x.shape)})
    y = b.op("Transpose", [y], {"perm": (0, 2, 3, 1)}) if first else y
    full = (0, LEVELS - 1)
    y = _equalised(
        b,
        _ranged(b, converter.cast(y, "float32"), config["value_range"], full),
        config["tile_grid_size"],
        config["clip_limit"],
    )
    y = _ranged(b, y, full, config["value_range"])
    y = b.op("Transpose", [y], {"perm": (0, 3, 1, 2)}) if first else y
    y = b.op("Reshape", [converter.cast(y, x.dtype)], {"shape": whole}, x.order)
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def _equalised(b: GraphBuilder, x: Tensor, grid: Sequence[int], limit: float) -> Tensor:
    """x [N, H, W, C] with levels from 0 to 255."""
    n = x.shape[0]
    *have, channels = known_shape(x.shape[1:], "x")
    tile = [-(-size // count) for size, count in zip(have, grid, strict=True)]
    padded = x
    for axis, size, count, span in zip((1, 2), have, grid, tile, strict=True):
        if span * count != size:
            mirrored = np.pad(
                np.arange(size, dtype="int32"), (0, span * count - size), mode="symmetric"
            )
            padded = b.op("Gather", [padded, b.constant(mirrored)], {"axis": axis})
    levels = b.op(
        "Cast", [b.op("Clip", [padded], {"min": 0.0, "max": float(LEVELS - 1)})], {"dtype": "int32"}
    )
    pixels = tile[0] * tile[1]
    counts = _histograms(b, levels, grid, tile)
    if limit > 0:
        counts = _clipped(b, counts, float(np.float32(limit * pixels / LEVELS)))
    curves = _equalising_curves(b, counts, pixels)
    table = b.op("Reshape", [curves], {"shape": (n * grid[0] * grid[1] * channels * LEVELS,)})
    places, shares = zip(
        *(
            _neighbours(size, count, span)
            for size, count, span in zip(have, grid, tile, strict=True)
        ),
        strict=True,
    )
    seen = b.op("Slice", [levels], {"starts": (0,) * 4, "sizes": x.shape, "steps": (1,) * 4})
    image = b.op(
        "Reshape", [b.op("Iota", [], {"size": n, "dtype": "int32"})], {"shape": (n, 1, 1, 1)}
    )
    image = b.binary("Mul", image, grid[0] * grid[1] * channels * LEVELS)

    def curve(row: int, column: int) -> Tensor:
        tiles = places[0][row][:, None] * grid[1] + places[1][column][None, :]
        start = ((tiles[:, :, None] * channels + np.arange(channels)) * LEVELS).astype("int32")
        return b.op(
            "Gather",
            [table, b.op("Add", [b.op("Add", [seen, b.constant(start)]), image])],
            {"axis": 0},
        )

    down, along = (
        b.constant(shares[0].reshape(1, -1, 1, 1)),
        b.constant(shares[1].reshape(1, 1, -1, 1)),
    )
    top, bottom = (_between(b, curve(row, 0), curve(row, 1), along) for row in (0, 1))
    return _between(b, top, bottom, down)


def _histograms(
    b: GraphBuilder, levels: Tensor, grid: Sequence[int], tile: Sequence[int]
) -> Tensor:
    """The number of pixels of each level in each tile: levels [N, H, W, C] -> [N, rows of tiles,
    columns of tiles, C, LEVELS].
    """
    n, *_, channels = levels.shape
    tiled = b.op("Reshape", [levels], {"shape": (n, grid[0], tile[0], grid[1], tile[1], channels)})
    tiled = b.op("Transpose", [tiled], {"perm": (0, 1, 3, 5, 2, 4)})
    flat = b.op("Reshape", [tiled], {"shape": (n, *grid, channels, tile[0] * tile[1], 1)})
    hot = b.op("Equal", [flat, b.op("Iota", [], {"size": LEVELS, "dtype": "int32"})])
    return b.op(
        "ReduceSum", [b.op("Cast", [hot], {"dtype": "float32"})], {"axes": (4,), "keepdims": False}
    )


def _clipped(b: GraphBuilder, counts: Tensor, most: float) -> Tensor:
    """Histograms without the counts above `most`, which are spread over all levels."""
    cut = b.op("Clip", [counts], {"min": 0.0, "max": most})
    excess = b.op("ReduceSum", [b.op("Sub", [counts, cut])], {"axes": (4,), "keepdims": True})
    return b.op("Add", [cut, b.binary("Div", excess, float(LEVELS))])


def _equalising_curves(b: GraphBuilder, counts: Tensor, pixels: int) -> Tensor:
    """A table that maps levels to equalised levels, from the histogram of each tile of `pixels`
    pixels.
    """
    running = b.op("MatMul", [counts, b.constant(np.triu(np.ones((LEVELS, LEVELS), "float32")))])
    least = b.op("ReduceMin", [running], {"axes": (4,), "keepdims": True})
    rest = b.binary("Sub", float(pixels), least)
    rest = b.op("Where", [b.binary("Equal", rest, 0.0), b.constant(1.0), rest])
    curves = b.op("Div", [b.binary("Mul", b.op("Sub", [running, least]), float(LEVELS - 1)), rest])
    return b.op("Clip", [curves], {"min": 0.0, "max": float(LEVELS - 1)})


def _between(b: GraphBuilder, first: Tensor, second: Tensor, share: Tensor) -> Tensor:
    return b.op(
        "Add", [b.op("Mul", [first, b.binary("Sub", 1.0, share)]), b.op("Mul", [second, share])]
    )


def _neighbours(
    size: int, count: int, span: int
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """For each pixel along an axis, the two tiles whose centres surround it, and the weight of the
    second.
    """
    place = (np.arange(size, dtype="float32") - np.float32(span / 2)) / np.float32(span)
    before = np.floor(place + 1)
    tiles = [
        np.clip(np.clip(before + step, 0, count + 1) - 1, 0, count - 1).astype("int64")
        for step in (0, 1)
    ]
    return (tiles[0], tiles[1]), (place + 1 - before).astype("float32")
