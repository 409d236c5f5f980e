"""The options of run, profile, diff, serve, tune and worker reach the code that uses them.
Recorders replace browsers and fleets.
"""

import argparse
import json
import urllib.request
import webbrowser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.commands.conftest import Call
from tests.commands.small import write_model
from webkiln.backends import host
from webkiln.build.tuned import Retuned
from webkiln.commands import diff, profile, run, tune, worker
from webkiln.errors import ToolError
from webkiln.recipe.values import TOLERANCES

WATCHED = "seen"
X = np.ones((1, 2), np.float32)


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    """A bundle of which only the manifest is read."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    tensor = {"name": "x", "dtype": "float32", "shape": [1, 2]}
    variants = [{"name": name, "file": f"{name}.wasm"} for name in ("relaxed", "simd")]
    manifest = {
        "schema": "webkiln.bundle/1",
        "name": "m",
        "encoding": "float32",
        "inputs": [tensor],
        "outputs": [],
        "shards": [],
        "backends": {"wasm": {"variants": variants}, "js": {}},
        "launches": {},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for name in ("index.js", "profile.js"):
        (folder / name).write_text("")
    return folder


def watch(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[dict[str, Any]]:
    """Record the arguments of a function call, which then ends the command."""
    calls: list[dict[str, Any]] = []

    def record(*args: Any, **kwargs: Any) -> Any:
        calls.append({"args": args, **kwargs})
        raise ToolError(WATCHED)

    monkeypatch.setattr(module, name, record)
    return calls


OPTIONS: dict[str, dict[str, tuple[tuple[str, ...], Any, Any]]] = {
    "profile": {
        "variant": (("--variant", "simd"), None, "simd"),
        "host": (("--browser", "firefox"), "node", "firefox"),
        "threads": (("--threads", "3"), 1, 3),
        "runs": (("--runs", "7"), 20, 7),
        "timeout": (("--timeout", "5"), 600.0, 5.0),
    },
    "run": {
        "variant": (("--variant", "simd"), None, "simd"),
        "host": (("--browser", "firefox"), "node", "firefox"),
        "timeout": (("--timeout", "5"), 600.0, 5.0),
    },
    "diff": {
        "variant": (("--variant", "simd"), None, "simd"),
        "host": (("--browser", "firefox"), "node", "firefox"),
        "timeout": (("--timeout", "5"), 600.0, 5.0),
    },
}


@pytest.mark.parametrize(
    ("command", "argument"),
    [(command, argument) for command, row in OPTIONS.items() for argument in row],
)
def test_run_uses_its_options(
    command: str,
    argument: str,
    call: Call,
    shell: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments, default, expected = OPTIONS[command][argument]
    np.savez(tmp_path / "in.npz", x=X)
    required = {
        "profile": (),
        "run": ("--inputs", "in.npz", "--outputs", "out.npz"),
        "diff": ("--against", "js"),
    }[command]
    calls = watch(monkeypatch, host, "profile_bundle" if command == "profile" else "run_bundle")
    for optional in ((), arguments):
        assert WATCHED in call(command, shell, "--backend", "wasm", *required, *optional, code=2)
    assert [recorded[argument] for recorded in calls] == [default, expected]
    assert all(recorded["args"][:2] == (shell, "wasm") for recorded in calls)


@pytest.mark.parametrize("command", ["profile", "run"])
def test_run_uses_the_named_backend_and_inputs(
    command: str, call: Call, shell: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "in.npz", x=5 * X)
    calls = watch(monkeypatch, host, "profile_bundle" if command == "profile" else "run_bundle")
    call(
        command,
        shell,
        "--backend",
        "js",
        "--inputs",
        "in.npz",
        *(["--outputs", "out.npz"] if command == "run" else []),
        code=2,
    )
    (recorded,) = calls
    folder, backend, inputs = recorded["args"]
    assert (folder, backend) == (shell, "js")
    (values,) = inputs if command == "run" else [inputs]
    np.testing.assert_array_equal(values["x"], 5 * X)


@pytest.mark.parametrize(
    ("arguments", "tolerance"),
    [((), TOLERANCES["float32"]), (("--bound", "0.5"), 0.5), (("--bound", "0.01"), 0.01)],
)
def test_the_tolerance_of_diff_is_used(
    arguments: tuple[str, ...],
    tolerance: float,
    call: Call,
    shell: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bounds: set[float] = set()
    result = SimpleNamespace(layers=[1], outputs={}, products="")
    monkeypatch.setattr(
        diff,
        "_run",
        lambda options, bundle, backend, variant, inputs: dict.fromkeys(inputs, result),
    )
    monkeypatch.setattr(diff, "_values", lambda result: {})
    monkeypatch.setattr(
        diff, "layer_errors", lambda retained, expected, bound: bounds.add(bound) or []
    )
    call("diff", shell, "--backend", "wasm", "--against", "js", *arguments)
    assert bounds == {tolerance}


def test_serve_uses_the_port_and_opens_a_browser_by_default(
    call: Call, shell: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    pages: list[bytes] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)

    def wait() -> None:
        if opened:
            with urllib.request.urlopen(opened[-1]) as answer:
                pages.append(answer.read())
        raise KeyboardInterrupt

    event = SimpleNamespace(wait=wait)
    monkeypatch.setattr("webkiln.commands.serve.threading", SimpleNamespace(Event=lambda: event))
    printed = call("serve", shell)
    port = opened[0].rstrip("/").rpartition(":")[2]
    assert opened == [f"http://127.0.0.1:{port}/"]
    assert b"webkiln serve" in pages[0]
    assert opened[0] in printed
    assert opened[0] in call("serve", shell, "--no-open", "--port", port)
    assert len(opened) == 1
    assert "--port" in call("serve", shell, "--port", "65536", code=2)


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []

    def record(
        engine: Any, recipe: Any, backend: str, browser: str, file: Path, *, rerun: bool = False
    ) -> list[Retuned]:
        calls.append(
            {"recipe": recipe, "backend": backend, "browser": browser, "file": file, "rerun": rerun}
        )
        return [Retuned("k", "a", "b", 2.0, 1.0)]

    monkeypatch.setattr(tune, "tune", record)
    return calls


@pytest.mark.parametrize(("arguments", "changed"), [
    ((), {}),
    (("--browser", "node"), {"browser": "node"}),
    (("--force",), {"rerun": True}),
    (("--output", "there.json"), {"file": Path("there.json")}),
    (("-o", "there.json"), {"file": Path("there.json")}),
    (("--backend", "js"), {"backend": "js"}),
])  # fmt: skip
def test_tune_measures_and_writes_the_requested_choices(
    arguments: tuple[str, ...],
    changed: dict[str, Any],
    call: Call,
    tuned: list[dict[str, Any]],
    tmp_path: Path,
) -> None:
    (tmp_path / "m").mkdir()
    write_model(tmp_path / "m" / "model.onnx")
    (tmp_path / "m" / "recipe.toml").write_text('source = "model.onnx"\n')
    printed = call("tune", "m", *arguments)
    (recorded,) = tuned
    expected = {
        "backend": "wasm",
        "browser": "chromium",
        "file": Path("m/tuned.json"),
        "rerun": False,
    } | changed
    assert {name: recorded[name] for name in expected} == expected
    assert str(expected["file"]) in printed
    assert f"{expected['backend']} in {expected['browser']}" in printed


def test_choices_are_written_to_the_file_of_the_recipe(
    call: Call, tuned: list[dict[str, Any]], tmp_path: Path
) -> None:
    write_model(tmp_path / "model.onnx")
    assert "--output" in call("tune", "model.onnx", code=2)
    (tmp_path / "recipe.toml").write_text('source = "model.onnx"\ntuned = "mine.json"\n')
    call("tune", tmp_path)
    assert [recorded["file"] for recorded in tuned] == [tmp_path / "mine.json"]


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return what a worker offers to a scheduler, with a responding cache and a compiler."""
    calls: list[tuple[Any, ...]] = []

    async def record(*arguments: Any) -> None:
        calls.append(arguments)

    monkeypatch.setattr(
        worker,
        "own_cache",
        lambda: SimpleNamespace(probe=lambda: (True, 0.0), close=lambda: None, address="here"),
    )
    monkeypatch.setattr(worker, "missing_compilers", list)
    monkeypatch.setattr(worker, "find", Path)
    monkeypatch.setattr(worker.os, "cpu_count", lambda: 6)
    monkeypatch.setattr(worker, "_work", record)
    return calls


