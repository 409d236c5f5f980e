"""Simulate missing packages for the command and for the processes of its stages, which receive few
environment variables.
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
    """Return the environment of a command of the webkiln in `pipeline` that lacks these packages.
    `folder` receives a file that Python runs at startup.
    """
    packages_folder = folder / "blocked"
    packages_folder.mkdir()
    (packages_folder / "sitecustomize.py").write_text(SCRIPT.format(packages=packages))
    return {"PYTHONPATH": f"{packages_folder}:{pipeline}"}
