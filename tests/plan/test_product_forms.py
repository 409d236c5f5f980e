"""The forms of products on a data-centre GPU are near the best ones that were measured there, and
suit what a device guarantees.
"""

import re
from textwrap import dedent

import pytest

from tests.programs import rewritten
from webkiln.backends.table import REGISTRY
from webkiln.nest.steps import DeviceBranch
from webkiln.nest.target import GPU_CLASSES
from webkiln.ops.table import parse
from webkiln.plan.depthwise_forms import depthwise_forms
from webkiln.plan.gpu_cost import microseconds
from webkiln.plan.merge_phases import merge_phases
from webkiln.plan.merge_pixels import merge_rows
from webkiln.plan.product_forms import FORMS, candidates, choose_forms, match_product
from webkiln.shared_files import shared_root

TARGET = REGISTRY["webgpu"].target
DATA_CENTRE = GPU_CLASSES[-1]
SHARED_BYTES, GROUP = 16_384, 256
"""The workgroup memory and the invocations of a workgroup that every device has."""

PRODUCTS = {
    (1, 49, 512, 2048): 9.3,
    (1, 49, 2048, 512): 11.4,
    (1, 196, 256, 1024): 7.2,
    (1, 196, 1024, 256): 9.9,
    (1, 784, 128, 512): 6.5,
    (1, 784, 512, 128): 7.6,
    (1, 3136, 64, 256): 6.8,
    (1, 3136, 256, 64): 6.4,
    (1, 128, 384, 1536): 9.1,
    (1, 128, 1536, 384): 11.9,
    (1, 128, 384, 384): 5.8,
    (1, 128, 384, 1152): 8.7,
    (1, 512, 768, 3072): 77.8,
    (1, 1024, 1024, 1024): 72.7,
    (1, 3136, 64, 64): 3.9,
    (1, 784, 256, 128): 5.3,
    (1, 784, 256, 512): 10.3,
    (1, 196, 512, 256): 6.9,
    (1, 196, 512, 1024): 11.5,
    (1, 49, 1024, 512): 8.7,
    (1, 49, 1024, 2048): 14.6,
    (1, 197, 768, 768): 14.1,
    (1, 197, 768, 3072): 43.8,
    (1, 77, 2048, 512): 13.3,
    (1, 256, 1280, 1280): 36.6,
    (16, 784, 64, 64): 6.9,
    (36, 196, 64, 64): 5.5,
    (16, 196, 128, 128): 7.2,
    (36, 49, 128, 128): 7.2,
    (16, 49, 256, 256): 11.8,
    (36, 16, 256, 256): 10.0,
    (16, 16, 512, 512): 12.5,
}
"""(batch, rows, depth, columns) -> the microseconds of the best of 400 forms on an H100."""

CONVOLUTIONS = {
    (56, 64, 64, 3, 1): 13.1,
    (28, 128, 128, 3, 1): 14.9,
    (14, 256, 256, 3, 1): 16.5,
    (7, 512, 512, 3, 1): 16.9,
    (56, 128, 128, 3, 2): 15.0,
    (14, 512, 512, 3, 2): 18.6,
    (128, 64, 128, 4, 2): 41.2,
    (8, 512, 512, 4, 2): 14.1,
    (32, 320, 320, 3, 1): 71.0,
    (16, 640, 640, 3, 1): 73.2,
    (64, 128, 128, 3, 1): 45.5,
}
"""(side of the image, channels, filters, side of a filter, stride) -> microseconds."""
TRANSPOSED = {(4, 512, 512): 13.0, (64, 128, 64): 38.1}
"""(side of the image, channels, filters) -> microseconds, for filters of 4 x 4 and stride 2."""

