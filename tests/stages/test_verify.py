"""verify accepts a correct bundle, rejects wrong ones and locates the error; report shows the
results of verify.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser import screenshots
from tests.hosts import HOSTS
from tests.runtime import fake_bundle
from webkiln import canonical
from webkiln.backends import browsers
from webkiln.backends.compare import compare, relative_error, relative_errors
from webkiln.backends.frame import FrameResult
from webkiln.errors import VerificationError

verify = fake_bundle.stage("verify")
report = fake_bundle.stage("report")
SETS = {
    "natural0": [[0.5, -1.0, 2.0, 0.25]],
    "natural1": [[-0.75, 0.5, 1.0, 3.0]],
    "extreme": [[0.0, 1e6, -1e6, 3.0]],
}


def write_reference(
    folder: Path, *, factor: float = 1.0, layer_factor: float = 1.0, noise: float = 0.0
) -> dict[str, Path]:
    reference, layers = {}, {}
    for name, values in SETS.items():
        x = np.array(values, np.float32)
        reference[f"{name}/in/x"] = x
        reference[f"{name}/out/y"] = fake_bundle.expected(x) * np.float32(factor)
        reference[f"{name}/noise/y"] = np.float64(noise)
        layers[f"{name}/scale"] = x * fake_bundle.WEIGHT * np.float32(layer_factor)
    np.savez(folder / "reference.npz", **reference)  # type: ignore[arg-type]
    np.savez(folder / "layers.npz", **layers)  # type: ignore[arg-type]
    return {"reference.npz": folder / "reference.npz", "layers.npz": folder / "layers.npz"}


def run(bundle: Path, folder: Path, files: dict[str, Path], **changes: Any) -> dict[str, Any]:
    params = {
        "backend": "wasm",
        "variant": "simd",
        "browser": "node",
        "tolerance": 1e-4,
        "layers": True,
        **changes,
    }
    verify.run({"bundle/": bundle, **files}, {"result.json": folder / "result.json"}, params)
    result: dict[str, Any] = canonical.read(folder / "result.json")
    return result


@pytest.mark.parametrize("browser", HOSTS)
@pytest.mark.parametrize("backend", ["js", "wasm"])
def test_a_correct_bundle_passes(
    browser: str, backend: str, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variant = "relaxed" if backend == "wasm" else None
    result = run(
        bundle,
        tmp_path,
        write_reference(tmp_path),
        backend=backend,
        browser=browser,
        variant=variant,
    )
    assert [row["set"] for row in result["outputs"]] == list(SETS)
    assert all(
        row["passed"] and row["relative"] < 1e-6 and row["cosine"] > 0.999999
        for row in result["outputs"]
    )
    assert (result["backend"], result["browser"], result["variant"]) == (backend, browser, variant)
    assert result["browser_version"]
    assert "natural0/y: max abs" in capsys.readouterr().out


@pytest.mark.parametrize("factor", [1.001, 0.0, float("nan"), float("inf")])
def test_wrong_output_fails_and_writes_nothing(factor: float, bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="outputs differ"), np.errstate(invalid="ignore"):
        run(bundle, tmp_path, write_reference(tmp_path, factor=factor))
    assert not (tmp_path / "result.json").exists()


def test_first_diverging_layer_is_named(bundle: Path, tmp_path: Path) -> None:
    files = write_reference(tmp_path, factor=1.01, layer_factor=1.02)
    with pytest.raises(
        VerificationError,
        match=(
            r"the first layer that diverges is scale \[1, 4\] \(relative error 0\.0196.*worst at"
            r" \[0, 1\]: got 2, expected 2\.04.*natural0"
        ),
    ):
        run(bundle, tmp_path, files)
    with pytest.raises(VerificationError, match="no layer exceeds its bound"):
        run(bundle, tmp_path, write_reference(tmp_path, factor=1.01))
    with pytest.raises(VerificationError, match="has no layers; webkiln diff finds"):
        run(bundle, tmp_path, files, layers=False)


def test_noise_of_the_framework_widens_the_bound(bundle: Path, tmp_path: Path) -> None:
    result = run(bundle, tmp_path, write_reference(tmp_path, factor=1.001, noise=2e-4))
    assert {row["bound"] for row in result["outputs"]} == {2e-3}
    with pytest.raises(VerificationError):
        run(bundle, tmp_path, write_reference(tmp_path, factor=1.001, noise=9e-6))


def test_altered_weight_is_caught(tmp_path: Path) -> None:
    altered = fake_bundle.WEIGHT.copy()
    altered[2] *= 1.01
    original, fake_bundle.WEIGHT = fake_bundle.WEIGHT, altered
    try:
        bundle = fake_bundle.build(tmp_path / "mutant", keep_layers=True)
    finally:
        fake_bundle.WEIGHT = original
    with pytest.raises(VerificationError, match="the first layer that diverges is scale"):
        run(bundle, tmp_path, write_reference(tmp_path))


@pytest.mark.parametrize(
    ("got", "reference", "relative"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.2], [1.0, 2.0], 0.1),
        ([0.0, 1e-7], [0.0, 0.0], 0.1),
        ([np.nan, 1.0], [np.nan, 1.0], 0.0),
        ([np.inf, 1.0], [np.inf, 1.0], 0.0),
        ([np.inf, 1.0], [-np.inf, 1.0], None),
        ([np.nan, 1.0], [0.0, 1.0], None),
        ([0.0, 1.0], [np.nan, 1.0], None),
        ([1.0], [1.0, 2.0], None),
    ],
)
def test_compare(got: list[float], reference: list[float], relative: float | None) -> None:
    assert compare(np.array(got), np.array(reference)).relative == (
        relative if relative is None else pytest.approx(relative)
    )


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("got", "reference", "error"),
    [
        ([1, 2.2], [1, 2], 0.1),
        ([0, 0], [0, 0], 0),
        ([0, 1e-7], [0, 0], 0.1),
        ([NAN, NAN], [1, 1], INF),
        ([NAN, 1], [NAN, 1], 0),
        ([1, NAN], [NAN, 1], INF),
        ([1, 1], [NAN, NAN], INF),
        ([INF, -INF, 2.2], [INF, -INF, 2], 0.1),
        ([INF], [-INF], INF),
        ([INF], [1], INF),
        ([1], [INF], INF),
        ([NAN], [INF], INF),
        ([], [], 0),
        (np.zeros((0, 2)), np.zeros((2, 0)), INF),
        ([], [1], INF),
        ([1], [1, 1], INF),
        ([[1, 1]], [1, 1], INF),
        (1, [1], INF),
        (np.float16([1, 2.25]), np.float64([1, 2]), 0.125),
        (np.uint8([0, 255]), np.int8([0, -1]), 256),
        (np.array([True, False]), np.float32([1, 0]), 0),
        (np.int32([2**31 - 1]), np.int32([-(2**31)]), 2 - 2**-31),
        (np.float32([3e38]), np.float32([-3e38]), 2),
    ],
)
def test_relative_error(got: Any, reference: Any, error: float) -> None:
    assert relative_error(np.asarray(got), np.asarray(reference)) == pytest.approx(error, rel=1e-12)


def test_relative_errors_of_elements() -> None:
    got, reference = np.array([NAN, NAN, INF, 1.5, -2.0]), np.array([NAN, 1.0, -INF, 1.0, -2.0])
    assert relative_errors(got, reference).tolist() == [0, INF, INF, 0.25, 0]


@pytest.fixture(scope="module")
def reported(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    files = write_reference(folder)
    inputs = {"bundle/": bundle}
    cases = [
        ("wasm", "simd", "chromium"),
        ("wasm", "relaxed", "chromium"),
        ("js", None, "chromium"),
        ("wasm", "simd", "node"),
        ("js", None, "node"),
        ("webgpu", None, "webkit"),
    ]
    for index, (backend, variant, browser) in enumerate(cases):
        (folder / str(index)).mkdir()
        run(bundle, folder / str(index), files, backend=backend, variant=variant, browser=browser)
        inputs[f"result.{index}.json"] = folder / str(index) / "result.json"
    outputs = {
        "report.html": folder / "report.html",
        "verification.json": folder / "verification.json",
    }
    report.run(inputs, outputs, {"name": "fake", "compared": []})
    return folder


def test_verification_json(reported: Path, bundle: Path) -> None:
    summary = canonical.read(reported / "verification.json")
    assert (summary["name"], summary["passed"], len(summary["results"])) == ("fake", True, 6)
    assert [
        (result["browser"], result["not_run"])
        for result in summary["results"]
        if "not_run" in result
    ] == [("webkit", "webgpu: not offered by WebKitGTK")]
    assert set(summary["sizes"]) == set(canonical.read(bundle / "manifest.json")["files"]) - {
        "profile.js"
    }
    assert all(0 < size["brotli"] <= size["bytes"] + 8 for size in summary["sizes"].values())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_report_is_a_page_with_plots(reported: Path, scheme: str) -> None:
    text = (reported / "report.html").read_text()
    assert "http" not in text
    assert "<script" not in text
    assert "webgpu: not offered by WebKitGTK" in text
    browser = browsers.session("chromium")
    browser.get((reported / "report.html").as_uri())
    pixels = screenshots.screenshot(scheme)
    assert screenshots.has_content(pixels)
    assert (pixels.mean() > 128) == (scheme == "light")
    counts = browser.execute_script(
        "return ['circle', 'rect:not(.track)', 'tr'].map(name =>"
        " document.querySelectorAll(name).length);"
    )
    assert counts[0] == 15
    assert counts[1] >= 5 + 2 * 10
    assert counts[2] >= 15 + 5 + 10
    fits = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth;"
    assert browser.execute_script(fits)


def test_a_backend_that_does_not_run_is_reported_and_not_verified(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(
        bundle, tmp_path, write_reference(tmp_path), backend="webgpu", variant="", browser="webkit"
    )
    reason = "webgpu: not offered by WebKitGTK"
    assert (result["not_run"], result["outputs"], result["variant"]) == (reason, [], None)
    assert f"not verified in webkit: {reason}" in capsys.readouterr().out
    outputs = {
        "report.html": tmp_path / "report.html",
        "verification.json": tmp_path / "verification.json",
    }
    report.run(
        {"bundle/": bundle, "result.0.json": tmp_path / "result.json"},
        outputs,
        {"name": "fake", "compared": []},
    )
    assert canonical.read(outputs["verification.json"])["passed"] is False


def test_report_shows_a_failure() -> None:
    row = {
        "set": "a",
        "output": "y",
        "max_abs": None,
        "relative": None,
        "cosine": None,
        "noise": 0.0,
        "bound": 1e-4,
        "passed": False,
    }
    result = {
        "backend": "js",
        "variant": None,
        "browser": "node",
        "browser_version": "20",
        "load_ms": 1.0,
        "ms": {"a": 1.0},
        "outputs": [row],
    }
    page = report.page("<m>", passed=False, results=[result], sizes={}, fast=[])
    assert "differs" in page
    assert "<m>" not in page
    assert "Fast convolutions" not in page


def test_report_states_the_errors_of_fast_convolutions() -> None:
    def launch(layer: str, chosen: str) -> dict[str, Any]:
        return {
            "layer": layer,
            "decided": [{"key": f"convolution of {layer}", "chosen": chosen, "candidates": []}],
        }

    launches = {
        "wasm": [
            launch("a", "winograd 4x4"),
            launch("a", "winograd 4x4"),
            launch("<b>", "winograd 4x4"),
            launch("c", "direct"),
            {"layer": "d"},
        ],
        "js": [launch("a", "winograd 2x2")],
        "webgpu": [launch("a", "winograd 4x4")],
    }
    rows = {"wasm": [1e-7, 3e-6], "js": [None, 1e-7]}
    results = [
        {
            "backend": backend,
            "variant": None,
            "outputs": [{"relative": relative} for relative in rows_of_backend],
        }
        for backend, rows_of_backend in rows.items()
    ]
    fast = report.fast_convolutions(launches, results)
    assert fast == [
        {"backend": "wasm", "form": "winograd 4x4", "layers": ["a", "<b>"], "relative": 3e-6},
        {"backend": "js", "form": "winograd 2x2", "layers": ["a"], "relative": None},
    ]
    section = report.convolutions_section(fast)
    assert [text in section for text in ("3e-06", "differs", "a, &lt;b&gt;")] == [True, True, True]


@pytest.mark.parametrize(("products", "named"), [("float16", True), ("float32", False)])
def test_errors_of_float16_products_name_the_option_that_avoids_them(
    products: str,
    named: bool,
    bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_bundle = verify.host.run_bundle

    def in_float16(*values: Any, **options: Any) -> list[FrameResult]:
        return [replace(result, products=products) for result in run_bundle(*values, **options)]

    monkeypatch.setattr(verify.host, "run_bundle", in_float16)
    result = run(bundle, tmp_path, write_reference(tmp_path))
    assert result["products"] == products
    assert f"products in {products}" in capsys.readouterr().out
    with pytest.raises(VerificationError) as raised:
        run(bundle, tmp_path, write_reference(tmp_path, factor=1.001))
    assert ("precision = 'float16' computes them in float32" in str(raised.value)) == named
