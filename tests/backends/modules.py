"""Batch compilation of programs for wasm: each kernel once, a hundred kernels to a file, a hundred
programs to a module.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from platformdirs import user_cache_path

from webkiln.backends import toolchain
from webkiln.build.derived import Derived
from webkiln.build.graph import COMPILERS
from webkiln.build.share import share
from webkiln.build.tools import Toolchain
from webkiln.errors import ToolError

INSTANTIATED = "const link = ({ exports }, module) => {"
RENAMED = """const link = ({ exports: all }, module) => {
  const exports = Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name.replace(/_NUMBER$/, ''), value]));"""
"""Replaces INSTANTIATED: remove the number of the program from the names of its functions."""
BATCH = 100
"""The number of programs per module, and of kernels per file."""
OBJECTS = user_cache_path("webkiln") / "tests"
"""Cached objects."""
TOOLS = Toolchain(share().root, Derived(OBJECTS / "derived.json"), installed=True)


def build(
    programs: Mapping[int, Mapping[str, Any]], folder: Path, variant: str
) -> tuple[dict[int, str], dict[int, str]]:
    """Compile and link programs, whose code is in `folder/<number>/code`. Return the name of each
    program's module in `folder`, and the reasons of those that do not compile.
    """
    modules: dict[int, str] = {}
    broken: dict[int, str] = {}
    numbers = list(programs)
    for start in range(0, len(numbers), BATCH):
        part, name = numbers[start : start + BATCH], f"{numbers[start]}.wasm"
        broken |= dict(
            _module({number: programs[number] for number in part}, folder, name, variant)
        )
        modules |= dict.fromkeys((number for number in part if number not in broken), name)
    return modules, broken


def _module(
    programs: Mapping[int, Mapping[str, Any]], folder: Path, name: str, variant: str
) -> Iterator[tuple[int, str]]:
    """Write one module; return the programs that do not compile, with the reason."""
    kernels: dict[str, str] = {}
    for number in programs:
        for path in sorted((folder / str(number) / "code" / "kernels").glob("*.c")):
            kernels.setdefault(path.stem, path.read_text())
    names = list(kernels)
    parts = [names[start : start + BATCH] for start in range(0, len(names), BATCH)]
    try:
        objects, broken = (
            _objects([joined([kernels[item] for item in part]) for part in parts], variant),
            {},
        )
    except ToolError:
        objects, broken = _one_by_one(kernels, variant)
    required = {
        number: {*program["kernels"], *program["procedures"], *program["custom_kernels"]}
        for number, program in programs.items()
    }
    valid = [number for number in programs if not broken.keys() & required[number]]
    mains = [
        _numbered((folder / str(number) / "code" / "main.c").read_text(), number)
        for number in valid
    ]
    for number in valid:
        path = folder / str(number) / "code" / "wasm.js"
        text = path.read_text()
        assert text.count(INSTANTIATED) == 1
        path.write_text(text.replace(INSTANTIATED, RENAMED.replace("NUMBER", str(number))))
    toolchain.link([*objects, *_objects([joined(mains)], variant)], folder / name)
    for number in programs:
        if number not in valid:
            yield number, next(broken[kernel] for kernel in required[number] if kernel in broken)


def _one_by_one(kernels: Mapping[str, str], variant: str) -> tuple[list[Path], dict[str, str]]:
    objects, broken = [], {}
    for name, text in kernels.items():
        try:
            objects += _objects([text], variant)
        except ToolError as error:
            broken[name] = str(error)
    return objects, broken


def _objects(sources: Sequence[str], variant: str) -> list[Path]:
    """Compile C files to objects, with a cache."""
    OBJECTS.mkdir(parents=True, exist_ok=True)
    settings = [*TOOLS.actual(COMPILERS).values(), *toolchain.FLAGS, variant]
    digests = [
        hashlib.sha256("\0".join([*settings, text]).encode()).hexdigest() for text in sources
    ]
    missing = {
        digest: text
        for digest, text in zip(digests, sources, strict=True)
        if not (OBJECTS / f"{digest}.o").exists()
    }
    with TemporaryDirectory(dir=OBJECTS) as folder:
        paths = [Path(folder) / f"{digest}.c" for digest in missing]
        for path, text in zip(paths, missing.values(), strict=True):
            path.write_text(text)
        objects = [path.with_suffix(".o") for path in paths]
        toolchain.compile_objects(paths, objects, variant)
        for path in objects:
            path.replace(OBJECTS / path.name)
    return [OBJECTS / f"{digest}.o" for digest in digests]


def joined(files: Sequence[str]) -> str:
    """Concatenate C files. Equal paragraphs occur once; arrays that are read outside of operands
    belong to one function each.
    """
    paragraphs: dict[str, None] = {}
    for number, text in enumerate(files):
        *helpers, last = text.strip().split("\n\n")
        paragraphs |= dict.fromkeys(helpers)
        paragraphs[
            re.sub(r"\boutside_\w+", lambda match, number=number: f"{match.group()}_{number}", last)
        ] = None
    return "\n\n".join(paragraphs) + "\n"


def _numbered(main: str, number: int) -> str:
    """Number the functions of a program."""
    return re.sub(
        r"\b(?:(base|init|run|data_dependent|warm)(?=\(|\"\))|(work|d_\w+)\b)",
        rf"\1\2_{number}",
        main,
    )
