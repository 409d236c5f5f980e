"""`webkiln tools`: the selected compiler, and the reason."""

from pathlib import Path

from tests.commands.blocked import without
from tests.commands.conftest import Command


def programs(folder: Path, *names: str) -> str:
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\necho clang version 20.1.0, LLD 20.1.0\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_the_selected_compiler_is_reported_with_the_reason(
    webkiln: Command, tmp_path: Path
) -> None:
    path = programs(tmp_path / "bin", "emcc", "clang-20", "wasm-ld-20")
    settings = without(tmp_path, "ziglang") | {"PATH": path, "EMSDK": ""}
    done = webkiln("tools", env=settings)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("compiler ")]
    linker = f"linker {path}/wasm-ld-20"
    clang = f"compiler clang ({path}/clang-20, {linker})"
    zig = "compiler zig: cannot be used: the package ziglang is not installed"
    assert lines == [
        f"compiler emcc ({path}/emcc, {linker}): used, the first that can be",
        f"{clang}: not used, emcc comes first",
        zig,
    ]
    assert webkiln("tools", "--compiler", env=settings).stdout == "emcc\n"
    (tmp_path / "bin" / "emcc").unlink()
    lines = webkiln("tools", env=settings).stdout.splitlines()
    assert "compiler emcc: cannot be used: not on PATH, and EMSDK names no emsdk" in lines
    assert f"{clang}: used, the first that can be" in lines
    settings_of_clang = settings | {"WEBKILN_COMPILER": "clang"}
    assert (
        f"{clang}: used, WEBKILN_COMPILER asks for it"
        in webkiln("tools", env=settings_of_clang).stdout
    )


def test_a_missing_compiler_is_reported_with_instructions(webkiln: Command, tmp_path: Path) -> None:
    settings = without(tmp_path, "ziglang") | {"PATH": programs(tmp_path / "bin"), "EMSDK": ""}
    done = webkiln("tools", "--compiler", env=settings)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the wasm backend needs a compiler, and none was found (")
    assert 'pip install "webkiln[compiler]"' in done.stderr
    done = webkiln("tools", "--backends", env=settings)
    assert (done.returncode, done.stdout) == (0, "webgpu,webgl,js\n")
    assert "the wasm backend is omitted" in done.stderr
    assert 'pip install "webkiln[compiler]"' in webkiln("tools", env=settings).stderr
