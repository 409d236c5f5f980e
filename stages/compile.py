"""C sources -> objects of one WebAssembly variant, in one compiler call."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.backends.toolchain import compile_objects
from webkiln.build import stage

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    sources = sorted(inputs["sources/"].rglob("*.c"))
    objects = [outputs["objects/"] / path.relative_to(inputs["sources/"]).with_suffix(".o") for path in sources]
    for path in objects:
        path.parent.mkdir(parents=True, exist_ok=True)
    compile_objects(sources, objects, params["variant"])


if __name__ == "__main__":
    stage.main()
