"""Opens pages and reads the answer of the model that they show."""

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
"""The picture of the examples, of which the model is not sure: a 6, or perhaps an 8 or a 0."""

CHATTER = ("[vite]", "[HMR]", "[webpack-dev-server]", "React DevTools", "[Fast Refresh]", "[HMR]")
"""What servers of development say in the console."""

READ = """
const text = selector => document.querySelector(selector)?.textContent ?? '';
const scores = [...document.querySelectorAll('meter')].map(meter => meter.value);
return { label: document.querySelector('output')?.value ?? '', how: text('p'), scores,
  isolated: crossOriginIsolated };
"""


@dataclass(frozen=True)
class Seen:
    """A page once it has an answer. `said`: the console."""

    label: str
    how: str
    scores: tuple[float, ...]
    isolated: bool
    said: tuple[str, ...]


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
    """Keras's own scores of the picture."""
    return tuple(float(score) for score in model()({"image": pixels()}, training=False).numpy()[0])


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """The first true value of `condition`, or its last one."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return value


def look(url: str, seconds: float = 30, name: str = "chromium") -> Seen:
    console(name)
    browser(name).get(url)
    return read(seconds, name)


def read(seconds: float = 30, name: str = "chromium") -> Seen:
    """The open page, when it has an answer, or has none in time."""

    def there() -> bool:
        found = browser(name).execute_script(READ)
        return len(found["scores"]) == 10 and "Loading" not in found["how"]

    until(there, seconds)
    found = browser(name).execute_script(READ)
    said = tuple(line for line in console(name) if not any(word in line for word in CHATTER))
    return Seen(found["label"], found["how"], tuple(found["scores"]), found["isolated"], said)


def check(seen: Seen) -> None:
    """The answer is Keras's, and came from wasm in a Worker, without a word."""
    assert not seen.said, "\n".join(seen.said)
    assert (seen.label, seen.how) == ("6", "wasm, relaxed, in a Worker")
    np.testing.assert_allclose(seen.scores, reference(), atol=1e-5)


def hashes(page: Path) -> str:
    """Of the scripts that stand in a page, as a policy takes them."""
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
            return STRICT.replace("script-src", f"script-src {hashes(page)}")
        case "allowed":
            return STRICT.replace("'self' 'wasm", "'self' 'unsafe-inline' 'wasm").replace(
                "style-src 'self'", "style-src 'self' 'unsafe-inline'"
            )
    return STRICT


class Deployed:
    """A folder behind a server; `asked`: each request; `fetched`: what was asked of it, with what
    it answered.
    """

    def __init__(self, folder: Path, base: str, headers: Mapping[str, str]) -> None:
        self.asked: list[str] = []
        self.fetched: dict[str, bytes] = {}
        self.missing: list[str] = []
        self._files = Server({base: folder})
        self._server = Server({}, headers=headers, route=self._note)
        self.url = self._server.url + base

    def _note(self, path: str, body: bytes) -> Answer:
        answer = self._files.answer(path, body)
        self.asked.append(path)
        if answer[0] == 200:
            self.fetched[path] = answer[2]
        else:
            self.missing.append(path)
        return answer


@contextmanager
def deployed(folder: Path, base: str, headers: Mapping[str, str]) -> Iterator[Deployed]:
    site = Deployed(folder, base, headers)
    with site._server:
        yield site


def check_fetched(fetched: Mapping[str, bytes], bundle: Path) -> None:
    """One variant's WebAssembly, the weights once, and of the modules of backends that of wasm
    alone.
    """
    files = {name: (bundle / name).read_bytes() for name in ("relaxed.wasm", "simd.wasm")}
    shards = [path.read_bytes() for path in bundle.glob("*.bin")]
    assert files["relaxed.wasm"] in fetched.values()
    assert files["simd.wasm"] not in fetched.values()
    assert all(shard in fetched.values() for shard in shards)
    manifest = canonical.read(bundle / "manifest.json")
    texts = {
        path: data.decode("utf-8", "ignore")
        for path, data in fetched.items()
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
    assert code["wasm"], "no module of wasm was fetched by itself"
    assert code["js"] == [], "the module of js was fetched, which wasm does not need"
