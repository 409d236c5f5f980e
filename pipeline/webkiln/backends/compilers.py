"""The compiler of the wasm backend: emcc and its LLVM, or else LLVM's clang, or else ziglang.

Each provides clang and wasm-ld of LLVM 19 or newer. Kernels include only clang's own
`wasm_simd128.h`, so they do not need emcc's libraries.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from webkiln.errors import MissingPackageError, RecipeError, ToolError

VARIABLE = "WEBKILN_COMPILER"
"""The environment variable that selects the compiler. The default is the first one found."""
OLDEST = 19
"""The first LLVM release with the relaxed SIMD opcodes that browsers implement."""
NEWEST = 49
"""The newest LLVM release to look for by version. There are two releases a year."""
LLVM = ("clang", "wasm-ld")
PACKAGE = "ziglang"
"""The Python package that contains a compiler."""
PROGRAMS = ("emcc", *LLVM, PACKAGE)
"""The programs of all compilers, by tool name."""
BARE = ("--target=wasm32", "--no-default-config")
"""Options that emcc passes to its clang: configuration files must not affect the output."""
HELP = (
    "Install one of: the compiler from PyPI, which needs no root "
    '(pip install "webkiln[compiler]"); LLVM 19 or newer (Debian and Ubuntu: apt-get install '
    "clang-19 lld-19); emscripten with LLVM 19 (apt-get install emscripten clang-19 lld-19 "
    "llvm-19), or an emsdk (https://emscripten.org) and set EMSDK. Or build with backend=js, "
    "which needs none"
)

Command = tuple[str, ...]
Judge = Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler: commands for compiling and linking, to be followed by flags and files, and
    environment variables.

    `identity` maps the components that are part of keys to the tools that report their versions. A
    component that the compiler does not use maps to nothing.
    """

    name: str
    compile: Command
    link: Command
    identity: Mapping[str, Mapping[str, Command]]
    environment: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name} ({self.compile[0]}, linker {self.link[0]})"


class _AbsentError(Exception):
    """A compiler cannot be used; the message is the reason."""


def choose() -> Compiler:
    """Select a compiler.

    Raises ToolError, which lists the ways to get one; MissingPackageError if a Python package would
    help; RecipeError if WEBKILN_COMPILER is not a known compiler.
    """
    requested, reasons = forced(), []
    for name in COMPILERS if requested is None else (requested,):
        found = usable(name)
        if isinstance(found, Compiler):
            return found
        reasons.append(f"{name}: {found}")
    start = "the wasm backend needs a compiler, and none was found"
    if requested is not None:
        start = f"{VARIABLE} is {requested}, which cannot be used"
    message = f"{start} ({'; '.join(reasons)}). {HELP}"
    raise (
        MissingPackageError(message, PACKAGE) if requested in {None, "zig"} else ToolError(message)
    )


def forced() -> str | None:
    """The value of WEBKILN_COMPILER, or "". Raises RecipeError for an unknown compiler."""
    requested = os.environ.get(VARIABLE) or None
    if requested is not None and requested not in COMPILERS:
        expected = f"{', '.join(COMPILERS)}, or unset for the first installed one"
        raise RecipeError(f"{VARIABLE} is {requested!r}, expected {expected}")
    return requested


def usable(name: str) -> Compiler | str:
    """A compiler of COMPILERS, or the reason why it cannot be used."""
    try:
        return COMPILERS[name]()
    except _AbsentError as absent:
        return str(absent)


def programs() -> dict[str, Path]:
    """The installed programs of PROGRAMS. LLVM's are those that emcc runs, or else those of LLVM's
    clang.
    """
    emcc, zig = _emcc_program(), _zig_program()
    found = {"emcc": emcc} if emcc else {}
    try:
        found |= (emcc and _tools_next_to(emcc)) or _with_version() or _without_version()
    except _AbsentError:
        pass
    return found | ({PACKAGE: zig} if zig else {})


def folders() -> list[str]:
    """The search path for compilers."""
    sdk = os.environ.get("EMSDK")
    own = [f"{sdk}/upstream/{folder}" for folder in ("emscripten", "bin")] if sdk else []
    return [*own, *_path(), *sys.path]


def _emcc() -> Compiler:
    """emcc. Debian's emcc 3.1.6 comes with a clang that is too old, so environment variables make
    it run `clang-19`. An emsdk contains its own clang.
    """
    emcc = _emcc_program()
    if emcc is None:
        raise _AbsentError("not on PATH, and EMSDK names no emsdk")
    own = _tools_next_to(emcc)
    llvm = own or _with_version()
    if llvm is None:
        pair = f"clang-{OLDEST} with wasm-ld-{OLDEST}"
        raise _AbsentError(f"{emcc} has no LLVM next to it, and no {pair}, or newer, is on PATH")
    if own is not None:
        _of_version(own["clang"])
    version = "" if own else llvm["wasm-ld"].stem.rpartition("-")[2]
    node = {"NODE_PATH": "/usr/share/nodejs"} if Path("/usr/share/nodejs").is_dir() else {}
    settings = {"EM_LLVM_ADD_VERSION": version, "EM_CLANG_ADD_VERSION": version, **node}
    command, linker = (str(emcc),), (str(llvm["wasm-ld"]),)
    identity: dict[str, dict[str, Command]] = {"emcc": {"emcc": command}, **_identity(llvm)}
    return Compiler("emcc", command, linker, identity, settings if version else {})


