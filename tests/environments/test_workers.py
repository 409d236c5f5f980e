"""Bundles in service workers of pages and of an extension, and in dedicated Workers, in
Chromium.
"""

import json
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.environments import models
from tests.hosts import one_page
from webkiln.backends import browsers, chromium
from webkiln.backends.server import Server

PAGE = """<!doctype html><title>service worker</title><link rel="icon" href="data:,">
<script type="module">
const post = message => fetch('/posted', { method: 'POST', body: JSON.stringify(message) });
try {
  if (DEDICATED) {
    const worker = new Worker('./worker.js', TYPE);
    worker.onmessage = event => post(event.data);
    worker.onerror = event => post({ message: event.message });
    worker.postMessage(NUMBERS);
    await new Promise(() => {});
  }
  for (const old of await navigator.serviceWorker.getRegistrations()) await old.unregister();
  const { installing: worker } = await navigator.serviceWorker.register('./worker.js', TYPE);
  await new Promise(resolve => {
    worker.onstatechange = () => worker.state === 'activated' && resolve();
  });
  navigator.serviceWorker.onmessage = event => post(event.data);
  navigator.serviceWorker.startMessages();
  worker.postMessage(NUMBERS);
} catch (error) {
  post({ message: `the service worker did not start: ${error}` });
}
</script>"""

ANSWER = """
onmessage = event => {
  const answered = answer(event.data).then(message =>
    (event.source ?? globalThis).postMessage(message));
  event.waitUntil?.(answered);
};
"""
RUN = """
async function answer(x) {
  const begin = performance.now();
  try {
    const model = await load(OPTIONS);
    const { y } = await model.run({ x });
    return { backend: model.backend, worker: model.worker, y: [...y] };
  } catch ({ name, code, message }) {
    return { name, code, message, seconds: (performance.now() - begin) / 1000 };
  }
}
"""
SINGLE = "importScripts('./bundle/dense.js');\nconst { load } = webkiln.dense;\n"
MODULE = "import { load } from './bundle/index.js';\n"
SYNC = """import { fetchParts, loadSync } from './bundle/sync.js';
const load = async () => {
  const model = loadSync(await fetchParts());
  return { backend: model.backend, worker: false, run: inputs => model.run(inputs) };
};
"""


def in_worker(
    bundle: Path,
    script: str,
    kind: str,
    requests: list[str] | None = None,
    *,
    dedicated: bool = False,
    browser: str = "chromium",
) -> dict[str, Any]:
    """What a service worker, or a dedicated one, with this script posts. `kind`: classic or
    module.
    """
    posted, done = {}, threading.Event()
    page = (
        PAGE.replace("DEDICATED", json.dumps(dedicated))
        .replace("TYPE", json.dumps({"type": kind}))
        .replace("NUMBERS", json.dumps(models.X.tolist()))
    )

    def route(path: str, body: bytes) -> tuple[int, str, bytes] | None:
        if requests is not None:
            requests.append(path)
        match path:
            case "/":
                return 200, "text/html", page.encode()
            case "/worker.js":
                return 200, "text/javascript", script.encode()
            case "/posted":
                posted.update(json.loads(body))
                done.set()
                return 200, "text/plain", b""
        return None

    session = browsers.session(browser)
    with Server({"/bundle/": bundle}, route=route) as server:
        session.get(server.url)
        finished = done.wait(30)
        log = browsers.console(browser)
        session.get("about:blank")
    assert finished, log
    return posted


def check(got: Mapping[str, Any], backend: str, *, worker: bool) -> None:
    assert got.get("backend") == backend, got
    assert got["worker"] is worker
    np.testing.assert_allclose(np.reshape(got["y"], models.X.shape), models.expected(), atol=1e-5)


@pytest.mark.parametrize(
    ("form", "kind", "head"),
    [("single", "classic", SINGLE), ("single", "module", MODULE), ("folder", "module", SYNC)],
    ids=["importScripts", "import", "synchronous"],
)
@one_page
def test_a_service_worker_runs(
    form: str, kind: str, head: str, browser: str, bundles: Path
) -> None:
    script = head + RUN.replace("OPTIONS", "{ backends: 'wasm' }") + ANSWER
    check(in_worker(bundles / form, script, kind, browser=browser), "wasm", worker=False)


