"""The table of browsers: each browser lacks exactly the features of its row, is named when it is
missing, and may run on another machine.
"""

import os
import re
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.backends.harness import ROOT
from tests.hosts import PAGES
from tests.runtime import fake_bundle
from webkiln import canonical
from webkiln.backends import browsers, display, frame, host, pages, remote
from webkiln.backends.browser import Program
from webkiln.backends.browsers import BROWSERS
from webkiln.build.derived import Derived
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.tools import Toolchain, tool_of
from webkiln.errors import RecipeError, RunError, ToolError
from webkiln.recipe.read import read_recipe
from webkiln.recipe.values import BACKENDS, VARIANTS

verify = fake_bundle.stage("verify")
LEGS = [(backend, variant) for backend in BACKENDS for variant in VARIANTS[backend] or (None,)]


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digits")
    recipe = read_recipe(ROOT / "models" / "digits" / "recipe.toml")
    with Engine(folder / "state") as engine:
        engine.publish(
            ModelGraph(recipe, engine.share).bundle(Selection(BACKENDS)),
            "bundle/",
            folder / "bundle",
        )
    return Path(folder / "bundle")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_bundle.build(tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize(("backend", "variant"), LEGS)
@pytest.mark.parametrize("browser", PAGES)
@pytest.mark.sample(6)
def test_a_browser_runs_the_backends_of_its_row(
    browser: str, backend: str, variant: str | None, digits: Path
) -> None:
    request = {
        "script": "./harness.js",
        "backend": backend,
        "variant": variant,
        "layers": False,
        "worker": True,
        "count": 1,
    }
    tensor = host.read_manifest(digits)["inputs"][0]
    values = [frame.encode({tensor["name"]: np.zeros(tensor["shape"], tensor["dtype"])})]
    if host.why_not(browser, backend, variant) is None:
        (answer,) = pages.run_frames(browser, digits, request, values, 60)
        assert frame.decode(answer).variant == variant
    else:
        with pytest.raises(RunError) as failed:
            pages.run_frames(browser, digits, request, values, 60)
        assert failed.value.code in (
            "NoBackend",
            "CompileFailed",
        ), f"{browser} has {backend} now: take its row of `lacks` away"


def test_missing_features_of_a_browser_are_named(plain: Path) -> None:
    with pytest.raises(
        RecipeError, match=r"webgpu: not offered by WebKitGTK; run it with another --browser$"
    ):
        host.run_bundle(plain, "webgpu", [{"x": np.ones((1, 4), np.float32)}], host="webkit")


def test_the_page_matches_the_table() -> None:
    text = (ROOT / "docs" / "browsers.md").read_text()
    rows = {
        line.split("|")[1].strip(" `"): line
        for line in text.partition("\n## ")[0].splitlines()
        if line.startswith("| `")
    }
    assert rows.keys() == set(host.HOSTS)
    for name, browser in BROWSERS.items():
        assert browser.title in rows[name]
        assert all(reason in rows[name] for reason in browser.lacks.values())
    installs = [
        browser.install.partition("apt-get install ")[2].partition(", and")[0]
        for browser in BROWSERS.values()
    ]
    assert all(f"apt-get install {packages}" in text for packages in installs)


def test_programs_are_found_by_name_by_pattern_and_in_packages_that_are_not_imported(
    tmp_path: Path, monkeypatch: Any
) -> None:
    package = tmp_path / "drivers"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('imported')")
    (package / "driver_linux64").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert (
        Program("x", ("sh",)).find() == "/bin/sh"
        or Path(str(Program("x", ("sh",)).find())).name == "sh"
    )
    assert Path(str(Program("x", ("/bin/s?", "/b*n/sh")).find())).name == "sh"
    assert Program(
        "x", ("absent-driver",), package="drivers", files=("driver_linux64",)
    ).find() == str(package / "driver_linux64")
    assert (
        Program("x", ("absent-driver",), package="no_such_drivers", files=("driver",)).find()
        is None
    )
    assert Program("x", ("/usr/lib/absent*/x",)).find() is None


def test_all_missing_programs_are_named_at_once(monkeypatch: Any) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ToolError,
        match=(
            r"^firefox cannot be run: firefox, geckodriver, Xvfb are missing; on Debian: apt-get"
            r" install firefox-esr xvfb"
        ),
    ):
        BROWSERS["firefox"].find()


@pytest.fixture(params=["firefox", "webkit"])
def elsewhere(request: Any, monkeypatch: Any) -> Iterator[str]:
    """A browser with a standalone WebDriver server, which the environment names."""
    name = request.param
    programs = BROWSERS[name].find()
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    driver, *options = {
        "firefox": ["geckodriver", "--binary", programs.get("firefox")],
        "webkit": ["WebKitWebDriver"],
    }[name]
    environment = {**os.environ, "DISPLAY": display.hidden_display()}
    command = [programs[driver], f"--port={port}", *options]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    monkeypatch.setenv(remote.VARIABLE, f"http://127.0.0.1:{port}")
    monkeypatch.setattr(browsers, "session", cache(browsers.session.__wrapped__))
    yield name
    browsers.session(name).quit()
    process.terminate()
    process.wait(20)


