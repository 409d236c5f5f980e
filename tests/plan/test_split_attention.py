"""Which attention is divided by chunks of keys, and how: chunks that suit the GPU, and workgroups
that every device can run.
"""

import re

import pytest

from tests.backends.harness import TEMPLATES
from tests.lower.chain_graphs import OTHER_PRODUCTS, PRODUCT_CHAINS, attention, parsed
from tests.programs import program
from webkiln.backends.table import REGISTRY
from webkiln.codegen.wgsl_groups import print_group
from webkiln.nest.steps import DeviceBranch, Repeat, Workgroups, every_step
from webkiln.nest.verify import verify
from webkiln.plan.group_kernel import from_json

SHARED_BYTES, INVOCATIONS = 16_384, 256
"""The workgroup memory and the invocations of a workgroup that every device has."""
ELEMENT_BYTES = {"u32": 4, "f32": 4, "vec4<f32>": 16}


def grouped(heads, group, keys, width=64, queries=1):
    scores = f"float32[{heads},{group},{queries},{keys}]"
    return f"""
        input q: float32[{heads},{group},{queries},{width}]
        input k: float32[{heads},{keys},{width}]
        input v: float32[{heads},{keys},{width}]
        a: {scores} = Einsum(q, k) {{"equation":"hgqd,hkd->hgqk"}}
        p: {scores} = Softmax(a) {{"axis":3}}
        y: float32[{heads},{group},{queries},{width}] = Einsum(p, v) {{"equation":"hgqk,hkd->hgqd"}}
        output out = y
    """


def planned(text):
    result = REGISTRY["webgpu"].plan(parsed(text))
    verify(result)
    return result


def launches(result, multiprocessors):
    """The launches of the steps that a device of this size runs."""

    def taken(steps):
        for step in steps:
            if isinstance(step, DeviceBranch):
                yield from taken(step.then if multiprocessors >= step.least else step.otherwise)
            elif isinstance(step, Repeat):
                yield from taken(step.steps)
            else:
                yield step

    return list(taken(result.steps))


def chunk_keys(result, multiprocessors):
    """The keys of a chunk; 0 without chunks."""
    names = [
        name
        for step in launches(result, multiprocessors)
        if isinstance(step, Workgroups)
        for name in step.shared
    ]
    found = {int(match[1]) for name in names if (match := re.search(r"~(\d+)w$", name))}
    return found.pop() if found else 0


@pytest.mark.parametrize(("keys", "chunk"), [(256, 64), (1024, 128), (4096, 256), (8192, 256)])
def test_chunks_that_were_fastest_on_an_h100(keys, chunk):
    result = planned(attention(1, 12, 1, keys, 64))
    chunks, merging = launches(result, 132)
    assert chunk_keys(result, 132) == chunk
    assert (chunks.count, merging.count) == (12 * keys // chunk, 12)
    if keys <= 4096:
        assert chunk_keys(planned(grouped(3, 3, keys)), 132) == chunk // 2


def test_grouped_heads_share_their_keys():
    chunks, merging = launches(planned(grouped(3, 3, 1024)), 132)
    assert (chunks.count, merging.count) == (3 * 1024 // 64, 9)


def test_rows_that_occupy_a_small_gpu_stay_whole():
    result = planned(attention(1, 16, 1, 1024, 64))
    assert [chunk_keys(result, n) for n in (0, 8, 24, 64, 132)] == [0, 0, 128, 128, 128]
    assert len(launches(result, 8)) == 1
    assert len(launches(result, 0)) == 5


def test_chunks_are_longer_on_small_gpus():
    result = planned(attention(1, 12, 1, 1024, 64))
    assert [chunk_keys(result, n) for n in (8, 24)] == [256, 128]


@pytest.mark.parametrize(
    "text",
    [
        attention(1, 12, 1, 255, 64),
        attention(1, 4, "T", "T", 64),
        attention(1, 12, 1, 1024, 33),
        attention(1, 12, 512, 512, 64),
        attention(1, 12, 1, 1024, 64) + "output weights = p\n",
        PRODUCT_CHAINS["over rows"].replace("60", "600"),
        *OTHER_PRODUCTS.values(),
    ],
)
def test_other_products_are_not_divided(text):
    assert chunk_keys(planned(text), 132) == 0


TURNED = """
    input q: float32[2,2,1,64]
    input k: float32[2,300,64]
    input v: float32[2,300,64]
    t: float32[2,64,300] = Transpose(k) {"perm":[0,2,1]}
    a: float32[2,2,1,300] = Einsum(q, t) {"equation":"hgqd,hdk->hgqk"}
    p: float32[2,2,1,300] = Softmax(a) {"axis":3}
    y: float32[2,2,1,64] = Einsum(p, v) {"equation":"hgqk,hkd->hgqd"}
    output out = y
"""


@pytest.mark.parametrize(("text", "count"), [(TURNED, 2), (TURNED + "output turned = t\n", 3)])
def test_keys_are_transposed_only_for_others(text, count):
    result = planned(text)
    assert len(launches(result, 132)) == count
    assert len(launches(result, 0)) == 6
    assert chunk_keys(result, 132)


def test_no_device_has_steps_that_it_does_not_run():
    """Queries whose product with the values has forms, on GPUs that take the chunks."""
    result = planned(grouped(2, 3, 300, queries=4))
    (branch,) = result.steps
    assert not any(isinstance(step, DeviceBranch) for step in every_step(branch.otherwise))


@pytest.mark.parametrize("width", [32, 64, 128, 256])
@pytest.mark.parametrize("group", [1, 2, 5, 16, 40])
def test_workgroups_fit_every_device(group, width):
    documents = [
        program(parsed(grouped(2, group, keys, width, queries)), REGISTRY["webgpu"])
        for keys, queries in ((4096, 1), (300, "n"), ("S", 1))
    ]
    kernels = [item for document in documents for item in document["group_kernels"].values()]
    assert len(kernels) >= 2 * len(documents)
    for kernel in map(from_json, kernels):
        text = print_group(kernel, TEMPLATES)
        arrays = re.findall(r"var<workgroup> \w+: array<(.+), (\d+)>;", text)
        size = sum(ELEMENT_BYTES[element] * int(count) for element, count in arrays)
        assert arrays
        assert size <= SHARED_BYTES
        assert kernel.size <= INVOCATIONS
