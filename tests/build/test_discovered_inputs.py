"""Files that user code reads are inputs of its action. Its environment is fixed."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import h5py
import pytest

from tests.build.projects import Project, install_observer
from tests.sampling import representative
from webkiln.build import observer
from webkiln.errors import RecipeError


def _write_h5(path: Path, value: int) -> None:
    with h5py.File(path, "w") as file:
        file["x"] = value


READS = {
    "a file": (
        "return (HERE / 'data.txt').read_text()",
        lambda p, n: (p / "data.txt").write_text(f"data {n}"),
    ),
    "a file by os.open": (
        "return os.read(os.open(HERE / 'data.txt', os.O_RDONLY), 99)",
        lambda p, n: (p / "data.txt").write_text(f"data {n}"),
    ),
    "a file in the current folder": (
        "return open('data.txt').read()",
        lambda p, n: (p / "data.txt").write_text(f"data {n}"),
    ),
    "a helper": (
        "sys.path.insert(0, str(HERE))\nimport helper\nreturn helper.N",
        lambda p, n: (p / "helper.py").write_text(f"N = 'number {n}'\n"),
    ),
    "a folder": (
        "return sorted(os.listdir(HERE / 'data'))",
        lambda p, n: [(p / "data").mkdir(exist_ok=True), (p / "data" / f"{n}").touch()],
    ),
    "a pattern": (
        "return len(list(HERE.glob('data/*')))",
        lambda p, n: [(p / "data").mkdir(exist_ok=True), (p / "data" / f"{n}").touch()],
    ),
    "what h5py reads": (
        "import h5py\nwith h5py.File(HERE / 'x.h5') as file:\n    return int(file['x'][()])",
        lambda p, n: _write_h5(p / "x.h5", n),
    ),
    "whether a file is there": (
        "return (HERE / 'big.flag').exists()",
        lambda p, n: (p / "big.flag").touch() if n else None,
    ),
    "a glob of a plain name": (
        "return len(list(HERE.glob('big.flag')))",
        lambda p, n: (p / "big.flag").touch() if n else None,
    ),
    "the size of a file": (
        "return os.stat(HERE / 'data.txt').st_size",
        lambda p, n: (p / "data.txt").write_text(9 * n * "x"),
    ),
    "whether a folder is there": (
        "return os.path.isdir(HERE / 'data')",
        lambda p, n: (p / "data").mkdir() if n else None,
    ),
    "whether a file may be read": (
        "return os.access(HERE / 'data.txt', os.R_OK)",
        lambda p, n: (p / "data.txt").touch() if n else None,
    ),
    "a module that comes later": (
        (
            "sys.path.insert(0, str(HERE))\ntry:\n    from local_settings import W\nexcept"
            " ImportError:\n    W = 1\nreturn W"
        ),
        lambda p, n: (p / "local_settings.py").write_text("W = 5\n") if n else None,
    ),
    "a module that comes before another": (
        "sys.path[:0] = [str(HERE / 'first'), str(HERE)]\nimport helper\nreturn helper.N",
        lambda p, n: [
            (p / ("first" if n else ".")).mkdir(exist_ok=True),
            (p / ("first" if n else ".") / "helper.py").write_text(f"N = {n}\n"),
        ],
    ),
    "a package that shadows a module": (
        (
            "sys.path.insert(0, str(HERE))\nimport importlib\nreturn"
            " importlib.import_module('helper').N"
        ),
        lambda p, n: [
            (p / ("helper" if n else ".")).mkdir(exist_ok=True),
            (p / ("helper/__init__.py" if n else "helper.py")).write_text(f"N = {n}\n"),
        ],
    ),
    "what another program reads": (
        "import subprocess\nreturn subprocess.check_output(['cat', HERE / 'data.txt'], text=True)",
        lambda p, n: (p / "data.txt").write_text(f"data {n}"),
    ),
    "what a shell reads without the environment": (
        (
            "import subprocess\nreturn subprocess.check_output('cat data.txt', shell=True,"
            " env={'PATH': os.environ['PATH']}, text=True)"
        ),
        lambda p, n: (p / "data.txt").write_text(f"data {n}"),
    ),
    "a program of the project": (
        "import subprocess\nreturn subprocess.check_output([HERE / 'tool.sh'], text=True)",
        lambda p, n: [
            (p / "tool.sh").write_text(f"#!/bin/sh\necho {n}\n"),
            (p / "tool.sh").chmod(0o755),
        ],
    ),
    "what native code reads": (
        (
            "import ctypes\nc = ctypes.CDLL(None)\nc.fopen.restype = ctypes.c_void_p\nfile ="
            " c.fopen(os.fsencode(HERE / 'data.txt'), b'r')\nfound ="
            " ctypes.create_string_buffer(99)\nc.fread(found, 1, 98, ctypes.c_void_p(file))\nreturn"
            " found.value"
        ),
        lambda p, n: (p / "data.txt").write_text(f"data {n}"),
    ),
    "what native code lists": (
        (
            "import ctypes\nc = ctypes.CDLL(None)\nc.opendir.restype = c.readdir.restype ="
            " ctypes.c_void_p\nfolder = c.opendir(os.fsencode(HERE / 'data'))\ncount = 0\nwhile"
            " c.readdir(ctypes.c_void_p(folder)):\n    count += 1\nreturn count"
        ),
        lambda p, n: [(p / "data").mkdir(exist_ok=True), (p / "data" / f"{n}").touch()],
    ),
    "what may be there": (
        (
            "try:\n    return open(HERE / 'data.txt').read()\nexcept FileNotFoundError:\n    return"
            " 'nothing'"
        ),
        lambda p, n: (p / "data.txt").write_text("something") if n else None,
    ),
}

MOST = (
    "a file",
    "a file in the current folder",
    "a helper",
    "a folder",
    "a pattern",
    "what h5py reads",
    "whether a file is there",
    "the size of a file",
    "whether a file may be read",
    "a module that comes later",
    "a package that shadows a module",
    "what another program reads",
    "what native code reads",
    "what native code lists",
    "what may be there",
)
"""The other ways to read are observed by the same means as one of these."""


@pytest.mark.parametrize("kind", representative(READS, *MOST))
def test_a_change_of_a_read_file_reruns_the_action(project: Project, kind: str) -> None:
    body, write = READS[kind]
    project.script(body)
    write(project.project, 0)
    first = project.make()
    assert project.runs == 1
    assert project.make() == first
    (project.project / "unrelated.txt").write_text("x")
    assert project.make() == first
    assert project.runs == 0
    write(project.project, 1)
    second = project.make()
    assert project.runs == 1
    assert second != first


def test_a_folder_in_reads_is_an_input_with_all_its_files(project: Project, tmp_path: Path) -> None:
    """All files count, even if their reads were not observed."""
    listed = tmp_path / "listed"
    (listed / "below").mkdir(parents=True)
    (listed / "below" / "data.txt").write_text("1")
    project.script("return 'made'")
    project.make(listed)
    for change in ((listed / "below" / "data.txt").write_text, (listed / "other.txt").write_text):
        project.make(listed)
        assert project.runs == 0
        change("2")
        project.make(listed)
        assert project.runs == 1


def test_an_unobservable_program_causes_a_warning(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    """There is no compiler for the observer. On Debian, `ldconfig` is statically linked."""
    project.script(
        "import subprocess\nsubprocess.run(['/sbin/ldconfig', '--version'],"
        " stdout=subprocess.DEVNULL)\nreturn 1"
    )
    project.make()
    assert (
        "make:m: runs /sbin/ldconfig, whose reads cannot be observed; list the files"
        in capfd.readouterr().err
    )


def test_the_cache_of_the_observers_compiler_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """By default, zig has a cache in the home folder."""
    output = tmp_path / "told"
    script = (
        f'touch "$ZIG_GLOBAL_CACHE_DIR/kept" && echo "$ZIG_GLOBAL_CACHE_DIR" > {output}; exit 1'
    )
    monkeypatch.setattr(observer, "COMPILERS", (("/bin/sh", "-c", script),))
    assert observer.library(tmp_path / "cache") is None
    folder = Path(output.read_text().strip())
    assert folder.is_absolute()
    assert not folder.exists()


def test_transitive_helpers_and_their_reads_are_inputs(project: Project) -> None:
    package = project.project / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("from .b import N\n")
    (package / "b.py").write_text(
        "from pathlib import Path\nN = Path(__file__).with_name('n.txt').read_text()\n"
    )
    (package / "n.txt").write_text("1")
    project.script("sys.path.insert(0, str(HERE))\nfrom mine.a import N\nreturn N")
    assert project.make() == "1"
    (package / "n.txt").write_text("2")
    assert project.make() == "2"
    (package / "b.py").write_text("N = 3\n")
    assert project.make() == "3"
    assert not list(project.project.rglob("__pycache__")), (
        "nothing is written beside the user's files"
    )


def test_reverting_an_edit_finds_the_earlier_result(project: Project) -> None:
    project.script("return (HERE / (HERE / 'which.txt').read_text()).read_text()")
    for name in "ab":
        (project.project / name).write_text(f"content of {name}")
    for content, runs in (("a", 1), ("b", 1), ("a", 0), ("b", 0)):
        (project.project / "which.txt").write_text(content)
        assert project.make() == f"content of {content}"
        assert project.runs == runs
    (project.project / "a").write_text("other")
    assert project.make() == "content of b"
    assert project.runs == 0


def test_another_user_gets_results_for_their_own_files(project: Project, tmp_path: Path) -> None:
    project.script("return (HERE / 'data.txt').read_text()")
    (project.project / "data.txt").write_text("mine")
    project.make()
    for text, runs in (("mine", 0), ("theirs", 1)):
        other = Project(tmp_path / f"other {text}", project.cache)
        shutil.copyfile(project.project / "make.py", other.project / "make.py")
        (other.project / "data.txt").write_text(text)
        assert other.make() == text
        assert other.runs == runs


@pytest.mark.parametrize("swallowed", [False, True])
def test_reading_elsewhere_is_an_error_unless_the_recipe_lists_it(
    project: Project, tmp_path: Path, swallowed: bool
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "data.txt").write_text("1")
    body = f"return open({str(elsewhere / 'data.txt')!r}).read()"
    project.script(
        f"try:\n    {body}\nexcept Exception:\n    return 'went on'" if swallowed else body
    )
    with pytest.raises(
        RecipeError,
        match=(
            r"elsewhere/data\.txt: read by the model's own code, but outside the project .*reads ="
            r" \[\.\.\.\]"
        ),
    ):
        project.make()
    for listed in (elsewhere, elsewhere / "data.txt"):
        (elsewhere / "data.txt").write_text("1")
        assert project.make(listed) == "1"
        (elsewhere / "data.txt").write_text("2")
        assert project.make(listed) == "2"


def test_a_listed_file_is_an_input_however_it_is_read(project: Project, tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_text("1")
    project.script(
        f"import subprocess\nreturn subprocess.run(['cat', {str(data)!r}], capture_output=True,"
        " text=True).stdout"
    )
    assert project.make(data) == "1"
    data.write_text("2")
    assert project.make(data) == "2"


def test_temporary_files_and_packages_are_not_inputs(project: Project) -> None:
    project.script(
        "import tempfile, numpy, encodings.idna, sqlite3\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    Path(folder, 'x').write_text('1')\n"
        "    os.listdir(folder)\n"
        "    return Path(folder, 'x').read_text() + open('/proc/self/stat').read()[:0]"
    )
    assert project.make() == "1"
    names = json.loads(next((project.root / "state").glob("*/make.json")).read_text())["reads"]
    assert [name for name in names if not name.startswith("package:")] == ["0/make.py"]
    assert "package:numpy" in names


def test_a_file_that_changes_during_the_read_stores_no_result(project: Project) -> None:
    (project.project / "data.txt").write_text("0")
    project.script(
        "path = HERE / 'data.txt'\ntext = path.read_text()\nif text == '0':\n    os.unlink(path)\n "
        "   os.close(os.open(path, os.O_CREAT | os.O_WRONLY))\n    os.truncate(path, 1)\nreturn"
        " repr(text)"
    )
    assert project.make() != "'0'"


ENVIRONMENT = """
import json, locale, time
keras = json.loads(Path(os.environ['KERAS_HOME'], 'keras.json').read_text())
umask = os.umask(0)
os.umask(umask)
return [keras['image_data_format'], keras['floatx'], umask, time.tzname[0],
  locale.setlocale(locale.LC_ALL, ''), os.environ.get('KERAS_BACKEND'),
  os.environ.get('MINE'),
  Path.home().joinpath('.keras', 'keras.json').read_text() == json.dumps(keras),
  os.getcwd() == str(HERE)]