RESNET50 = {
    ("1x1", 56, 64, 64): 1,
    ("1x1", 56, 64, 256): 4,
    ("1x1", 56, 256, 64): 2,
    ("3x3", 56, 64, 64): 3,
    ("1x1", 28, 256, 128): 1,
    ("1x1", 28, 256, 512): 1,
    ("1x1", 28, 128, 512): 4,
    ("1x1", 28, 512, 128): 3,
    ("3x3", 28, 128, 128): 4,
    ("1x1", 14, 512, 256): 1,
    ("1x1", 14, 512, 1024): 1,
    ("1x1", 14, 256, 1024): 6,
    ("1x1", 14, 1024, 256): 5,
    ("3x3", 14, 256, 256): 6,
    ("1x1", 7, 1024, 512): 1,
    ("1x1", 7, 1024, 2048): 1,
    ("1x1", 7, 512, 2048): 3,
    ("1x1", 7, 2048, 512): 2,
    ("3x3", 7, 512, 512): 3,
}
"""(filter, side of the output, channels, filters) -> how many; all but the first convolution."""
FIRST_CONVOLUTION = 18.4


def matmul(batch, rows, depth, columns):
    one = "" if batch == 1 else f"{batch},"
    return f"""
        input x: float32[{one}{rows},{depth}]
        input w: float32[{one}{depth},{columns}]
        y: float32[{one}{rows},{columns}] = MatMul(x, w)
    """


def convolution(side, channels, filters, taps, stride):
    low, high = (1, 1) if taps == 4 or stride == 1 else (0, 1)
    out = (side + low + high - taps) // stride + 1
    return f"""
        input x: float32[1,{side},{side},{channels}]
        slot w: float32[{taps},{taps},{channels},{filters}]
        slot b: float32[{filters}]
        y: float32[1,{out},{out},{filters}] = Conv(x, w, b) {{"dilation":[1,1],\
"out_dims":[0,3,1,2],"pad_high":[{high},{high}],"pad_low":[{low},{low}],\
"strides":[{stride},{stride}],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}}
    """


def transposed(side, channels, filters):
    return f"""
        input x: float32[1,{side},{side},{channels}]
        slot w: float32[4,4,{channels},{filters}]
        y: float32[1,{2 * side},{2 * side},{filters}] = Conv(x, w) {{"dilation":[1,1],\
"out_dims":[0,3,1,2],"pad_high":[2,2],"pad_low":[2,2],"strides":[1,1],"w_dims":[3,2,0,1],\
"x_dilation":[2,2],"x_dims":[0,3,1,2]}}
    """


def depthwise(side, channels):
    return f"""
        input x: float32[1,{side},{side},{channels}]
        slot w: float32[1,3,3,{channels}]
        slot b: float32[{channels}]
        y: float32[1,{side},{side},{channels}] = Conv(x, w, b) {{"dilation":[1,1],\
"groups":{channels},"out_dims":[0,3,1,2],"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],\
"w_dims":[3,0,1,2],"x_dims":[0,3,1,2]}}
    """


def calls(text):
    """The calls in the form for a data-centre GPU."""
    program = rewritten(
        parse(f"graph g\n{dedent(text).strip()}\noutput y = y\n"), REGISTRY["webgpu"]
    )
    (branch,) = (step for step in program.steps if isinstance(step, DeviceBranch))
    return branch.then


def expected(text):
    """The expected time, in microseconds, of the product of a graph of one node."""
    graph = parse(f"graph g\n{dedent(text).strip()}\noutput y = y\n")
    without = ("fast_convolutions", "storage", "split_products")
    program = rewritten(graph, REGISTRY["webgpu"], without)
    call = merge_phases(program.steps)
    product = match_product(
        merge_rows(call, TARGET, program.repackable), TARGET, program.repackable
    )
    choice = choose_forms(product, GPU_CLASSES)[-1]
    form, *others = calls(text)
    assert (form.form, len(others)) == (choice.form, int(choice.split > 1))
    return microseconds(product.size, choice.form, choice.split, DATA_CENTRE)


@pytest.mark.parametrize("size", PRODUCTS)
def test_products_are_near_the_best_measured_form(size):
    assert expected(matmul(*size)) <= 1.2 * PRODUCTS[size]


