"""Packages that look as if they were not installed, for the command and for the processes of its
stages, which get few variables.
"""

from pathlib import Path

PIPELINE = Path(__file__).resolve().parents[2] / "pipeline"
SCRIPT = """import sys


class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {packages}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Absent())
"""


def without(folder: Path, *packages: str, pipeline: Path = PIPELINE) -> dict[str, str]:
    """The environment of a command of the webkiln in `pipeline` that lacks these packages; `folder`
    gets a file that Python runs when it starts."""
    place = folder / "blocked"
    place.mkdir()
    (place / "sitecustomize.py").write_text(SCRIPT.format(packages=packages))
    return {"PYTHONPATH": f"{place}:{pipeline}"}
