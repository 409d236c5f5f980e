"""Caches of keys and values: which states are caches, and the graphs that round them, compared with
torch run by run.
"""

import warnings
from textwrap import dedent

import numpy as np
import pytest
import torch

from tests.backends import small_llama
from tests.passes.running import optimised
from webkiln.backends.table import REGISTRY
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.program import read_program
from webkiln.ir.graph import Graph
from webkiln.ir.text import print_graph
from webkiln.ir.verify import verify
from webkiln.lower import narrow_caches
from webkiln.lower.caches import find_caches
from webkiln.lower.narrow_caches import Narrowed
from webkiln.nest.parse import parse as parse_program
from webkiln.nest.text import print_program
from webkiln.nest.verify import verify as verify_program
from webkiln.ops.evaluate import next_states, run_graph
from webkiln.ops.table import infer, parse
from webkiln.program_builder.backend import Options

STEPS = (5, 1, 1, 3, 1)
"""The words of each run."""
DTYPES = ("float16", "int8")


def narrowed(graph: Graph, dtype: str) -> Narrowed:
    found = narrow_caches.run(graph, dtype)
    verify(found.graph, infer)
    return found


def decoder(write: str, count: int) -> tuple[small_llama.Decoder, Graph]:
    torch.manual_seed(1)
    module = small_llama.Decoder(write).eval()
    inputs = (torch.zeros(1, count, dtype=torch.int64), torch.arange(count))
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        spec, blobs = read_program(torch.export.export(module, inputs), "made")
        return module, optimised(TorchConverter().convert(spec, blobs))


def test_example_in_the_docstring():
    before, after = (
        dedent(narrow_caches.__doc__.split(f"{mark}:\n")[1].split("\n\nafter:")[0]).strip() + "\n"
        for mark in ("before", "after")
    )
    assert print_graph(narrowed(parse(before), "int8").graph) == after


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("write", small_llama.WRITES)
def test_rounded_caches_are_those_of_torch(write, dtype):
    """Every way to write, with negative positions and positions that repeat in `index_put`."""
    states: dict[str, np.ndarray] = {}
    place, rng = 0, np.random.default_rng(0)
    reference = small_llama.with_rounding(decoder(write, 1)[0], dtype)
    for count in STEPS:
        _, graph = decoder(write, count)
        words = rng.integers(0, small_llama.SMALL.words, (1, count))
        positions = np.arange(place, place + count)
        changed = narrowed(graph, dtype).graph
        inputs = {"words": words, "positions": positions}
        outputs, values = run_graph(changed, inputs, states=states or None)
        states = next_states(changed, values)
        with torch.no_grad():
            expected = reference(torch.from_numpy(words), torch.from_numpy(positions)).numpy()
        (output,) = outputs.values()
        np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)
        place += count


HEAD = """
graph g
input q: float32[3,2,8]
input k: float32[2,2,8]
input at: int64[2]
slot first: float32[16,2,8]
state cache first new -> old: float32[16,2,8]
"""
WRITES = {
    "rows": """
place: int64[2,1] = Reshape(at) {"shape":[2,1]}
new: float32[16,2,8] = ScatterND(old, place, k)
""",
    "elements": """
place: int64[2,1,1] = Reshape(at) {"shape":[2,1,1]}
places: int64[2,2,8] = Broadcast(place) {"shape":[2,2,8]}
new: float32[16,2,8] = ScatterElements(old, places, k) {"axis":0}
""",
    "shift": """
rest: float32[14,2,8] = Slice(old) {"sizes":[14,2,8],"starts":[2,0,0],"steps":[1,1,1]}
new: float32[16,2,8] = Concat(rest, k) {"axis":0}
""",
}
READS = {
    "scores by Einsum": 'y: float32[2,3,16] = Einsum(q, new) {"equation":"qhd,shd->hqs"}',
    "turned scores": 'y: float32[16,3,2] = Einsum(new, q) {"equation":"shd,qhd->sqh"}',
    "values by Einsum": """
p: float32[2,3,16] = Einsum(q, new) {"equation":"qhd,shd->hqs"}
y: float32[3,2,8] = Einsum(p, new) {"equation":"hqs,shd->qhd"}
""",
    "both factors by MatMul": """
wide: float32[2,16,8] = Transpose(new) {"perm":[1,0,2]}
x: float32[2,3,8] = Transpose(q) {"perm":[1,0,2]}
p: float32[2,16,3] = MatMul(wide, x) {"transpose_b":true}
y: float32[2,8,3] = MatMul(wide, p) {"transpose_a":true}
""",
    "repeated heads": """
one: float32[16,2,1,8] = Reshape(new) {"shape":[16,2,1,8]}
twice: float32[16,2,2,8] = Broadcast(one) {"shape":[16,2,2,8]}
heads: float32[16,4,8] = Reshape(twice) {"shape":[16,4,8]}
wide: float32[4,16,8] = Transpose(heads) {"perm":[1,0,2]}
x: float32[1,6,8] = Reshape(q) {"shape":[1,6,8]}
y: float32[4,6,16] = MatMul(x, wide) {"transpose_b":true}
""",
    "interleaved heads": """
heads: float32[16,4,8] = Repeat(new) {"axis":1,"size":4,"times":2}
x: float32[1,6,8] = Reshape(q) {"shape":[1,6,8]}
wide: float32[4,16,8] = Transpose(heads) {"perm":[1,0,2]}
turned: float32[4,8,16] = Transpose(wide) {"perm":[0,2,1]}
y: float32[4,6,16] = MatMul(x, turned)
""",
}
RUNS = ([0, 1], [5, -1], [1, 40], [7, 7], [-40, 3])
"""Places that are written: from the end, twice, and out of bounds."""


