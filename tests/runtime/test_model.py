"""The behaviour of a loaded model and its errors for each misuse, in all engines, with and without
a Worker.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.hosts import BEST, every_host
from tests.runtime import fake_bundle
from tests.runtime.tampering import perform
from webkiln.recipe.form import Form

Y = [11.5, 6.0, 10.75, 42.0]
Z = [21.5, 16.0, 20.75, 52.0]

worker_or_main = pytest.mark.parametrize("worker", [True, False], ids=["worker", "main"])
backends = pytest.mark.parametrize("backend", ["js", "wasm"])


@every_host
@worker_or_main
@backends
@pytest.mark.sample(8)
def test_runs(host: str, worker: bool, backend: str, bundle: Path) -> None:
    result = perform(host, bundle, "run", {"backends": backend, "worker": worker})
    assert (result["y"], result["backend"], result["worker"], result["failures"]) == (
        Y,
        backend,
        worker,
        [],
    )
    assert result["variant"] == (BEST[host] if backend == "wasm" else None)


@every_host
@pytest.mark.sample(2)
def test_variant_can_be_chosen(host: str, bundle: Path) -> None:
    assert (
        perform(host, bundle, "run", {"backends": ["wasm"], "variant": "simd"})["variant"] == "simd"
    )


@every_host
@worker_or_main
@pytest.mark.sample(3)
def test_wrong_inputs(host: str, worker: bool, bundle: Path) -> None:
    assert perform(host, bundle, "inputs", {"worker": worker}) == {
        "nothing": "MissingInput",
        "empty": "MissingInput",
        "unknown": "UnknownInput",
        "short": "WrongLength",
        "long": "WrongLength",
        "double": "WrongDtype",
        "integers": "WrongDtype",
        "text": "WrongDtype",
        "scalar": "WrongDtype",
        "strings": "WrongDtype",
        "absent": "MissingInput",
        "nothingness": "WrongDtype",
        "rows": "WrongLength",
        "option": "WrongOption",
        "bare": Y,
        "afterwards": Y,
    }


@every_host
@worker_or_main
@pytest.mark.sample(3)
def test_after_dispose(host: str, worker: bool, bundle: Path) -> None:
    result = perform(host, bundle, "dispose", {"worker": worker})
    assert result.pop("pending") == ["Disposed", "Disposed"]
    assert set(result.values()) == {"Disposed"}


@every_host
@worker_or_main
@pytest.mark.sample(3)
def test_abort_of_a_load(host: str, worker: bool, bundle: Path) -> None:
    result = perform(host, bundle, "abortLoad", {"worker": worker})
    assert result == {
        "before": "Aborted",
        "now": "Aborted",
        "later": "Aborted",
        "progress": "Aborted",
    }


@every_host
@worker_or_main
@pytest.mark.sample(3)
def test_abort_of_a_queued_run(host: str, worker: bool, bundle: Path) -> None:
    result = perform(host, bundle, "abortRun", {"worker": worker})
    assert result == {"second": "Aborted", "first": Y, "third": Z, "early": "Aborted"}


@every_host
@worker_or_main
@backends
@pytest.mark.sample(4)
def test_trap(host: str, worker: bool, backend: str, bundle: Path) -> None:
    result = perform(host, bundle, "trap", {"worker": worker, "backends": backend})
    assert result == {
        "runs": ["no error", "Trapped", "Trapped"],
        "after": "Trapped",
        "disposed": "Disposed",
    }


@every_host
@worker_or_main
@backends
@pytest.mark.sample(4)
def test_concurrent_runs_keep_their_order(
    host: str, worker: bool, backend: str, bundle: Path
) -> None:
    result = perform(host, bundle, "order", {"worker": worker, "backends": backend})
    totals = [10.0 + 4 * sum(range(index)) + 8 * index for index in range(10)]
    assert result == {"sums": totals, "fresh": 10, "again": 10.0, "kept": 4, "timed": True}


@every_host
@worker_or_main
@backends
@pytest.mark.sample(3)
def test_progress_counts_all_bytes(host: str, worker: bool, backend: str, bundle: Path) -> None:
    result = perform(host, bundle, "progress", {"worker": worker, "backends": backend})
    assert result["monotone"]
    assert result["totals"] == [result["expected"]]
    assert result["last"] == result["expected"]


@every_host
@worker_or_main
@backends
@pytest.mark.sample(3)
def test_profile(host: str, worker: bool, backend: str, bundle: Path) -> None:
    first, second, threads = perform(
        host, bundle, "profile", {"worker": worker, "backends": backend, "profile": True}
    )
    assert (first["backend"], first["variant"]) == (
        backend,
        BEST[host] if backend == "wasm" else None,
    )
    assert (first["runs"], first["threads"]) == (3, threads)
    assert (first["peakGflops"] > 0, first["resolutionMs"] >= 0, first["runMs"] >= 0) == (
        True,
        True,
        True,
    )
    assert first["clock"] == "performance.now()"
    (launch,), (entry,) = first["launches"], first["timeline"]
    assert launch.pop("ms") >= 0
    assert launch == {"layer": "scale", "kernel": "k_scale", "flops": 8, "bytes": 48, "count": 1}
    assert (entry["launch"], entry["startMs"] >= 0, entry["ms"] >= 0) == (0, True, True)
    assert (second["runs"], second["timeline"], second["launches"][0]["count"]) == (0, [], 0)


@every_host
@worker_or_main
@pytest.mark.sample(2)
def test_a_model_without_a_profile(host: str, worker: bool, bundle: Path) -> None:
    result = perform(host, bundle, "profileError", {"worker": worker})
    assert (result["code"], result["message"]) == (
        "WrongOption",
        "profile() needs load({ profile: true })",
    )


@every_host
@pytest.mark.sample(1)
def test_a_single_file_has_no_profile(host: str, tmp_path: Path) -> None:
    single = fake_bundle.build(tmp_path, form=Form("single"))
    result = perform(host, single, "loadError", {"profile": True})
    assert result["code"] == "WrongOption"
    assert "build a folder" in result["message"]


@every_host
@worker_or_main
@backends
@pytest.mark.sample(3)
def test_layers(host: str, worker: bool, backend: str, bundle: Path, layers_bundle: Path) -> None:
    options: dict[str, Any] = {"worker": worker, "backends": backend}
    layer = {"layer": "scale", "variable": "scale.out", "dtype": "float32", "shape": [1, 4]}
    result = perform(host, layers_bundle, "layers", options)
    assert result == [{**layer, "data": [1.5, -4.0, 0.75, 32.0], "type": "Float32Array"}]
    assert perform(host, bundle, "layers", options) == []
