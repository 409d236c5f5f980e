"""Compare engines on WebGPU in Chromium. This file runs with Python alone, in a folder that
`python -m tests.bench.bench_gpu --pack` made:

    python3 run.py [--software] [--rounds 5] [--networks resnet50,lstm]
        [--engines webkiln,litert] [--browser PATH] [--minutes 8] [--output FOLDER]

It serves the folder, starts a headless Chromium for each network, and writes results.json and
results.md.
"""

import argparse
import datetime as dt
import json
import os
import platform
import queue
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

BROWSERS = (
    "/usr/lib/chromium/chromium",
    "chromium",
    "chromium-browser",
    "chromium-headless-shell",
    "google-chrome",
    "chrome",
)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--host-resolver-rules=MAP * ^NOTFOUND , EXCLUDE 127.0.0.1",
    "--remote-debugging-port=0",
    "--enable-unsafe-webgpu",
    "--enable-webgpu-developer-features",
    "--disable-gpu-watchdog",
)
GPU_FLAGS = (
    "--ignore-gpu-blocklist",
    "--enable-features=Vulkan",
    "--use-angle=vulkan",
    "--disable-vulkan-surface",
)
SOFTWARE_FLAGS = ("--enable-unsafe-swiftshader", "--use-webgpu-adapter=swiftshader")
CLOSING_SECONDS = 5
"""The time to stop browsers and to write the results."""
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cache-Control": "no-store",
}
PAGE = """<!doctype html><title>bench</title><script type="importmap">
{"imports": {"@litertjs/wasm-utils": "/npm/@litertjs/wasm-utils/dist/index.js"}}</script>
<script type="module">import { main } from '/gpu.mjs'; main();</script>"""
COLUMNS = (
    "network",
    "engine",
    "GPU ms",
    "wall ms",
    "first result, ms",
    "launches",
    "passes",
    "submissions",
    "error",
)


class Server(ThreadingHTTPServer):
    """Serves the folder to one page at a time. `messages` are what the page posts."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that ends closes its connections."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.network = folder, ""
        self.settings: dict[str, Any] = {}
        self.messages: queue.Queue[tuple[str, Any]] = queue.Queue()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(SimpleHTTPRequestHandler):
    """`/data/` and `/bundle/` are those of the server's network."""

    protocol_version = "HTTP/1.1"
    extensions_map: ClassVar = {
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def __init__(self, request: Any, address: Any, server: Server) -> None:
        self.bench = server
        super().__init__(request, address, server, directory=str(server.folder))

    def translate_path(self, path: str) -> str:
        network = f"/networks/{self.bench.network}/"
        for prefix, target in (("/data/", network), ("/bundle/", f"{network}bundle/")):
            if path.startswith(prefix):
                path = target + path[len(prefix) :]
        return super().translate_path(path)

    def do_GET(self) -> None:
        if self.path == "/":
            self.answer("text/html", PAGE.encode())
        elif self.path == "/settings.json":
            self.answer("application/json", json.dumps(self.bench.settings).encode())
        else:
            super().do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.bench.messages.put((self.path, json.loads(body)))
        self.answer("text/plain", b"")

    def answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *values: Any) -> None:
        """Requests are not logged."""


def find_browser(path: str | None) -> str:
    """The path of Chromium. Raises SystemExit if there is none."""
    for name in (path,) if path else BROWSERS:
        if found := shutil.which(name):
            return found
    raise SystemExit("no Chromium found; --browser PATH names it")


def measure(server: Server, browser: str, flags: Sequence[str], seconds: float) -> dict[str, Any]:
    """What the page posts as its result, or as a part of it until its time is up; or `error` with
    the reason why there is none.
    """
    home = tempfile.mkdtemp(prefix="bench-gpu-")
    command = [
        browser,
        *flags,
        f"--user-data-dir={home}",
        f"http://127.0.0.1:{server.server_port}/",
    ]
    log = Path(home) / "log.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home},
        )
    try:
        return wait_for_result(server, process, log, time.monotonic() + seconds)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(home, ignore_errors=True)


