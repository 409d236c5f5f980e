"""Opens pages and reads the model's answer that they show."""

import base64
import functools
import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.web.project import MODEL
from tests.web.rows import STRICT
from webkiln import canonical
from webkiln.backends import browsers
from webkiln.backends.server import Answer, Server

PIXELS = "000afb10005f9f4002e9081005f8100008ff800002f9f60000aff7000018c000"
"""The picture of the examples, which is ambiguous: a 6, or perhaps an 8 or a 0."""

CHATTER = ("[vite]", "[HMR]", "[webpack-dev-server]", "React DevTools", "[Fast Refresh]", "[HMR]")
"""Messages of dev servers in the console."""

READ = """
const text = selector => document.querySelector(selector)?.textContent ?? '';
const scores = [...document.querySelectorAll('meter')].map(meter => meter.value);
return { label: document.querySelector('output')?.value ?? '', how: text('p'), scores,
  isolated: crossOriginIsolated };
"""


@dataclass(frozen=True)
class PageResult:
    """What a page shows once it has an answer. `messages`: the lines in the console."""

    label: str
    how: str
    scores: tuple[float, ...]
    isolated: bool
    messages: tuple[str, ...]


def browser(name: str = "chromium") -> Any:
    return browsers.session(name)


def console(name: str = "chromium") -> list[str]:
    return browsers.console(name)


@functools.cache
def model() -> Any:
    import keras

    return keras.saving.load_model(MODEL)


def pixels() -> np.ndarray:
    return (np.array([int(pixel, 16) for pixel in PIXELS], np.float32) / np.float32(15)).reshape(
        1, 8, 8, 1
    )


@functools.cache
def reference() -> tuple[float, ...]:
    """The scores that Keras computes for the picture."""
    return tuple(float(score) for score in model()({"image": pixels()}, training=False).numpy()[0])


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """Poll `condition` until it is true or the time is up. Returns its last value."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return value


def visit(url: str, seconds: float = 30, name: str = "chromium") -> PageResult:
    console(name)
    browser(name).get(url)
    return read(seconds, name)


def read(seconds: float = 30, name: str = "chromium") -> PageResult:
    """The content of the open page, once it has an answer or the time is up."""

    def has_answer() -> bool:
        content = browser(name).execute_script(READ)
        return len(content["scores"]) == 10 and "Loading" not in content["how"]

    until(has_answer, seconds)
    content = browser(name).execute_script(READ)
    messages = tuple(line for line in console(name) if not any(word in line for word in CHATTER))
    return PageResult(
        content["label"], content["how"], tuple(content["scores"]), content["isolated"], messages
    )


def check(result: PageResult) -> None:
    """The answer is that of Keras, and was computed by wasm in a Worker, without messages."""
    assert not result.messages, "\n".join(result.messages)
    assert (result.label, result.how) == ("6", "wasm, relaxed, in a Worker")
    np.testing.assert_allclose(result.scores, reference(), atol=1e-5)


def script_hashes(page: Path) -> str:
    """The hashes of the inline scripts of a page, in the syntax of a policy."""
    scripts = re.findall(
        r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", page.read_text("utf-8"), re.DOTALL
    )
    return " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in scripts
    )


def policy(inline: str, page: Path) -> str:
    match inline:
        case "hashed":
            return STRICT.replace("script-src", f"script-src {script_hashes(page)}")
        case "allowed":
            return STRICT.replace("'self' 'wasm", "'self' 'unsafe-inline' 'wasm").replace(
                "style-src 'self'", "style-src 'self' 'unsafe-inline'"
            )
    return STRICT


class Deployed:
    """A folder behind a server. `requests`: all requested paths. `downloads`: the content of each
    path that was answered with status 200.
    """

    def __init__(self, folder: Path, base: str, headers: Mapping[str, str]) -> None:
        self.requests: list[str] = []
        self.downloads: dict[str, bytes] = {}
        self.missing: list[str] = []
        self._files = Server({base: folder})
        self._server = Server({}, headers=headers, route=self._note)
        self.url = self._server.url + base

    def _note(self, path: str, body: bytes) -> Answer:
        answer = self._files.answer(path, body)
        self.requests.append(path)
        if answer[0] == 200:
            self.downloads[path] = answer[2]
        else:
            self.missing.append(path)
        return answer


@contextmanager
def deployed(folder: Path, base: str, headers: Mapping[str, str]) -> Iterator[Deployed]:
    site = Deployed(folder, base, headers)
    with site._server:
        yield site


def check_downloads(downloads: Mapping[str, bytes], bundle: Path) -> None:
    """The page requests one variant's WebAssembly, all weights, and only wasm's backend module."""
    files = {name: (bundle / name).read_bytes() for name in ("relaxed.wasm", "simd.wasm")}
    shards = [path.read_bytes() for path in bundle.glob("*.bin")]
    assert files["relaxed.wasm"] in downloads.values()
    assert files["simd.wasm"] not in downloads.values()
    assert all(shard in downloads.values() for shard in shards)
    manifest = canonical.read(bundle / "manifest.json")
    texts = {
        path: data.decode("utf-8", "ignore")
        for path, data in downloads.items()
        if data[:4] != b"\0asm"
    }
    code = {
        name: [
            path
            for path, text in texts.items()
            if entry["build"] in text
            and manifest["backends"]["wasm"]["variants"][0]["digest"] not in text
        ]
        for name, entry in manifest["backends"].items()
    }
    assert code["wasm"], "no separate module of wasm was requested"
    assert code["js"] == [], "the module of js was requested without need"
