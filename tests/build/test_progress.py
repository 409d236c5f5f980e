"""Output while actions run."""

import io
from pathlib import Path

import pytest

from webkiln.build import progress
from webkiln.build.action import Action
from webkiln.build.engine import Engine
from webkiln.build.progress import Lines, Live
from webkiln.build.share import PACKAGE, Share


def test_lines_count_finished_steps_and_estimate_the_remaining_time() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.expect({"a": 0.0, "b": 0.1, "c": 40.0, "d": None})
    lines.hit("a", "")
    lines.start("b")
    lines.done("b", "printed")
    lines.skip("d")
    lines.start("c")
    lines.done("c", "")
    assert (
        stream.getvalue()
        == "[1/4] a  cached\n[2/4] b  0.0 s, about 40 s left\nprinted\n[4/4] c  0.0 s\n"
    )


def test_a_long_step_reports_progress_without_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.5)
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "long.py").write_text(
        "import time\nfrom webkiln.build import stage\n\ndef run(inputs, outputs, params):\n   "
        " time.sleep(1.2)\n    print('half of it\\r', end='')\n    time.sleep(1.2)\n   "
        " stage.report_progress('3 of 4 MB')\n    time.sleep(1.2)\n"
        "    outputs['out'].write_text('')\n"
    )
    stream = io.StringIO()
    with Engine(
        tmp_path / "state",
        cache=tmp_path / "cache",
        shared=Share(tmp_path, PACKAGE),
        progress=Lines(stream),
    ) as engine:
        engine.run(Action("long:m", "long", ("out",)))
    output = [
        line.split("  ")[1].partition(",")[0]
        for line in stream.getvalue().splitlines()
        if "  " in line
    ]
    assert {"runs", "half of it", "3 of 4 MB"} <= set(output)


def test_the_display_of_a_terminal() -> None:
    live = Live(io.StringIO())
    live.expect({"a": None, "b": None})
    live.start("a")
    live.update("a", "12 of 30 MB")
    assert live._display is not None
    assert [task.description for task in live._display.tasks] == ["0 of 2 done", "a  12 of 30 MB"]
    live.done("a", "")
    assert [task.description for task in live._display.tasks] == ["1 of 2 done"]
    live.close()
