"""Addresses, loads and stores in linear memory."""

import pytest

from tests.codegen.nests import PADDED, PRODUCT, SHIFTED, kernel_of, lines, printed, values_of
from webkiln.codegen.addresses import Addresses
from webkiln.codegen.buffers import Buffers
from webkiln.codegen.c import C
from webkiln.codegen.context import SCALAR, Context, Copy
from webkiln.codegen.js import JavaScript
from webkiln.codegen.wgsl import Wgsl
from webkiln.codegen.wgsl_memory import WORDS
from webkiln.codegen.wgsl_workgroups import ANYWHERE
from webkiln.nest.nest import load_index
from webkiln.nest.schedule import InvocationSchedule, LoopSchedule, Panel, Tile


def address_of(schedule, dialect, position, **options):
    kernel = kernel_of(PRODUCT, schedule)
    values = values_of(kernel, dialect)
    index = load_index(kernel.nest.loads[position])
    addresses, results = Addresses(kernel, dialect.heap), []

    def address():
        results.append(addresses.address(values, position, index, SCALAR, **options))

    return printed(values, address, "a0", "a1", "r0"), results[0]


def test_an_address_is_summed_level_by_level():
    text, address = address_of(LoopSchedule(panels=(Panel(1, 1, (0,), 8),)), C(), 1)
    assert text == lines("""
        a0 {
          a1 {
            const int v1 = (a1 >> 3) * s1_1 + (a1 & 7);
            r0 {
              const int v2 = v1 + r0 * 8;
            }
          }
        }
    """), "in a panel, by block and lane"
    assert address == "v2"


def test_addresses_in_a_heap_start_at_the_operand():
    text, address = address_of(LoopSchedule(), JavaScript(), 0)
    assert text == lines("""
        a0 {
          const v1 = x0 + a0 * s0_0;
          a1 {
            r0 {
              const v2 = v1 + r0;
            }
          }
        }
    """)
    assert address == "v2"


def test_an_address_up_to_a_level_leaves_out_deeper_terms():
    text, address = address_of(LoopSchedule(), C(), 0, only=1)
    assert "const int v1 = a0 * s0_0;" in text
    assert address == "v1"


@pytest.mark.parametrize(
    ("offset", "partial", "text"),
    [
        (0, False, "wasm_v128_load(x0 + v3)"),
        (4, False, "wasm_v128_load(WK_BEHIND(x0 + v3, 4))"),
        (4, True, "wk_load_part(WK_BEHIND(x0 + v3, 4), left)"),
    ],
)
def test_vectors_are_loaded_at_a_constant_offset(offset, partial, text):
    kernel = kernel_of(SHIFTED, LoopSchedule(tile=Tile("a1", 8)))
    values, (load,) = values_of(kernel), kernel.nest.loads
    at = Copy(Context("a1", None, C.simd, partial=partial), 0, offset)
    loaded = []
    printed(values, lambda: loaded.append(values.memory.vector_load(values, load, at)), "a0", "a1")
    assert loaded == [text]


def load_padded(*axes):
    kernel = kernel_of(PADDED)
    values, (load,), loaded = values_of(kernel), kernel.nest.loads, []
    text = printed(values, lambda: loaded.append(values.memory.load(values, load, SCALAR)), *axes)
    return text, loaded[0]


def test_a_guard_of_the_same_loop_selects_an_element():
    assert load_padded("a0")[1] == "v1 ? x0[v3] : 0x0.0p+0f"


def test_a_guard_of_an_outer_loop_selects_a_pointer_and_a_step():
    text, loaded = load_padded("a0", "a1")
    assert text == lines("""
        a0 {
          const int v1 = a0 < p2;
          const int v3 = a0 * s0_0;
          const float *const v4 = v1 ? x0 + v3 : outside_float32_0x0_0p_0f;
          const int v5 = v1 ? 1 : 0;
          a1 {
            const int v2 = a1 - 1;
          }
        }
    """)
    assert loaded == "v4[v2 * v5]"


@pytest.mark.parametrize("whole", [True, False])
def test_a_ragged_vector_is_stored_lane_by_lane(whole):
    kernel = kernel_of(SHIFTED, InvocationSchedule(tile=Tile("a1", 4), whole=whole))
    dialect = Wgsl(WORDS, ANYWHERE)
    memory = Buffers(kernel, dialect)
    values = values_of(kernel, dialect)
    at = Copy(Context("a1", None, dialect.simd))
    stored = []
    (store,) = kernel.nest.outputs[0].stores
    printed(values, lambda: stored.extend(memory.stores(values, 0, store, at)), "a0", "a1")
    assert [copy.v for _, copy in stored] == ([0] if whole else [0, 1, 2, 3])
