"""The emscripten toolchain: compile with emcc, link with LLVM's wasm-ld into a module without JavaScript glue.

Debian's emcc 3.1.6 drives clang 19 (its own clang 14 lacks relaxed SIMD, its binaryen the opcodes), so it is told the version suffix; an emsdk
needs neither. Kernels are printed with the unrolling and the addresses that they are to have: without loop strength reduction, which costs them
registers, and without unrolling they are 1 to 8 % faster, and a sixth smaller.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from webkiln.codegen import room
from webkiln.errors import ToolError

FLAGS = (
    f"-DWK_ZEROS={room.ZEROS}",
    f"-DWK_HELPERS={room.HELPERS}",
    f"-DWK_STACK={room.HELPER_STACK}",
    "-O2",
    "-fno-unroll-loops",
    "-msimd128",
    "-mbulk-memory",
    "-matomics",
    "-mnontrapping-fptoint",
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-mllvm",
    "-disable-lsr=true",
    "-mllvm",
    "-pre-RA-sched=source",
)
LLVM = ("clang", "wasm-ld")
PROGRAMS = ("emcc", *LLVM)
VERSIONS = ("19", "20", "21")
VARIANT_FLAGS = {"simd": (), "relaxed": ("-mrelaxed-simd", "-DRELAXED")}
TIMEOUT_SECONDS = 600
HELP = (
    "Install emscripten and LLVM 19 (Debian and Ubuntu: apt install emscripten clang-19 lld-19 llvm-19), "
    "or an emsdk (https://emscripten.org) and set EMSDK; or build with backend=js, which needs neither."
)


@dataclass(frozen=True, slots=True)
class Compilers:
    emcc: str
    linker: str
    environment: tuple[tuple[str, str], ...]


def programs() -> dict[str, Path]:
    """Those of emcc, clang and wasm-ld that are here: emcc from $EMSDK or PATH, LLVM from beside it, else of one version on PATH."""
    sdk = os.environ.get("EMSDK")
    emcc = (shutil.which("emcc", path=f"{sdk}/upstream/emscripten") if sdk else None) or shutil.which("emcc")
    found = {"emcc": Path(emcc)} if emcc else {}
    beside = Path(emcc).resolve().parent.parent / "bin" if emcc else None
    if beside is not None and (beside / "wasm-ld").exists():
        return found | {name: beside / name for name in LLVM}
    versions = [{name: path for name in LLVM if (path := shutil.which(f"{name}-{version}"))} for version in VERSIONS]
    return found | {name: Path(path) for name, path in max(versions, key=len).items()}


@lru_cache(maxsize=1)
def find() -> Compilers:
    """emcc and the wasm-ld that belongs to it; ToolError says what to install."""
    found = programs()
    if "emcc" not in found:
        raise ToolError(f"emcc is not on PATH and EMSDK does not name an emsdk. {HELP}")
    if not found.keys() >= set(LLVM):
        raise ToolError(f"emcc is {found['emcc']}, but no clang and wasm-ld of LLVM 19 or newer were found beside it or on PATH. {HELP}")
    return Compilers(str(found["emcc"]), str(found["wasm-ld"]), tuple(adjustments().items()))


def adjustments() -> dict[str, str]:
    """The variables by which emcc runs the LLVM that was found, where that is not beside it."""
    found = programs()
    version = found["wasm-ld"].name.rpartition("-")[2] if "wasm-ld" in found else ""
    if version not in VERSIONS:
        return {}
    places = {"NODE_PATH": "/usr/share/nodejs"} if Path("/usr/share/nodejs").is_dir() else {}
    return {"EM_LLVM_ADD_VERSION": version, "EM_CLANG_ADD_VERSION": version, **places}


def compile_objects(sources: Sequence[Path], objects: Sequence[Path], variant: str) -> None:
    """Compile every source to its object in one call of emcc (its start costs more than a small kernel)."""
    if not sources:
        return
    with TemporaryDirectory() as folder:
        unique = [Path(folder) / f"{position}.c" for position in range(len(sources))]
        for source, copy in zip(sources, unique, strict=True):
            copy.write_bytes(source.read_bytes())
        _run([find().emcc, "-c", *FLAGS, *VARIANT_FLAGS[variant], *(path.name for path in unique)], Path(folder))
        for copy, made in zip(unique, objects, strict=True):
            shutil.copyfile(copy.with_suffix(".o"), made)


def link(objects: Sequence[Path], module: Path) -> None:
    """Link into one module, which imports its memory: of `room.pages` at least, shared, so that threads can help."""
    with TemporaryDirectory() as folder:
        trial = Path(folder) / "module.wasm"
        options = [
            "--no-entry",
            "--strip-all",
            "--gc-sections",
            "--stack-first",
            "-z",
            f"stack-size={room.STACK}",
            "--import-memory",
            "--shared-memory",
            "--export-if-defined=__stack_pointer",
            f"--initial-memory={room.FIXED}",
            f"--max-memory={room.MOST * room.PAGE}",
        ]
        _run([find().linker, *options, *map(str, objects), "-o", str(trial)], Path(folder))
        shutil.copyfile(trial, module)


def _run(command: Sequence[str], folder: Path) -> None:
    environment = {**os.environ, **dict(find().environment)}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise ToolError(f"{Path(command[0]).name} did not finish within {TIMEOUT_SECONDS} s") from None
    if done.returncode != 0:
        detail = "\n".join((done.stderr or done.stdout).strip().splitlines()[-20:])
        raise ToolError(f"{Path(command[0]).name} failed with status {done.returncode}:\n{detail}")
