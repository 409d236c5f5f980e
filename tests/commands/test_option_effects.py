"""Each option of a command has an effect: on the build, on the code that runs, or on the output."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.commands.small import write_model
from webkiln import canonical, cli
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.recipe.recipe import Inputs, Recipe
from webkiln.recipe.sources import PathSource

Call = Callable[..., str]


@pytest.fixture
def call(
    tmp_path: Path, cache: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Call:
    """Run a command in an empty folder, check its exit status, and return its output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEBKILN_CACHE", str(cache))

    def run(*arguments: str | Path, code: int = 0) -> str:
        got = cli.main(list(map(str, arguments)))
        printed = capfd.readouterr()
        assert got == code, printed
        return printed.out + printed.err

    return run


@pytest.fixture
def build(call: Call, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    model = write_model(tmp_path / "model.onnx")

    def run(
        *options: str | Path, folder: str = "dist/model", backend: str = "js"
    ) -> dict[str, Any]:
        sizes = (
            []
            if any(str(option).startswith(("--dim", "--input-shape")) for option in options)
            else ["--dim", "N=2"]
        )
        call("build", model, "--backend", backend, *sizes, *options)
        return dict(canonical.read(tmp_path / folder / "manifest.json"))

    return run


def shapes(manifest: dict[str, Any], tensors: str = "inputs") -> dict[str, list[Any]]:
    return {item["name"]: item["shape"] for item in manifest[tensors]}


def test_options_change_the_built_model(build: Any, tmp_path: Path) -> None:
    plain = build()
    assert (plain["name"], plain["encoding"], list(plain["backends"])) == (
        "model",
        "float32",
        ["js"],
    )
    assert shapes(plain) == {"x": [2, 4], "factor": []}
    other = build("--name", "other", "--dim", "N=5", "--value", "factor=2.5", folder="dist/other")
    assert (other["name"], shapes(other)) == ("other", {"x": [5, 4]})
    placed = build(
        "--output",
        "here/there",
        "--input-shape",
        "x=T,4",
        "--to-layer",
        "second",
        folder="here/there",
        backend="js,webgl",
    )
    assert (list(placed["backends"]), list(shapes(placed, "outputs"))) == (["js", "webgl"], ["b"])
    assert shapes(placed)["x"] not in ([2, 4], [5, 4])
    assert "T" in json.dumps(shapes(placed)["x"])
    assert set(shapes(build("--from-layer", "first", "--from-layer", "factor"))) == {"a", "factor"}


def test_encodings_have_a_folder_each(build: Any, tmp_path: Path) -> None:
    assert build("--encoding", "float32,float16")["encoding"] == "float32"
    assert canonical.read(tmp_path / "dist/model-float16/manifest.json")["encoding"] == "float16"
    sizes = [
        sum(path.stat().st_size for path in (tmp_path / name).glob("weights-*.bin"))
        for name in ("dist/model", "dist/model-float16")
    ]
    assert sizes == [48, 24]


def test_the_precision_of_a_backend(build: Any) -> None:
    assert "precision" not in build(backend="webgpu")["backends"]["webgpu"]
    assert (
        build("--precision", "float16", backend="webgpu")["backends"]["webgpu"]["precision"]
        == "float16"
    )


@pytest.mark.parametrize(("way", "result"), [("held", 60000), ("rounded", np.inf)])
def test_the_rounding_of_float16_tensors(
    way: str, result: float, call: Call, tmp_path: Path
) -> None:
    """a + b - b, whose sum is beyond the range of float16."""
    nodes = [
        helper.make_node("Add", ["a", "b"], ["s"], "sum"),
        helper.make_node("Sub", ["s", "b"], ["y"], "rest"),
    ]
    a, b, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT16, [2]) for name in "aby")
    graph = helper.make_graph(nodes, "graph", [a, b], [y])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "h.onnx")
    full = np.full(2, 60000, np.float16)
    np.savez(tmp_path / "in.npz", a=full, b=full)
    options = ("--backend", "js", "--float16", way)
    call("build", "h.onnx", *options)
    call("run", "dist/h", "--inputs", "in.npz", "--outputs", "out.npz")
    assert np.load(tmp_path / "out.npz")["y"].tolist() == [result, result]
    assert ("float32" in call("lower", "h.onnx", *options)) == (way == "held")


def test_options_select_the_form_of_a_bundle(build: Any, call: Call, tmp_path: Path) -> None:
    build("--depfile", "files.txt")
    assert str(tmp_path / "model.onnx") in (tmp_path / "files.txt").read_text().splitlines()
    plain = {path.name for path in (tmp_path / "dist/model").iterdir()}
    assert "js.js" in plain
    build("--hashed", "--output", "hashed", folder="hashed")
    hashed = {path.name for path in (tmp_path / "hashed").iterdir()}
    assert "js.js" not in hashed
    assert any(name.startswith(("js-", "js.")) for name in hashed - plain)
    call(
        "build",
        "model.onnx",
        "--backend",
        "js",
        "--dim",
        "N=2",
        "--format",
        "npm",
        "--package",
        "@me/net@1.2.3",
        "--license",
        "MIT",
        "-o",
        "package",
    )
    package = json.loads((tmp_path / "package" / "package.json").read_text())
    assert (package["name"], package["version"], package["license"]) == ("@me/net", "1.2.3", "MIT")


