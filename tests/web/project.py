"""Copies projects to a folder with an awkward name, builds them there, and serves them as their
tools do.
"""

import functools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.web.rows import BASE, Row

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
COMMANDS = EXAMPLES / "node_modules" / ".bin"
RECORDER = Path(__file__).with_name("recorder.js")
SOURCE = Path(__file__).parent / "projects" / "several"
AWKWARD = "räume & wege"
PLAINER = "rooms & ways"
"""Turbopack 16.4 panics where letters beyond ASCII are in the path from its root."""
MODEL = ROOT / "models" / "digits" / "digits.keras"
VITE_WORKER = "worker: { format: 'es' }"
"""As the plugin has it: Vite's default is one file with the modules of all backends."""
WEBKILN = ("--backend", "wasm,js")


def need_packages() -> None:
    if not COMMANDS.exists():
        raise FileNotFoundError(
            "the bundlers are missing: run `make setup`, or `npm install --no-save` in examples/"
            " (npm comes with Node.js; on Debian it is the package npm)"
        )


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(COMMANDS), str(ROOT / ".venv" / "bin"), os.environ["PATH"]])
    quiet = {"NO_COLOR": "1", "CI": "1", "NEXT_TELEMETRY_DISABLED": "1", "BROWSER": "none"}
    return {**os.environ, "PATH": path, **quiet, **more}


def run(command: str, folder: Path, *, timeout: float = 280, **more: str) -> str:
    """What a command says; AssertionError with it where it fails."""
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{command} ended with status {done.returncode}:\n{said[-4000:]}"
    return said


@functools.cache
def bundle_of(model: str, folder: Path) -> Path:
    """The bundle of digits, or of a file, once a session."""
    words = (model, *WEBKILN, "--output", str(folder))
    run(" ".join(f"'{word}'" for word in ("webkiln", "build", *words)), ROOT)
    return folder


def lay(folder: Path, source: Path) -> Path:
    """A copy of a project, with the packages of the examples beside it."""
    home = folder / (PLAINER if source.name == "next" else AWKWARD)
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "node_modules").exists():
        (home / "node_modules").symlink_to(EXAMPLES / "node_modules")
    ignored = shutil.ignore_patterns(
        "node_modules", "dist", ".next", ".webkiln", "build", "out", "digits", "webkiln-env.d.ts"
    )
    return Path(shutil.copytree(source, home / source.name, ignore=ignored))


def laid(row: Row, folder: Path, bundle: Path) -> Path:
    """The project of a row, ready to be built."""
    place = lay(folder, ROOT / row.project)
    if row.tool in ("Farm", "Parcel"):
        shutil.copyfile(EXAMPLES / "vite" / "index.html", place / "index.html")
        shutil.copytree(EXAMPLES / "vite" / "src", place / "src")
    elif row.project.startswith("tests"):
        for name in ("src", "public"):
            shutil.copytree(
                EXAMPLES / "webpack" / name, place / name, ignore=shutil.ignore_patterns("build")
            )
    if row.model == "bundle":
        put_bundle(row, place, bundle)
    return place


def put_bundle(row: Row, place: Path, bundle: Path) -> None:
    """Lay a bundle into the project, and leave the plugin out of it."""
    where = {"next": "app/digits", "plain": "digits"}.get(place.name, "src/digits")
    shutil.copytree(bundle, place / where)
    if place.name == "next":
        edit(place / "package.json", r"npm run model && ", "")
        # The packages are linked into the copy, and Turbopack follows no link that leaves its root.
        edit(
            place / "next.config.mjs",
            r"export default \{",
            "export default { turbopack: { root: '/' },",
        )
    for config in [*place.glob("*.config.js"), *place.glob("build.js")]:
        edit(config, r"import webkiln .*\n", "")
        edit(
            config,
            r"plugins: \[webkiln\(\)\]",
            VITE_WORKER if place.name == "vite" else "plugins: []",
        )
    if where == "src/digits":
        edit(place / "src" / "main.js", r"'webkiln:[^']*'", "'./digits/index.js'")


def edit(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text("utf-8"))
    assert count > 0, f"{path} has no {pattern}"
    path.write_text(text, "utf-8")


def command_of(place: Path, script: tuple[str, ...]) -> str:
    name, *words = script
    command = json.loads((place / "package.json").read_text("utf-8"))["scripts"][name]
    first, *rest = command.split(" && ")
    return " && ".join([" ".join([first, *words]), *rest])


def build(row: Row, place: Path) -> Path:
    """The folder that is deployed."""
    if row.script:
        run(command_of(place, row.script), place, BASE_PATH=BASE.rstrip("/"))
    return place / row.deployed


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Dev:
    """A server of development that runs."""

    def __init__(self, url: str, record: Path, log: Path) -> None:
        self.url = url
        self.record = record
        self.log = log

    def fetched(self) -> dict[str, bytes]:
        """What was asked for, with the answers that it gets now."""
        paths = (
            dict.fromkeys(self.record.read_text("utf-8").splitlines())
            if self.record.exists()
            else {}
        )
        origin = "/".join(self.url.split("/")[:3])
        found = {}
        for path in paths:
            try:
                with urlopen(origin + path, timeout=30) as answer:
                    found[path] = answer.read()
            except URLError:
                continue
        return found


@contextmanager
def serving(place: Path, script: tuple[str, ...], base: str, **more: str) -> Iterator[Dev]:
    """Run a server of development until the block ends."""
    port = free_port()
    record, log = place.parent / f"{place.name}-asked.txt", place.parent / f"{place.name}.log"
    command = command_of(place, script).replace("{port}", str(port))
    variables = environment(
        BASE_PATH=base.rstrip("/"),
        NODE_OPTIONS=f'--import="{RECORDER.as_uri()}"',
        WEB_RECORD=str(record),
        **more,
    )
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=place,
            env=variables,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{port}{base}"
        wait_for(url, process, log)
        record.unlink(missing_ok=True)
        yield Dev(url, record, log)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def wait_for(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + 150
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(url, timeout=60) as answer:
                answer.read()
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise AssertionError(f"{url} does not answer:\n{log.read_text('utf-8')[-3000:]}")


def versions() -> Mapping[str, str]:
    """The locked versions of the packages."""
    locked = json.loads((EXAMPLES / "package-lock.json").read_text("utf-8"))["packages"]
    return {
        name.removeprefix("node_modules/"): entry["version"]
        for name, entry in locked.items()
        if name.startswith("node_modules/") and "version" in entry
    }
