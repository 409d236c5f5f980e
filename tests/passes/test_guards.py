"""The conditions under which passes apply: graphs that are rewritten, and similar ones that are
not.
"""

from importlib import import_module
from itertools import permutations
from textwrap import dedent

import numpy as np
import pytest

from tests.passes.graphs import evaluate_graph
from tests.passes.running import run
from webkiln.backends.compare import relative_error
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.text import parse, print_graph
from webkiln.passes.pipeline import PASSES

CONV = (
    '{"dilation":[1],"groups":1,"out_dims":[0,2,1],"pad_high":[0],"pad_low":[0],"strides":[1],'
    '"w_dims":[2,1,0],"x_dims":[0,2,1]}'
)


def graph_of(text):
    return parse(dedent(text).lstrip())


def operators(graph):
    constant_names = {node.name for node in graph.constant_subgraph()}
    return [node.op for node in graph.nodes if node.name not in constant_names]


def values_of(graph, seed=3):
    rng = np.random.default_rng(seed)
    names = (*graph.inputs, *sorted(graph.slots))
    return {
        name: rng.uniform(0.3, 1.5, graph.type(name).shape).astype(graph.type(name).dtype)
        for name in names
    }


def agree(changed, graph):
    values = values_of(graph)
    expected, results = evaluate_graph(graph, values), evaluate_graph(changed, values)
    assert results.keys() == expected.keys()
    for name, value in expected.items():
        assert results[name].dtype == value.dtype
        assert relative_error(results[name], value) <= (1e-2 if value.dtype == np.float16 else 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("name", PASSES)
def test_passes_rewrite_other_float_dtypes_alike(name, dtype):
    before, after = (
        import_module(f"webkiln.passes.{name}").__doc__.split("before:\n")[1].split("\n\nafter:\n")
    )
    graph = parse(dedent(before.replace("float32", dtype)).strip() + "\n")
    changed = run(name, graph)
    assert print_graph(changed) == dedent(after.replace("float32", dtype)).strip() + "\n"
    agree(changed, graph)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_only_normalisations_over_features_are_folded_into_convolutions(axis):
    """All sizes are equal, so that only the axis differs."""
    graph = graph_of(f"""
        graph g
        input x: float32[2,3,2]
        slot w: float32[2,2,2]
        slot p: float32[2]
        slot q: float32[2]
        c: float32[2,2,2] = Conv(x, w) {CONV}
        y: float32[2,2,2] = BatchNorm(c, p, q, q, p) {{"axis":{axis},"epsilon":0.01}}
        output out = y
    """)
    folded = run("fold_batchnorm", graph)
    assert operators(folded) == (["Conv"] if axis == 2 else ["Conv", "Mul", "Add"])
    agree(folded, graph)


@pytest.mark.parametrize("position", range(1, 5), ids=["scale", "beta", "mean", "variance"])
def test_normalisations_with_computed_parameters_are_not_folded(position):
    names = ["c", "p", "p", "p", "p"]
    names[position] = "z"
    graph = graph_of(f"""
        graph g
        input x: float32[1,4,2]
        input z: float32[5]
        slot w: float32[3,2,5]
        slot p: float32[5]
        c: float32[1,2,5] = Conv(x, w) {CONV}
        y: float32[1,2,5] = BatchNorm({", ".join(names)}) {{"axis":2,"epsilon":0.01}}
        output out = y
    """)
    assert run("fold_batchnorm", graph) == graph


@pytest.mark.parametrize("computed", ["kernel", "bias", "factor"])
def test_normalisations_are_not_folded_into_computed_weights(computed):
    """The weights would be multiplied in every run."""
    kinds = {"kernel": "slot", "bias": "slot", "factor": "slot", computed: "input"}
    graph = graph_of(f"""
        graph g
        input x: float32[1,4,2]
        {kinds["kernel"]} w: float32[3,2,5]
        {kinds["bias"]} b: float32[5]
        {kinds["factor"]} m: float32[5,5]
        slot p: float32[5]
        c: float32[1,2,5] = Conv(x, w, b) {CONV}
        d: float32[1,2,5] = BatchNorm(c, p, p, p, p) {{"axis":2,"epsilon":0.01}}
        e: float32[1,2,5] = MatMul(d, m)
        y: float32[1,2,5] = BatchNorm(e, p, p, p, p) {{"axis":2,"epsilon":0.01}}
        output out = y
    """)
    folded = run("fold_batchnorm", graph)
    assert operators(folded) == (
        ["Conv", "MatMul", "Mul", "Add"]
        if computed == "factor"
        else ["Conv", "Mul", "Add", "MatMul", "Add"]
    )
    agree(folded, graph)


def test_normalisations_are_not_folded_past_the_addition_of_a_matrix():
    graph = graph_of("""
        graph g
        input x: float32[3,4]
        slot w: float32[4,3]
        slot b: float32[3,3]
        slot p: float32[3]
        m: float32[3,3] = MatMul(x, w)
        a: float32[3,3] = Add(m, b)
        y: float32[3,3] = BatchNorm(a, p, p, p, p) {"axis":1,"epsilon":0.01}
        output out = y
    """)
    folded = run("fold_batchnorm", graph)
    assert operators(folded) == ["MatMul", "Add", "Mul", "Add"]
    agree(folded, graph)


@pytest.mark.parametrize(
    ("low", "fits"), [("[0,1,0]", True), ("[1,0,0]", False), ("[0,0,1]", False)]
)
@pytest.mark.parametrize("value", ["0.0", "1.0"])
def test_only_zero_padding_of_spatial_axes_is_folded_into_convolutions(low, fits, value):
    batch, _, channel = map(int, low.strip("[]").split(","))
    length = 4 + (low == "[0,1,0]")
    graph = graph_of(f"""
        graph g
        input x: float32[1,4,2]
        slot w: float32[3,{2 + channel},5]
        p: float32[{1 + batch},{length},{2 + channel}] = Pad(x) {{"high":[0,0,0],"low":{low},"value":{value}}}
        y: float32[{1 + batch},{length - 2},5] = Conv(p, w) {CONV}
        output out = y
    """)
    absorbed = run("absorb_padding", graph)
    assert operators(absorbed) == (["Conv"] if fits and value == "0.0" else ["Pad", "Conv"])
    agree(absorbed, graph)


@pytest.mark.parametrize("more", [0, 1])
def test_constants_are_folded_up_to_the_size_of_inline_constants(more):
    size = INLINE_ELEMENTS + more
    graph = graph_of(f"""
        graph g
        input x: float32[{size}]
        const c: float32[] = [1.5]
        b: float32[{size}] = Broadcast(c) {{"shape":[{size}]}}
        y: float32[{size}] = Add(x, b)
        output out = y
    """)
    folded = run("fold_constants", graph)
    assert [node.op for node in folded.nodes] == (["Broadcast", "Add"] if more else ["Add"])
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
    ("Div", 1.0, 1, False), ("Div", 1.0, 0, True), ("Pow", 1.0, 1, False), ("Pow", 1.0, 0, True), ("Pow", 0.0, 1, True),
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


def test_transposes_of_square_matrices_are_not_removed():
    graph = graph_of("""
        graph g
        input x: float32[3,3]
        y: float32[3,3] = Transpose(x) {"perm":[1,0]}
        output out = y
    """)
    assert run("remove_identities", graph) == graph


@pytest.mark.parametrize("op", ["BatchNorm", "Concat", "Pad"])
def test_transposes_sink_past_operators_with_axis_attributes(op):
    """All sizes are equal, and the permutation is not its own inverse."""
    reads = {
        "BatchNorm": ("BatchNorm(t, p, q, q, p)", '{"axis":0,"epsilon":0.01}', "3,3,3"),
        "Concat": ("Concat(t, t)", '{"axis":0}', "6,3,3"),
        "Pad": ("Pad(t)", '{"high":[0,1,0],"low":[1,1,0],"value":0.5}', "4,5,3"),
    }
    call, attrs, shape = reads[op]
    graph = graph_of(f"""
        graph g
        input x: float32[3,3,3]
        slot p: float32[3]
        slot q: float32[3]
        t: float32[3,3,3] = Transpose(x) {{"perm":[1,2,0]}}
        y: float32[{shape}] = {call} {attrs}
        output out = y
    """)
    sunk = run("sink_transposes", graph)
    assert [node.op for node in sunk.nodes] == [op, "Transpose"]
    agree(sunk, graph)


def test_different_transposes_of_operands_do_not_sink():
    graph = graph_of("""
        graph g
        input x: float32[3,3,3]
        a: float32[3,3,3] = Transpose(x) {"perm":[1,2,0]}
        b: float32[3,3,3] = Transpose(x) {"perm":[2,0,1]}
        y: float32[3,3,3] = Add(a, b)
        output out = y
    """)
    assert run("sink_transposes", graph) == graph


def test_transposes_sink_past_operators_with_a_computed_scalar():
    graph = graph_of("""
        graph g
        input x: float32[3,4]
        input s: float32[]
        t: float32[4,3] = Transpose(x) {"perm":[1,0]}
        y: float32[4,3] = Add(t, s)
        output out = y
    """)
    sunk = run("sink_transposes", graph)
    assert [node.op for node in sunk.nodes] == ["Add", "Transpose"]
    agree(sunk, graph)


@pytest.mark.parametrize("gap", [1, 2])
def test_folded_padding_is_dilated_with_the_input(gap):
    length = (6 - 1) * gap + 1 - 2
    attrs = CONV.replace("}", f',"x_dilation":[{gap}]}}')
    graph = graph_of(f"""
        graph g
        input x: float32[1,4,2]
        slot w: float32[3,2,5]
        p: float32[1,6,2] = Pad(x) {{"high":[0,1,0],"low":[0,1,0],"value":0.0}}
        y: float32[1,{length},5] = Conv(p, w) {attrs}
        output out = y
    """)
    absorbed = run("absorb_padding", graph)
    assert operators(absorbed) == ["Conv"]
    agree(absorbed, graph)


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
    ('Pad(x) {"high":[0,0],"low":[0,0],"value":0.0}', 'Pad(x) {"high":[0,0],"low":[0,0],"value":1.0}', False),
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


@pytest.mark.parametrize("perm", [perm for perm in permutations(range(3)) if perm != (0, 1, 2)])
@pytest.mark.parametrize("side", ["left", "right"])
def test_products_absorb_transposes_that_keep_an_axis_innermost(side, perm):
    """The contracted axis must be innermost in the untransposed operand or, in the right operand,
    the column axis.
    """
    transposed_shape = (2, 5, 4)
    shape = [transposed_shape[perm.index(dim)] for dim in range(3)]
    graph = graph_of(f"""
        graph g
        input q: float32[2,5,4]
        input k: float32[{",".join(map(str, shape))}]
        t: float32[2,5,4] = Transpose(k) {{"perm":[{",".join(map(str, perm))}]}}
        y: float32[2,5,5] = MatMul({"t, q" if side == "left" else "q, t"}) {{"transpose_b":true}}
        output out = y
    """)
    changed = run("absorb_transposes", graph)
    absorbed = perm.index(2) in ((2,) if side == "left" else (1, 2))
    assert [node.op for node in changed.nodes] == (
        ["Einsum"] if absorbed else ["Transpose", "MatMul"]
    )
    agree(changed, graph)


def test_products_in_the_constant_subgraph_do_not_absorb_transposes():
    graph = graph_of("""
        graph g
        input x: float32[5,3]
        slot v: float32[3,4]
        slot w: float32[3,4]
        t: float32[4,3] = Transpose(w) {"perm":[1,0]}
        m: float32[3,3] = MatMul(v, t)
        y: float32[5,3] = MatMul(x, m)
        output out = y
    """)
    assert run("absorb_transposes", graph) == graph


def test_transposes_sink_past_weights_with_another_transpose():
    graph = graph_of("""
        graph g
        input x: float32[3,3,3]
        slot w: float32[3,3,3]
        a: float32[3,3,3] = Transpose(x) {"perm":[1,2,0]}
        b: float32[3,3,3] = Transpose(w) {"perm":[2,0,1]}
        y: float32[3,3,3] = Add(a, b)
        output out = y
    """)
    sunk = run("sink_transposes", graph)
    assert operators(sunk) == ["Add", "Transpose"]
    agree(sunk, graph)


@pytest.mark.parametrize("side", ["pad_low", "pad_high"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("counted", ["true", "false"])
def test_padding_is_not_folded_into_means_that_exclude_their_own(side, axis, counted):
    own = {"pad_low": [0, 0], "pad_high": [0, 0]}
    own[side][axis] = 1
    sizes = [5 - 1 + (axis == 0), 4 - 1 + (axis == 1)]
    graph = graph_of(f"""
        graph g
        input x: float32[1,4,4,1]
        p: float32[1,5,4,1] = Pad(x) {{"high":[0,0,0,0],"low":[0,1,0,0],"value":0.0}}
        y: float32[1,{sizes[0]},{sizes[1]},1] = AvgPool(p) {{"axes":[1,2],"count_include_pad":{counted},"dilation":[1,1],"pad_high":{own["pad_high"]},"pad_low":{own["pad_low"]},"strides":[1,1],"window":[2,2]}}
        output out = y
    """)
    absorbed = run("absorb_padding", graph)
    assert operators(absorbed) == (["AvgPool"] if counted == "true" else ["Pad", "AvgPool"])
    agree(absorbed, graph)