def wait_for_result(
    server: Server, process: subprocess.Popen[bytes], log: Path, end: float
) -> dict[str, Any]:
    step, partial = "starts", None
    while time.monotonic() < end:
        with suppress(queue.Empty):
            path, value = server.messages.get(timeout=0.5)
            if path == "/result":
                return value
            if path == "/partial":
                partial = value
            else:
                step = value
                print(f"  {value}", file=sys.stderr, flush=True)
            continue
        if process.poll() is not None:
            last = log.read_text(errors="replace").strip().splitlines()[-1:]
            return {"error": f"the browser ended while it {step}: {' '.join(last)}"}
    late = f"no result in time; the page still {step}"
    if partial is None:
        return {"error": late}
    missing = [name for name in server.settings["engines"] if name not in partial["results"]]
    return {**partial, "refused": dict.fromkeys(missing, late) | partial["refused"]}


def measure_all(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The results of all networks, and what they were measured with."""
    listed = json.loads((folder / "networks.json").read_text())
    names = options.networks.split(",") if options.networks else list(listed)
    browser, server = find_browser(options.browser), Server(folder)
    flags = (*FLAGS, *(SOFTWARE_FLAGS if options.software else GPU_FLAGS))
    end = time.monotonic() + 60 * options.minutes - CLOSING_SECONDS
    networks = {}
    for index, name in enumerate(names):
        print(name, file=sys.stderr, flush=True)
        server.network = name
        left = len(names) - index
        seconds = max(end - time.monotonic(), 1) / max(left / 2, 1)
        engines = options.engines.split(",") if options.engines else listed[name]
        server.settings = {
            "engines": engines,
            "rounds": options.rounds,
            "software": options.software,
            "seconds": seconds,
        }
        networks[name] = measure(server, browser, flags, seconds)
    server.shutdown()
    version = subprocess.run([browser, "--version"], capture_output=True, text=True, check=False)
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "browser": version.stdout.strip(),
        "system": platform.platform(),
        "rounds": options.rounds,
        "flags": list(flags),
        "networks": networks,
    }


def table(measured: dict[str, Any]) -> str:
    """The rows of all networks as a Markdown table, and the reasons why some are missing."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}"]
    reasons = []
    for network, measurement in measured["networks"].items():
        if "error" in measurement:
            reasons.append(f"* {network}: {measurement['error']}")
            continue
        for engine, result in measurement["results"].items():
            lines.append(f"| {' | '.join(row(network, engine, result))} |")
        reasons += [
            f"* {network}, {engine}: {reason}" for engine, reason in measurement["refused"].items()
        ]
    return "\n".join([*lines, *(["", "Not measured:", "", *reasons] if reasons else [])]) + "\n"


def row(network: str, engine: str, result: dict[str, Any]) -> list[str]:
    gpu, wall = (
        f"{statistics.median(result[key]):.3g}" if result[key] else "-"
        for key in ("gpuMs", "wallMs")
    )
    counts = [str(result.get(key, "-")) for key in ("launches", "passes", "submissions")]
    return [
        network,
        engine,
        gpu,
        wall,
        f"{result['firstMs']:.0f}",
        *counts,
        f"{result['error']:.1e}",
    ]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    parser.add_argument("--networks", help="separated by commas; default: all of the folder")
    parser.add_argument("--engines", help="separated by commas; default: all")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    return parser.parse_args()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that a run has in a folder and in the repository."""
    parser.add_argument("--software", action="store_true", help="use a GPU that the CPU emulates")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--browser", help="the path of Chromium")
    parser.add_argument("--minutes", type=float, default=8, help="of all networks; default: 8")


def main() -> int:
    options = parse()
    measured = measure_all(Path(__file__).resolve().parent, options)
    (options.output / "results.json").write_text(json.dumps(measured, indent=1) + "\n")
    (options.output / "results.md").write_text(table(measured))
    print(table(measured))
    return 0 if all("error" not in item for item in measured["networks"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
