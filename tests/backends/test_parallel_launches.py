"""Calls that share a launch give the bits of separate launches, and those of the reference: ranges
of workgroups of different lengths, divided sums, templates, slices of a concatenation, codes,
float16, segments.
"""

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

from tests.backends.adapters import ADAPTERS
from tests.backends.block_jobs import FORMS, Form
from tests.backends.harness import TEMPLATES, Job, prepare, run_programs
from tests.backends.shaders import validate_wgsl
from tests.lower.chain_graphs import job, parsed, random_values
from tests.programs import with_target
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.codegen.wgsl import print_kernel
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import RULES
from webkiln.plan.parallel_kernel import from_json

WEBGPU = REGISTRY["webgpu"]
SIZES = {"T": 21}
TOLERANCE, OF_FLOAT16 = 1e-5, 3e-3


def separate(backend):
    """The backend, where each call has a launch of its own."""

    def scheduling(settings):
        passes = backend.scheduling(settings)
        return tuple(item for item in passes if not item.name.startswith("parallel"))

    return replace(backend, scheduling=scheduling)


def products(rows, depth, *columns):
    """Products of one input, with biases and activations."""
    parts = "".join(
        f"""
        slot w{n}: float32[{depth},{count}]
        slot b{n}: float32[{count}]
        p{n}: float32[{rows},{count}] = MatMul(x, w{n})
        s{n}: float32[{rows},{count}] = Add(p{n}, b{n})
        y{n}: float32[{rows},{count}] = Relu(s{n})
        output out{n} = y{n}"""
        for n, count in enumerate(columns)
    )
    return dedent(f"        input x: float32[{rows},{depth}]{parts}")


def convolutions(channels, kernel, *features):
    """Convolutions of an image stored channel by channel, and a concatenation of the results."""
    pad = kernel // 2
    attrs = (
        f'{{"dilation":[1,1],"groups":1,"out_dims":[0,1,2,3],"pad_high":[{pad},{pad}],'
        f'"pad_low":[{pad},{pad}],"strides":[1,1],"w_dims":[0,1,2,3],"x_dilation":[],'
        f'"x_dims":[0,1,2,3]}}'
    )
    parts = "\n".join(
        f"slot w{n}: float32[{count},{channels},{kernel},{kernel}]\nslot b{n}: float32[{count}]\n"
        f"c{n}: float32[1,{count},10,10] = Conv(x, w{n}, b{n}) {attrs}\n"
        f"r{n}: float32[1,{count},10,10] = Relu(c{n})"
        for n, count in enumerate(features)
    )
    names = ", ".join(f"r{n}" for n, _ in enumerate(features))
    return (
        f"input x: float32[1,{channels},10,10]\n{parts}\n"
        f'y: float32[1,{sum(features)},10,10] = Concat({names}) {{"axis":1}}\noutput out = y'
    )


GRAPHS = {
    "queries, keys and values": products(37, 96, 96, 96, 96),
    "grouped heads": products(32, 128, 96, 32, 32),
    "columns that are no vectors": products(37, 440, 77, 33, 41),
    "one row": products(1, 1024, 256, 128, 128),
    "few rows": products(4, 600, 130, 131),
    "more columns than workgroups": products(1, 256, 2100, 1040),
    "divided sums": products(37, 1536, 96, 32),
    "any number of rows": products("T", 128, 64, 64),
    "branches": convolutions(64, 1, 48, 16, 32),
    "convolutions": convolutions(32, 3, 32, 16, 32),
}


def coded(rows: int, form: Form, *columns: int) -> Job:
    """Products of one input by codes."""
    rng = np.random.default_rng(rows)
    b = GraphBuilder("g", RULES)
    block, blocks = 32, 16
    x = b.input("x", "float32", (rows, block * blocks))
    limits = np.iinfo(form.dtype)
    values = {}
    outputs = {}
    for n, count in enumerate(columns):
        codes = (count, block * blocks * form.bits // 8)
        own = {
            f"packed{n}": rng.integers(limits.min, limits.max, codes, form.dtype, endpoint=True),
            f"factors{n}": rng.uniform(0.01, 0.1, (count, blocks)).astype(np.float32),
        }
        weights = [b.slot(name, value) for name, value in own.items()]
        attrs = {"block": block, "center": form.center, "bits": form.bits, "transposed": False}
        outputs[f"y{n}"] = b.op("MatMulBlocks", [x, *weights], attrs)
        values |= own
    given = {"x": rng.standard_normal((rows, block * blocks), np.float32)}
    return Job(b.graph(outputs), given, values)


def cases():
    """Name -> a job, its backend, and the tolerance."""
    found = {}
    for name, text in GRAPHS.items():
        graph = parsed(text)
        found[name] = job(graph, random_values(graph, sizes=SIZES)), WEBGPU, TOLERANCE
    narrow = with_target(WEBGPU, precision="float16")
    arithmetic = with_target(WEBGPU, precision="float16-arithmetic")
    small = with_target(WEBGPU, memory={"segment": 1 << 15})
    found["float16"] = found["grouped heads"][0], narrow, OF_FLOAT16
    found["float16 arithmetic"] = found["queries, keys and values"][0], arithmetic, 3e-2
    found["weights of float16"] = (
        replace(found["one row"][0], encoding="float16"),
        WEBGPU,
        OF_FLOAT16,
    )
    found["segments"] = found["queries, keys and values"][0], small, TOLERANCE
    found["codes of 4 bits"] = coded(1, FORMS[0], 64, 32, 32), WEBGPU, TOLERANCE
    found["codes of 8 bits, more rows"] = coded(20, FORMS[4], 64, 32), WEBGPU, TOLERANCE
    return found


@pytest.fixture(scope="module")
def every():
    """Name -> the tolerance, the job and the programs with shared launches and without."""
    return {
        name: (tolerance, item, prepare(item, backend), prepare(item, separate(backend)))
        for name, (item, backend, tolerance) in cases().items()
    }


def shared(program):
    return program.get("parallel_kernels", {})


def test_every_case_has_launches_that_calls_share(every):
    assert [name for name, (_, _, item, _) in every.items() if not shared(item.program)] == []
    assert not any(shared(item.program) for _, _, _, item in every.values())


def test_bits_in_chromium(every, tmp_path):
    programs = [item for _, _, *pair in every.values() for item in pair]
    results = run_programs(programs, "webgpu", tmp_path, adapter=ADAPTERS[132], float16=True)
    for (name, (tolerance, item, *_)), outputs, alone in zip(
        every.items(), results[::2], results[1::2], strict=True
    ):
        reference, _ = run_graph(item.graph, item.inputs, item.weights)
        for key, value in reference.items():
            assert np.array_equal(outputs[key], alone[key]), (name, key)
            assert relative_error(outputs[key], value) < tolerance, (name, key)


def test_shaders_are_valid_in_firefox(every):
    kernels = [
        from_json(data)
        for _, _, item, _ in every.values()
        for data in shared(item.program).values()
    ]
    distinct = {kernel.name: kernel for kernel in kernels}.values()
    validate_wgsl(
        [print_kernel(item.kernel, TEMPLATES, copies=item.copies) for item in distinct], "firefox"
    )
