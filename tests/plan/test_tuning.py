"""Candidates for convolutions and contractions: all compute the same, a file selects among them,
and the predictions of the cost model and measurements are consistent.
"""

from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.programs import program
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.launches import launches
from webkiln.backends.table import REGISTRY
from webkiln.errors import RecipeError
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import parse
from webkiln.plan.measurements import candidate_times, fastest, serves, times_of_launches
from webkiln.plan.tuning import SCHEMA, UNTUNED, Tuning, read, trials

CONV = (
    '{"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],'
    '"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}'
)
DEPTHWISE = CONV.replace('"groups":1', '"groups":32')
GRAPHS = {
    "convolution": (
        f"""
        input x: float32[1,19,18,16]
        slot w: float32[3,3,16,64]
        slot b: float32[64]
        c: float32[1,19,18,64] = Conv(x, w) {CONV}
        s: float32[1,19,18,64] = Add(c, b)
        y: float32[1,19,18,64] = Relu(s)
        output out = y
    """
    ),
    "depthwise": (
        f"""
        input x: float32[1,11,9,32]
        slot w: float32[3,3,1,32]
        y: float32[1,11,9,32] = Conv(x, w) {DEPTHWISE}
        output out = y
    """
    ),
    "vector by matrix": (
        """
        input x: float32[1,50]
        slot w: float32[50,192]
        y: float32[1,192] = MatMul(x, w)
        output out = y
    """
    ),
    "rows": (
        """
        input x: float32[21,40]
        input w: float32[13,40]
        y: float32[21,13] = MatMul(x, w) {"transpose_b":true}
        output out = y
    """
    ),
    "product": (
        """
        input x: float32[1,131,144]
        slot w: float32[144,133]
        y: float32[1,131,133] = MatMul(x, w)
        output out = y
    """
    ),
    "few rows by long columns": (
        """
        input x: float32[8,1024]
        slot w: float32[1024,64]
        y: float32[8,64] = MatMul(x, w)
        output out = y
    """
    ),
    "constants by rows": (
        """
        input x: float32[160,144]
        slot w: float32[136,144]
        y: float32[160,136] = MatMul(x, w) {"transpose_b":true}
        output out = y
    """
    ),
    "few long rows": (
        """
        input x: float32[3,600]
        input w: float32[5,600]
        y: float32[3,5] = MatMul(x, w) {"transpose_b":true}
        output out = y
    """
    ),
}


def graph(name: str) -> Graph:
    return parse("graph g\n" + dedent(GRAPHS[name]))


def decided(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for step in launches(document["main"]) for item in step.get("decided", ())]


def kernels_of(document: dict[str, Any]) -> list[str]:
    return [step["kernel"] for step in launches(document["main"])]


@pytest.mark.parametrize(
    ("backend", "variant", "every"),
    representative(
        [
            ("js", "", 3),
            ("js", "", 1),
            ("wasm", "relaxed", 1),
            ("wasm", "simd", 1),
            ("webgpu", "", 1),
        ],
        ("js", "", 3),
    ),
)
def test_every_candidate_computes_the_same(backend, variant, every, tmp_path):
    rng = np.random.default_rng(0)
    names, jobs = list(GRAPHS)[::every], []
    for name in names:
        model = graph(name)
        values = {
            key: rng.standard_normal(model.type(key).shape).astype(np.float32)
            for key in (*model.inputs, *sorted(model.slots))
        }
        jobs.append(
            Job(
                model,
                {key: values[key] for key in model.inputs},
                {key: values[key] for key in sorted(model.slots)},
            )
        )
    used_candidates: dict[str, set[str]] = {}
    for number, trial in enumerate(trials(REGISTRY[backend].target)):
        tuning = Tuning(trial=trial)
        results = run(jobs, backend, tmp_path / str(number), variant or "simd", tuning=tuning)
        for job, outputs in zip(jobs, results, strict=True):
            reference, _ = run_graph(job.graph, job.inputs, job.weights)
            assert all(
                relative_error(outputs[key], value) <= 1e-5 for key, value in reference.items()
            ), (trial, job.graph.nodes[0].op)
        for job in jobs:
            for item in decided(program(job.graph, REGISTRY[backend], "float32", tuning=tuning)):
                used_candidates.setdefault(item["key"], set()).add(item["chosen"])
                assert {name for name, *_ in item["candidates"]} >= {item["chosen"]}
    assert len(used_candidates) >= len(names)
    for name in names:
        for item in decided(program(graph(name), REGISTRY[backend], "float32")):
            assert used_candidates[item["key"]] == {name for name, *_ in item["candidates"]}, (
                "each candidate was used"
            )


