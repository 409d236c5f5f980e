"""`webkiln profile`: every launch with its layer and number of executions, on every backend; the
trace, the page, and errors.
"""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.bundle_page import in_page
from tests.commands.conftest import Command
from webkiln import canonical
from webkiln.backends import browsers, host
from webkiln.backends.samples import sample_inputs
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.commands.flame import page
from webkiln.commands.profile import shown
from webkiln.recipe.form import Form
from webkiln.recipe.recipe import Bundle, Inputs, Recipe
from webkiln.recipe.sources import PathSource
from webkiln.recipe.values import BACKENDS

STEPS = 5
SHAPES = {"steps": (1, STEPS, 3)}
LEGS = [("node", "wasm"), ("node", "js"), *(("chromium", backend) for backend in BACKENDS)]
on_every_leg = pytest.mark.parametrize(("browser", "backend"), LEGS)


@pytest.fixture(scope="module")
def built(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A recurrence, a network with a procedure whose result has a data-dependent size, and one that
    is large enough for several threads.
    """
    import keras
    import onnx
    from onnx import TensorProto, helper

    folder = tmp_path_factory.mktemp("built")
    x = keras.Input((None, 3), name="steps")
    keras.Model(x, keras.layers.Dense(2, name="head")(keras.layers.LSTM(4, name="memory")(x))).save(
        folder / "recurrence.keras"
    )
    y = keras.Input((64, 512), name="x")
    keras.Model(y, keras.layers.Dense(1024, name="wide")(y)).save(folder / "shared.keras")
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "rectified"),
        helper.make_node("NonZero", ["a"], ["where"], "places"),
        helper.make_node("Neg", ["a"], ["y"], "negated"),
    ]
    x_info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 5])
    results = [
        helper.make_tensor_value_info("where", TensorProto.INT64, [2, "n"]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 5]),
    ]
    graph = helper.make_graph(nodes, "procedure", [x_info], results)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
        folder / "procedure.onnx",
    )
    with Engine(folder / ".webkiln", cache=cache) as engine:
        for name, backends in (
            ("recurrence.keras", BACKENDS),
            ("procedure.onnx", BACKENDS),
            ("shared.keras", ("wasm",)),
        ):
            shapes = SHAPES if name == "recurrence.keras" else {}
            actions = ModelGraph(
                Recipe(Path(name).stem, PathSource(folder / name), inputs=Inputs(shapes=shapes)),
                engine.share,
            )
            engine.publish(actions.bundle(Selection(backends)), "bundle/", folder / Path(name).stem)
    return {name: folder / name for name in ("recurrence", "procedure", "shared")}


def profiled(bundle: Path, backend: str, browser: str, **options: Any) -> dict[str, Any]:
    inputs = next(iter(sample_inputs(host.read_manifest(bundle)).values()))
    return host.profile_bundle(bundle, backend, inputs, host=browser, runs=2, **options)


def counts(backend: str) -> set[int]:
    """How often the launches of the recurrence run. On webgpu, one launch computes all steps on
    larger GPUs than the emulated one.
    """
    return {0, 1, STEPS} if backend == "webgpu" else {1, STEPS}


@on_every_leg
@pytest.mark.sample(4)
def test_every_launch_is_counted(built: dict[str, Path], browser: str, backend: str) -> None:
    profile = profiled(built["recurrence"], backend, browser)
    assert (profile["backend"], profile["threads"], profile["runs"]) == (backend, 1, 2)
    assert profile["peakGflops"] > 0
    assert [name for name in ("peakGigabytes", "gpu") if profile[name] is None] == (
        [] if backend == "webgpu" else ["peakGigabytes", "gpu"]
    )
    assert profile["resolutionMs"] >= 0
    launches = profile["launches"]
    explained = host.read_manifest(built["recurrence"])["launches"][backend]
    assert [launch["kernel"] for launch in launches if launch["kernel"] != "copy"] == [
        item["kernel"] for item in explained
    ]
    assert [launch["layer"] for launch in launches if launch["kernel"] != "copy"] == [
        item["layer"] for item in explained
    ]
    done = [launch for launch in launches if launch["kernel"] != "copy"]
    assert all(
        launch["count"] * launch["flops"] == item["flops"]
        for launch, item in zip(done, explained, strict=True)
        if launch["count"]
    )
    assert {launch["count"] for launch in launches} == counts(backend)
    repeated = {launch["layer"] for launch in launches if launch["count"] == STEPS}
    assert repeated == ({"memory"} if STEPS in counts(backend) else set())
    assert all(launch["ms"] >= 0 for launch in launches)
    done = [entry["launch"] for entry in profile["timeline"]]
    assert {number: done.count(number) for number in set(done)} == {
        number: launch["count"] for number, launch in enumerate(launches) if launch["count"]
    }


@on_every_leg
@pytest.mark.sample(3)
def test_procedures_and_data_dependent_launches_are_counted(
    built: dict[str, Path], browser: str, backend: str
) -> None:
    launches = profiled(built["procedure"], backend, browser)["launches"]
    assert sorted(launch["layer"] for launch in launches) == ["negated", "places", "rectified"]
    assert {launch["count"] for launch in launches} == {1}


@pytest.mark.parametrize("browser", ["node", "chromium"])
def test_threads(built: dict[str, Path], browser: str) -> None:
    profile = profiled(built["shared"], "wasm", browser, threads=2)
    assert (profile["threads"], [launch["layer"] for launch in profile["launches"]]) == (
        2,
        ["wide"],
    )


def test_table_trace_and_page(webkiln: Command, built: dict[str, Path], tmp_path: Path) -> None:
    options = (
        "--backend",
        "wasm",
        "--variant",
        "simd",
        "--runs",
        "3",
        "--trace",
        tmp_path / "trace.json",
        "--html",
        tmp_path / "page.html",
    )
    done = webkiln("profile", built["recurrence"], *options)
    assert done.returncode == 0, done.stderr
    head, by_layer = done.stdout.split("by layer\n")
    assert "recurrence in node, wasm (simd), 1 thread: " in head
    assert "3 runs, of which the faster half is averaged; times by performance.now()" in head
    rows = [line.split() for line in head.splitlines() if re.match(r" *\d+\.\d+ ", line)]
    times = [float(row[0]) for row in rows[:-1]]
    assert times == sorted(times, reverse=True)
    assert rows[-1][-2:] == ["all", "launches"]
    assert {line.split()[-1] for line in by_layer.splitlines() if "launch" in line} >= {
        "memory",
        "head",
    }
    check_trace(canonical.read(tmp_path / "trace.json"))
    check_page(tmp_path / "page.html")


def check_trace(trace: dict[str, Any]) -> None:
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert {event["ph"] for event in trace["traceEvents"]} == {"M", "X"}
    for event in events:
        assert event.keys() >= {"name", "cat", "ts", "dur", "pid", "tid", "args"}
        assert event["dur"] >= 0
    layers = [event for event in events if event["cat"] == "layer"]
    launches = [event for event in events if event["cat"] == "launch"]
    assert {event["name"] for event in layers} >= {"memory", "head"}
    assert sum(event["args"]["layer"] == "head" for event in launches) == 1
    for launch in launches:
        name = launch["args"]["layer"] or "(no layer)"
        assert any(
            layer["name"] == name
            and layer["ts"] <= launch["ts"]
            and launch["ts"] + launch["dur"] <= layer["ts"] + layer["dur"] + 0.002
            for layer in layers
        )


def check_page(path: Path) -> None:
    text = path.read_text()
    assert "http" not in text
    assert "<script" not in text
    browser = browsers.session("chromium")
    browser.get(path.as_uri())
    shown_values = browser.execute_script(
        'return [document.title, document.querySelectorAll(\'svg[aria-label="flame chart"]'
        " rect').length, [...document.querySelectorAll('h2')].map(title => title.textContent),"
        " document.documentElement.scrollWidth <= innerWidth]"
    )
    assert shown_values[0] == "recurrence in node: profile"
    assert shown_values[1] >= 4
    assert shown_values[2] == ["Flame chart", "Launches", "Layers"]
    assert shown_values[3]


WRONG = {
    ("--backend", "webgpu"): "webgpu needs a browser",
    ("--backend", "cuda"): "has no backend 'cuda'",
    ("--backend", "wasm", "--variant", "avx"): "has no variant 'avx'",
    ("--runs", "0"): "--runs is 0, expected at least 1",
    ("--threads", "0"): "--threads is 0, expected at least 1",
    ("--inputs", "absent.npz"): "absent.npz: no such file",
}


@pytest.mark.parametrize("options", WRONG, ids=" ".join)
def test_invalid_arguments_are_errors(
    webkiln: Command, built: dict[str, Path], options: tuple[str, ...]
) -> None:
    done = webkiln("profile", built["recurrence"], *options)
    assert done.returncode == 2
    assert WRONG[options] in done.stderr


def test_bundles_without_profiles(
    webkiln: Command, built: dict[str, Path], cache: Path, tmp_path: Path
) -> None:
    assert "there is no manifest.json" in webkiln("profile", tmp_path).stderr
    bare = Path(shutil.copytree(built["recurrence"], tmp_path / "bare"))
    (bare / "profile.js").unlink()
    done = webkiln("profile", bare)
    assert (done.returncode, "there is no profile.js" in done.stderr) == (2, True)
    with Engine(tmp_path / ".webkiln", cache=cache) as engine:
        recipe = Recipe(
            "recurrence",
            PathSource(built["recurrence"].parent / "recurrence.keras"),
            inputs=Inputs(shapes=SHAPES),
            bundle=Bundle(form=Form("single")),
        )
        engine.publish(
            ModelGraph(recipe, engine.share).bundle(Selection(("js",))),
            "bundle/",
            tmp_path / "single",
        )
    done = webkiln("profile", tmp_path / "single")
    assert (done.returncode, "build the model as a folder" in done.stderr) == (2, True)


def test_inputs_set_open_sizes(
    webkiln: Command, built: dict[str, Path], cache: Path, tmp_path: Path
) -> None:
    import numpy as np

    source = PathSource(built["recurrence"].parent / "recurrence.keras")
    with Engine(tmp_path / ".webkiln", cache=cache) as engine:
        inputs = Inputs(shapes={"steps": (1, "T", 3)})
        recipe = Recipe("open", source, inputs=inputs, bundle=Bundle(form=Form(hashed=True)))
        engine.publish(
            ModelGraph(recipe, engine.share).bundle(Selection(("js",))),
            "bundle/",
            tmp_path / "open",
        )
    np.savez(tmp_path / "in.npz", steps=np.ones((1, 7, 3), np.float32))
    options = (
        "--backend",
        "js",
        "--runs",
        "1",
        "--inputs",
        tmp_path / "in.npz",
        "--trace",
        tmp_path / "trace.json",
    )
    done = webkiln("profile", tmp_path / "open", *options)
    assert done.returncode == 0, done.stderr
    events = [
        event
        for event in canonical.read(tmp_path / "trace.json")["traceEvents"]
        if event.get("cat") == "launch"
    ]
    repeated = [event["args"]["launch"] for event in events if event["args"]["layer"] == "memory"]
    assert max(map(repeated.count, repeated)) == 7
    assert all(isinstance(event["args"]["bytes"], int) for event in events)


NO_STAMPS = """const real = GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = function (wanted) {
  return real.call(this,
    { ...wanted, requiredFeatures:
    wanted.requiredFeatures.filter(name => name !== 'timestamp-query') });
};"""
"""A GPU without timestamps."""
QUERIES = """const context = WebGL2RenderingContext.prototype, real = context.getExtension;
let open = null;
context.getExtension = function (name) {
  return name === 'EXT_disjoint_timer_query_webgl2' ? {} : real.call(this, name); };
context.getParameter = (real => function (name) {
  return name === 0x8fbb ? DISJOINT : real.call(this, name); })(context.getParameter);
context.createQuery = () => ({ asked: 0 });
context.deleteQuery = () => {};
context.beginQuery = (target, query) => {
  if (open || target !== 0x88bf) throw new Error('a query is open');
  open = query;
};
context.endQuery = () => {
  if (!open) throw new Error('no query is open');
  open = null;
};
context.getQueryParameter = (query, name) => name === 0x8867 ? query.asked++ > 0 : 2000000;"""
"""A GPU with timer queries: each measures 2 ms and is available when requested a second time."""


def patched(bundle: Path, backend: str, patch: str) -> dict[str, Any]:
    """The profile of three runs in a page whose engine is patched."""
    script = f"""const done = arguments[0];
{patch}
import('/bundle/index.js').then(async ({{ load, manifest }}) => {{
  const model = await load({{ backends: ['{backend}'], worker: false, profile: true }});
  const [{{ shape }}] = manifest.inputs;
  for (let run = 0; run < 3; run++) await model.run(
    new Float32Array(shape.reduce((a, b) => a * b)));
  done(await model.profile());
}}).catch(error => done({{ error: String(error) }}));"""
    return in_page(bundle, script)


@pytest.mark.parametrize(
    ("backend", "patch", "clock"),
    [
        ("webgpu", NO_STAMPS, "a wait for each dispatch, since WebGPU has no timestamps here"),
        ("webgl", QUERIES.replace("DISJOINT", "false"), "timer queries of WebGL"),
    ],
)
def test_other_clocks(built: dict[str, Path], backend: str, patch: str, clock: str) -> None:
    profile = patched(built["recurrence"], backend, patch)
    assert (profile.get("error"), profile["clock"], profile["runs"]) == (None, clock, 3)
    assert {launch["count"] for launch in profile["launches"]} == counts(backend)
    if backend == "webgl":
        assert profile["resolutionMs"] == 2
        assert {launch["ms"] for launch in profile["launches"]} == {2, 2 * STEPS}


def test_runs_with_failed_queries_are_excluded(built: dict[str, Path]) -> None:
    assert patched(built["recurrence"], "webgl", QUERIES.replace("DISJOINT", "true"))["runs"] == 0


def test_a_procedure_without_timestamps_is_refused(built: dict[str, Path]) -> None:
    assert "profile another backend" in patched(built["procedure"], "webgpu", NO_STAMPS)["error"]


def test_launches_below_the_clock_resolution_are_reported(built: dict[str, Path]) -> None:
    profile = profiled(built["recurrence"], "js", "node")
    instant = {
        **profile,
        "runMs": 0,
        "resolutionMs": 1,
        "launches": [{**launch, "ms": 0} for launch in profile["launches"]],
    }
    instant["timeline"] = [{**entry, "startMs": 0, "ms": 0} for entry in profile["timeline"]]
    count = len(profile["launches"])
    assert f"{count} of {count} launches take less than a clock tick each" in shown(
        "still", instant
    )
    assert "All launches took less than a clock tick." in page("still", instant)
