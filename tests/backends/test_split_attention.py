"""Attention of few rows and many keys, divided among workgroups by chunks of keys: chunks that are
not full, masks of whole chunks, grouped heads, lengths that are set or computed at run time.
"""

import numpy as np
import pytest

from tests.backends.adapters import ADAPTERS
from tests.backends.harness import TEMPLATES, prepare, run_programs
from tests.backends.shaders import validate_wgsl
from tests.lower.chain_graphs import attention, job, parsed, random_values
from tests.programs import program
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.codegen.wgsl_groups import print_group
from webkiln.nest.run import run_program
from webkiln.nest.steps import DeviceBranch, Workgroups, every_step
from webkiln.nest.verify import verify
from webkiln.ops.evaluate import run_graph
from webkiln.plan.group_kernel import from_json

SIZES = {"S": 300, "N": 3}


def grouped(heads, group, queries, keys, width, *, turned=False):
    """Heads of keys and values, each with `group` heads of queries. `turned`: keys are first
    transposed.
    """
    scores = f"float32[{heads},{group},{queries},{keys}]"
    turn = f'kt: float32[{heads},{width},{keys}] = Transpose(k) {{"perm":[0,2,1]}}'
    k, dims = ("kt", "hdk") if turned else ("k", "hkd")
    return f"""
        input q: float32[{heads},{group},{queries},{width}]
        input k: float32[{heads},{keys},{width}]
        input v: float32[{heads},{keys},{width}]
        input m: float32[{queries},{keys}]
        {turn if turned else ""}
        a: {scores} = Einsum(q, {k}) {{"equation":"hgqd,{dims}->hgqk"}}
        b: {scores} = Add(a, m)
        p: {scores} = Softmax(b) {{"axis":3}}
        y: float32[{heads},{group},{queries},{width}] = Einsum(p, v) {{"equation":"hgqk,hkd->hgqd"}}
        output out = y
    """


def heads_apart(*keys):
    """Attention with keys of several lengths, whose results are parts of one concatenation."""
    lines = []
    for length in keys:
        scores, y = f"float32[4,1,{length}]", "float32[4,1,64]"
        lines += [
            f"input q{length}: float32[4,1,64]",
            f"input k{length}: float32[4,{length},64]",
            f"input v{length}: float32[4,{length},64]",
            f'a{length}: {scores} = Einsum(q{length}, k{length}) {{"equation":"hqd,hkd->hqk"}}',
            f'p{length}: {scores} = Softmax(a{length}) {{"axis":2}}',
            f'y{length}: {y} = Einsum(p{length}, v{length}) {{"equation":"hqk,hkd->hqd"}}',
        ]
    parts = ", ".join(f"y{length}" for length in keys)
    lines.append(f'y: float32[{4 * len(keys)},1,64] = Concat({parts}) {{"axis":0}}')
    return "\n        ".join(["", *lines, "output out = y", ""])


DIVIDED = {"parts of a concatenation": (300, 700, 260)}
GRAPHS = {
    "one chunk and a key": attention(1, 12, 1, 257, 64, mask=True),
    "whole chunks": attention(1, 12, 1, 256, 64, mask=True),
    "a chunk but for one key": attention(1, 3, 1, 383, 32),
    "long keys": attention(1, 4, 1, 1024, 64),
    "longer keys": attention(1, 2, 1, 4096, 32),
    "heads of 256": attention(1, 2, 1, 300, 256, mask=True),
    "heads of 96": attention(1, 2, 1, 260, 96),
    "a batch": attention(2, 3, 1, 290, 64),
    "several queries": attention(1, 3, 5, 300, 64, mask=True),
    "more queries than a workgroup has": attention(1, 2, 37, 300, 32, mask=True),
    "grouped heads": grouped(3, 3, 1, 1025, 64),
    "grouped heads, several queries": grouped(2, 3, 4, 270, 64),
    "one head of keys": grouped(1, 8, 1, 400, 128),
    "any number of keys": attention(1, 4, 1, "S", 64, mask=True),
    "any number of queries": attention(1, 3, "N", 700, 32, mask=True),
    "any number of queries, grouped heads": grouped(2, 3, "N", 513, 32),
    "blocks of many rows": grouped(2, 16, "N", 300, 64),
    "any number of both": grouped(2, 3, "N", "S", 32),
    **{name: heads_apart(*keys) for name, keys in DIVIDED.items()},
    "transposed keys": grouped(2, 2, 1, 515, 64, turned=True),
}  # fmt: skip

