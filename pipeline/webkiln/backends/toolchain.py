"""Compile and link C files to one module without JavaScript glue.

Kernels are generated with unrolled loops and explicit addresses. Loop strength reduction would cost
them registers, and further unrolling only adds code: without both, they are 1 to 8 % faster and a
sixth smaller.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from webkiln.backends.compilers import Compiler, choose
from webkiln.codegen import wasm_memory
from webkiln.errors import ToolError

FLAGS = (
    f"-DWK_ZEROS={wasm_memory.ZEROS}",
    f"-DWK_HELPERS={wasm_memory.MAX_HELPERS}",
    f"-DWK_STACK={wasm_memory.HELPER_STACK}",
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
VARIANT_FLAGS = {"simd": (), "relaxed": ("-mrelaxed-simd", "-DRELAXED")}
TIMEOUT_SECONDS = 600


def compile_objects(
    sources: Sequence[Path], objects: Sequence[Path], variant: str, compiler: Compiler | None = None
) -> None:
    """Compile each source to an object, in one call of the compiler: its startup takes longer than
    a small kernel. `compiler` defaults to the selected one.
    """
    if not sources:
        return
    compiler = compiler or choose()
    with TemporaryDirectory() as folder:
        unique = [Path(folder) / f"{position}.c" for position in range(len(sources))]
        for source, copy in zip(sources, unique, strict=True):
            copy.write_bytes(source.read_bytes())
        flags, names = (*FLAGS, *VARIANT_FLAGS[variant]), (path.name for path in unique)
        _run([*compiler.compile, "-c", *flags, *names], compiler, Path(folder))
        for copy, target in zip(unique, objects, strict=True):
            shutil.copyfile(copy.with_suffix(".o"), target)


def link(objects: Sequence[Path], module: Path, compiler: Compiler | None = None) -> None:
    """Link objects to a module that imports a shared memory of at least `wasm_memory.pages`, for
    threads.
    """
    compiler = compiler or choose()
    with TemporaryDirectory() as folder:
        trial = Path(folder) / "module.wasm"
        options = [
            "--no-entry",
            "--strip-all",
            "--gc-sections",
            "--stack-first",
            "-z",
            f"stack-size={wasm_memory.STACK}",
            "--import-memory",
            "--shared-memory",
            "--export-if-defined=__stack_pointer",
            f"--initial-memory={wasm_memory.RESERVED}",
            f"--max-memory={wasm_memory.MAX_PAGES * wasm_memory.PAGE}",
        ]
        command = [*compiler.link, *options, *map(str, objects), "-o", str(trial)]
        _run(command, compiler, Path(folder))
        shutil.copyfile(trial, module)


def _run(command: Sequence[str], compiler: Compiler, folder: Path) -> None:
    environment = {**os.environ, **compiler.environment}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"{Path(command[0]).name} did not finish within {TIMEOUT_SECONDS} s"
        ) from None
    if done.returncode != 0:
        detail = "\n".join((done.stderr or done.stdout).strip().splitlines()[-20:])
        raise ToolError(f"{Path(command[0]).name} failed with status {done.returncode}:\n{detail}")