@pytest.mark.parametrize("backend", REGISTRY)
def test_lanes_are_powers_of_two(backend):
    """Panels are indexed by shifts."""
    assert all(
        lanes & (lanes - 1) == 0
        for shapes in REGISTRY[backend].target.tiles.candidates.values()
        for lanes, _ in shapes
    )


@pytest.mark.parametrize("name", GRAPHS)
def test_the_default_is_the_first_candidate(name):
    for item in decided(program(graph(name), REGISTRY["wasm"], "float32")):
        assert item["chosen"] == item["candidates"][0][0]
        assert all(ms > 0 and measured is None for _, ms, measured in item["candidates"])
    assert program(graph(name), REGISTRY["wasm"], "float32") == program(
        graph(name), REGISTRY["wasm"], "float32", tuning=read(FILE, "wasm")
    )


FILE: dict[str, Any] = {"schema": SCHEMA, "backends": {"js": {"kernels": {}}}}


def tuned(key: str, name: str, **ms: float) -> Tuning:
    return read(
        {
            "schema": SCHEMA,
            "backends": {"wasm": {"kernels": {key: {"chosen": name, "ms": {name: 0.5} | ms}}}},
        },
        "wasm",
    )


def test_a_file_chooses_a_convolution_and_its_tile():
    default = program(graph("convolution"), REGISTRY["wasm"], "float32")
    convolution = decided(default)[0]
    assert [name for name, *_ in convolution["candidates"]] == [
        "winograd 4x4",
        "winograd 2x2",
        "direct",
    ]
    direct = program(
        graph("convolution"),
        REGISTRY["wasm"],
        "float32",
        tuning=tuned(convolution["key"], "direct"),
    )
    assert len(kernels_of(direct)) == 1 < len(kernels_of(default))
    algorithm, tile = decided(direct)
    assert algorithm["chosen"] == "direct"
    assert ["direct", 0.5] in [[name, ms] for name, _, ms in algorithm["candidates"]]
    both = tuned(convolution["key"], "direct").kernels | tuned(tile["key"], "2x16").kernels
    other = program(graph("convolution"), REGISTRY["wasm"], "float32", tuning=Tuning(both))
    assert kernels_of(other) != kernels_of(direct)
    (kernel,) = (other["kernels"][name] for name in kernels_of(other))
    assert (kernel["schedule"]["tile"]["lanes"], kernel["schedule"]["tile"]["count"]) == (16, 2)


def test_unknown_kernels_are_ignored():
    tuning = tuned("contraction 1x2 of 3 #000000000000", "6x8")
    assert program(graph("depthwise"), REGISTRY["wasm"], "float32", tuning=tuning) == program(
        graph("depthwise"), REGISTRY["wasm"], "float32"
    )


