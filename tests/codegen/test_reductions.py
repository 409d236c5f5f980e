"""Accumulators and the loops that update them, for each kind of innermost loop."""

from functools import partial

from tests.codegen.nests import PRODUCT, ROWS, WINDOW, kernel_of, lines, printed, values_of
from webkiln.codegen.c import C
from webkiln.codegen.context import Context
from webkiln.codegen.direct_product import print_direct_product
from webkiln.codegen.grid import Grid
from webkiln.codegen.js import JavaScript
from webkiln.codegen.prefetch import NextPanel, print_with_prefetch
from webkiln.codegen.reductions import Reductions
from webkiln.codegen.sliding_windows import print_sliding_window
from webkiln.codegen.staged_product import StagedProduct
from webkiln.codegen.unrolled import print_unrolled
from webkiln.codegen.wgsl import Wgsl
from webkiln.codegen.wgsl_memory import WORDS
from webkiln.codegen.wgsl_workgroups import ANYWHERE
from webkiln.nest.schedule import InvocationSchedule, LoopSchedule, Slide, Tile, Workgroup

PAIR = Context(None, "a0", tiles=2)


def test_copies_have_accumulators_of_their_own():
    values = values_of(kernel_of(PRODUCT, LoopSchedule(tile=Tile(axis="a0", count=2))), C())
    reductions = Reductions(values)
    text = printed(values, lambda: reductions.print(PAIR, reductions.loop), "a1", "a0")
    assert text == lines("""
        a1 {
          a0 {
            const int v1 = a0 * s0_0;
            const int v6 = (a0 + 1) * s0_0;
            float acc0_0_0 = 0x0.0p+0f;
            float acc0_1_0 = 0x0.0p+0f;
            for (int r0 = 0; r0 < p2; r0++) {
              const int v2 = v1 + r0;
              const float v3 = x0[v2];
              const int v4 = a1 + r0 * s1_0;
              const float v5 = x1[v4];
              const int v7 = v6 + r0;
              const float v8 = x0[v7];
              acc0_0_0 += v3 * v5;
              acc0_1_0 += v8 * v5;
            }
          }
        }
    """)


def test_lanes_of_a_row_are_folded():
    values = values_of(kernel_of(ROWS, LoopSchedule(tile=Tile("r0", 2))), JavaScript())
    reductions = Reductions(values)
    here, after = Context("r0"), []
    spans = partial(reductions.spans, 2)
    text = printed(values, lambda: after.append(reductions.print_rows(here, 2, spans)), "a0")
    assert after == [here]
    assert text == lines("""
        a0 {
          const v1 = x0 + a0 * s0_0;
          let acc0_0_0 = -Infinity;
          let lane0_0_0 = -Infinity;
          let lane0_0_1 = -Infinity;
          let r0 = 0;
          for (; r0 + 1 < p1; r0 += 2) {
            const v2 = v1 + r0;
            const v3 = F32[v2];
            const v4 = F32[v2 + 1];
            lane0_0_0 = v3 > lane0_0_0 || v3 !== v3 ? v3 : lane0_0_0;
            lane0_0_1 = v4 > lane0_0_1 || v4 !== v4 ? v4 : lane0_0_1;
          }
          for (; r0 < p1; r0 += 1) {
            const v5 = v1 + r0;
            const v6 = F32[v5];
            acc0_0_0 = v6 > acc0_0_0 || v6 !== v6 ? v6 : acc0_0_0;
          }
          acc0_0_0 = lane0_0_0 > acc0_0_0 || lane0_0_0 !== lane0_0_0 ? lane0_0_0 : acc0_0_0;
          acc0_0_0 = lane0_0_1 > acc0_0_0 || lane0_0_1 !== lane0_0_1 ? lane0_0_1 : acc0_0_0;
        }
    """)