@pytest.mark.parametrize(
    ("form", "kind", "head"),
    [("single", "classic", SINGLE), ("folder", "module", MODULE), ("folder", "module", SYNC)],
    ids=["importScripts", "import", "synchronous"],
)
def test_a_dedicated_worker_runs(form: str, kind: str, head: str, bundles: Path) -> None:
    script = head + RUN.replace("OPTIONS", "{ backends: 'wasm', worker: false }") + ANSWER
    check(in_worker(bundles / form, script, kind, dedicated=True), "wasm", worker=False)


@pytest.mark.parametrize("options", ["{}", "{ worker: false, backends: ['js', 'wasm'] }"])
@one_page
def test_a_folder_is_one_error_at_once(options: str, browser: str, bundles: Path) -> None:
    requests: list[str] = []
    script = MODULE + RUN.replace("OPTIONS", options) + ANSWER
    got = in_worker(bundles / "folder", script, "module", requests, browser=browser)
    assert (got["name"], got["code"]) == ("WebkilnError", "NoImport")
    assert "build with '--format single'" in got["message"]
    assert "importScripts()" in got["message"]
    data = [path for path in requests if path.endswith((".wasm", ".bin"))]
    assert len(data) == len(set(data)), "nothing is tried twice"


EXTENSION = {
    "manifest_version": 3,
    "name": "webkiln",
    "version": "1.0",
    "background": {"service_worker": "background.js"},
    "content_security_policy": {
        "extension_pages": "script-src 'self' 'wasm-unsafe-eval'; object-src 'self'"
    },
    "host_permissions": ["http://127.0.0.1/*"],
}


POST = """.then(message => fetch('URL', { method: 'POST', body: JSON.stringify(message) }));
"""


def test_an_extension(bundles: Path, tmp_path: Path) -> None:
    """Of manifest version 3: its service worker runs a single file, its page a folder."""
    from selenium import webdriver

    posted: dict[str, dict[str, Any]] = {}
    done = threading.Event()

    def route(path: str, body: bytes) -> tuple[int, str, bytes] | None:
        if path in ("/worker", "/page"):
            posted[path] = json.loads(body)
            if len(posted) == 2:
                done.set()
        return 200, "text/plain", b""

    root = tmp_path / "extension"
    shutil.copytree(bundles / "single", root / "bundle")
    shutil.copytree(bundles / "folder", root / "folder")
    (root / "manifest.json").write_text(json.dumps(EXTENSION))
    (root / "page.html").write_text('<!doctype html><script type="module" src="page.js"></script>')
    run = RUN.replace("OPTIONS", "{ backends: 'wasm' }")
    programs = chromium.BROWSER.find()
    with Server({}, route=route) as server:
        call = f"answer({json.dumps(models.X.tolist())})" + POST
        (root / "background.js").write_text(
            f"{SINGLE}{run}{call.replace('URL', server.url + '/worker')}"
            "chrome.tabs.create({ url: 'page.html' });\n"
        )
        (root / "page.js").write_text(
            f"import {{ load }} from './folder/index.js';\n{run}"
            f"{call.replace('URL', server.url + '/page')}"
        )
        options = webdriver.ChromeOptions()
        options.binary_location = programs["chromium"]
        for flag in (
            *(flag for flag in chromium.FLAGS if flag != "--disable-extensions"),
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--load-extension={root}",
            "--disable-features=DisableLoadExtensionCommandLineSwitch",
        ):
            options.add_argument(flag)
        driver = webdriver.Chrome(
            options=options,
            service=webdriver.ChromeService(executable_path=programs["chromedriver"]),
        )
        try:
            assert done.wait(30), f"the extension posted {posted}"
        finally:
            driver.quit()
    check(posted["/worker"], "wasm", worker=False)
    check(posted["/page"], "wasm", worker=True)
