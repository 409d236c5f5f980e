"""Which calls share a launch on webgpu, and in which form they are computed."""

from itertools import pairwise
from textwrap import dedent

import numpy as np
import pytest

from tests.backends.adapters import ADAPTERS
from tests.backends.harness import TEMPLATES
from tests.lower.chain_graphs import parsed
from tests.lower.fused_calls import deviations, values_of
from tests.lower.mixed_graphs import graph as mixed_graph
from tests.passes.graphs import evaluate_graph
from tests.programs import program, with_target
from webkiln.backends.table import REGISTRY
from webkiln.backends.webgpu import printer
from webkiln.codegen.profiles import profile_module
from webkiln.codegen.sources import sources_of
from webkiln.codegen.steps import sites
from webkiln.codegen.wgsl import print_kernel
from webkiln.errors import InternalError
from webkiln.nest.boxes import are_independent
from webkiln.nest.parse import parse
from webkiln.nest.run import run_program
from webkiln.nest.steps import NestCall, Parallel, calls, every_step
from webkiln.nest.target import GPU_CLASSES
from webkiln.nest.text import print_program
from webkiln.nest.verify import verify
from webkiln.ops.evaluate import constant_values
from webkiln.plan import parallel_kernel
from webkiln.plan.devices import specialised
from webkiln.plan.gpu_cost import ProductSize, microseconds
from webkiln.plan.product_forms import FORMS
from webkiln.shared_files import shared_root

BACKEND = REGISTRY["webgpu"]
SIZES = tuple(ADAPTERS)
"""The multiprocessors of each class of real GPUs."""


def dense(outputs, rows=32, depth=128, of="x"):
    """Products of `of` by weights of these numbers of columns."""
    return "\n".join(
        f"slot w{n}: float32[{depth},{columns}]\n"
        f"p{n}: float32[{rows},{columns}] = MatMul({of}, w{n})\noutput out{n} = p{n}"
        for n, columns in enumerate(outputs)
    )


def parallel(result, multiprocessors):
    """The layers of each launch that several calls share."""
    steps = specialised(result.steps, multiprocessors)
    return [
        [call.layer for call in step.steps]
        for step in every_step(steps)
        if isinstance(step, Parallel)
    ]


def launched(result, multiprocessors):
    return len(specialised(result.steps, multiprocessors))


@pytest.mark.parametrize("multiprocessors", SIZES)
@pytest.mark.parametrize("columns", [(64, 64, 64), (96, 32, 32), (64, 64)])
def test_products_of_one_input_share_a_launch(columns, multiprocessors):
    text = f"input x: float32[32,128]\n{dense(columns)}"
    result = BACKEND.plan(parsed(text))
    assert max(map(len, parallel(result, multiprocessors))) == len(columns)
    assert launched(result, multiprocessors) <= 2
    assert launched(result, 0) == len(columns)


@pytest.mark.parametrize("multiprocessors", SIZES)
def test_both_launches_of_divided_sums_are_shared(multiprocessors):
    result = BACKEND.plan(parsed(f"input x: float32[32,2048]\n{dense((64, 64), depth=2048)}"))
    names = [
        [view.name for call in step.steps for view in call.outputs]
        for step in specialised(result.steps, multiprocessors)
    ]
    assert launched(result, multiprocessors) == 2
    assert all(len(set(outputs)) == 2 for outputs in names)


def test_what_lies_between_does_not_keep_products_apart():
    text = """
        input x: float32[1,1024]
        slot v: float32[1024,256]
        slot w: float32[1024,128]
        k: float32[1,256] = MatMul(x, v)
        t: float32[1,256] = Softmax(k) {"axis":1}
        q: float32[1,128] = MatMul(x, w)
        output out = t
        output other = q
    """
    result = BACKEND.plan(parsed(text))
    first, second = specialised(result.steps, 132)
    assert isinstance(first, Parallel)
    assert not isinstance(second, NestCall)


