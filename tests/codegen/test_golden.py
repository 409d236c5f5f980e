"""Printed kernels, whole, so that a change of the printers is seen in review.

`python -m tests.codegen.test_golden` writes tests/golden/ anew.
"""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest

from tests.backends.shaders import validate, validate_wgsl
from webkiln.backends.table import TARGETS
from webkiln.codegen import c, glsl, js, wgsl
from webkiln.codegen.sources import Sources
from webkiln.codegen.templates import Templates
from webkiln.ir.text import parse
from webkiln.plan import kernel as kernels
from webkiln.plan.kernel import Kernel
from webkiln.program import program

TESTS = Path(__file__).resolve().parents[1]
TEMPLATES = Templates(TESTS.parent / "kernels")
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
        """,
    ),
    "convolution_strided": (
        "float32",
        """
        graph g
        input x: float32[1,9,9,16]
        slot w: float32[3,3,16,32]
        y: float32[1,5,5,32] = Conv(x, w) {"dilation":[1,1],"out_dims":[0,3,1,2],"pad_high":[1,1],"pad_low":[1,1],"strides":[2,2],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
        output out = y
        """,
    ),
    "softmax": ("float32", "graph g\ninput x: float32[2,10]\ny: float32[2,10] = Softmax(x) {\"axis\":1}\noutput out = y\n"),
    "matmul_large": ("float32", "graph g\ninput x: float32[256,256]\ninput w: float32[256,256]\ny: float32[256,256] = MatMul(x, w)\noutput out = y\n"),
    "softmax_long": ("float32", "graph g\ninput x: float32[2,1000]\ny: float32[2,1000] = Softmax(x) {\"axis\":1}\noutput out = y\n"),
    "dense_int8": ("int8", "graph g\ninput x: float32[1,64]\nslot w: float32[64,10]\ny: float32[1,10] = MatMul(x, w)\noutput out = y\n"),
}  # fmt: skip
EXTENSIONS = {"wasm": "c", "js": "js", "webgpu": "wgsl", "webgl": "glsl"}


def shaders(kernel: Kernel, templates: Templates) -> str:
    """A shader with its variants for devices with more features."""
    able = replace(kernel, schedule=replace(kernel.schedule, halves=kernel.schedule.depth > 0))
    variants = (wgsl.ANYWHERE, *wgsl.variants(able))
    return "\n".join(wgsl.print_kernel(kernel, templates, groups) for groups in variants)


PRINTERS = {"wasm": c.print_kernel, "webgpu": shaders, "webgl": glsl.print_kernel}
"""Of backends with a file a kernel."""


def printed(backend: str, name: str) -> str:
    """All kernels of a graph, in the order in which they run."""
    encoding, text = GRAPHS[name]
    made = program(parse(dedent(text)), TARGETS[backend], encoding)
    main = [launch for step in made["main"] for launch in step.get("steps", [step])]
    order = dict.fromkeys(launch["kernel"] for launch in (*made["init"], *main))
    ordered = [kernels.from_json(made["kernels"][kernel]) for kernel in order]
    if backend in PRINTERS:
        return "\n".join(PRINTERS[backend](kernel, TEMPLATES) for kernel in ordered)
    return js.print_module(
        Sources({kernel.name: kernel for kernel in ordered}, {}, {}), TEMPLATES, [], program="{}", init=[], main=[], parameters=[], late=[]
    )


def golden(backend: str, name: str) -> Path:
    return TESTS / "golden" / backend / f"{name}.{EXTENSIONS[backend]}"


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("backend", EXTENSIONS)
def test_kernels_are_printed_as_before(backend, name):
    assert printed(backend, name) == golden(backend, name).read_text()


@pytest.mark.parametrize("name", GRAPHS)
def test_golden_shaders_are_valid(name, tmp_path):
    head, *parts = golden("webgl", name).read_text().split("#version")
    validate({f"k_{number}": f"#version{part}" for number, part in enumerate(parts)}, tmp_path)
    assert not head


@pytest.mark.parametrize("name", GRAPHS)
def test_golden_compute_shaders_are_valid(name):
    text = golden("webgpu", name).read_text()
    starts = [match.start() for match in re.finditer(r"^(enable .*\n(requires .*\n)?\n)?struct Arguments", text, re.MULTILINE)]
    shaders = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    halves = [shader for shader in shaders if shader.startswith("enable f16;")]
    validate_wgsl([shader for shader in shaders if shader not in halves])
    if halves:
        validate_wgsl(halves, "firefox")
    assert starts[0] == 0
    assert bool(halves) == (name == "matmul_large")


def test_the_validator_complains():
    with pytest.raises(AssertionError, match="unresolved value 'absent'"):
        validate_wgsl(["@compute @workgroup_size(1) fn main() { let x = absent; }"])


if __name__ == "__main__":
    for backend in EXTENSIONS:
        for name in GRAPHS:
            golden(backend, name).write_text(printed(backend, name))