def _clang() -> Compiler:
    llvm = _with_version() or _without_version()
    compile_command, link_command = (str(llvm["clang"]), *BARE), (str(llvm["wasm-ld"]),)
    return Compiler("clang", compile_command, link_command, {"emcc": {}, **_identity(llvm)})


def _zig() -> Compiler:
    """The clang in zig's package. `zig cc` is not used, since it adds debugging flags and has its
    own cache.
    """
    zig = _zig_program()
    if zig is None:
        raise _AbsentError("the package ziglang is not installed")
    clang, linker, own = (str(zig), "clang"), (str(zig), "wasm-ld"), {PACKAGE: (str(zig),)}
    _of_version(*clang)
    parts = {"clang": {**own, "clang": clang}, "wasm-ld": {**own, "wasm-ld": linker}}
    identity: dict[str, dict[str, Command]] = {"emcc": {}, **parts}
    resources = ("-resource-dir", str(zig.with_name("lib")))
    return Compiler("zig", (*clang, *BARE, *resources), linker, identity)


COMPILERS: Mapping[str, Callable[[], Compiler]] = {"emcc": _emcc, "clang": _clang, "zig": _zig}
"""All compilers by name, in order of preference."""


def _identity(llvm: Mapping[str, Path]) -> dict[str, dict[str, Command]]:
    return {name: {name: (str(path),)} for name, path in llvm.items()}


def _emcc_program() -> Path | None:
    sdk = os.environ.get("EMSDK")
    own = shutil.which("emcc", path=f"{sdk}/upstream/emscripten") if sdk else None
    emcc = own or shutil.which("emcc")
    return Path(emcc) if emcc else None


def _zig_program() -> Path | None:
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except ImportError:  # of an import hook that hides packages
        spec = None
    places = spec.submodule_search_locations if spec is not None else None
    zig = shutil.which("zig", path=os.pathsep.join(places)) if places else None
    return Path(zig) if zig else None


def _tools_next_to(emcc: Path) -> dict[str, Path] | None:
    """The folder of an emsdk's LLVM programs."""
    found = {name: shutil.which(name, path=emcc.resolve().parent.parent / "bin") for name in LLVM}
    there = {name: Path(path) for name, path in found.items() if path}
    return there if there.keys() == found.keys() else None


def _with_version() -> dict[str, Path] | None:
    """The oldest LLVM on PATH, at least OLDEST, whose programs have the version in their names."""
    for version in range(OLDEST, NEWEST + 1):
        clang = shutil.which(f"clang-{version}")
        linker = shutil.which(f"wasm-ld-{version}") if clang else None
        if clang and linker:
            return {"clang": Path(clang), "wasm-ld": Path(linker)}
    return None


def _without_version() -> dict[str, Path]:
    """The first clang on PATH that is new enough and has a WebAssembly target, and a linker that is
    at least as new.
    """
    clang, version = _first("clang", OLDEST, _for_wasm)
    return {"clang": clang, "wasm-ld": _first("wasm-ld", version)[0]}


def _first(name: str, least: int, judge: Judge = lambda path: None) -> tuple[Path, int]:
    """The first program on PATH that reports a version, and this version. `judge` may reject a
    program.
    """
    reasons = []
    for program in _all(name):
        try:
            version = _of_version(program, least=least)
            judge(program)
        except _AbsentError as absent:
            reasons.append(str(absent))
        else:
            return program, version
    raise _AbsentError("; ".join(reasons) or f"no {name} of LLVM {least} or newer is on PATH")


def _for_wasm(clang: Path) -> None:
    if "wasm32" not in _output_of(str(clang), "--print-targets"):
        raise _AbsentError(f"{clang} cannot compile to WebAssembly")


def _of_version(*command: str | Path, least: int = OLDEST) -> int:
    """The LLVM version that a command reports. Raises an error if it is below `least`."""
    version_text = _output_of(*map(str, command), "--version")
    shown = " ".join(map(str, command))
    if not (found := re.search(r"(?:clang version|LLD) (\d+)", version_text)):
        raise _AbsentError(f"{shown} reports no version of LLVM")
    if "Apple clang" in version_text:
        raise _AbsentError(f"{shown} is Apple's, which cannot compile to WebAssembly")
    if int(found[1]) < least:
        raise _AbsentError(f"{shown} is of LLVM {found[1]}, too old: {least} or newer is needed")
    return int(found[1])


def _output_of(program: str, *arguments: str) -> str:
    state = Path(program).stat()
    return _program_output(program, arguments, state.st_mtime_ns, state.st_size)


@lru_cache
def _program_output(program: str, arguments: Command, modified: int, size: int) -> str:
    """A program's output. It is cached until the program's file changes."""
    del modified, size
    command = [program, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise _AbsentError(f"{program} does not run: {error}") from error
    return done.stdout


def _path() -> list[str]:
    return os.environ.get("PATH", os.defpath).split(os.pathsep)


def _all(name: str) -> Iterator[Path]:
    """All programs with this name on PATH."""
    for folder in dict.fromkeys(_path()):
        if path := shutil.which(name, path=folder):
            yield Path(path)