def test_a_worker_offers_the_requested_resources(call: Call, offers: list[tuple[Any, ...]]) -> None:
    outputs = [
        call("worker", "tcp://there:8786", *arguments)
        for arguments in (
            (),
            ("--processors", "3"),
            ("--memory", "2.5"),
            ("--name", "oven"),
            ("--processors", "1", "--memory", "9"),
        )
    ]
    assert [(address, processors, name) for address, processors, _, name in offers] == [
        ("tcp://there:8786", 6, None),
        ("tcp://there:8786", 3, None),
        ("tcp://there:8786", 6, None),
        ("tcp://there:8786", 6, "oven"),
        ("tcp://there:8786", 1, None),
    ]
    memory = [resources.pop("memory") for _, _, resources, _ in offers]
    assert memory == [memory[0], memory[0], 2.5, memory[0], 9]
    for _, processors, resources, _ in offers:
        assert resources.pop("compiler") == 1
        assert resources
        assert {*resources.values()} == {processors}
    assert "offers 3 processors" in outputs[1]
    assert "2.5 memory" in outputs[2]
    assert "not the address" in call("worker", "there:8786", code=2)


def test_a_worker_reports_its_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> Path:
        if name != "firefox":
            raise ToolError(name)
        return Path(name)

    monkeypatch.delenv("SELENIUM_REMOTE_URL", raising=False)
    monkeypatch.setattr(worker, "missing_compilers", lambda: ["none"])
    monkeypatch.setattr(worker, "find", find)
    assert worker.programs(4) == {"firefox": 4.0}


def test_a_worker_without_a_reachable_cache_reports_it(
    call: Call, offers: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        worker,
        "own_cache",
        lambda: SimpleNamespace(probe=lambda: (False, 0.0), close=lambda: None, address="nowhere"),
    )
    assert "nowhere does not answer" in call("worker", "tcp://there:8786", code=2)
    assert not offers


def test_every_option_of_every_command_has_a_test() -> None:
    """A new option of a command that is tested here needs a row."""
    tested = {
        "profile": {*OPTIONS["profile"], "backend", "inputs", "trace", "html"},
        "run": {*OPTIONS["run"], "backend", "inputs", "outputs"},
    }
    for name, module in {"profile": profile, "run": run}.items():
        parser = argparse.ArgumentParser(add_help=False)
        module.add_arguments(parser)
        assert {
            "host" if action.dest == "browser" else action.dest for action in parser._actions
        } == tested[name] | {"bundle"}