def test_a_sliding_window_loads_each_element_once():
    values = values_of(kernel_of(WINDOW, LoopSchedule(tile=Tile(axis="a0", count=2))), JavaScript())
    innermost = partial(print_sliding_window, values, Slide(taps=3, stride=1, first=0, end=4))
    text = printed(values, lambda: Reductions(values).print(PAIR, innermost), "a1", "a0")
    assert text.count("= F32[") == 3 + 4, "taps, and elements of two windows that overlap by two"
    assert text.count("+= ") == 2 * 3


def test_prefetches_interrupt_the_loop():
    values = values_of(kernel_of(ROWS))
    panel = NextPanel(1, "next", "size", "done", "pause")
    (loop,) = values.nest.reduce
    inside = partial(print_with_prefetch, values, panel, loop, Context())
    text = printed(values, lambda: inside(lambda _: values.scopes.add("body;")))
    assert text == lines("""
        int ahead = done;
        int r0_from = 0;
        for (; r0_from < p1; r0_from += pause) {
          const int r0_to = r0_from + pause < p1 ? r0_from + pause : p1;
          wk_fetch(x1 + next + (ahead < size ? ahead : 0));
          ahead += 16;
          wk_fetch(x1 + next + (ahead < size ? ahead : 0));
          ahead += 16;
          int r0 = r0_from;
          for (; r0 < r0_to; r0 += 1) {
            body;
          }
        }
    """)


def test_an_unrolled_loop_reads_one_factor_in_vectors():
    schedule, dialect = InvocationSchedule(tile=Tile("a1", 4)), Wgsl(WORDS, ANYWHERE)
    values = values_of(kernel_of(PRODUCT, schedule), dialect)
    reductions = Reductions(values)
    here = Context("a1", None, dialect.simd)
    innermost = partial(print_unrolled, reductions)
    text = printed(values, lambda: reductions.print(here, innermost), "a0", "a1")
    assert text.count("wk_four(x0 +") == 1
    assert text.count("wk_four(x1 +") == text.count("acc0_0_0 += ") == 4


def test_a_workgroup_stages_both_factors_between_barriers():
    schedule = InvocationSchedule(
        tile=Tile("a1", 4, "a0", 4), workgroup=Workgroup(8, 8, depth=16, staged=True)
    )
    dialect = Wgsl(WORDS, ANYWHERE)
    values = values_of(kernel_of(PRODUCT, schedule), dialect)
    reductions = Reductions(values)
    grid = Grid(values, schedule, dialect)
    product = StagedProduct(reductions, schedule, dialect.groups, grid)
    here = Context("a1", "a0", dialect.simd, tiles=4)
    steps = printed(values, lambda: product.print(here)).splitlines()
    kinds = ("rows[", "columns[", "workgroupBarrier();", "next_rows0 =", "acc0_0_0 +=")
    order = [kind for step in steps for kind in kinds if step.strip().startswith(kind)]
    assert order == [kinds[0], kinds[0], kinds[1], kinds[1], *kinds[2:4], *kinds[4:] * 4, kinds[2]]


def test_a_part_reads_all_factors_of_a_step_before_it_multiplies_them():
    schedule = InvocationSchedule(tile=Tile("a1", 4, "a0", 4), workgroup=Workgroup(8, 1, 8, 16))
    dialect = Wgsl(WORDS, ANYWHERE)
    values = values_of(kernel_of(PRODUCT, schedule), dialect)
    reductions, grid = Reductions(values), Grid(values, schedule, dialect)
    here = Context("a1", "a0", dialect.simd, tiles=4)
    text = printed(values, lambda: print_direct_product(reductions, schedule, grid, here))
    loads, _, sums = text.partition("acc0_0_0 += ")
    assert (loads.count("wk_four(x0"), loads.count("wk_four(x1")) == (16, 16)
    assert "wk_four" not in sums
    assert text.count(" += ") == 4 * 16
    assert "local / 8 + 1) * v1 / 8" in text
