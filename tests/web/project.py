"""Copies projects into a folder with an awkward name, builds them there, and serves them with their
tools.
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
"""Turbopack 16.4 panics if the path from its root contains non-ASCII letters."""
MODEL = ROOT / "models" / "digits" / "digits.keras"
VITE_WORKER = "worker: { format: 'es' }"
"""The setting of the plugin. By default Vite bundles the modules of all backends into one file."""
WEBKILN = ("--backend", "wasm,js")


def need_packages() -> None:
    if not COMMANDS.exists():
        raise FileNotFoundError(
            "the bundlers are missing: run `make setup`, or `npm install --no-save` in examples/"
            " (npm comes with Node.js; on Debian it is the package npm)"
        )


def environment(**variables: str) -> dict[str, str]:
    path = os.pathsep.join([str(COMMANDS), str(ROOT / ".venv" / "bin"), os.environ["PATH"]])
    quiet = {"NO_COLOR": "1", "CI": "1", "NEXT_TELEMETRY_DISABLED": "1", "BROWSER": "none"}
    return {**os.environ, "PATH": path, **quiet, **variables}


def run(command: str, folder: Path, *, timeout: float = 280, **variables: str) -> str:
    """The output of a command. Raises AssertionError with the output if the command fails."""
    process = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    output = process.stdout + process.stderr
    assert process.returncode == 0, (
        f"{command} ended with status {process.returncode}:\n{output[-4000:]}"
    )
    return output


@functools.cache
def bundle_of(model: str, folder: Path) -> Path:
    """The bundle of digits, or of a file. Built once per session."""
    arguments = (model, *WEBKILN, "--output", str(folder))
    run(" ".join(f"'{word}'" for word in ("webkiln", "build", *arguments)), ROOT)
    return folder


def copy_project(folder: Path, source: Path) -> Path:
    """Copy a project, and link the packages of the examples next to it."""
    home = folder / (PLAINER if source.name == "next" else AWKWARD)
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "node_modules").exists():
        (home / "node_modules").symlink_to(EXAMPLES / "node_modules")
    ignored = shutil.ignore_patterns(
        "node_modules", "dist", ".next", ".webkiln", "build", "out", "digits", "webkiln-env.d.ts"
    )
    return Path(shutil.copytree(source, home / source.name, ignore=ignored))


def prepare(row: Row, folder: Path, bundle: Path) -> Path:
    """Prepare the project of a row for its build."""
    root = copy_project(folder, ROOT / row.project)
    if row.tool in ("Farm", "Parcel"):
        shutil.copyfile(EXAMPLES / "vite" / "index.html", root / "index.html")
        shutil.copytree(EXAMPLES / "vite" / "src", root / "src")
    elif row.project.startswith("tests"):
        for name in ("src", "public"):
            shutil.copytree(
                EXAMPLES / "webpack" / name, root / name, ignore=shutil.ignore_patterns("build")
            )
    if row.model == "bundle":
        put_bundle(row, root, bundle)
    return root


def put_bundle(row: Row, root: Path, bundle: Path) -> None:
    """Copy a bundle into the project, and remove the plugin from its configuration."""
    target = {"next": "app/digits", "plain": "digits"}.get(root.name, "src/digits")
    shutil.copytree(bundle, root / target)
    if root.name == "next":
        edit(root / "package.json", r"npm run model && ", "")
        # The packages are linked into the copy, and Turbopack follows no link out of its root.
        edit(
            root / "next.config.mjs",
            r"export default \{",
            "export default { turbopack: { root: '/' },",
        )
    for config in [*root.glob("*.config.js"), *root.glob("build.js")]:
        edit(config, r"import webkiln .*\n", "")
        edit(
            config,
            r"plugins: \[webkiln\(\)\]",
            VITE_WORKER if root.name == "vite" else "plugins: []",
        )
    if target == "src/digits":
        edit(root / "src" / "main.js", r"'webkiln:[^']*'", "'./digits/index.js'")


def edit(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text("utf-8"))
    assert count > 0, f"{path} has no {pattern}"
    path.write_text(text, "utf-8")


def command_of(root: Path, script: tuple[str, ...]) -> str:
    name, *arguments = script
    command = json.loads((root / "package.json").read_text("utf-8"))["scripts"][name]
    first, *rest = command.split(" && ")
    return " && ".join([" ".join([first, *arguments]), *rest])


def build(row: Row, root: Path) -> Path:
    """Build the project of a row. Returns the folder to deploy."""
    if row.script:
        run(command_of(root, row.script), root, BASE_PATH=BASE.rstrip("/"))
    return root / row.deployed


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Dev:
    """A running dev server."""

    def __init__(self, url: str, record: Path, log: Path) -> None:
        self.url = url
        self.record = record
        self.log = log

    def downloads(self) -> dict[str, bytes]:
        """The requested paths with the content that they have now."""
        paths = (
            dict.fromkeys(self.record.read_text("utf-8").splitlines())
            if self.record.exists()
            else {}
        )
        origin = "/".join(self.url.split("/")[:3])
        content = {}
        for path in paths:
            try:
                with urlopen(origin + path, timeout=30) as answer:
                    content[path] = answer.read()
            except URLError:
                continue
        return content


@contextmanager
def serving(root: Path, script: tuple[str, ...], base: str, **variables: str) -> Iterator[Dev]:
    """Run a dev server until the block ends."""
    port = free_port()
    record, log = root.parent / f"{root.name}-asked.txt", root.parent / f"{root.name}.log"
    command = command_of(root, script).replace("{port}", str(port))
    variables = environment(
        BASE_PATH=base.rstrip("/"),
        NODE_OPTIONS=f'--import="{RECORDER.as_uri()}"',
        WEB_RECORD=str(record),
        **variables,
    )
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=root,
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