"""


def test_the_environment_of_user_code_is_fixed(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project.script(ENVIRONMENT)

    def make(home: str, variables: Mapping[str, str]) -> str:
        folder = tmp_path / home / ".keras"
        folder.mkdir(parents=True)
        (folder / "keras.json").write_text(
            json.dumps(
                {"image_data_format": "channels_first", "floatx": "float16", "backend": "jax"}
            )
        )
        monkeypatch.setenv("HOME", str(folder.parent))
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        project.cache = tmp_path / f"cache {home}"
        install_observer(project.cache)
        shutil.rmtree(project.root / "state", ignore_errors=True)
        return project.make()

    first = make("a", {})
    umask = os.umask(0o077)
    try:
        second = make(
            "b",
            {
                "TZ": "Asia/Tokyo",
                "LC_ALL": "de_DE.UTF-8",
                "KERAS_BACKEND": "torch",
                "MINE": "1",
                "LANG": "C",
            },
        )
    finally:
        os.umask(umask)
    assert first == second
    assert first.startswith(
        "['channels_last', 'float32', 18, 'UTC', 'C.UTF-8', 'tensorflow', None,"
    )


def test_a_linked_script_reads_files_next_to_the_link(project, tmp_path):
    """Files next to the link's target are outside the project."""
    project.script("return (HERE / 'words.txt').read_text()")
    (project.project / "words.txt").write_text("inside")
    target = tmp_path / "elsewhere" / "made.py"
    target.parent.mkdir()
    (project.project / "make.py").rename(target)
    (project.project / "make.py").symlink_to(target)
    assert project.make() == "inside"
    (project.project / "words.txt").write_text("edited")
    assert project.make() == "edited"