def graph_of(*parts: str) -> Graph:
    return parse("\n".join(part.strip() for part in (HEAD, *parts, "output out = y\n")) + "\n")


def rounded(rows: np.ndarray, dtype: str) -> np.ndarray:
    return small_llama.rounded(torch.from_numpy(rows), dtype).numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("write", WRITES)
def test_caches_hold_rounded_rows(write, read, dtype):
    """What a graph computes is what the original computes of rows that are rounded before."""
    graph = parse(
        f"{HEAD.strip()}\n{WRITES[write].strip()}\n{READS[read].strip()}\noutput out = y\n"
    )
    changed, rng = narrowed(graph, dtype), np.random.default_rng(0)
    assert [str(changed.graph.type(s.input)) for s in changed.graph.states] == (
        ["float16[16,2,8]"] if dtype == "float16" else ["int8[16,2,8]", "float32[16,2,1]"]
    )
    first = rng.normal(size=(16, 2, 8)).astype(np.float32)
    states = [{"cache": rounded(first, dtype)}, None]
    for places in RUNS:
        k, q = (rng.normal(size=(n, 2, 8)).astype(np.float32) * 3 for n in (2, 3))
        inputs = {"q": q, "at": np.array(places)}
        results = []
        for number, (model, keys) in enumerate(((graph, rounded(k, dtype)), (changed.graph, k))):
            outputs, values = run_graph(
                model, {**inputs, "k": keys}, {"first": first}, states=states[number]
            )
            states[number] = next_states(model, values)
            results.append(outputs["out"])
        np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("new: float32[16,2,8] = Tanh(old)", "(Tanh) reads it"),
        (WRITES["rows"] + "z: float32[16,2,8] = Neg(new)\noutput z = z", "z (Neg) reads it"),
        (WRITES["rows"] + "output z = new", "it is an output"),
        ("new: float32[16,2,8] = Identity(old)", "no run writes it"),
        (
            """place: int64[2,1,1] = Reshape(at) {"shape":[2,1,1]}
places: int64[2,2,8] = Broadcast(place) {"shape":[2,2,8]}
new: float32[16,2,8] = ScatterElements(old, places, k) {"axis":0,"reduction":"add"}""",
            "(ScatterElements) reads it",
        ),
        (
            """flat: float32[16,16] = Reshape(old) {"shape":[16,16]}
new: float32[16,2,8] = Reshape(flat) {"shape":[16,2,8]}""",
            "(Reshape) reads it",
        ),
        (
            """h: float32[16,2,8] = Add(old, first)
new: float32[16,2,8] = Identity(first)""",
            "h (Add) reads it",
        ),
    ],
)
def test_other_states_stay_as_they_are(lines, reason):
    graph = graph_of(lines, READS["scores by Einsum"])
    assert find_caches(graph).others["cache"].endswith(reason)
    assert narrow_caches.run(graph, "int8") == Narrowed(graph)


def test_the_state_of_a_recurrent_layer_is_no_cache():
    graph = parse(
        """graph g
input x: float32[1,8]
slot w: float32[8,8]
slot zeros: float32[1,8]
state h zeros new -> old: float32[1,8]
product: float32[1,8] = MatMul(old, w)
sum: float32[1,8] = Add(x, product)
new: float32[1,8] = Tanh(sum)
output out = sum
"""
    )
    assert find_caches(graph).others == {"h": "a run computes all of it"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("backend", REGISTRY)
@pytest.mark.parametrize("write", small_llama.WRITES)
def test_no_program_has_a_wide_copy_of_a_cache(write, backend, dtype):
    _, graph = decoder(write, 3)
    programs = REGISTRY[backend].configured(Options(caches=dtype)).programs(graph)
    (*_, (_, program)) = programs
    verify_program(program)
    text = print_program(program)
    assert print_program(parse_program(text)) == text
    sizes = small_llama.SMALL
    wide = {
        name: buffer.storage
        for name, buffer in program.buffers.items()
        if buffer.type.size == sizes.keys * sizes.length * sizes.head and buffer.kind != "constant"
    }
    assert len(wide) >= 4 * sizes.layers
    assert set(wide.values()) == {dtype}
