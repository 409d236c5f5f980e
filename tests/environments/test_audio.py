"""The example of an AudioWorklet: the filter against its difference equation, and
against the same model on the page.
"""

import json
import math
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.environments import models
from tests.hosts import one_page
from webkiln.backends import browsers
from webkiln.backends.server import ISOLATED, Server

EXAMPLE = models.ROOT / "examples" / "audio"
BLOCK, BLOCKS, RATE, CUTOFF = 128, 60, 48000, 1000

PAGE = """<!doctype html><title>audio</title><link rel="icon" href="data:,">
<script type="module">
import { filterNode } from './filter.js';
import { load } from './lowpass/index.js';
import { fetchParts, loadSync } from './lowpass/sync.js';
const BLOCK = 128;
async function rendered(numbers) {
  const context = new OfflineAudioContext(1, numbers.length, RATE);
  const buffer = new AudioBuffer({ length: numbers.length, sampleRate: RATE });
  buffer.copyToChannel(numbers, 0);
  const source = new AudioBufferSourceNode(context, { buffer });
  const node = await filterNode(context);
  const failed = new Promise((_, reject) => {
    node.onprocessorerror = () => reject(new Error('the processor failed'));
  });
  source.connect(node).connect(context.destination);
  source.start();
  const result = await Promise.race([context.startRendering(), failed]);
  return [...result.getChannelData(0)];
}
async function onPage(model, numbers) {
  const blocks = [];
  for (let at = 0; at < numbers.length; at += BLOCK)
    blocks.push(...(await model.run({ samples: numbers.slice(at, at + BLOCK) })).filtered);
  return blocks;
}
async function answer() {
  const numbers = new Float32Array(await (await fetch('./noise')).json());
  const worklet = [await rendered(numbers), await rendered(numbers)];
  const page = await onPage(await load({ backends: 'wasm' }), numbers);
  const model = loadSync(await fetchParts());
  const sync = await onPage(model, numbers);
  model.reset();
  const again = await onPage(model, numbers);
  const context = new OfflineAudioContext(1, BLOCK, RATE);
  await context.audioWorklet.addModule('./asynchronous.js');
  const { port } = new AudioWorkletNode(context, 'asynchronous');
  const refused = await new Promise(resolve => {
    port.onmessage = event => resolve(event.data);
    context.startRendering();
  });
  return { refused, worklet, page, sync, again, isolated: crossOriginIsolated };
}
answer().catch(error => ({ error: `${error.code} ${error.stack}` })).then(message =>
  fetch('./posted', { method: 'POST', body: JSON.stringify(message) }));
</script>"""


ASYNCHRONOUS = """import { load } from './lowpass/index.js';
registerProcessor('asynchronous', class extends AudioWorkletProcessor {
  constructor() {
    super();
    load().catch(({ name, code, message }) => this.port.postMessage({ name, code, message }));
  }
  process() {
    return true;
  }
});
"""


@pytest.fixture(scope="session")
def example(run_folder: Path) -> Path:
    """The example with its bundle."""
    root = run_folder / "audio"
    with models.only_once(root):
        if not root.exists():
            shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns("__pycache__"))
            models.build("lowpass:lowpass", root / "lowpass", "--backend", "wasm", folder=root)
    return root


def filtered(samples: np.ndarray) -> np.ndarray:
    """Butterworth's filter of second order, by the bilinear transform (direct form I)."""
    k = math.tan(math.pi * CUTOFF / RATE)
    scale = 1 + math.sqrt(2) * k + k * k
    gain, a1, a2 = k * k / scale, 2 * (k * k - 1) / scale, (1 - math.sqrt(2) * k + k * k) / scale
    x, y = np.pad(samples.astype(np.float64), (2, 0)), np.zeros(len(samples) + 2)
    for t in range(2, len(x)):
        y[t] = gain * (x[t] + 2 * x[t - 1] + x[t - 2]) - a1 * y[t - 1] - a2 * y[t - 2]
    return y[2:]


@pytest.mark.parametrize("isolated", [False, True], ids=["plain", "isolated"])
@one_page
def test_a_worklet_filters_sound(isolated: bool, browser: str, example: Path) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, BLOCK * BLOCKS).astype(np.float32)
    posted: dict[str, Any] = {}
    done = threading.Event()

    def route(path: str, body: bytes) -> tuple[int, str, bytes] | None:
        match path:
            case "/test.html":
                return 200, "text/html", PAGE.replace("RATE", str(RATE)).encode()
            case "/asynchronous.js":
                return 200, "text/javascript", ASYNCHRONOUS.encode()
            case "/noise":
                return 200, "application/json", json.dumps(noise.tolist()).encode()
            case "/posted":
                posted.update(json.loads(body))
                done.set()
                return 200, "text/plain", b""
        return None

    session = browsers.session(browser)
    with Server({"/": example}, route=route, headers=ISOLATED if isolated else None) as server:
        session.get(f"{server.url}/test.html")
        finished = done.wait(40)
        log = browsers.console(browser)
        session.get("about:blank")
    assert finished, log
    assert "error" not in posted, (posted["error"], log)
    assert posted["isolated"] is isolated
    assert posted["refused"].get("code") == "NoImport", posted["refused"]
    assert "loadSync() of sync.js" in posted["refused"]["message"]
    first, second = posted["worklet"]
    assert first == second, "each node has a state of its own"
    assert first == posted["page"] == posted["sync"] == posted["again"]
    expected = filtered(noise)
    np.testing.assert_allclose(first, expected, atol=1e-4 * np.abs(expected).max())
    assert np.abs(np.diff(expected)).max() < np.abs(np.diff(noise)).max() / 10
