"""What each pass must leave alone, with a graph on either side of the line."""

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

CONV = '{"dilation":[1],"groups":1,"out_dims":[0,2,1],"pad_high":[0],"pad_low":[0],"strides":[1],"w_dims":[2,1,0],"x_dims":[0,2,1]}'


def graph_of(text):
    return parse(dedent(text).lstrip())


def operators(graph):
    fixed = {node.name for node in graph.constant_subgraph()}
    return [node.op for node in graph.nodes if node.name not in fixed]


def values_of(graph, seed=3):
    rng = np.random.default_rng(seed)
    names = (*graph.inputs, *sorted(graph.slots))
    return {
        name: rng.uniform(0.3, 1.5, graph.type(name).shape).astype(graph.type(name).dtype)
        for name in names
    }


def agree(changed, graph):
    values = values_of(graph)
    wanted, found = evaluate_graph(graph, values), evaluate_graph(changed, values)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name].dtype == value.dtype
        assert relative_error(found[name], value) <= (1e-2 if value.dtype == np.float16 else 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("name", PASSES)
def test_every_pass_does_the_same_for_other_floats(name, dtype):
    before, after = (
        import_module(f"webkiln.passes.{name}").__doc__.split("before:\n")[1].split("\n\nafter:\n")
    )
    graph = parse(dedent(before.replace("float32", dtype)).strip() + "\n")
    changed = run(name, graph)
    assert print_graph(changed) == dedent(after.replace("float32", dtype)).strip() + "\n"
    agree(changed, graph)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_convolution_is_normalised_over_its_features_alone(axis):
    """Sizes are equal, so that nothing but the axis tells."""
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


@pytest.mark.parametrize("place", range(1, 5), ids=["scale", "beta", "mean", "variance"])
def test_a_normalisation_by_what_is_computed_stays(place):
    names = ["c", "p", "p", "p", "p"]
    names[place] = "z"
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


@pytest.mark.parametrize("what", ["kernel", "bias", "factor"])
def test_a_normalisation_is_not_folded_into_weights_that_are_computed(what):
    """They would be multiplied in every run."""
    kinds = {"kernel": "slot", "bias": "slot", "factor": "slot", what: "input"}
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
    apart = ["Conv", "Mul", "Add", "MatMul", "Add"]
    assert operators(folded) == (["Conv", "MatMul", "Mul", "Add"] if what == "factor" else apart)
    agree(folded, graph)


def test_a_bias_of_more_than_one_axis_is_none():
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
def test_which_padding_a_convolution_takes(low, fits, value):
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
def test_constants_are_folded_up_to_what_is_written_inline(more):
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


def test_every_result_of_what_is_folded_must_be_small():
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


def test_only_what_depends_on_nothing_else_is_folded():
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


def test_a_constant_that_is_an_output_has_its_value():
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
def test_equal_numbers_of_another_type_are_not_merged(other):
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


@pytest.mark.parametrize("way", ["initial", "output"])
def test_what_states_begin_and_end_with_is_kept(way):
    """A state's value is taken over by name, whatever a pass drops or renames."""
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
    assert getattr(state, way) == {"initial": "w", "output": "sum"}[way]
    assert changed.slots == {"w"}
    assert [node.outputs for node in changed.nodes] == [("sum",), ("y",)]
    agree(changed, graph)


@pytest.mark.parametrize(("op", "value", "place", "changes"), [
    ("Add", 0.0, 0, False), ("Add", 0.0, 1, False), ("Add", 1.0, 1, True),
    ("Sub", 0.0, 1, False), ("Sub", 0.0, 0, True), ("Sub", 1.0, 1, True),
    ("Mul", 1.0, 0, False), ("Mul", 1.0, 1, False), ("Mul", 0.0, 1, True),
    ("Div", 1.0, 1, False), ("Div", 1.0, 0, True), ("Pow", 1.0, 1, False), ("Pow", 1.0, 0, True), ("Pow", 0.0, 1, True),
    ("Max", 0.0, 1, True), ("Min", 0.0, 1, True),
])  # fmt: skip
def test_which_scalars_change_nothing(op, value, place, changes):
    names = ["x", "x"]
    names[place] = "c"
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


def test_a_scalar_that_widens_changes_the_shape():
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
def test_what_hands_its_input_on(op, kind, attrs, changes):
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


def test_a_square_transposed_is_another():
    graph = graph_of("""
        graph g
        input x: float32[3,3]
        y: float32[3,3] = Transpose(x) {"perm":[1,0]}
        output out = y
    """)
    assert run("remove_identities", graph) == graph


@pytest.mark.parametrize("op", ["BatchNorm", "Concat", "Pad"])
def test_a_transpose_sinks_past_what_names_axes(op):
    """Sizes are equal, and the order of axes is not its own inverse."""
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


def test_transposes_in_other_orders_do_not_sink_together():
    graph = graph_of("""
        graph g
        input x: float32[3,3,3]
        a: float32[3,3,3] = Transpose(x) {"perm":[1,2,0]}
        b: float32[3,3,3] = Transpose(x) {"perm":[2,0,1]}
        y: float32[3,3,3] = Add(a, b)
        output out = y
    """)
    assert run("sink_transposes", graph) == graph


def test_a_transpose_sinks_past_an_operand_of_one_element():
    """Whatever it is: it needs no turning."""
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
def test_padding_of_an_input_that_is_spread_is_spread_too(gap):
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
def test_what_is_merged_is_the_same_in_everything(first, second, same):
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


def test_what_is_merged_may_be_an_output_or_the_next_value_of_a_state():
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
def test_a_product_reads_what_stays_contiguous(side, perm):
    """Its summed axis stays innermost before the transpose, or on the right that of its columns;
    else it is moved as before.
    """
    given = (2, 5, 4)
    shape = [given[perm.index(dim)] for dim in range(3)]
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


def test_products_of_weights_alone_stay_as_they_are():
    """They are computed once, where no layout is better than another."""
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


def test_a_transpose_sinks_past_a_weight_that_is_transposed_in_its_own_way():
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
def test_a_mean_that_leaves_its_own_padding_out_takes_no_other(side, axis, counted):
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
