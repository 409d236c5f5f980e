"""Projects with a script whose discovered inputs are recorded."""

import functools
import tempfile
from pathlib import Path

from webkiln.build import observer
from webkiln.build.action import Action, Local, Requirements, UserReads
from webkiln.build.engine import Engine
from webkiln.build.share import PACKAGE, Share

STAGE = """
from pathlib import Path
from webkiln.plugins import import_file

DATA = ()


def run(inputs, outputs, params):
    outputs["out"].write_text(str(import_file(inputs["script.py"]).make()))
"""


@functools.cache
def observer_library() -> tuple[str, bytes]:
    """The library that observes native code: its path in a cache, and its bytes. It is compiled
    once per process.
    """
    with tempfile.TemporaryDirectory() as folder:
        library = observer.library(Path(folder))
        assert library is not None
        return library.relative_to(folder).as_posix(), library.read_bytes()


def install_observer(cache: Path) -> None:
    """Install the library in a cache."""
    name, data = observer_library()
    (cache / name).parent.mkdir(parents=True, exist_ok=True)
    (cache / name).write_bytes(data)


class Project:
    """A folder with a script. An action runs the script's `make`."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root = root
        self.cache = cache
        install_observer(cache)
        self.runs = 0
        (root / "stages").mkdir(parents=True)
        (root / "stages" / "make.py").write_text(STAGE)
        self.project = root / "project"
        self.project.mkdir()

    def script(self, body: str) -> None:
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        (self.project / "make.py").write_text(
            "import sys, os\nfrom pathlib import Path\nHERE = Path(__file__).parent\n\ndef"
            f" make():\n{lines}\n"
        )

    def make(self, *reads: Path) -> str:
        share = Share(self.root, PACKAGE)
        script = self.project / "make.py"
        roots = (self.project, *reads)
        action = Action(
            "make:m",
            "make",
            ("out",),
            {"script.py": Local(script)},
            requirements=Requirements((script,)),
            user_reads=UserReads(roots, reads),
        )
        with Engine(self.root / "state", cache=self.cache, shared=share) as engine:
            before = len(self.log())
            blob = engine.run(action).outputs["out"]
            self.runs = len(self.log()) - before
            return engine.cache.store.path(blob.sha256).read_text()

    def log(self) -> list[str]:
        path = self.root / "state" / "log.jsonl"
        return (
            [line for line in path.read_text().splitlines() if '"execute"' in line]
            if path.exists()
            else []
        )