def test_the_epilogue_is_not_part_of_the_key():
    bare = parse(
        "graph g\n"
        + dedent(GRAPHS["convolution"])
        .replace("s: float32[1,19,18,64] = Add(c, b)", "")
        .replace("Relu(s)", "Relu(c)")
    )
    keys, others = (
        {item["key"] for item in decided(program(model, REGISTRY["wasm"], "float32"))}
        for model in (graph("convolution"), bare)
    )
    assert keys == others
    larger = parse("graph g\n" + dedent(GRAPHS["convolution"]).replace("19,18", "20,18"))
    assert keys != {item["key"] for item in decided(program(larger, REGISTRY["wasm"], "float32"))}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "expected the schema webkiln.tuned/1"),
        ({"schema": "webkiln.tuned/0", "backends": {}}, "expected the schema webkiln.tuned/1"),
        ({"schema": SCHEMA, "backends": {"wasm": {}}}, "backends.wasm has no table of kernels"),
        (
            {"schema": SCHEMA, "backends": {"wasm": {"kernels": {"pool": {}}}}},
            "'pool', expected the name of a convolution, contraction or product",
        ),
        *(
            (
                {"schema": SCHEMA, "backends": {"wasm": {"kernels": {key: {}}}}},
                f"'{key}', expected {message} of GPUs; run webkiln tune again",
            )
            for key, message in (
                ("product 8x16 of 32 #0", "on integrated or .* or on data centre"),
                ("product 8x16 of 32 on emulated #0", "on integrated or .* or on data centre"),
                ("product 8x16 of 32 on moon #0", "on integrated or .* or on data centre"),
                ("contraction 8x16 of 32 on desktop #0", "no class or on emulated"),
            )
        ),
        (
            {"schema": SCHEMA, "backends": {"wasm": {"kernels": {"contraction x": 3}}}},
            "is 3, expected the name of a candidate",
        ),
        (
            {
                "schema": SCHEMA,
                "backends": {
                    "wasm": {"kernels": {"contraction x": {"chosen": "a", "ms": {"a": "fast"}}}}
                },
            },
            "milliseconds by candidate",
        ),
        (
            {
                "schema": SCHEMA,
                "backends": {
                    "wasm": {"kernels": {"contraction x": {"chosen": "a", "ms": {"b": 1}}}}
                },
            },
            "which was not measured; measured were b",
        ),
    ],
)
def test_malformed_files_are_rejected(data, message):
    with pytest.raises(RecipeError, match=message):
        read(data, "wasm")


def test_an_unknown_candidate_is_rejected():
    item = decided(program(graph("depthwise"), REGISTRY["wasm"], "float32"))[0]
    with pytest.raises(
        RecipeError, match=r"has no candidate '9x9', only 2x16, .*; run webkiln tune again"
    ):
        program(graph("depthwise"), REGISTRY["wasm"], "float32", tuning=tuned(item["key"], "9x9"))


def test_the_cost_model_agrees_with_measured_tiles():
    """One core of a server processor: 8 x 1 reached 0.27 of the peak, 16 x 2 and 8 x 4 0.92, 8 x 6
    all of it. 16 x 3 spills.
    """
    large = parse(
        "graph g\n"
        "input x: float32[1536,256]\n"
        "slot w: float32[256,1536]\n"
        "y: float32[1536,1536] = MatMul(x, w)\n"
        "output out = y\n"
    )
    (item,) = decided(program(large, REGISTRY["wasm"], "float32"))
    expected = {name: ms for name, ms, _ in item["candidates"]}
    assert min(expected, key=expected.__getitem__) == "6x8" == item["chosen"]
    assert 1.0 < expected["4x8"] / expected["6x8"] < 1.1
    assert expected["3x16"] > 1.5 * expected["6x8"]
    assert UNTUNED.trial is None


