"""program.json -> the source files of one backend."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.codegen.program import write_code
from webkiln.codegen.templates import Templates

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    shared = Path(__file__).resolve().parent.parent
    write_code(canonical.read(inputs["program.json"]), Templates(shared), outputs["code/"])


if __name__ == "__main__":
    stage.main()
