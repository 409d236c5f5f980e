"""Golden files of printed kernels. A few small ones are compared verbatim, so that reviews show
changes of the printers. All are checked by compilers and by their results.

`python -m tests.codegen.test_golden` regenerates tests/golden/.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from tests.backends.harness import TEMPLATES, Job, run
from tests.backends.shaders import validate, validate_wgsl
from tests.programs import program
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.codegen import c, glsl, js, wgsl, wgsl_workgroups
from webkiln.codegen.sources import Sources
from webkiln.codegen.steps import sites
from webkiln.codegen.wgsl_groups import print_group
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import parse
from webkiln.plan import group_kernel
from webkiln.plan import kernel as kernels
from webkiln.plan.kernel import Kernel

TESTS = Path(__file__).resolve().parents[1]
GRAPHS = {
    "convolution_bias_relu": (
        "float32",
        """
        graph g
        input x: float32[1,9,9,16]
        slot w: float32[3,3,16,32]
        slot b: float32[32]
        c: float32[1,9,9,32] = Conv(x, w, b) {"dilation":[1,1],"out_dims":[0,3,1,2],"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
        y: float32[1,9,9,32] = Relu(c)
        output out = y
        """,  # noqa: E501
    ),
    "convolution_strided": (
        "float32",
        """
        graph g
        input x: float32[1,9,9,16]
        slot w: float32[3,3,16,32]
        y: float32[1,5,5,32] = Conv(x, w) {"dilation":[1,1],"out_dims":[0,3,1,2],"pad_high":[1,1],"pad_low":[1,1],"strides":[2,2],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
        output out = y
        """,  # noqa: E501
    ),
    "softmax": (
        "float32",
        (
            "graph g\n"
            "input x: float32[2,10]\n"
            'y: float32[2,10] = Softmax(x) {"axis":1}\n'
            "output out = y\n"
        ),
    ),
    "matmul_large": (
        "float32",
        (
            "graph g\n"
            "input x: float32[256,256]\n"
            "input w: float32[256,256]\n"
            "y: float32[256,256] = MatMul(x, w)\n"
            "output out = y\n"
        ),
    ),
    "softmax_long": (
        "float32",
        (
            "graph g\n"
            "input x: float32[2,1000]\n"
            'y: float32[2,1000] = Softmax(x) {"axis":1}\n'
            "output out = y\n"
        ),
    ),
    "dense_int8": (
        "int8",
        (
            "graph g\n"
            "input x: float32[1,64]\n"
            "slot w: float32[64,10]\n"
            "y: float32[1,10] = MatMul(x, w)\n"
            "output out = y\n"
        ),
    ),
    "relu": (
        "float32",
        "graph g\ninput x: float32[16]\ny: float32[16] = Relu(x)\noutput out = y\n",
    ),
    "relu_of_seven": (
        "float32",
        "graph g\ninput x: float32[7]\ny: float32[7] = Relu(x)\noutput out = y\n",
    ),
    "row_sum": (
        "float32",
        (
            "graph g\n"
            "input x: float32[3,64]\n"
            'y: float32[3] = ReduceSum(x) {"axes":[1]}\n'
            "output out = y\n"
        ),
    ),
    "vector_by_matrix": (
        "float32",
        (
            "graph g\n"
            "input x: float32[1,8]\n"
            "slot w: float32[8,16]\n"
            "y: float32[1,16] = MatMul(x, w)\n"
            "output out = y\n"
        ),
    ),
}
EXTENSIONS = {"wasm": "c", "js": "js", "webgpu": "wgsl", "webgl": "glsl"}
GOLDENS = {
    ("wasm", "relu_of_seven"): "vectors, then the remaining elements one by one",
    ("wasm", "row_sum"): "separate accumulators, which are folded",
    ("wasm", "vector_by_matrix"): "a panel of constants",
    ("wasm", "dense_int8"): "weights that are decoded when they are loaded",
    ("js", "relu"): "a loop over one heap",
    ("webgpu", "relu"): "four elements per invocation",
    ("webgpu", "row_sum"): "a loop in an invocation",
    ("webgl", "relu"): "four elements per texel",
}
"""The kernels with golden files, and what each of them shows."""
MAX_LINES = 80


def shaders(kernel: Kernel) -> list[str]:
    """A shader, with its variants for devices with optional features."""
    variant_kernel, workgroup = kernel, kernel.workgroup
    if workgroup is not None and workgroup.depth:
        schedule = replace(kernel.schedule, workgroup=replace(workgroup, float16=True))
        variant_kernel = replace(kernel, schedule=schedule)
    return [
        wgsl.print_kernel(kernel, TEMPLATES, groups)
        for groups in (wgsl_workgroups.ANYWHERE, *wgsl_workgroups.variants(variant_kernel))
    ]


PRINTERS = {
    "wasm": lambda kernel: [c.print_kernel(kernel, TEMPLATES)],
    "webgpu": shaders,
    "webgl": lambda kernel: [glsl.print_kernel(kernel, TEMPLATES)],
}
"""Printers of the backends with one file per kernel."""


@cache
def printed(backend: str, name: str) -> list[str]:
    """All kernels of a graph, in execution order."""
    encoding, text = GRAPHS[name]
    document = program(parse(dedent(text)), REGISTRY[backend], encoding)
    launches = (*document["init"], *sites(document["main"]))
    order = dict.fromkeys(launch["kernel"] for launch in launches)
    groups = document.get("group_kernels", {})
    ordered = [kernels.from_json(document["kernels"][name]) for name in order if name not in groups]
    if backend in PRINTERS:
        texts = [text for kernel in ordered for text in PRINTERS[backend](kernel)]
        return texts + [
            print_group(group_kernel.from_json(data), TEMPLATES) for data in groups.values()
        ]
    sources = Sources({kernel.name: kernel for kernel in ordered}, {}, {})
    return [
        js.print_module(
            sources, TEMPLATES, [], program="{}", init=[], main=[], parameters=[], data_dependent=[]
        )
    ]


def golden(backend: str, name: str) -> Path:
    return TESTS / "golden" / backend / f"{name}.{EXTENSIONS[backend]}"


@pytest.mark.parametrize(("backend", "name"), GOLDENS)
def test_kernels_equal_their_golden_files(backend, name):
    assert "\n".join(printed(backend, name)) == golden(backend, name).read_text()


def test_golden_files_are_few_and_short():
    files = {path for path in (TESTS / "golden").rglob("*") if path.is_file()}
    assert files == {golden(*key) for key in GOLDENS}
    assert len(files) <= 8
    assert all(len(path.read_text().splitlines()) <= MAX_LINES for path in files)


@pytest.mark.parametrize("name", GRAPHS)
def test_shaders_are_valid(name, tmp_path):
    validate({f"k_{number}": text for number, text in enumerate(printed("webgl", name))}, tmp_path)


def test_compute_shaders_are_valid():
    """Validate all shaders in one page of a browser, and those that need float16 in another."""
    texts = {name: printed("webgpu", name) for name in GRAPHS}
    float16_shaders = {
        name: [text for text in variants if text.startswith("enable f16;")]
        for name, variants in texts.items()
    }
    assert float16_shaders["matmul_large"]
    validate_wgsl(
        [
            text
            for name, variants in texts.items()
            for text in variants
            if text not in float16_shaders[name]
        ]
    )
    validate_wgsl([text for variants in float16_shaders.values() for text in variants], "firefox")


def test_the_validator_rejects_an_invalid_shader():
    with pytest.raises(AssertionError, match="unresolved value 'absent'"):
        validate_wgsl(["@compute @workgroup_size(1) fn main() { let x = absent; }"])


@pytest.mark.parametrize("backend", EXTENSIONS)
def test_printed_kernels_compute_the_graphs(backend, tmp_path):
    rng = np.random.default_rng(0)
    jobs = {}
    for name, (encoding, text) in GRAPHS.items():
        graph = parse(dedent(text))
        values = {
            key: rng.standard_normal(graph.type(key).shape).astype(np.float32)
            for key in (*graph.inputs, *sorted(graph.slots))
        }
        jobs[name] = Job(
            graph,
            {key: values[key] for key in graph.inputs},
            {key: values[key] for key in graph.slots},
            encoding,
        )
    for (name, job), outputs in zip(
        jobs.items(), run(list(jobs.values()), backend, tmp_path), strict=True
    ):
        reference, _ = run_graph(job.graph, job.inputs, job.weights)
        assert relative_error(outputs["out"], reference["out"]) <= (
            1e-5 if job.encoding == "float32" else 2e-2
        ), name


if __name__ == "__main__":
    for key in GOLDENS:
        golden(*key).write_text("\n".join(printed(*key)))
