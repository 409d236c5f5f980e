"""Run bundles in Node."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from webkiln.errors import ToolError

DATA = ("webkiln/backends/harness*.js",)

HARNESS = Path(__file__).with_name("harness_node.js")
OLDEST = 20
RELAXED_BY_DEFAULT = 21


def find() -> tuple[str, str]:
    """Node's path and version. Raises ToolError if Node is missing or too old."""
    path = shutil.which("node")
    if path is None:
        raise ToolError(
            "node is not on PATH; install Node 20 or newer, for instance from https://nodejs.org"
        )
    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
        version = answer.strip().removeprefix("v")
        major = int(version.split(".")[0])
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        raise ToolError(
            f"node: {path} --version failed ({error}); install Node {OLDEST} or newer"
        ) from error
    if major < OLDEST:
        raise ToolError(f"node: {path} is version {version}; install Node {OLDEST} or newer")
    return path, version


def run_frames(
    bundle: Path, request: dict[str, Any], frames: Sequence[bytes], timeout: float
) -> list[bytes]:
    """Run `request["script"]` of the harness with one frame per input set. Returns frames."""
    node, version = find()
    early = int(version.split(".")[0]) < RELAXED_BY_DEFAULT
    flags = (
        ["--experimental-wasm-relaxed-simd"] if early and request["variant"] == "relaxed" else []
    )
    with tempfile.TemporaryDirectory(prefix="webkiln-node-") as name:
        folder = Path(name)
        (folder / "package.json").write_text('{"type":"module"}')
        for part in HARNESS.parent.glob("harness*.js"):
            shutil.copyfile(part, folder / part.name)
        url = (bundle.resolve() / "index.js").as_uri()
        (folder / "request.json").write_text(json.dumps({**request, "bundle": url}))
        for index, frame in enumerate(frames):
            (folder / f"in.{index}").write_bytes(frame)
        command = [node, *flags, str(folder / "harness_node.js"), str(folder)]
        try:
            process = subprocess.run(
                command, capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"node: {bundle} did not finish within {timeout:g} s") from error
        done = folder / "done.json"
        if not done.exists():
            raise ToolError(
                f"node: {bundle} ended with status {process.returncode}:"
                f" {process.stderr.strip()[-2000:]}"
            )
        if failure := json.loads(done.read_text()):
            raise ToolError(f"node: {bundle}: {failure['code'] or 'Error'}: {failure['message']}")
        return [(folder / f"out.{index}").read_bytes() for index in range(len(frames))]
