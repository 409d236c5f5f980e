"""Runs bundles and pages in headless Chromium through Selenium."""

import atexit
import contextlib
import functools
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import WebDriverException

from webkiln.backends.server import Answer, Server
from webkiln.errors import ToolError

DATA = ("webkiln/backends/harness*.js",)

HARNESS = Path(__file__).with_name("harness.js")
INSTALL = "on Debian or Ubuntu: apt-get install chromium chromium-driver"
BINARIES = ("/usr/lib/chromium/chromium", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ^NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1",
    "--enable-unsafe-webgpu",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-watchdog",
)


def find() -> tuple[str, str]:
    """The paths of Chromium and of its driver."""
    browser = next((path for name in BINARIES if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        missing = " and ".join(n for n, path in (("chromium", browser), ("chromedriver", driver)) if path is None)
        raise ToolError(f"{missing} not found on PATH; {INSTALL}")
    return browser, driver


@functools.cache
def browser() -> webdriver.Chrome:
    """The one browser of this process, started at its first use and ended with the process."""
    binary, driver = find()
    os.environ.setdefault("SE_OFFLINE", "true")
    os.environ.setdefault("SE_AVOID_STATS", "true")
    profile = tempfile.mkdtemp(prefix="webkiln-chromium-")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        session = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    except WebDriverException as error:
        shutil.rmtree(profile, ignore_errors=True)
        raise ToolError(f"chromium: {binary} did not start ({error.msg}); {INSTALL}") from error

    def end() -> None:
        with contextlib.suppress(WebDriverException, OSError):
            session.quit()
        shutil.rmtree(profile, ignore_errors=True)

    atexit.register(end)
    session.set_page_load_timeout(60)
    session.set_script_timeout(60)
    return session


def version() -> str:
    return str(browser().capabilities["browserVersion"])


def console() -> list[str]:
    """What the page has written to its console since the last call."""
    entries: list[dict[str, Any]] = browser().execute("getLog", {"type": "browser"})["value"]
    return [entry["message"] for entry in entries]


def run_frames(bundle: Path, request: dict[str, Any], frames: Sequence[bytes], timeout: float) -> list[bytes]:
    """Run the harness page on one frame per input set; the answers are frames too."""
    wanted = {**request, "script": "./harness.js", "bundle": "/bundle/index.js"}
    return run_page(str(bundle), {"/bundle/": bundle}, wanted, frames, timeout)


def run_page(what: str, folders: Mapping[str, Path], request: dict[str, Any], frames: Sequence[bytes], timeout: float) -> list[bytes]:
    """Serve `folders` to a page whose `request["script"]` has a `runSets` that makes one answer of each frame; `what` is named in errors."""
    done = threading.Event()
    failure: dict[str, Any] = {}
    answers: dict[int, bytes] = {}
    text = json.dumps(request).encode()
    page = b'<!doctype html><title>webkiln</title><link rel="icon" href="data:,"><script type="module" src="/harness/harness_page.js"></script>'

    def route(path: str, body: bytes) -> Answer | None:
        match path.strip("/").split("/"):
            case [""]:
                return HTTPStatus.OK, "text/html", page
            case ["request"]:
                return HTTPStatus.OK, "application/json", text
            case ["in", index]:
                return HTTPStatus.OK, "application/octet-stream", frames[int(index)]
            case ["out", index]:
                answers[int(index)] = body
                return HTTPStatus.OK, "text/plain", b""
            case ["done"]:
                failure.update(json.loads(body))
                done.set()
                return HTTPStatus.OK, "text/plain", b""
        return None

    with Server({"/harness/": HARNESS.parent, **folders}, route=route) as server:
        session = browser()
        try:
            session.get(server.url)
            finished = done.wait(timeout)
            log = " ".join(console())
            session.get("about:blank")
        except WebDriverException as error:
            browser.cache_clear()
            raise ToolError(f"chromium: the session broke while {what} ran ({error.msg})") from error
    if not finished:
        raise ToolError(f"chromium: {what} did not finish within {timeout:g} s {log}".rstrip())
    if failure:
        raise ToolError(f"chromium: {what}: {failure['code'] or 'Error'}: {failure['message']}")
    return [answers[index] for index in range(len(frames))]