@pytest.mark.parametrize("size", CONVOLUTIONS)
def test_convolutions_are_near_the_best_measured_form(size):
    assert expected(convolution(*size)) <= 1.2 * CONVOLUTIONS[size]


@pytest.mark.parametrize("size", TRANSPOSED)
def test_transposed_convolutions_are_near_the_best_measured_form(size):
    assert expected(transposed(*size)) <= 1.2 * TRANSPOSED[size]


def test_convolutions_of_resnet50():
    total = FIRST_CONVOLUTION
    for (taps, side, channels, filters), count in RESNET50.items():
        text = (
            convolution(side, channels, filters, 3, 1)
            if taps == "3x3"
            else matmul(1, side * side, channels, filters)
        )
        total += count * expected(text)
    assert sum(RESNET50.values()) == 52
    assert total <= 1000


def test_products_of_a_transformer():
    layer = {(1, 128, 384, 1152): 1, (1, 128, 384, 384): 1, (1, 128, 384, 1536): 1}
    layer[1, 128, 1536, 384] = 1
    assert 6 * sum(count * expected(matmul(*size)) for size, count in layer.items()) <= 500


@pytest.mark.parametrize(
    ("side", "channels", "pixels"), [(112, 32, 4), (56, 144, 4), (14, 576, 1), (7, 960, 1)]
)
def test_depthwise_convolutions_have_more_pixels_in_large_images(side, channels, pixels):
    graph = parse(f"graph g\n{dedent(depthwise(side, channels)).strip()}\noutput y = y\n")
    program = rewritten(graph, REGISTRY["webgpu"], ("split_products", "fast_convolutions"))
    (call,) = program.steps
    form = depthwise_forms(call, TARGET, program.repackable)[-1]
    assert (4 if form is None else form.count) == pixels


@pytest.mark.parametrize("form", FORMS)
def test_forms_fit_every_device(form):
    group = form.group
    tile = form.lanes * form.count
    shared = (group.parts - 1) * group.columns * group.rows * tile * 4
    if group.staged:
        shared = 4 * (form.rows * (group.depth + 4) + form.columns * group.depth)
    assert shared <= SHARED_BYTES
    assert group.size <= GROUP


def test_the_engine_has_the_same_classes():
    text = (shared_root() / "runtime" / "engines" / "webgpu_classes.js").read_text()
    sizes = [int(size) for size in re.findall(r"^const [A-Z_]+ = (\d+);$", text, re.MULTILINE)]
    assert sizes == [1, *(gpu.multiprocessors for gpu in GPU_CLASSES)]
    (emulated,) = re.findall(r"\[(/.*/), EMULATED\]", text)
    chooser = (shared_root() / "runtime" / "src" / "adapter.js").read_text()
    assert f"const EMULATED_GPU = {emulated};" in chooser


def test_products_that_write_slices_of_a_buffer_have_sums_of_their_own():
    text = """
        graph g
        input x: float32[37,1536]
        slot v: float32[1536,96]
        slot w: float32[1536,32]
        a: float32[37,96] = MatMul(x, v)
        b: float32[37,32] = MatMul(x, w)
        y: float32[37,128] = Concat(a, b) {"axis":1}
        output out = y
    """
    result = REGISTRY["webgpu"].plan(parse(dedent(text).strip() + "\n"))
    sums = {view.name for call in result.calls for view in call.outputs if "parts" in view.name}
    assert len(sums) >= 2
    for call in result.calls:
        for view in (*call.inputs, *call.outputs):
            assert view.type.size <= result.buffers[view.name].type.size, view.name


def test_larger_gpus_expect_less_time():
    program = rewritten(
        parse(f"graph g\n{dedent(matmul(1, 196, 512, 1024)).strip()}\noutput y = y\n"),
        REGISTRY["webgpu"],
        ("split_products",),
    )
    (call,) = program.steps
    product = match_product(call, TARGET, program.repackable)
    times = [
        min(microseconds(product.size, item.form, item.split, gpu) for item in candidates(product))
        for gpu in GPU_CLASSES
    ]
    assert times == sorted(times, reverse=True)
