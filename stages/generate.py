"""program.json -> the source files of one backend.

The printer of a backend is imported by name: the action graph adds its module, and the templates
that it names, to the key of that backend alone.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.codegen.templates import Templates

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    shared = Path(__file__).resolve().parent.parent
    program = canonical.read(inputs["program.json"])
    outputs["code/"].mkdir(parents=True, exist_ok=True)
    printer = import_module(f"webkiln.backends.{program['backend']}.printer")
    printer.write(program, Templates(shared), outputs["code/"])


if __name__ == "__main__":
    stage.main()
