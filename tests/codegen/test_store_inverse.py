"""The inverse of stores: every texel finds the point that stores it, or is discarded."""

import re
from itertools import product
from math import prod

import pytest

from tests.codegen.nests import call_of, printed
from webkiln.codegen.glsl import Glsl
from webkiln.codegen.store_inverse import StoreInverse, nested_axes
from webkiln.codegen.textures import Textures
from webkiln.codegen.values import Values
from webkiln.errors import InternalError
from webkiln.nest.affine import evaluate
from webkiln.nest.expr import axis, const
from webkiln.nest.schedule import FragmentSchedule
from webkiln.plan.kernel import Kernel

STORES = {
    "one axis per dimension": ("6,4", "a0 < p0, a1 < p1", "p0 = 6; p1 = 4", "a0, a1"),
    "part of the output": ("6,7", "a0 < p0, a1 < p1", "p0 = 6; p1 = 4", "a0, a1 + 2"),
    "a step": ("7,9", "a0 < p0, a1 < p1", "p0 = 3; p1 = 4; p2 = 2", "(a0 * p2) + 1, (a1 * p2) + 2"),
    "two axes in one dimension": ("24", "a0 < p0, a1 < p1", "p0 = 6; p1 = 4", "(a0 * p1) + a1"),
    "a rest between rows": ("30", "a0 < p0, a1 < p1", "p0 = 6; p1 = 4; p2 = 5", "(a0 * p2) + a1"),
    "an offset before rows": ("30", "a0 < p0, a1 < p1", "p0 = 6; p1 = 4", "((a0 * p1) + a1) + 3"),
    "three axes with offsets": (
        "60",
        "a0 < p0, a1 < p1, a2 < p2",
        "p0 = 2; p1 = 3; p2 = 4; p3 = 5",
        "((((a0 * p3) + 1) + a1) * p3) + a2",
    ),
    "a fixed row": ("3,4", "a0 < p0", "p0 = 4; p1 = 1", "p1, a0"),
}


def inverse(shape, loops, sizes, index):
    call = call_of(f"""
y: float32[{shape}] = nest(x: float32[1]) @store
  where {sizes}
  for {loops}
  out0[{index}] = in0[0]
""")
    kernel = Kernel(call.nest, FragmentSchedule())
    values = Values(kernel, Glsl(), Textures(kernel, FragmentSchedule(), Glsl()))
    return call, printed(values, lambda: StoreInverse(values).print("texel", is_packed=False))


def run(text, names):
    """The axes that the printed code finds for a texel, or None if it is discarded."""
    names = {**names, "uint": lambda value: value & 0xFFFFFFFF, "wk_idiv": lambda a, b: a // b}
    for line in text.splitlines():
        condition = re.fullmatch(r"if \((.*)\) discard;", line)
        declared = re.fullmatch(r"int (\w+) = (.*);", line)
        if condition:
            if eval(condition[1], names):
                return None
        else:
            names[declared[1]] = eval(declared[2].replace("/", "//"), names)
    return {name: value for name, value in names.items() if re.fullmatch(r"a\d", name)}


@pytest.mark.parametrize("case", STORES)
def test_every_texel_finds_its_point(case):
    call, text = inverse(*STORES[case])
    (view,), (out,) = call.outputs, call.nest.outputs
    strides = [prod(view.shape[dim + 1 :]) for dim in range(len(view.shape))]
    axes = [loop.axis for loop in call.nest.axes]
    extents = [range(call.args[loop.extent.value]) for loop in call.nest.axes]
    points = {}
    for values in product(*extents):
        point = dict(zip(axes, values, strict=True))
        indices = [evaluate(item, call.args, point) for item in out.index]
        points[sum(n * step for n, step in zip(indices, strides, strict=True))] = point
    names = {**call.args, **{f"s1_{dim}": step for dim, step in enumerate(strides)}}
    for texel in range(view.type.size):
        assert run(text, {**names, "texel": texel}) == points.get(texel), texel


def test_an_axis_that_no_dimension_determines_is_an_error():
    with pytest.raises(InternalError, match="determines the axes a1"):
        inverse("6,4", "a0 < p0, a1 < p1", "p0 = 6; p1 = 4", "a0, 2")


def test_nested_axes_are_recognised():
    first, second = axis("a0"), axis("a1")
    step = const(5, "i32")
    assert nested_axes((first * step + 1) * step + second) == ["a0", "a1"]
    assert nested_axes(first + second) == []
    assert nested_axes(first * second) == []