DEPENDENT = """
    input x: float32[64,64]
    slot v: float32[64,64]
    a: float32[64,64] = MatMul(x, v)
    b: float32[64,64] = MatMul(a, v)
    c: float32[64,64] = MatMul(b, v)
    output out = c
"""


def test_calls_that_read_results_of_others_keep_their_launches():
    result = BACKEND.plan(parsed(DEPENDENT))
    assert not any(parallel(result, size) for size in SIZES)


def test_calls_that_occupy_a_gpu_keep_their_launches():
    text = f"input x: float32[9999,32]\n{dense((2048, 2048), 9999, 32)}"
    assert not any(parallel(BACKEND.plan(parsed(text)), size) for size in SIZES)


def copies(target, *starts, width=4):
    """Calls that write columns of a buffer from these on."""
    text = f"program g\nbuffer x: float32[6,{width}] input\nbuffer y: float32[6,9]\nlive y\n"
    for start in starts:
        text += dedent(f"""\
            y: {target} = nest(x: float32[6,{width}])
              where p0 = 6; p1 = {width}; p2 = {start}
              for a0 < p0, a1 < p1
              out0[{"a0, a1 + p2" if "," in target else "(a0 * 9) + (a1 + p2)"}] = in0[a0, a1]
            """)
    return parse(text)


@pytest.mark.parametrize(
    ("target", "starts", "independent"),
    [
        ("float32[6,9]", (0, 5), True),
        ("float32[6,9]", (0, 4), True),
        ("float32[6,9]", (0, 3), False),
        ("float32[6,9]", (2, 2), False),
        ("float32[54]", (0, 5), False),
    ],
)
def test_writes_of_slices(target, starts, independent):
    first, second = copies(target, *starts).steps
    assert are_independent(first, second) is independent


def test_the_verifier_rejects_dependent_calls():
    text = print_program(BACKEND.plan(parsed(DEPENDENT)))
    (first, *_), head = calls(parse(text).steps), parse(text)
    wrong = head.with_steps([Parallel((first, first))])
    with pytest.raises(InternalError, match="are not independent"):
        verify(wrong)


def test_memory_is_not_shared_within_a_launch():
    result = BACKEND.plan(parsed(f"input x: float32[32,2048]\n{dense((64, 96, 64), depth=2048)}"))
    places = {
        name: (buffer.address, buffer.address + 4 * buffer.type.size)
        for name, buffer in result.buffers.items()
    }
    launches = [step for step in every_step(result.steps) if isinstance(step, Parallel)]
    assert launches
    for step in launches:
        names = {view.name for call in step.steps for view in (*call.inputs, *call.outputs)}
        ranges = sorted(places[name] for name in names)
        assert all(end <= start for (_, end), (start, _) in pairwise(ranges))


def test_calls_bind_the_same_segments():
    """Constants in different segments: a launch binds one set of them."""
    changed = with_target(BACKEND, memory={"segment": 1 << 18})
    columns = (256, 256, 256, 256)
    document = program(parsed(f"input x: float32[32,128]\n{dense(columns)}"), changed)
    entries = list(sites(document["main"]))
    assert len({tuple(step.get("segments", ())) for step in entries}) > 1
    kernels = sources_of(document)
    for step in entries:
        kernel = kernels.parallel_kernels.get(step["kernel"])
        if kernel is not None:
            assert max(kernel.kernel.segments, default=0) == len(step.get("segments", ()))


def test_a_form_of_several_products_is_that_of_their_columns():
    for gpu in GPU_CLASSES:
        for form in FORMS:
            for split in (1, 4):
                one = ProductSize(1, 128, 1152, 384)
                three = ProductSize(1, 128, 384, 384, others=((128, 384), (128, 384)))
                assert microseconds(three, form, split, gpu) == pytest.approx(
                    microseconds(one, form, split, gpu)
                )