SAMPLES = {
    "some": (
        "one chunk and a key",
        "long keys",
        "heads of 256",
        "several queries",
        "grouped heads",
        "any number of queries, grouped heads",
        "any number of both",
        "parts of a concatenation",
        "transposed keys",
    ),
    "all": tuple(GRAPHS),
}


def chunked(result):
    return [
        step
        for step in every_step(result.steps)
        if isinstance(step, DeviceBranch)
        and sum(isinstance(item, Workgroups) for item in step.then) == 2
    ]


def given(name, *, mask):
    """A graph and its inputs. `mask`: all keys but some are masked by -inf, and so whole chunks."""
    graph = parsed(GRAPHS[name])
    values = random_values(graph, sizes=SIZES)
    if mask and "m" in values:
        keep = np.zeros(values["m"].shape[-1], bool)
        keep[[70, 71, 255]] = True
        values["m"] = np.where(keep, values["m"], np.float32(-np.inf))
    return graph, values


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_interpreter_of_each_class(name, mask):
    """Iterations of workgroups run in reverse order there: they are independent."""
    graph, values = given(name, mask=mask)
    result = REGISTRY["webgpu"].plan(graph)
    verify(result)
    assert len(chunked(result)) >= len(DIVIDED.get(name, "y"))
    reference, _ = run_graph(graph, values, values)
    for multiprocessors in (0, 8, 24, 64, 132):
        memory = run_program(result, values, SIZES, multiprocessors)
        for key, value in reference.items():
            found = memory[result.root(graph.outputs[key])].reshape(value.shape)
            assert relative_error(found, value) < 1e-5, (key, multiprocessors)


@pytest.mark.parametrize("graphs", representative([*SAMPLES], "some"))
def test_in_chromium(graphs, tmp_path):
    """Whole chunks are masked. The bits are the same in each run."""
    again = ("one chunk and a key", "grouped heads", "any number of both")
    names = [*SAMPLES[graphs], *again]
    cases = [given(name, mask=True) for name in names]
    prepared = [prepare(job(*case), REGISTRY["webgpu"]) for case in cases]
    results = run_programs(prepared, "webgpu", tmp_path, adapter=ADAPTERS[132])
    for name, (graph, values), outputs in zip(names, cases, results, strict=True):
        reference, _ = run_graph(graph, values, values)
        for key, value in reference.items():
            assert relative_error(outputs[key], value) < 1e-5, (name, key)
    for name, outputs in zip(again, results[len(SAMPLES[graphs]) :], strict=True):
        assert np.array_equal(outputs["out"], results[names.index(name)]["out"]), name


@pytest.mark.parametrize("name", ["long keys", "grouped heads, several queries"])
def test_small_gpus_in_chromium(name, tmp_path):
    graph, values = given(name, mask=False)
    prepared = prepare(job(graph, values), REGISTRY["webgpu"])
    (outputs,) = run_programs([prepared], "webgpu", tmp_path, adapter=ADAPTERS[8])
    reference, _ = run_graph(graph, values, values)
    assert relative_error(outputs["out"], reference["out"]) < 1e-5


def test_rows_without_a_key_are_nan():
    """As without chunks, and in the frameworks."""
    graph = parsed(GRAPHS["one chunk and a key"])
    values = random_values(graph)
    values["m"][:] = -np.inf
    result = REGISTRY["webgpu"].plan(graph)
    for multiprocessors in (0, 132):
        assert np.isnan(run_program(result, values, {}, multiprocessors)["y"]).all()


def test_shaders_are_valid_in_firefox():
    names = ("one chunk and a key", "grouped heads", "any number of both", "transposed keys")
    documents = [program(parsed(GRAPHS[name]), REGISTRY["webgpu"]) for name in names]
    kernels = [item for document in documents for item in document["group_kernels"].values()]
    validate_wgsl([print_group(from_json(item), TEMPLATES) for item in kernels], "firefox")
