"""The conditions under which passes apply: graphs that are rewritten, and similar ones that are
not.
"""

from importlib import import_module
from itertools import product
from textwrap import dedent

import pytest

from tests.passes.comparison import agree, graph_of
from tests.passes.running import run
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.text import print_graph
from webkiln.ops.shape import Transpose
from webkiln.ops.table import parse
from webkiln.passes.pipeline import PASSES

INTEGER_SUMS = ("integer_products", "float16")
"""float16 does not hold sums of integers."""


@pytest.mark.parametrize(
    ("name", "dtype"),
    [pair for pair in product(PASSES, ["float16", "float64"]) if pair != INTEGER_SUMS],
)
def test_passes_rewrite_other_float_dtypes_alike(name, dtype):
    before, after = (
        import_module(f"webkiln.passes.{name}").__doc__.split("before:\n")[1].split("\n\nafter:\n")
    )
    graph = parse(dedent(before.replace("float32", dtype)).strip() + "\n")
    changed = run(name, graph)
    assert print_graph(changed) == dedent(after.replace("float32", dtype)).strip() + "\n"
    agree(changed, graph)


@pytest.mark.parametrize("excess", [0, 1])
def test_constants_are_folded_up_to_the_size_of_inline_constants(excess):
    size = INLINE_ELEMENTS + excess
    graph = graph_of(f"""
        graph g
        input x: float32[{size}]
        const c: float32[] = [1.5]
        b: float32[{size}] = Broadcast(c) {{"shape":[{size}]}}
        y: float32[{size}] = Add(x, b)
        output out = y
    """)
    folded = run("fold_constants", graph)
    assert [node.op for node in folded.nodes] == (["Broadcast", "Add"] if excess else ["Add"])
    agree(folded, graph)


def test_large_results_are_not_folded():
    size = INLINE_ELEMENTS + 1
    values = ",".join(["1.0"] * INLINE_ELEMENTS)
    graph = graph_of(f"""
        graph g
        input x: float32[{size}]
        const c: float32[{INLINE_ELEMENTS}] = [{values}]
        const d: float32[1] = [2.0]
        b: float32[{size}] = Concat(c, d) {{"axis":0}}
        y: float32[{size}] = Add(x, b)
        output out = y
    """)
    assert [node.op for node in run("fold_constants", graph).nodes] == ["Concat", "Add"]


def test_nodes_that_depend_on_inputs_or_slots_are_not_folded():
    graph = graph_of("""
        graph g
        input x: float32[2]
        slot w: float32[2]
        const c: float32[2] = [1.0,2.0]
        a: float32[2] = Add(c, x)
        b: float32[2] = Mul(c, w)
        y: float32[2] = Sub(a, b)
        output out = y
    """)
    assert run("fold_constants", graph) == graph


def test_folded_constants_can_be_outputs():
    graph = graph_of("""
        graph g
        input x: float32[2]
        const c: float32[2] = [1.0,-2.0]
        a: float32[2] = Neg(c)
        y: float32[2] = Add(a, x)
        output out = y
        output also = a
    """)
    folded = run("fold_constants", graph)
    assert [node.op for node in folded.nodes] == ["Add"]
    agree(folded, graph)


@pytest.mark.parametrize("other", ["float64[2]", "int32[2]", "float32[2,1]", "float32[1,2]"])
def test_equal_constants_of_other_types_are_not_merged(other):
    graph = graph_of(f"""
        graph g
        const a: float32[2] = [1.0,2.0]
        const b: {other} = {"[1,2]" if other.startswith("int") else "[1.0,2.0]"}
        const c: float32[2] = [1.0,2.0]
        input x: float32[2]
        p: float32[2] = Add(x, a)
        q: {other} = Neg(b)
        r: float32[2] = Sub(x, c)
        output p = p
        output q = q
        output r = r
    """)
    merged = run("merge_common", graph)
    assert merged.constants.keys() == {"a", "b"}
    agree(merged, graph)


@pytest.mark.parametrize("field", ["initial", "output"])
def test_states_follow_renamed_variables(field):
    graph = graph_of("""
        graph g
        input x: float32[2]
        slot w: float32[2]
        const zero: float32[] = [0.0]
        first: float32[2] = Add(w, zero)
        state s first next -> held: float32[2]
        sum: float32[2] = Add(held, x)
        next: float32[2] = Add(sum, zero)
        y: float32[2] = Neg(held)
        output out = y
    """)
    changed = run("remove_unused", run("remove_identities", graph))
    (state,) = changed.states
    assert getattr(state, field) == {"initial": "w", "output": "sum"}[field]
    assert changed.slots == {"w"}
    assert [node.outputs for node in changed.nodes] == [("sum",), ("y",)]
    agree(changed, graph)


@pytest.mark.parametrize(("op", "value", "position", "changes"), [
    ("Add", 0.0, 0, False), ("Add", 0.0, 1, False), ("Add", 1.0, 1, True),
    ("Sub", 0.0, 1, False), ("Sub", 0.0, 0, True), ("Sub", 1.0, 1, True),
    ("Mul", 1.0, 0, False), ("Mul", 1.0, 1, False), ("Mul", 0.0, 1, True),
    ("Div", 1.0, 1, False), ("Div", 1.0, 0, True), ("Pow", 1.0, 1, False),
    ("Pow", 1.0, 0, True), ("Pow", 0.0, 1, True),
    ("Max", 0.0, 1, True), ("Min", 0.0, 1, True),
])  # fmt: skip
def test_operations_with_neutral_scalars_are_removed(op, value, position, changes):
    names = ["x", "x"]
    names[position] = "c"
    graph = graph_of(f"""
        graph g
        input x: float32[2,3]
        const c: float32[] = [{value}]
        y: float32[2,3] = {op}({", ".join(names)})
        output out = y
    """)
    simplified = run("remove_identities", graph)
    assert bool(simplified.nodes) == changes
    agree(simplified, graph)


