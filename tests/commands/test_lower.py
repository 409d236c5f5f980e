"""`webkiln lower` prints the programs between passes."""

from pathlib import Path

import pytest

from tests.commands.conftest import Command
from webkiln.backends.table import REGISTRY
from webkiln.nest.parse import parse
from webkiln.nest.verify import verify


@pytest.mark.parametrize("backend", REGISTRY)
def test_every_pass_is_dumped(
    backend: str, webkiln: Command, sources: Path, tmp_path: Path
) -> None:
    source = sources / "good.keras"
    done = webkiln("lower", source, "--backend", backend, "--check", "--dump-all", "dumped")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    files = sorted((tmp_path / "dumped").iterdir())
    names = ["lower", *(item.name for item in REGISTRY[backend].passes())]
    assert [path.name for path in files] == [
        f"{number:02}-{name}.txt" for number, name in enumerate(names)
    ]
    for path in files:
        verify(parse(path.read_text("utf-8")))
    done = webkiln("lower", source, "--backend", backend, "--dump-after", "fuse")
    fused = next(path for path in files if path.name.endswith("-fuse.txt"))
    assert (done.returncode, done.stdout) == (0, fused.read_text("utf-8"))
    done = webkiln("lower", source, "--backend", backend)
    assert (done.returncode, done.stdout) == (0, files[-1].read_text("utf-8"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "is built for wasm, js; choose one with --backend"),
        (("--backend", "js,wasm"), "--backend is js,wasm, expected one backend"),
        (
            ("--backend", "js", "--dump-after", "fused"),
            "js has no pass 'fused'; it has lower, hold_float16, fuse,",
        ),
    ],
)
def test_wrong_options_are_refused(
    arguments: tuple[str, ...], message: str, webkiln: Command, sources: Path
) -> None:
    done = webkiln("lower", sources / "good.keras", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_damaged_file_of_tuned_choices_is_named(
    webkiln: Command, sources: Path, tmp_path: Path
) -> None:
    (tmp_path / "tuned.json").write_text("{")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'source = "{sources / "good.keras"}"\nbackends = ["js"]\ntuned = "tuned.json"\n'
    )
    done = webkiln("lower", tmp_path)
    assert done.returncode == 2
    assert "the tuned choices: not JSON" in done.stderr
    assert "Traceback" not in done.stderr