def test_times_of_launches_become_times_of_candidates():
    def step(layer: str, *pairs: tuple[str, str]) -> dict[str, Any]:
        return {"layer": layer, "decided": [{"key": key, "chosen": name} for key, name in pairs]}

    fast = [
        step("a", ("convolution c", "winograd 2x2")),
        step("a", ("convolution c", "winograd 2x2"), ("contraction m", "6x8")),
        {"layer": "b"},
    ]
    other = [
        step("a", ("convolution c", "winograd 2x2")),
        step("a", ("convolution c", "winograd 2x2"), ("contraction m", "4x8")),
        {"layer": "b"},
    ]
    direct = [
        step("a", ("convolution c", "direct"), ("contraction d", "6x8")),
        step("e", ("convolution c", "direct")),
        {"layer": "b"},
    ]
    rounds = [
        [[1.0, 2.0, 9.0], [1.0, 1.5, 9.0], [4.0, 6.0, 9.0]],
        [[1.0, 2.2, 9.0], [1.0, 1.7, 9.0], [4.0, 6.0, 9.0]],
        [[7.0, 2.1, 9.0], [1.0, 1.6, 9.0], [4.0, 6.0, 9.0]],
    ]
    assert candidate_times([fast, other, direct], rounds) == {
        "convolution c": {"winograd 2x2": 2.6, "direct": 5.0},
        "contraction m": {"6x8": 2.1, "4x8": 1.6},
        "contraction d": {"6x8": 4.0},
    }
    assert fastest(["6x8", "4x8"], {"6x8": 2.0, "4x8": 1.99}) == "6x8", "one per cent is noise"
    assert fastest(["6x8", "4x8"], {"6x8": 2.0, "4x8": 1.9}) == "4x8"


def profile(
    times: list[tuple[float, float]], gpu: dict[str, float] | None = None
) -> dict[str, Any]:
    """A profile of steps, each with its executions and milliseconds."""
    return {"launches": [{"count": count, "ms": ms} for count, ms in times], "gpu": gpu}


def test_steps_of_other_devices_do_not_count():
    """One layer has a branch on the device, whose first block has two launches."""
    form, tile = "product p on desktop", "contraction c on emulated"

    def program(split: str, single: str) -> list[dict[str, Any]]:
        part = {"layer": "a", "decided": [{"key": form, "chosen": split}]}
        return [part, part, {"layer": "a", "decided": [{"key": tile, "chosen": single}]}]

    programs = [program("in 2 parts", "4x4"), program("in 3 parts", "8x4")]
    real = [profile([(1, 2.0), (1, 0.5), (0, 0.0)]), profile([(1, 1.0), (1, 0.75), (0, 0.0)])]
    assert candidate_times(programs, times_of_launches([real])) == {
        form: {"in 2 parts": 2.5, "in 3 parts": 1.75}
    }
    emulated = [profile([(0, 0.0), (0, 0.0), (1, 9.0)]), profile([(0, 0.0), (0, 0.0), (2, 8.0)])]
    assert candidate_times(programs, times_of_launches([emulated])) == {
        tile: {"4x4": 9.0, "8x4": 8.0}
    }


def test_calls_that_share_a_launch_count_as_layers():
    """The launches for the parts of two sums, those that add them, and a layer of the same kind."""
    decided = [{"key": "product p on desktop", "chosen": "in 2 parts"}]
    shared = {"layer": "a+b", "calls": [{"layer": "a"}, {"layer": "b"}], "decided": decided}
    programs = [[shared, shared, {"layer": "c", "decided": decided}]]
    assert candidate_times(programs, [[[6.0, 2.0, 4.0]]]) == {
        "product p on desktop": {"in 2 parts": 4.0}
    }


def test_a_launch_counts_as_after_others():
    """Passes of their own begin later: 0.25 ms after which nothing is computed, instead of 0.1."""
    gpu = {"launches": 2, "emptyMs": 0.25, "gapMs": 0.2}
    rounds = [[profile([(1, 1.25), (2, 0.75), (0, 0.0), (1, 0.2)], gpu)]]
    ((times,),) = times_of_launches(rounds)
    assert times == pytest.approx([1.1, 0.45, None, 0.1])
    for gap, alone in ((-1.0, 0.0), (9.0, 0.25)):
        gpu = {"launches": 2, "emptyMs": 0.25, "gapMs": gap}
        ((times,),) = times_of_launches([[profile([(1, 1.25)], gpu)]])
        assert times == [pytest.approx(1.0 + alone)]


def test_an_emulated_gpu_decides_its_own_kernels_only():
    keys = ("contraction c #0", "contraction c on emulated #0", "product p on desktop #0")
    assert [serves(key, "emulated") for key in keys] == [False, True, False]
    assert all(serves(key, device) for key in keys for device in ("desktop", None))
