"""Expressions are computed at the loop level of their deepest variable, once for all copies that
share them.
"""

from tests.codegen.nests import PRODUCT, SHIFTED, kernel_of, lines, printed, values_of
from webkiln.codegen.c import C
from webkiln.codegen.context import SCALAR, Context, Copy
from webkiln.codegen.glsl import Glsl
from webkiln.codegen.values import AFTER_REDUCTION
from webkiln.nest.expr import INT, acc, apply, axis, cast
from webkiln.nest.schedule import LoopSchedule, Tile


def test_a_value_is_hoisted_out_of_loops_on_which_it_does_not_depend():
    kernel = kernel_of(SHIFTED)
    values = values_of(kernel)
    value = kernel.nest.outputs[0].value

    def twice():
        assert values.scalar(value, SCALAR) == values.scalar(value, SCALAR) == "v5"

    assert printed(values, twice, "a0", "a1") == lines("""
        a0 {
          const int v1 = a0 + 3;
          const int v2 = v1 * s0_0;
          a1 {
            const int v3 = v2 + a1;
            const float v4 = x0[v3];
            const float v5 = v4 * 0x1.0000000000000p+1f;
          }
        }
    """)


def test_copies_share_what_does_not_depend_on_their_axis():
    kernel = kernel_of(PRODUCT, LoopSchedule(tile=Tile("a1", 8, "a0", 2)))
    values = values_of(kernel)
    left, right = kernel.nest.accumulators[0].body.args
    here = Context("a1", "a0", C.simd, vectors=2, tiles=2)

    def names():
        for factor, count in ((left, 2), (right, 2)):
            assert len({values.vector(factor, copy) for copy in here.copies}) == count

    text = printed(values, names, "a0", "a1", "r0")
    assert text.count("wasm_v128_load") == text.count("splat") == 2


def test_values_after_the_reduction_are_declared_there():
    values = values_of(kernel_of(PRODUCT))
    result = apply("mul", acc(0, "f32"), cast(axis("a1"), "f32"))

    def print_tail():
        with values.scopes.block(AFTER_REDUCTION) as tail:
            values.scalar(result, SCALAR)
        assert tail.lines() == [
            "const float v1 = (float)(a1);",
            "const float v2 = acc0_0_0 * v1;",
        ]

    assert printed(values, print_tail, "a0", "a1") == "a0 {\n  a1 {\n  }\n}"


def test_an_operation_without_a_vector_form_is_computed_lane_by_lane():
    values = values_of(kernel_of(PRODUCT, LoopSchedule(tile=Tile("a1", 4))), Glsl())
    quotient = apply("idiv", axis("a1"), axis("a0"))
    here = Context("a1", None, Glsl.simd)

    def names():
        assert values.vector(quotient, Copy(here)) == "v3"
        assert values.scalar(quotient, Copy(here, 0, 2)) == "v3.z", "the component of a vector"

    assert printed(values, names, "a0", "a1") == lines("""
        a0 {
          ivec4 v2 = ivec4(a0);
          a1 {
            ivec4 v1 = ivec4(a1, (a1 + 1), (a1 + 2), (a1 + 3));
            ivec4 v3 = ivec4(wk_idiv(v1.x, v2.x), wk_idiv(v1.y, v2.y), wk_idiv(v1.z, v2.z), wk_idiv(v1.w, v2.w));
          }
        }
    """)  # noqa: E501


def test_a_deep_expression_needs_no_recursion():
    deep = axis("a0")
    for _ in range(5000):
        deep = apply("mul", apply("sub", axis("a1"), deep), axis("a1"))
    values = values_of(kernel_of(SHIFTED))
    assert printed(values, lambda: values.scalar(deep, SCALAR), "a0").count("const int") == 10_000
    assert deep.type == INT
