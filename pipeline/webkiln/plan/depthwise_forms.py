"""How invocations compute depthwise convolutions on a class of GPUs: each four channels of several
pixels, of few pixels where invocations would not occupy the GPU. On an H100, one pixel was fastest
for images of 14 x 14 and smaller, two or four for larger ones.
"""

from collections.abc import Collection
from math import prod

from webkiln.nest.schedule import Form
from webkiln.nest.steps import NestCall
from webkiln.nest.target import GpuClass, Target
from webkiln.plan.tile_shapes import all_factors_move
from webkiln.plan.vector_axis import VectorAxis, vector_axis
from webkiln.plan.vectors import extent, has_known_extents

RUNNING = 128
"""The invocations on a multiprocessor that occupy it."""
PIXELS = (4, 2, 1)


def depthwise_forms(
    call: NestCall, target: Target, constants: Collection[str]
) -> list[Form | None] | None:
    """The form for each class of GPUs, None for the usual tile; or None if a call is no depthwise
    convolution of known size.
    """
    if target.invocations is None or not call.nest.is_contraction or not has_known_extents(call):
        return None
    axis = vector_axis(call, target, constants)
    if (
        not isinstance(axis, VectorAxis)
        or axis.is_reduced
        or axis.tile.axis is None
        or not all_factors_move(call, axis.name)
    ):
        return None
    points = prod(extent(call, loop) for loop in call.nest.axes)
    usual = Form(axis.tile.lanes, axis.tile.count)
    forms = (_form(points // usual.lanes, usual.lanes, gpu) for gpu in target.invocations.classes)
    return [None if form == usual else form for form in forms]


def _form(invocations: int, lanes: int, gpu: GpuClass) -> Form:
    """`invocations`: those that compute one pixel each."""
    least = RUNNING * gpu.multiprocessors
    pixels = next((count for count in PIXELS if invocations // count >= least), 1)
    return Form(lanes, pixels)