@pytest.mark.sample("webkit")
def test_a_browser_at_a_url_is_requested_by_webdriver(
    elsewhere: str, plain: Path, tmp_path: Path
) -> None:
    """Firefox by its name; any other WebKit browser in place of Safari."""
    (result,) = host.run_bundle(
        plain, "wasm", [{"x": np.ones((1, 4), np.float32)}], host=elsewhere, variant="simd"
    )
    np.testing.assert_allclose(
        result.outputs["y"], fake_bundle.expected(np.ones((1, 4), np.float32)), rtol=1e-6
    )
    banner = {"firefox": r"firefox \d+\.\d+", "webkit": r"MiniBrowser \d+\.\d+"}[elsewhere]
    assert re.match(banner, host.version(elsewhere))
    tools = Toolchain(ROOT, Derived(tmp_path / "derived.json"))
    assert tool_of(elsewhere) != elsewhere
    assert tools.locked([tool_of(elsewhere)]) == {tool_of(elsewhere): "unlocked"}
    assert tools.actual([tool_of(elsewhere)]) == {tool_of(elsewhere): host.version(elsewhere)}


@pytest.mark.parametrize("elsewhere", ["webkit"], indirect=True)
def test_missing_features_of_a_browser_at_a_url_are_reported(
    elsewhere: str, digits: Path, tmp_path: Path
) -> None:
    tensor = host.read_manifest(digits)["inputs"][0]
    np.savez(
        tmp_path / "reference.npz",
        **{f"a/in/{tensor['name']}": np.zeros(tensor["shape"], tensor["dtype"])},
    )  # type: ignore[arg-type]
    params = {"backend": "webgpu", "variant": "", "browser": elsewhere, "tolerance": 1e-4}
    verify.run(
        {"bundle/": digits, "reference.npz": tmp_path / "reference.npz"},
        {"result.json": tmp_path / "result.json"},
        params,
    )
    result = canonical.read(tmp_path / "result.json")
    assert re.match(r"webgpu: webkit: .*NoBackend: navigator\.gpu is undefined", result["not_run"])
    assert result["browser_version"].startswith("MiniBrowser ")


def test_an_unreachable_server_is_named(monkeypatch: Any) -> None:
    monkeypatch.setenv(remote.VARIABLE, "http://127.0.0.1:9")
    monkeypatch.setattr(browsers, "session", cache(browsers.session.__wrapped__))
    with pytest.raises(
        ToolError,
        match=(
            r"does a WebDriver server with this browser run at"
            r" SELENIUM_REMOTE_URL=http://127\.0\.0\.1:9\?$"
        ),
    ):
        browsers.session("chromium")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("WEBKILN_PORT", "http", "WEBKILN_PORT is 'http', expected the number of a port"),
        (
            "SELENIUM_REMOTE_URL",
            "mac:4444",
            "SELENIUM_REMOTE_URL is 'mac:4444', expected the URL of a WebDriver server",
        ),
        (
            "SELENIUM_REMOTE_URL",
            "http://no-such.invalid:4444",
            "the host 'no-such.invalid' is not known here",
        ),
    ],
)
def test_invalid_addresses_are_errors(
    monkeypatch: Any, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(RecipeError, match=re.escape(message)):
        remote.serving_address()


def test_a_page_that_does_not_start_is_reloaded(
    digits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[str] = []

    class Session:
        def get(self, url: str) -> None:
            requested.append(url)
            if requested.count(url) == 2:
                urllib.request.urlopen(f"{url}/request").read()
                urllib.request.urlopen(
                    urllib.request.Request(f"{url}/done", b"{}", method="POST")
                ).read()

    monkeypatch.setattr(pages, "BEGIN_SECONDS", 0.1)
    monkeypatch.setattr(browsers, "session", lambda name: Session())
    monkeypatch.setattr(browsers, "console", lambda name: [])
    assert pages.run_frames("webkit", digits, {"script": "./harness.js", "count": 0}, [], 10) == []
    first, second, last = requested
    assert first == second
    assert last == "about:blank"


def test_pages_are_served_where_the_browser_reaches_them(monkeypatch: Any) -> None:
    assert remote.serving_address() == ("127.0.0.1", 0)
    monkeypatch.setenv("SELENIUM_REMOTE_URL", "http://localhost:4444/wd/hub")
    monkeypatch.setenv("WEBKILN_PORT", "8017")
    assert remote.serving_address() == ("127.0.0.1", 8017)
