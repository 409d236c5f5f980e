"""Which convolutions have windows, on which classes of GPUs, and that these fit every device."""

from dataclasses import replace

import pytest

from tests.programs import rewritten
from webkiln.backends.table import REGISTRY
from webkiln.errors import InternalError
from webkiln.nest.parse import parse as parse_program
from webkiln.nest.steps import DeviceBranch, NestCall, every_step
from webkiln.nest.target import GPU_CLASSES
from webkiln.nest.text import print_program
from webkiln.nest.verify import verify
from webkiln.ops.table import parse

SHARED_BYTES, GROUP = 16_384, 256
"""The workgroup memory and the invocations of a workgroup that every device has."""


def convolution(side, channels, filters, taps, stride=2, pad=1, *, channels_first=False):
    out = (side + 2 * pad - taps) // stride + 1
    dims = [0, 1, 2, 3] if channels_first else [0, 3, 1, 2]
    shapes = [(1, channels, side, side), (1, filters, out, out)]
    if not channels_first:
        shapes = [(batch, *sides, count) for batch, count, *sides in shapes]
    image, result = ("float32" + str(list(shape)).replace(" ", "") for shape in shapes)
    return rewritten(
        parse(
            "graph g\n"
            f"input x: {image}\n"
            f"slot w: float32[{filters},{channels},{taps},{taps}]\n"
            f"y: {result} = Conv(x, w) "
            f'{{"dilation":[1,1],"out_dims":{dims},"pad_high":[{pad},{pad}],'
            f'"pad_low":[{pad},{pad}],"strides":[{stride},{stride}],"w_dims":[0,1,2,3],'
            f'"x_dims":{dims}}}\n'
            "output y = y\n"
        ),
        REGISTRY["webgpu"],
    )


def forms(program):
    """The forms with a window, by the multiprocessors of the smallest GPU that uses them."""
    return {
        step.least: call.form
        for step in every_step(program.steps)
        if isinstance(step, DeviceBranch)
        for call in step.then
        if isinstance(call, NestCall) and call.form is not None and call.form.window is not None
    }


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((224, 3, 64, 7, 2, 3), {8: 4}),
        ((224, 3, 32, 3), {8: 4}),
        ((160, 3, 32, 3), {8: 4, 132: 2}),
        ((227, 3, 96, 11, 4, 0), {8: 4}),
        ((224, 4, 32, 3), {8: 4}),
        ((224, 5, 32, 3), {}),
        ((28, 1, 32, 3), {}),
        ((224, 3, 64, 16, 16, 0), {}),
    ],
)
def test_pixels_of_an_invocation(size, expected):
    found = forms(convolution(*size))
    assert {least: form.count for least, form in found.items()} == expected


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("taps", [3, 5, 7, 11])
def test_windows_fit_every_device(channels, taps):
    program = convolution(131, channels, 40, taps, stride=1)
    verify(program)
    found = forms(program)
    assert found
    for form in found.values():
        assert form.group.depth * form.group.columns * 16 <= SHARED_BYTES
        assert form.group.size <= GROUP


@pytest.mark.parametrize("channels_first", [False, True])
def test_padding_is_not_copied(channels_first):
    program = convolution(224, 3, 64, 7, 2, 3, channels_first=channels_first)
    (branch,) = (step for step in program.steps if isinstance(step, DeviceBranch))
    assert branch.least == GPU_CLASSES[0].multiprocessors
    assert [len(branch.then), len(branch.otherwise)] == [1, 2]


def test_text_form():
    program = convolution(224, 3, 64, 7, 2, 3)
    text = print_program(program)
    window = '{"axis": "a1", "taps": [7, 3], "stride": 2, "gap": 1}'
    assert f"form window = {window}" in text
    assert parse_program(text) == program


@pytest.mark.parametrize("change", [{"axis": "a7"}, {"taps": (7, 2)}, {"taps": ()}])
def test_a_window_that_does_not_fit_is_refused(change):
    program = convolution(224, 3, 64, 7, 2, 3)
    (branch,) = (step for step in program.steps if isinstance(step, DeviceBranch))
    (call,) = branch.then
    window = replace(call.form.window, **change)
    broken = replace(branch, then=(replace(call, form=replace(call.form, window=window)),))
    steps = [broken if step is branch else step for step in program.steps]
    with pytest.raises(InternalError, match="a window that does not fit its loops"):
        verify(program.with_steps(steps))
