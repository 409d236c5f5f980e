"""Functions that return shaders return the printed text, up to the numbers of values."""

import json
import re
import subprocess
from collections.abc import Sequence
from itertools import pairwise

import pytest

from tests.convolutions import PLAIN_2D
from tests.programs import program
from webkiln.backends.table import REGISTRY
from webkiln.codegen import glsl, wgsl
from webkiln.codegen.shader_text import LEAST_COUNT, shader_function
from webkiln.codegen.sources import sources_of
from webkiln.codegen.templates import Templates
from webkiln.codegen.wgsl_groups import print_group
from webkiln.errors import InternalError
from webkiln.ops.table import parse
from webkiln.shared_files import shared_root

TEMPLATES = Templates(shared_root())
VALUE = re.compile(r"\bv(\d+)\b")
DIMS = {"x_dims": (0, 3, 1, 2), "w_dims": (0, 1, 2, 3), "out_dims": (0, 3, 1, 2)}
ATTRS = json.dumps(PLAIN_2D | DIMS | {"pad_low": (1, 1), "pad_high": (1, 1)})
GRAPH = f"""\
graph g
input x: float32[1,14,14,48]
slot w: float32[96,48,3,3]
slot m: float32[96,384]
slot u: float32[384,640]
y: float32[1,14,14,96] = Conv(x, w) {ATTRS}
rows: float32[196,96] = Reshape(y) {{"shape":[196,96]}}
z: float32[196,384] = MatMul(rows, m)
t: float32[196,640] = MatMul(z, u)
s: float32[196,640] = Softmax(t) {{"axis":1}}
output out = s
"""


def texts_of(shaders: Sequence[str]) -> list[str]:
    """What the functions return in Node."""
    source = (shared_root() / "runtime" / "engines" / "shader_text.js").read_text()
    functions = ",".join(map(shader_function, shaders))
    shown = f"console.log(JSON.stringify([{functions}].map(textOf)));"
    script = source.replace("export ", "") + shown
    command = ["node", "--input-type=commonjs", "-"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def assert_equal(shader: str, text: str) -> None:
    """The texts are equal, but for one-to-one replacements of values in each function."""
    assert VALUE.sub("v", text) == VALUE.sub("v", shader)
    functions = re.finditer(r"^fn ", shader, re.MULTILINE)
    starts = [0, *(match.start() for match in functions), len(shader)]
    old, new = VALUE.finditer(shader), VALUE.findall(text)
    pairs = [(match.start(), match[1], name) for match, name in zip(old, new, strict=True)]
    for start, end in pairwise(starts):
        found = {(before, after) for at, before, after in pairs if start <= at < end}
        assert len(found) == len({before for before, _ in found})
        assert len(found) == len({after for _, after in found})


def printed(backend: str) -> list[str]:
    """The shaders of products, a convolution and a softmax, of all classes of GPUs."""
    sources = sources_of(program(parse(GRAPH), REGISTRY[backend]))
    if backend == "webgl":
        return [glsl.print_kernel(kernel, TEMPLATES) for kernel in sources.kernels.values()]
    kernels = [wgsl.print_kernel(kernel, TEMPLATES) for kernel in sources.kernels.values()]
    return kernels + [print_group(item, TEMPLATES) for item in sources.group_kernels.values()]


@pytest.mark.parametrize("backend", ["webgpu", "webgl"])
def test_shaders_of_a_program(backend):
    shaders = printed(backend)
    assert len(shaders) > 4
    for shader, text in zip(shaders, texts_of(shaders), strict=True):
        assert_equal(shader, text)
    assert max(map(len, map(shader_function, shaders))) < max(map(len, shaders))


UNROLLED = "\n".join(
    f"a{i}_{j} += v{3 * i}[{j}] * {100 - 7 * i - j};" for i in range(5) for j in range(4)
)
LONG = "some text that is long enough for a call of repeat to replace it {}, {};"
CASES = {
    "one_line": "void",
    "empty_lines": "\n\n\n\n",
    "two_blocks": "\n".join([LONG.format(1, 2), LONG.format(3, 4)]),
    "numbers_that_shrink": "\n".join(LONG.format(-5 * i, 9 - i) for i in range(9)),
    "a_step_that_changes": "\n".join(LONG.format(i * i, i) for i in range(9)),
    "fractions": "\n".join(LONG.format(f"{i}.5f", f"0.{i}") for i in range(9)),
    "leading_zeros": "\n".join(LONG.format(f"0{i}", f"00{i}") for i in range(9)),
    "large_numbers": "\n".join(LONG.format(2**53 - 4 + i, 10**22 + i) for i in range(9)),
    "nested": UNROLLED,
    "nested_thrice": "\nx;\n".join([UNROLLED] * 3),
    "names_without_definition": "fn f(v1: u32) { return v1 + v2; }",
    "a_name_defined_twice": "{ let v1 = 1;\n{ let v1 = 2; }\nuse(v1); }",
    "functions": "fn f() {\n  let v7 = 1;\n  use(v7);\n}\nfn g() {\n  let v7 = 2;\n  use(v7);\n}",
    "types": "void main() {\n  vec4 v9 = vec4(0);\n  bool v2 = v9.x == v9.y;\n  v9 = v9;\n}",
    "values_and_numbers": "\n".join(
        f"let v{i} = {LONG.format(i, 3)} v{max(i - 2, 1)};" for i in range(1, 40)
    ),
}


def test_texts_of_every_kind():
    assert LEAST_COUNT > 2
    for text, returned in zip(CASES.values(), texts_of([*CASES.values()]), strict=True):
        assert_equal(text, returned)


def test_blocks_are_calls_of_repeat():
    body = shader_function("\n".join([UNROLLED, "x;"] * 3))
    assert body.count("repeat(") == 2
    assert len(body) < 200


def test_relative_numbers_make_blocks_equal():
    """Two shaders that differ in what comes before a block have one text for the block."""
    block = "let v{} = v{} * v{};\nlet v{} = sqrt(v{});"
    first = "let v1 = a;\nlet v2 = b;\n" + block.format(3, 1, 2, 4, 3)
    second = "let v1 = a;\nlet v5 = c;\nlet v8 = b;\n" + block.format(9, 5, 8, 11, 9)
    assert shader_function(first).split("\n")[-2:] == shader_function(second).split("\n")[-2:]


@pytest.mark.parametrize("text", ["a`b", "a\\b", "a${b}"])
def test_characters_of_template_literals_are_refused(text):
    with pytest.raises(InternalError, match="a shader contains"):
        shader_function(text)
