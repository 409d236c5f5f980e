"""Objects -> one WebAssembly module."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.backends.toolchain import link
from webkiln.build import stage

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:  # noqa: ARG001 - a stage's signature
    memory = canonical.read(inputs["program.json"])["memory"]
    link(sorted(inputs["objects/"].rglob("*.o")), outputs["model.wasm"], memory)


if __name__ == "__main__":
    stage.main()
