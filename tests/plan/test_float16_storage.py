"""Storage in float16: which Variables have it on backends that support it, and how kernels read and
write them.
"""

from textwrap import dedent

import pytest

from tests.programs import program, with_target
from webkiln.backends.table import REGISTRY
from webkiln.nest.target import ARITHMETIC
from webkiln.ops.table import parse
from webkiln.plan.kernel import from_json
from webkiln.plan.split_products import PARTS
from webkiln.recipe import values

GPU = ("webgpu", "webgl")


def graph(text):
    return parse("graph g\n" + dedent(text).strip() + "\n")


def target(backend):
    return with_target(REGISTRY[backend], precision="float16")


def narrowed(text, target):
    """The buffers stored as float16."""
    buffers = target.plan(graph(text)).buffers.values()
    return {buffer.name for buffer in buffers if buffer.storage == "float16"}


CHAIN = """
    input x: float32[8,12]
    slot w: float32[12,{columns}]
    slot b: float32[12,{columns}]
    m: float32[8,{columns}] = MatMul(x, w)
    s: float32[8,{columns}] = Softmax(m) {{"axis":1}}
    t: float32[{columns},8] = Transpose(s) {{"perm":[1,0]}}
    y: float32[12,8] = MatMul(b, t)
    output y = y
"""


@pytest.mark.parametrize("backend", GPU)
def test_intermediate_results_and_weights_are_float16_and_inputs_and_outputs_are_not(backend):
    found = narrowed(CHAIN.format(columns=16), target(backend))
    assert {"m", "w", "b"} <= found
    assert not {"x", "y"} & found
    assert not narrowed(CHAIN.format(columns=16), REGISTRY[backend])


def test_results_without_vector_stores_stay_float32_where_two_elements_share_a_word():
    assert "m" not in narrowed(CHAIN.format(columns=14), target("webgpu"))
    assert "m" in narrowed(CHAIN.format(columns=14), target("webgl"))


@pytest.mark.parametrize("backend", GPU)
def test_states_remain_float32(backend):
    text = """
        input x: float32[8,16]
        slot w: float32[16,16]
        slot first: float32[8,16]
        state s first n -> h: float32[8,16]
        m: float32[8,16] = MatMul(h, w)
        a: float32[8,16] = Softmax(m) {"axis":1}
        n: float32[8,16] = Add(a, x)
        y: float32[8,16] = MatMul(a, w)
        output y = y
    """
    assert not {"h", "n", "first"} & narrowed(text, target(backend))


@pytest.mark.parametrize("backend", GPU)
def test_copies_have_one_storage_dtype(backend):
    text = """
        input x: float32[8,16]
        slot w: float32[16,16]
        m: float32[8,16] = MatMul(x, w)
        output y = m
        output z = m
    """
    assert narrowed(text, target(backend)) == {"w"}


def test_parts_of_sums_remain_float32():
    """A part may be beyond the range of float16 where the total is not."""
    text = """
        input x: float32[49,2048]
        slot w: float32[2048,512]
        a: float32[49,2048] = Relu(x)
        m: float32[49,512] = MatMul(a, w)
        y: float32[49,512] = Tanh(m)
        output y = y
    """
    buffers = target("webgpu").plan(graph(text)).buffers
    parts = [buffer for name, buffer in buffers.items() if PARTS in name]
    assert parts
    assert {buffer.storage for buffer in parts} == {"float32"}
    assert {"a", "w"} <= narrowed(text, target("webgpu"))


LAYER = """
    input x: float32[1,128,128,128]
    slot w: float32[3,3,128,128]
    c: float32[1,128,128,128] = Conv(x, w) {"dilation":[1,1],"out_dims":[0,3,1,2],"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
    y: float32[1,128,128,128] = Relu(c)
    output y = y
"""  # noqa: E501


@pytest.mark.parametrize(("winograd", "precision"), [(True, "float16"), (False, ARITHMETIC)])
def test_products_of_winograd_convolutions_remain_float32(winograd, precision):
    """The inverse transform would amplify the errors of float16."""
    document = program(
        graph(LAYER),
        with_target(
            REGISTRY["webgpu"], precision=ARITHMETIC, winograd=winograd, runs={"classes": ()}
        ),
        "float32",
    )
    blocked = [
        workgroup
        for data in document["kernels"].values()
        if (workgroup := data["schedule"].get("workgroup", {})).get("depth")
    ]
    assert {workgroup.get("float16", False) for workgroup in blocked} == {precision == ARITHMETIC}
    assert document["precision"] == precision


def test_recipes_name_the_precision_as_targets_do():
    assert values.FLOAT16_ARITHMETIC == ARITHMETIC


@pytest.mark.parametrize("backend", GPU)
def test_integers_are_not_float16(backend):
    text = """
        input x: int32[8,16]
        a: int32[8,16] = Add(x, x)
        m: int32[8,1] = ReduceMax(a) {"axes":[1],"keepdims":true}
        y: int32[8,16] = Add(a, m)
        output y = y
    """
    assert not narrowed(text, target(backend))


def test_weights_and_intermediate_results_use_half_the_memory():
    wide = """
        input x: float32[1,64]
        slot w: float32[64,4096]
        slot v: float32[4096,4]
        m: float32[1,4096] = MatMul(x, w)
        y: float32[1,4] = MatMul(m, v)
        output y = y
    """
    sizes = [
        program(graph(wide), choice, "float32")["loaded"]
        for choice in (target("webgpu"), REGISTRY["webgpu"])
    ]
    staging = 64 * 4096 * 4
    assert sizes[0] - staging < 0.55 * (sizes[1] - staging)


def test_kernels_clamp_float16_stores_to_their_range():
    document = program(graph(CHAIN.format(columns=16)), target("webgpu"), "float32")
    stores = [from_json(data).nest.outputs[0] for data in document["kernels"].values()]
    assert {store.operand.dtype for store in stores} == {
        "float32",
        "float16",
    }, "the output is float32"
    assert all((store.value.op == "min") == (store.operand.dtype == "float16") for store in stores)