def test_products_that_share_a_launch_have_fewer_parts():
    def parts(count):
        columns = (32,) * count
        result = BACKEND.plan(parsed(f"input x: float32[32,1024]\n{dense(columns, depth=1024)}"))
        first = next(calls(specialised(result.steps, 132)))
        return first.outputs[0].type.size // (32 * 32)

    assert parts(8) < parts(1)


def test_all_calls_are_named():
    document = program(
        parsed(f"input x: float32[1,1024]\n{dense((256, 128, 128), 1, 1024)}"), BACKEND
    )
    (entry,) = document["main"][0]["then"]
    assert entry["layer"] == "p0+p1+p2"
    assert [call["layer"] for call in entry["calls"]] == ["p0", "p1", "p2"]
    assert entry["why"].startswith("3 calls in one launch")
    text = profile_module({"webgpu": document}, TEMPLATES, shared_root() / "runtime" / "src")
    assert '"p0+p1+p2"' in text


def test_the_argument_block_has_ranges_of_workgroups():
    document = program(parsed(f"input x: float32[1,1024]\n{dense((256, 128), 1, 1024)}"), BACKEND)
    sources, (entry,) = sources_of(document), document["main"][0]["then"]
    words = printer._arguments(sources, entry)
    assert (len(words) + 2) % printer.COPY == 0
    size = len(words[2:]) // 2
    assert [words[2], words[2 + size]] == [0, 64]
    assert {64, 32} <= set(words)


def test_kernels_survive_json_and_layers_share_them():
    layer = "\n".join(
        f"n{n}: float32[32,128] = Tanh(x{n})\nslot v{n}: float32[128,64]\n"
        f"slot w{n}: float32[128,64]\na{n}: float32[32,64] = MatMul(n{n}, v{n})\n"
        f"b{n}: float32[32,64] = MatMul(n{n}, w{n})\n"
        f'x{n + 1}: float32[32,128] = Concat(a{n}, b{n}) {{"axis":1}}'
        for n in range(3)
    )
    document = program(parsed(f"input x0: float32[32,128]\n{layer}\noutput out = x3"), BACKEND)
    kernels = document["parallel_kernels"]
    for name, data in kernels.items():
        found = parallel_kernel.from_json(data)
        assert found.name == name
        assert f"array<Copy, {found.copies}>" in print_kernel(
            found.kernel, TEMPLATES, copies=found.copies
        )
    used = str(document["main"]).count("'p_")
    assert used >= 3 * len(kernels)


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_programs_keep_their_results(start):
    """The interpreter runs the calls of a launch in reverse order."""
    for seed in range(start, start + 20):
        model = mixed_graph(seed)
        values = values_of(model, seed)
        memory = constant_values(model, values) | {name: values[name] for name in model.inputs}
        result = BACKEND.plan(model)
        verify(result)
        assert parse(print_program(result)) == result
        for multiprocessors in (0, 132):
            found = run_program(result, memory, multiprocessors=multiprocessors)
            outputs = {
                output: found[result.root(name)]
                .reshape(model.type(name).shape)
                .astype(model.type(name).dtype)
                for output, name in model.outputs.items()
            }
            reference = evaluate_graph(model, values, BACKEND.target)
            assert not deviations(outputs, reference), (seed, multiprocessors)


@pytest.mark.parametrize("multiprocessors", [0, *SIZES])
def test_results_are_those_of_separate_launches(multiprocessors):
    graph = parsed(f"input x: float32[32,512]\n{dense((64, 48, 64), depth=512)}")
    rng = np.random.default_rng(0)
    values = {
        name: rng.standard_normal(graph.type(name).shape).astype(np.float32)
        for name in (*graph.inputs, *graph.slots)
    }
    memory = run_program(BACKEND.plan(graph), values, multiprocessors=multiprocessors)
    for n in range(3):
        expected = values["x"].astype(float) @ values[f"w{n}"]
        assert np.allclose(memory[f"p{n}"].reshape(expected.shape), expected, atol=1e-3)