def test_existing_files_are_overwritten_only_with_force(call: Call, tmp_path: Path) -> None:
    write_model(tmp_path / "model.onnx")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "js.js").write_text("mine")
    assert "js.js" in call(
        "build", "model.onnx", "--backend", "js", "--dim", "N=2", "-o", "out", code=2
    )
    assert (tmp_path / "out" / "js.js").read_text() == "mine"
    call("build", "model.onnx", "--backend", "js", "--dim", "N=2", "-o", "out", "--force")
    assert (tmp_path / "out" / "js.js").read_text() != "mine"


@pytest.fixture(scope="module")
def layered(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with its layers, for wasm and js."""
    folder = tmp_path_factory.mktemp("layered")
    recipe = Recipe(
        "model", PathSource(write_model(folder / "model.onnx")), inputs=Inputs(dims={"N": 2})
    )
    with Engine(folder / ".webkiln", cache=cache) as engine:
        action = ModelGraph(recipe, engine.share).bundle(Selection(("wasm", "js"), layers=True))
        engine.publish(action, "bundle/", folder / "bundle")
    return folder / "bundle"


@pytest.fixture
def one_variant(layered: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A copy whose other variants are invalid code, so that running them fails."""

    def copy_variant(name: str) -> Path:
        bundle = Path(shutil.copytree(layered, tmp_path / f"only-{name}"))
        for path in bundle.glob("*.wasm"):
            if path.stem != name:
                path.write_bytes(b"no code")
        return bundle

    return copy_variant


@pytest.mark.parametrize("variant", ["simd", "relaxed"])
@pytest.mark.parametrize("command", ["run", "diff", "profile"])
def test_the_requested_variant_runs(
    command: str, variant: str, call: Call, one_variant: Any, tmp_path: Path
) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones((2, 4), np.float32), factor=np.float32(1))
    files = {
        "run": ["--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz"],
        "diff": ["--against", "js"],
        "profile": ["--runs", "1"],
    }
    bundle = one_variant(variant)
    other = "relaxed" if variant == "simd" else "simd"
    call(command, bundle, "--backend", "wasm", *files[command], "--variant", variant)
    assert other in call(
        command, bundle, "--backend", "wasm", *files[command], "--variant", other, code=2
    )


def test_diff_compares_the_requested_backend(call: Call, layered: Path) -> None:
    assert "js against wasm in node" in call(
        "diff", layered, "--backend", "js", "--against", "wasm"
    )
    assert "wasm against js in node" in call(
        "diff", layered, "--backend", "wasm", "--against", "js"
    )
    assert "wasm against js in node" in call("diff", layered, "--against", "js")


def test_the_tolerance_bounds_a_comparison(call: Call, layered: Path) -> None:
    """js and wasm add in different orders, so that they differ in the last bits."""
    call("diff", layered, "--against", "js", "--bound", "1e-4")
    failed = call("diff", layered, "--against", "js", "--bound", "1e-30", code=2)
    assert "bound 1e-30" in failed


@pytest.mark.parametrize("command", ["run", "diff", "profile"])
def test_run_is_limited_in_time(command: str, call: Call, layered: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones((2, 4), np.float32), factor=np.float32(1))
    files = {
        "run": ["--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz"],
        "diff": ["--against", "js"],
        "profile": ["--runs", "1"],
    }
    assert "0.001" in call(
        command,
        layered,
        "--backend",
        "js" if command != "diff" else "wasm",
        *files[command],
        "--timeout",
        "0.001",
        code=2,
    )


def test_profile_uses_its_runs_and_inputs(call: Call, layered: Path, tmp_path: Path) -> None:
    few_runs, many_runs = (
        call("profile", layered, "--backend", "js", "--runs", str(runs)) for runs in (1, 7)
    )
    assert ("7 runs" in many_runs, "7 runs" in few_runs) == (True, False)
    np.savez(tmp_path / "in.npz", x=np.ones((2, 4), np.float32))
    assert "factor" in call(
        "profile", layered, "--backend", "js", "--inputs", tmp_path / "in.npz", code=2
    )
    call(
        "profile",
        layered,
        "--backend",
        "js",
        "--runs",
        "1",
        "--trace",
        tmp_path / "t.json",
        "--html",
        tmp_path / "t.html",
    )
    assert json.loads((tmp_path / "t.json").read_text())
    assert "<html" in (tmp_path / "t.html").read_text().lower()


def test_explain_uses_its_options(call: Call, layered: Path) -> None:
    both, one = call("explain", layered), call("explain", layered, "--backend", "js")
    assert "bundle, wasm" in both
    assert "bundle, js" in both
    assert "bundle, wasm" not in one
    assert "bundle, js" in one
    assert "candidates" not in one
    assert "js: candidates" in call("explain", layered, "--backend", "js", "--candidates")


def test_the_backends_that_can_be_compiled(call: Call) -> None:
    listed = call("tools", "--backends")
    assert "version" not in listed
    assert {"js", "webgl", "webgpu"} <= set(listed.splitlines()[-1].split(","))
    assert "version" in call("tools")
