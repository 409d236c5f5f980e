"""Run programs of webgpu on Mesa's software GPU, in a tree of Debian that `make matrices` makes.
It has subgroup matrices, of 8 x 8, which the GPUs of the tests' browsers do not have.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.backends.adapters import ADAPTERS
from tests.backends.harness import ROOT, Prepared, frame_arrays, write_program
from webkiln.backends import frame
from webkiln.ir.types import Array

TREE = Path(os.environ.get("LAVAPIPE") or ROOT / ".webkiln" / "lavapipe").resolve()
ENTER = """
mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" \
env VK_ICD_FILENAMES=/usr/share/vulkan/icd.d/lvp_icd.json node "$@"
"""
"""Start Node in the tree, in a namespace of its own, so that nothing stays mounted."""
PROGRAMS, BUNDLE = "tests/dawn/run_programs.mjs", "tests/dawn/run_bundle.mjs"
MODULES = (
    "runtime/src",
    "tests/backends/run_program.mjs",
    "pipeline/webkiln/backends/harness.js",
    "tests/dawn/gpu.mjs",
    PROGRAMS,
    BUNDLE,
)


@dataclass(frozen=True)
class Ran:
    """The outputs of a program, and the kernels with subgroup matrices that it launched."""

    outputs: Mapping[str, Array]
    matrices: Sequence[str]


def run_programs(
    prepared: Sequence[Prepared],
    adapter: Mapping[str, str] = ADAPTERS[132],
    without: Sequence[str] = (),
) -> list[Ran]:
    """Run programs on a device. `adapter`: what it tells about itself; `without`: the features that
    its adapter hides.
    """
    count = len(prepared)
    request = {"count": count, "adapter": adapter, "without": list(without)}
    with _folder(request) as home:
        for number, item in enumerate(prepared):
            write_program(item.program, home / str(number) / "code")
            (home / str(number) / "in").write_bytes(frame.encode(frame_arrays(item)))
        _run_node(home / PROGRAMS, home)
        return [_answer(home / str(number)) for number in range(count)]


def run_bundle(bundle: Path, x: Array) -> Ran:
    """Run a bundle of an input x and an output y, on a device of a data centre."""
    with _folder({"adapter": ADAPTERS[132]}) as home:
        shutil.copytree(bundle, home / "bundle")
        (home / "x").write_bytes(x.tobytes())
        _run_node(home / BUNDLE, home)
        y = np.frombuffer((home / "y").read_bytes(), np.float32)
        return Ran({"y": y}, json.loads((home / "matrices.json").read_text()))


@contextmanager
def _folder(request: Mapping[str, Any]) -> Iterator[Path]:
    """A folder in the tree with a request and the scripts."""
    if not (TREE / "node_modules").exists():
        raise FileNotFoundError(f"{TREE} has no tree of Debian: run `make matrices` as root")
    with TemporaryDirectory(dir=TREE / "tmp") as name:
        home = Path(name)
        for module in MODULES:
            _copy(ROOT / module, home / module)
        (home / "package.json").write_text('{"type":"module"}')
        (home / "request.json").write_text(json.dumps(request))
        yield home


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _run_node(*paths: Path) -> None:
    """Run a script in the tree, with paths in it."""
    namespace = ("unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, str(TREE))
    inside = (f"/{path.relative_to(TREE)}" for path in paths)
    done = subprocess.run(
        [*namespace, *inside], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]


def _answer(home: Path) -> Ran:
    outputs = frame.decode((home / "out").read_bytes()).outputs
    return Ran(outputs, json.loads((home / "matrices.json").read_text()))
