"""Images as inputs: the table `inputs` of a recipe."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from webkiln.errors import RecipeError
from webkiln.recipe.values import choose


@dataclass(frozen=True, slots=True)
class ImageInput:
    """How an image becomes an input.

    Channels, in the order of `color`, are `(pixel - mean) / scale`, with pixels of 0 to 255.
    `size` is [height, width]; by default that of the input's shape.
    """

    size: tuple[int, int] | None = None
    fit: str = "stretch"
    color: str = "RGB"
    mean: float | tuple[float, ...] = 0.0
    scale: float | tuple[float, ...] = 1.0
    layout: str = "HWC"


CHOICES = {
    "fit": ("stretch", "crop"),
    "color": ("RGB", "BGR", "GREY", "RGBA", "BGRA"),
    "layout": ("HWC", "CHW"),
}
DEPTHS = {color: 1 if color == "GREY" else len(color) for color in CHOICES["color"]}
"""The number of channels."""


def parse_image(table: Mapping[str, Any], where: str) -> ImageInput:
    choose("key", table.keys() or ["(nothing)"], [key.name for key in fields(ImageInput)], where)
    for key, valid in CHOICES.items():
        if key in table:
            choose(key, [table[key]], valid, where)
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
    }
    image = ImageInput(**values)
    size = image.size
    if size is not None and not (
        isinstance(size, tuple)
        and len(size) == 2
        and all(type(extent) is int and extent > 0 for extent in size)
    ):
        raise RecipeError(f"{where}: size is {table['size']!r}, expected [height, width]")
    _check_numbers(image, table, where)
    return image


def _check_numbers(image: ImageInput, table: Mapping[str, Any], where: str) -> None:
    """Raise RecipeError unless mean and scale are numbers, or one number for each channel."""
    depth = DEPTHS[image.color]
    for key in ("mean", "scale"):
        value = getattr(image, key)
        numbers = value if isinstance(value, tuple) else (value,)
        if not all(type(number) in (int, float) for number in numbers) or (
            key == "scale" and 0 in numbers
        ):
            nonzero = " that is not 0" if key == "scale" else ""
            raise RecipeError(
                f"{where}: {key} is {table[key]!r}, expected a number{nonzero}, or a list of"
                f" {depth}"
            )
        if isinstance(value, tuple) and len(value) != depth:
            raise RecipeError(
                f"{where}: {key} has {len(value)} numbers, expected {depth}, one for each channel"
                f" of {image.color}"
            )
