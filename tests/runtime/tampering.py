"""A web server that can misbehave, and functions that run a scenario against it in an engine."""

import gzip
import hashlib
import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from webkiln.backends import browsers
from webkiln.backends.server import TYPES

HERE = Path(__file__).resolve().parent
PATIENCE = 30


@dataclass
class Site:
    """A web site. `/bundle/` is a bundle, `/tests/` this folder. `faults` maps a file name to a
    permanent fault, `scripts` to the faults of its first requests.

    A step of a script is a name, some with a number. `drop:9`, `stall:9` and `gzip:9` end after 9
    bytes of the response. `status:503` and `busy:0` (429 with Retry-After) are errors. `whole`
    ignores Range. `wrong` sends wrong bytes that may be cached for a year. `tag` changes the ETag,
    `changed` also the bytes. `short:9` is a complete file of 9 bytes. `right` has no fault. Files
    with a script have an ETag and support Range.
    """

    bundle: Path
    faults: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)
    request: Any = None
    answer: Any = None
    answered: threading.Event = field(default_factory=threading.Event)
    requests: list[str] = field(default_factory=list)
    url: str = ""
    host: str = ""
    """The host name from which the bundle is loaded, by default that of the page."""


class SiteServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, site: Site) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.site = site
        self.stopping = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: "SiteServer"

    def do_POST(self) -> None:
        self.server.site.answer = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.reply("text/plain", b"")
        self.server.site.answered.set()

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.server.site.requests.append(path)
        if path == "/request":
            return self.reply("application/json", json.dumps(self.server.site.request).encode())
        if path in self.server.site.pages:
            return self.reply("text/html", self.server.site.pages[path].encode())
        return self.serve_file(path)

    def serve_file(self, path: str) -> None:
        _, prefix, name = path.split("/", 2) if path.count("/") > 1 else ("", "", "")
        folder = {
            "bundle": self.server.site.bundle,
            "weights": self.server.site.bundle,
            "tests": HERE,
        }.get(prefix)
        file = folder / name if folder else None
        fault = self.server.site.faults.get(name, "")
        if file is None or not file.is_file() or fault == "missing":
            return self.reply("text/plain", b"not found", status=404)
        data, kind = file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream")
        if name in self.server.site.scripts:
            steps = self.server.site.scripts[name]
            return self.perform_step(steps.pop(0) if steps else "right", kind, data)
        if fault == "stale" and "no-cache" not in self.headers.get("Cache-Control", ""):
            return self.reply(kind, data[:-1] + b"?")
        if fault == "shorter" and "no-cache" not in self.headers.get("Cache-Control", ""):
            return self.reply(kind, data[:-9])
        if fault == "page":
            return self.reply("text/html", b"<!doctype html><title>not found</title>")
        if fault.startswith("type:"):
            return self.reply(fault.removeprefix("type:"), data)
        if fault in ("broken", "stalled"):
            return self.reply(
                kind,
                data[: len(data) // 2],
                length=len(data),
                linger=5.0 if fault == "stalled" else 0,
            )
        return self.reply(kind, data)

    def perform_step(self, step: str, kind: str, data: bytes) -> None:
        name, _, argument = step.partition(":")
        if name in ("status", "busy"):
            return self.send(
                int(argument) if name == "status" else 429,
                b"no",
                {"Retry-After": argument} if name == "busy" else {},
            )
        tag = (
            f'"{hashlib.sha256(data).hexdigest()[:8]}{"-2" if name in ("tag", "changed") else ""}"'
        )
        if name in ("wrong", "changed"):
            data = bytes(byte ^ 255 for byte in data)
        caching = (
            {"Cache-Control": "public, max-age=31536000, immutable"}
            if name == "wrong"
            else {"Cache-Control": "no-store"}
        )
        head = {"Content-Type": kind, "ETag": tag, **caching}
        if name == "short":
            return self.send(200, data[: int(argument)], head)
        if name == "gzip":
            data = gzip.compress(data)
            return self.send(
                200, data, {**head, "Content-Encoding": "gzip"}, int(argument) if argument else None
            )
        resumed = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = (
            int(resumed[1])
            if resumed and name != "whole" and self.headers.get("If-Range", tag) == tag
            else 0
        )
        if start:
            head["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        end = int(argument) if name in ("drop", "stall") else None
        return self.send(206 if start else 200, data[start:], head, end, stalls=name == "stall")

    def send(
        self,
        status: int,
        data: bytes,
        headers: Mapping[str, str],
        end: int | None = None,
        *,
        stalls: bool = False,
    ) -> None:
        """Send headers for all of the data, but the data only up to `end`."""
        self.send_response(status)
        for name, value in {
            **headers,
            "Content-Length": str(len(data)),
            **self.server.site.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[:end])
        self.wfile.flush()
        if stalls:
            self.server.stopping.wait()
        self.close_connection = True

    def reply(
        self,
        kind: str,
        data: bytes,
        *,
        status: int = 200,
        length: int | None = None,
        linger: float = 0,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        for name, value in self.server.site.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()
        if linger:
            time.sleep(linger)
        if length is not None:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def serve(site: Site) -> Iterator[Site]:
    server = SiteServer(site)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()


PAGE = (
    '<!doctype html><link rel="icon" href="data:,"><title>scenario</title><script type="module"'
    ' src="/tests/page.js"></script>'
)


def in_page(site: Site, scenario: str, argument: Any, browser: str = "chromium") -> Any:
    site.pages = {"/": PAGE, **site.pages}
    site.request = {"scenario": scenario, "argument": argument}
    with serve(site):
        site.request["bundle"] = (
            f"{site.url.replace('127.0.0.1', site.host) if site.host else ''}/bundle/index.js"
        )
        browsers.console(browser)
        browsers.session(browser).get(site.url)
        answered = site.answered.wait(PATIENCE)
        log = browsers.console(browser)
        browsers.session(browser).get("about:blank")
    assert answered, f"{scenario} hangs in {browser}: {log}"
    assert "error" not in site.answer, f"{site.answer['error']} {log}"
    return site.answer["result"]


def in_node(bundle: Path, scenario: str, argument: Any, *flags: str) -> Any:
    command = [
        "node",
        *flags,
        str(HERE / "node_scenario.js"),
        str(bundle),
        scenario,
        json.dumps(argument),
    ]
    process = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])["result"]


def perform(host: str, bundle: Path, scenario: str, argument: Any) -> Any:
    return (
        in_node(bundle, scenario, argument)
        if host == "node"
        else in_page(Site(bundle), scenario, argument, host)
    )
