"""Options reach what does the work: servers, profiles, measurements, workers, caches. What would
take a browser or a fleet is watched instead of done.
"""

import argparse
import json
import urllib.request
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.commands.small import write_model
from webkiln import cli
from webkiln.backends import host
from webkiln.build.action import UNSIGNED, ActionResult
from webkiln.build.cache import ActionCache
from webkiln.build.tuned import Retuned
from webkiln.commands import cache as cache_command
from webkiln.commands import diff, profile, run, tune, worker
from webkiln.errors import RecipeError, ToolError
from webkiln.recipe.values import TOLERANCES

Call = Callable[..., str]
WATCHED = "seen"
X = np.ones((1, 2), np.float32)


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Runs a command in an empty folder, with a cache of its own; gives what it prints, and expects
    it to end with a code.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEBKILN_CACHE", str(tmp_path / "cache"))
    for name in (
        "WEBKILN_REMOTE_CACHE",
        "WEBKILN_CACHE_WRITE",
        "WEBKILN_CACHE_KEY",
        "WEBKILN_FLEET",
    ):
        monkeypatch.delenv(name, raising=False)

    def done(*words: str | Path, code: int = 0) -> str:
        got = cli.main([*map(str, words)])
        told = capsys.readouterr()
        assert got == code, told
        return told.out + told.err

    return done


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
    """How a function is called, which then ends the command."""
    calls: list[dict[str, Any]] = []

    def seen(*given: Any, **named: Any) -> Any:
        calls.append({"given": given, **named})
        raise ToolError(WATCHED)

    monkeypatch.setattr(module, name, seen)
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
    given, usual, wanted = OPTIONS[command][argument]
    np.savez(tmp_path / "in.npz", x=X)
    needed = {
        "profile": (),
        "run": ("--inputs", "in.npz", "--outputs", "out.npz"),
        "diff": ("--against", "js"),
    }[command]
    calls = watch(monkeypatch, host, "profile_bundle" if command == "profile" else "run_bundle")
    for more in ((), given):
        assert WATCHED in call(command, shell, "--backend", "wasm", *needed, *more, code=2)
    assert [seen[argument] for seen in calls] == [usual, wanted]
    assert all(seen["given"][:2] == (shell, "wasm") for seen in calls)


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
    (seen,) = calls
    folder, backend, inputs = seen["given"]
    assert (folder, backend) == (shell, "js")
    (values,) = inputs if command == "run" else [inputs]
    np.testing.assert_array_equal(values["x"], 5 * X)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [((), TOLERANCES["float32"]), (("--bound", "0.5"), 0.5), (("--bound", "0.01"), 0.01)],
)
def test_the_tolerance_of_diff_is_used(
    given: tuple[str, ...], wanted: float, call: Call, shell: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds: set[float] = set()
    result = SimpleNamespace(layers=[1], outputs={}, products="")
    monkeypatch.setattr(
        diff,
        "_run",
        lambda options, bundle, backend, variant, inputs: dict.fromkeys(inputs, result),
    )
    monkeypatch.setattr(diff, "_values", lambda result: {})
    monkeypatch.setattr(diff, "layer_errors", lambda kept, expected, bound: bounds.add(bound) or [])
    call("diff", shell, "--backend", "wasm", "--against", "js", *given)
    assert bounds == {wanted}


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
    told = call("serve", shell)
    port = opened[0].rstrip("/").rpartition(":")[2]
    assert opened == [f"http://127.0.0.1:{port}/"]
    assert b"webkiln serve" in pages[0]
    assert opened[0] in told
    assert opened[0] in call("serve", shell, "--no-open", "--port", port)
    assert len(opened) == 1
    assert "--port" in call("serve", shell, "--port", "65536", code=2)


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []

    def seen(
        engine: Any, recipe: Any, backend: str, browser: str, file: Path, *, rerun: bool = False
    ) -> list[Retuned]:
        calls.append(
            {"recipe": recipe, "backend": backend, "browser": browser, "file": file, "rerun": rerun}
        )
        return [Retuned("k", "a", "b", 2.0, 1.0)]

    monkeypatch.setattr(tune, "tune", seen)
    return calls


@pytest.mark.parametrize(("given", "changed"), [
    ((), {}),
    (("--browser", "node"), {"browser": "node"}),
    (("--force",), {"rerun": True}),
    (("--output", "there.json"), {"file": Path("there.json")}),
    (("-o", "there.json"), {"file": Path("there.json")}),
    (("--backend", "js"), {"backend": "js"}),
])  # fmt: skip
def test_tune_measures_and_writes_the_requested_choices(
    given: tuple[str, ...],
    changed: dict[str, Any],
    call: Call,
    tuned: list[dict[str, Any]],
    tmp_path: Path,
) -> None:
    (tmp_path / "m").mkdir()
    write_model(tmp_path / "m" / "model.onnx")
    (tmp_path / "m" / "recipe.toml").write_text('source = "model.onnx"\n')
    told = call("tune", "m", *given)
    (seen,) = tuned
    wanted = {
        "backend": "wasm",
        "browser": "chromium",
        "file": Path("m/tuned.json"),
        "rerun": False,
    } | changed
    assert {name: seen[name] for name in wanted} == wanted
    assert str(wanted["file"]) in told
    assert f"{wanted['backend']} in {wanted['browser']}" in told


def test_choices_are_written_to_the_file_of_the_recipe(
    call: Call, tuned: list[dict[str, Any]], tmp_path: Path
) -> None:
    write_model(tmp_path / "model.onnx")
    assert "--output" in call("tune", "model.onnx", code=2)
    (tmp_path / "recipe.toml").write_text('source = "model.onnx"\ntuned = "mine.json"\n')
    call("tune", tmp_path)
    assert [seen["file"] for seen in tuned] == [tmp_path / "mine.json"]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What a worker offers to a scheduler; it has a cache that answers, and a compiler."""
    calls: list[tuple[Any, ...]] = []

    async def seen(*given: Any) -> None:
        calls.append(given)

    monkeypatch.setattr(
        worker,
        "own_cache",
        lambda: SimpleNamespace(probe=lambda: (True, 0.0), close=lambda: None, address="here"),
    )
    monkeypatch.setattr(worker, "missing_compilers", list)
    monkeypatch.setattr(worker, "find", Path)
    monkeypatch.setattr(worker.os, "cpu_count", lambda: 6)
    monkeypatch.setattr(worker, "_work", seen)
    return calls


def test_a_worker_offers_the_requested_resources(
    call: Call, offered: list[tuple[Any, ...]]
) -> None:
    told = [
        call("worker", "tcp://there:8786", *given)
        for given in (
            (),
            ("--processors", "3"),
            ("--memory", "2.5"),
            ("--name", "oven"),
            ("--processors", "1", "--memory", "9"),
        )
    ]
    assert [(address, processors, name) for address, processors, _, name in offered] == [
        ("tcp://there:8786", 6, None),
        ("tcp://there:8786", 3, None),
        ("tcp://there:8786", 6, None),
        ("tcp://there:8786", 6, "oven"),
        ("tcp://there:8786", 1, None),
    ]
    memory = [resources.pop("memory") for _, _, resources, _ in offered]
    assert memory == [memory[0], memory[0], 2.5, memory[0], 9]
    for _, processors, resources, _ in offered:
        assert resources.pop("compiler") == 1
        assert resources
        assert {*resources.values()} == {processors}
    assert "offers 3 processors" in told[1]
    assert "2.5 memory" in told[2]
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
    call: Call, offered: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        worker,
        "own_cache",
        lambda: SimpleNamespace(probe=lambda: (False, 0.0), close=lambda: None, address="nowhere"),
    )
    assert "nowhere does not answer" in call("worker", "tcp://there:8786", code=2)
    assert not offered


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("7", 7),
        ("7B", 7),
        ("1.5K", 1500),
        ("2kB", 2000),
        ("3M", 3_000_000),
        ("4 GiB", 4_000_000_000),
        ("1t", 10**12),
    ],
)
def test_sizes_of_a_cache(text: str, count: int) -> None:
    assert cache_command._bytes(text) == count


@pytest.mark.parametrize("text", ["", "G", "-1", "5X", "1e3", "5GB more"])
def test_invalid_sizes_are_rejected(text: str) -> None:
    with pytest.raises(RecipeError, match="--max-size"):
        cache_command._bytes(text)


KEYS = [digit * 64 for digit in "abc"]


@pytest.fixture
def filled(tmp_path: Path) -> ActionCache:
    """A cache with three results, of which an unsigned one is from elsewhere."""
    made = ActionCache(tmp_path / "cache")
    for number, (key, provenance) in enumerate(zip(KEYS, ("here", "here", UNSIGNED), strict=True)):
        (tmp_path / "blob").write_bytes(bytes([number]) * 1000)
        made._write(
            key, ActionResult({"out": made.store.put(tmp_path / "blob")}, provenance=provenance)
        )
    return made


def test_cache_stat_counts(filled: ActionCache, call: Call) -> None:
    told = call("cache", "stat")
    assert "3 results, 3 files of 3.0 KB, 0 more in the remote cache" in told
    assert "  2 built here\n  1 from a remote cache, unsigned\n" in told
    assert "no remote cache" in told


def test_cache_gc_removes_old_unused_results(
    filled: ActionCache, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "removed 0 results and 0 files" in call("cache", "gc")
    monkeypatch.setattr(ActionCache.gc, "__defaults__", (-1,))
    assert "removed 3 results and 3 files" in call("cache", "gc")


def test_cache_gc_to_a_size_retains_recent_results(
    filled: ActionCache, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "removed 0 results and 0 files" in call("cache", "gc", "--max-size", "0")
    monkeypatch.setattr(ActionCache.shrink, "__defaults__", (-1,))
    assert "removed 1 results and 1 files" in call("cache", "gc", "--max-size", "2K")
    assert "removed 0 results and 0 files" in call("cache", "gc", "--max-size", "2KB")
    assert "removed 2 results and 2 files" in call("cache", "gc", "--max-size", "999")


def test_cache_verify_reports_and_removes_damaged_blobs(filled: ActionCache, call: Call) -> None:
    assert "all bytes are intact" in call("cache", "verify")
    blob = next(iter(filled.store.digests()))
    path = filled.store.path(blob)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    told = call("cache", "verify", code=1)
    assert f"removed: blob {blob}" in told
    assert "2 removed, which will be rebuilt" in told
    assert "all bytes are intact" in call("cache", "verify")
    assert "2 results, 2 files" in call("cache", "stat")


def test_cache_push_and_pull(
    filled: ActionCache, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for verb in ("push", "pull"):
        assert "WEBKILN_REMOTE_CACHE names no remote cache" in call("cache", verb, code=2)
    (tmp_path / "team").mkdir()
    (tmp_path / "secret").write_bytes(b"s" * 32)
    monkeypatch.setenv("WEBKILN_REMOTE_CACHE", str(tmp_path / "team"))
    monkeypatch.setenv("WEBKILN_CACHE_KEY", f"hmac:{tmp_path}/secret")
    assert "WEBKILN_CACHE_WRITE is not 1" in call("cache", "push", code=2)
    monkeypatch.setenv("WEBKILN_CACHE_WRITE", "1")
    told = call("cache", "push")
    assert "2 results are stored" in told
    assert "omitted, since this key does not sign them: 1 from a remote cache, unsigned" in told
    assert (
        len([*(tmp_path / "team").glob("ac/??/*")])
        == len([*(tmp_path / "team").glob("cas/??/*")])
        == 2
    )
    told = call("cache", "stat")
    assert "1 from a remote cache, unsigned, not readable with this key" in told
    assert "answers in" in told
    assert "results are stored; signed by hmac-sha256:" in told
    monkeypatch.setenv("WEBKILN_REMOTE_CACHE", str(tmp_path / "nowhere"))
    assert "does not answer" in call("cache", "stat", code=1)


def test_cache_pull_fetches_the_results_of_all_trees(
    filled: ActionCache, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "team").mkdir()
    monkeypatch.setenv("WEBKILN_REMOTE_CACHE", str(tmp_path / "team"))
    monkeypatch.setenv("WEBKILN_CACHE_WRITE", "1")
    assert "3 results are stored" in call("cache", "push")
    result = filled.local(KEYS[0])
    assert result is not None
    state = tmp_path / "state"
    (state / "m").mkdir(parents=True)
    (state / "m" / "load.json").write_text(
        json.dumps({"key": KEYS[0], "result": result.to_json(), "provenance": "here", "reads": []})
    )
    filled.register(state)
    assert "0 files of 0" in call("cache", "pull")
    blob = result.outputs["out"]
    filled.store.path(blob.sha256).unlink()
    filled.store.mark_remote([blob])
    assert "1 files of 1.0 KB fetched" in call("cache", "pull")
    assert filled.store.path(blob.sha256).read_bytes() == bytes(1000)
    filled.store.path(blob.sha256).unlink()
    (tmp_path / "team" / "cas" / blob.sha256[:2] / blob.sha256).unlink()
    assert "1 files are missing" in call("cache", "pull", code=2)


def test_every_option_of_every_command_has_a_test() -> None:
    """Of commands whose options are tried here, a new option needs a row."""
    known = {
        "profile": {*OPTIONS["profile"], "backend", "inputs", "trace", "html"},
        "run": {*OPTIONS["run"], "backend", "inputs", "outputs"},
    }
    for name, module in {"profile": profile, "run": run}.items():
        parser = argparse.ArgumentParser(add_help=False)
        module.add_arguments(parser)
        assert {
            "host" if action.dest == "browser" else action.dest for action in parser._actions
        } == known[name] | {"bundle"}