def test_operations_that_broadcast_are_not_removed():
    graph = graph_of("""
        graph g
        input x: float32[2]
        const c: float32[1,1] = [0.0]
        y: float32[1,2] = Add(x, c)
        output out = y
    """)
    assert run("remove_identities", graph) == graph


@pytest.mark.parametrize(("op", "kind", "attrs", "changes"), [
    ("Cast", "int32[2,3]", '{"dtype":"int32"}', True),
    ("Cast", "float32[2,3]", '{"dtype":"float32"}', False),
    ("Reshape", "float32[3,2]", '{"shape":[3,2]}', True),
    ("Reshape", "float32[2,3]", '{"shape":[2,3]}', False),
    ("Transpose", "float32[3,2]", '{"perm":[1,0]}', True),
    ("Slice", "float32[2,3]", '{"sizes":[2,3],"starts":[0,2],"steps":[1,-1]}', True),
    ("Slice", "float32[2,2]", '{"sizes":[2,2],"starts":[0,0],"steps":[1,1]}', True),
    ("Slice", "float32[2,3]", '{"sizes":[2,3],"starts":[0,0],"steps":[1,1]}', False),
    ("Pad", "float32[2,3]", '{"high":[0,0],"low":[0,0],"value":1.0}', False),
])  # fmt: skip
def test_operators_without_an_effect_are_removed(op, kind, attrs, changes):
    graph = graph_of(f"""
        graph g
        input x: float32[2,3]
        z: {kind} = {op}(x) {attrs}
        y: {kind} = Neg(z)
        output out = y
    """)
    simplified = run("remove_identities", graph)
    assert [node.op for node in simplified.nodes] == ([op, "Neg"] if changes else ["Neg"])
    agree(simplified, graph)


def test_a_transpose_merges_with_one_that_others_read():
    graph = graph_of("""
        graph g
        input x: float32[2,3,4]
        t: float32[4,2,3] = Transpose(x) {"perm":[2,0,1]}
        z: float32[4,2,3] = Neg(t)
        u: float32[3,4,2] = Transpose(t) {"perm":[2,0,1]}
        y: float32[3,4,2] = Neg(u)
        output out = y
        output other = z
    """)
    simplified = run("remove_identities", graph)
    (merged,) = [node for node in simplified.nodes if node.attrs == Transpose((1, 2, 0))]
    assert merged.inputs == ("x",)
    agree(simplified, graph)


def test_transposes_of_square_matrices_are_not_removed():
    graph = graph_of("""
        graph g
        input x: float32[3,3]
        y: float32[3,3] = Transpose(x) {"perm":[1,0]}
        output out = y
    """)
    assert run("remove_identities", graph) == graph


@pytest.mark.parametrize(("first", "second", "same"), [
    ('Softmax(x) {"axis":0}', 'Softmax(x) {"axis":1}', False),
    ('Softmax(x) {"axis":1}', 'Softmax(x) {"axis":1}', True),
    ('Transpose(x) {"perm":[1,0]}', 'Transpose(x) {"perm":[0,1]}', False),
    ("MatMul(x, z)", 'MatMul(x, z) {"transpose_a":false,"transpose_b":false}', True),
    ("MatMul(x, z)", 'MatMul(x, z) {"transpose_b":true}', False),
    ("MatMul(x, z)", "MatMul(z, x)", False),
    ("Sub(x, z)", "Sub(z, x)", False),
    ("Relu(x)", "Neg(x)", False),
    ("Relu(x)", "Relu(z)", False),
    ('Pad(x) {"high":[0,0],"low":[0,0],"value":0.0}',
     'Pad(x) {"high":[0,0],"low":[0,0],"value":1.0}', False),
])  # fmt: skip
def test_only_equal_nodes_are_merged(first, second, same):
    graph = graph_of(f"""
        graph g
        input x: float32[3,3]
        input z: float32[3,3]
        a: float32[3,3] = {first}
        b: float32[3,3] = {second}
        y: float32[3,3] = Concat(a, b) {{"axis":0}}
        output out = y
    """.replace("y: float32[3,3]", "y: float32[6,3]"))  # fmt: skip
    merged = run("merge_common", graph)
    assert len(merged.nodes) == (2 if same else 3)
    agree(merged, graph)


def test_outputs_and_states_follow_merged_nodes():
    graph = graph_of("""
        graph g
        input x: float32[2]
        slot w: float32[2]
        state s w b -> held: float32[2]
        a: float32[2] = Relu(x)
        b: float32[2] = Relu(x)
        c: float32[2] = Relu(x)
        y: float32[2] = Add(a, held)
        output out = y
        output also = c
    """)
    merged = run("merge_common", graph)
    assert [node.outputs for node in merged.nodes] == [("a",), ("y",)]
    assert (merged.states[0].output, merged.outputs["also"]) == ("a", "a")
    agree(merged, graph)
