"""The objects of a program -> one WebAssembly module."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.backends.toolchain import link
from webkiln.build import stage

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    del params
    # Objects of equal size are often similar, and compress better next to each other.
    objects = sorted(
        (path for path in inputs["objects/"].rglob("*") if path.is_file()),
        key=lambda path: (path.stat().st_size, path),
    )
    link(objects, outputs["model.wasm"])


if __name__ == "__main__":
    stage.main()
