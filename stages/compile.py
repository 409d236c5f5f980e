"""C sources -> objects, one each, in one call of the compiler."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.backends.toolchain import compile_objects
from webkiln.build import stage

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    sources = sorted(inputs["sources/"].iterdir())
    objects = [outputs["objects/"] / f"{source.stem}.o" for source in sources]
    compile_objects(sources, objects, params["variant"])


if __name__ == "__main__":
    stage.main()
