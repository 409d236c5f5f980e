"""The end of worker processes."""

from pathlib import Path

from webkiln.build.executor import Job, LocalPool
from webkiln.build.share import share

STAGE = """
import atexit
def run(inputs, outputs, params):
    atexit.register(lambda: outputs["closed"].write_text("closed"))
    outputs["made"].write_text("made")
"""


def test_an_idle_worker_runs_its_exit_handlers(tmp_path: Path) -> None:
    stage = tmp_path / "stage.py"
    stage.write_text(STAGE)
    outputs = {name: tmp_path / name for name in ("made", "closed")}
    pool = LocalPool(share().package.parent, 1, tmp_path)
    pool.execute(Job("made", stage, {}, outputs, {}, {}, 60))
    assert outputs["made"].read_text() == "made"
    assert not outputs["closed"].exists()
    pool.close()
    assert outputs["closed"].read_text() == "closed"
