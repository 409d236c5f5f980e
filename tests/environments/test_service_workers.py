"""Bundles in service workers of pages and of an extension, in Chromium."""

import json
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.environments import models
from webkiln.backends import browsers, chromium
from webkiln.backends.server import Server

PAGE = """<!doctype html><title>service worker</title><link rel="icon" href="data:,">
<script type="module">
const post = message => fetch('/posted', { method: 'POST', body: JSON.stringify(message) });
try {
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
onmessage = event => event.waitUntil(
  answer(event.data)
    .catch(({ name, code, message }) => ({ name, code, message }))
    .then(message => event.source.postMessage(message)));
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


def in_service_worker(
    bundle: Path, script: str, kind: str, requests: list[str] | None = None
) -> dict[str, Any]:
    """What a service worker with this script posts. `kind`: classic or module."""
    posted, done = {}, threading.Event()
    page = PAGE.replace("TYPE", json.dumps({"type": kind})).replace(
        "NUMBERS", json.dumps(models.X.tolist())
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

    session = browsers.session("chromium")
    with Server({"/bundle/": bundle}, route=route) as server:
        session.get(server.url)
        finished = done.wait(30)
        log = browsers.console("chromium")
        session.get("about:blank")
    assert finished, log
    return posted


def check(got: Mapping[str, Any], backend: str) -> None:
    assert got.get("backend") == backend, got
    assert got["worker"] is False
    np.testing.assert_allclose(np.reshape(got["y"], models.X.shape), models.expected(), atol=1e-5)


@pytest.mark.parametrize(
    ("form", "kind", "head"),
    [("single", "classic", SINGLE), ("single", "module", MODULE), ("folder", "module", SYNC)],
    ids=["importScripts", "import", "synchronous"],
)
def test_runs(form: str, kind: str, head: str, bundles: Path) -> None:
    script = head + RUN.replace("OPTIONS", "{ backends: 'wasm' }") + ANSWER
    check(in_service_worker(bundles / form, script, kind), "wasm")


@pytest.mark.parametrize("options", ["{}", "{ worker: false, backends: ['js', 'wasm'] }"])
def test_a_folder_is_one_error_at_once(options: str, bundles: Path) -> None:
    requests: list[str] = []
    script = MODULE + RUN.replace("OPTIONS", options) + ANSWER
    got = in_service_worker(bundles / "folder", script, "module", requests)
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


def test_an_extension(bundles: Path, tmp_path: Path) -> None:
    """A service worker of manifest version 3 posts what a single file computes."""
    from selenium import webdriver

    posted, done = {}, threading.Event()

    def route(path: str, body: bytes) -> tuple[int, str, bytes] | None:
        if path == "/posted":
            posted.update(json.loads(body))
            done.set()
        return 200, "text/plain", b""

    extension = tmp_path / "extension"
    shutil.copytree(bundles / "single", extension / "bundle")
    (extension / "manifest.json").write_text(json.dumps(EXTENSION))
    programs = chromium.BROWSER.find()
    with Server({}, route=route) as server:
        (extension / "background.js").write_text(
            SINGLE
            + RUN.replace("OPTIONS", "{ backends: 'wasm' }")
            + f"answer({json.dumps(models.X.tolist())}).then(message => fetch("
            f"'{server.url}/posted', {{ method: 'POST', body: JSON.stringify(message) }}));\n"
        )
        options = webdriver.ChromeOptions()
        options.binary_location = programs["chromium"]
        for flag in chromium.FLAGS:
            if flag != "--disable-extensions":
                options.add_argument(flag)
        options.add_argument(f"--user-data-dir={tmp_path / 'profile'}")
        options.add_argument(f"--load-extension={extension}")
        options.add_argument("--disable-features=DisableLoadExtensionCommandLineSwitch")
        driver = webdriver.Chrome(
            options=options,
            service=webdriver.ChromeService(executable_path=programs["chromedriver"]),
        )
        try:
            assert done.wait(30), "the extension did not answer"
        finally:
            driver.quit()
    check(posted, "wasm")
