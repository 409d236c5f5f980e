"""Selection of compilers, their identity in keys, and correctness of the installed ones."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.backends.harness import disagreement, expected, node_job, run
from tests.build.tree import REPOSITORY
from webkiln.backends import compilers, toolchain
from webkiln.backends.compilers import COMPILERS, OLDEST, Compiler, choose, usable
from webkiln.build.derived import Derived
from webkiln.build.environment import environment
from webkiln.build.graph import COMPILERS as COMPILER_PARTS
from webkiln.build.graph import LINKERS as LINKER_PARTS
from webkiln.build.tools import Toolchain
from webkiln.errors import RecipeError, ToolError
from webkiln.ops.table import OPERATORS

HERE = [name for name in COMPILERS if not isinstance(usable(name), str)]
Machine = Callable[..., Path]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Create programs in new folders that are the only ones on PATH; `zig` in a package."""
    monkeypatch.setenv("PATH", "")
    for name in ("EMSDK", compilers.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    others = [path for path in sys.path if not (Path(path) / "ziglang").exists()]
    monkeypatch.setattr(sys, "path", others)

    def add(**versions: str) -> Path:
        folder = tmp_path / f"bin{len([*tmp_path.glob('bin*')])}"
        folder.mkdir()
        for name, version in versions.items():
            package = folder / "ziglang" if name == "zig" else folder
            package.mkdir(exist_ok=True)
            number, _, targets = version.partition(" ")
            answers = {"*--print-targets": targets, "*": f"{BANNERS[name[:4]]} {number}"}
            write(package / name.replace("_", "-"), answers)
            if name == "zig":
                (package / "__init__.py").touch()
                sys.path.insert(0, str(folder))
                importlib.invalidate_caches()
        monkeypatch.setenv("PATH", os.pathsep.join(filter(None, (os.environ["PATH"], str(folder)))))
        return folder

    return add


def write(program: Path, answers: Mapping[str, str]) -> None:
    """Write a program that responds to arguments that match these patterns."""
    cases = " ".join(f"{pattern}) echo '{text}';;" for pattern, text in answers.items())
    program.write_text(f'#!/bin/sh\ncase "$*" in {cases} esac\n')
    program.chmod(0o755)


BANNERS = {
    "emcc": "emcc (Emscripten)",
    "clan": "clang version",
    "wasm": "LLD",
    "zig": "clang version",
}
WASM = "21.1.0 wasm32"


def test_emcc_comes_first(machine: Machine) -> None:
    folder = machine(
        emcc="3.1.6",
        clang="21.1.0 wasm32",
        wasm_ld="21.1.0",
        zig="22.1.8",
        **{"clang-20": "20.1.0", "wasm-ld-20": "20.1.0"},
    )
    compiler = choose()
    assert (compiler.name, compiler.compile, compiler.link) == (
        "emcc",
        (f"{folder}/emcc",),
        (f"{folder}/wasm-ld-20",),
    )
    assert compiler.environment["EM_LLVM_ADD_VERSION"] == "20"
    assert compiler.environment["EM_CLANG_ADD_VERSION"] == "20"


def test_an_emsdk_contains_llvm(
    tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    bin_folder = machine(clang="22.0.0git wasm32", wasm_ld="22.0.0git", emcc="4.0.1")
    sdk = tmp_path / "sdk" / "upstream"
    (sdk / "emscripten").mkdir(parents=True)
    (bin_folder / "emcc").rename(sdk / "emscripten" / "emcc")
    bin_folder.rename(sdk / "bin")
    monkeypatch.setenv("EMSDK", str(tmp_path / "sdk"))
    compiler = choose()
    assert (compiler.name, compiler.link, compiler.environment) == (
        "emcc",
        (f"{sdk}/bin/wasm-ld",),
        {},
    )
    (sdk / "bin" / "clang").write_text("#!/bin/sh\necho clang version 14.0.0\n")
    assert "clang is of LLVM 14, too old: 19 or newer is needed" in str(usable("emcc"))


def test_without_emcc_the_oldest_versioned_llvm_is_used(machine: Machine) -> None:
    names = [(name, version) for name in ("clang", "wasm-ld") for version in (18, 23, 20)]
    programs = {f"{name}-{version}": f"{version}.1.0" for name, version in names}
    folder = machine(**programs, **{"clang-19": "19.1.7"}, zig="22.1.8")
    compiler = choose()
    assert (compiler.name, compiler.compile[0], compiler.link) == (
        "clang",
        f"{folder}/clang-20",
        (f"{folder}/wasm-ld-20",),
    )
    assert "--target=wasm32" in compiler.compile
    assert isinstance(usable("zig"), Compiler)
    assert str(usable("emcc")) == "not on PATH, and EMSDK names no emsdk"


def test_the_first_clang_on_path_with_webassembly_is_used(machine: Machine) -> None:
    machine(clang="18.1.0 wasm32", wasm_ld="20.1.0")
    assert "clang is of LLVM 18, too old: 19 or newer is needed" in str(usable("clang"))
    machine(clang="21.1.0 x86")
    assert "clang cannot compile to WebAssembly" in str(usable("clang"))
    third = machine(clang=WASM)
    assert "wasm-ld is of LLVM 20, too old: 21 or newer is needed" in str(usable("clang"))
    fourth = machine(wasm_ld="21.1.0")
    compiler = choose()
    assert (compiler.compile[0], compiler.link) == (f"{third}/clang", (f"{fourth}/wasm-ld",))


def test_unusable_clangs_are_reported(machine: Machine) -> None:
    folder = machine(clang="21.0.0 wasm32", wasm_ld="21.1.0")
    (folder / "clang").write_text("#!/bin/sh\necho Apple clang version 21.0.0\n")
    assert "is Apple's, which cannot compile to WebAssembly" in str(usable("clang"))
    (folder / "clang").write_text("#!/bin/sh\nexit 3\n")
    assert "clang does not run" in str(usable("clang"))
    (folder / "clang").write_text("#!/bin/sh\necho gcc 15\n")
    assert "reports no version of LLVM" in str(usable("clang"))


def test_emcc_without_llvm_does_not_hide_other_compilers(machine: Machine) -> None:
    machine(emcc="3.1.6", zig="22.1.8")
    assert choose().name == "zig"
    assert f"no clang-{OLDEST} with wasm-ld-{OLDEST}, or newer" in str(usable("emcc"))


def test_ziglang_is_the_last_choice(machine: Machine) -> None:
    folder = machine(zig="22.1.8")
    compiler = choose()
    zig = f"{folder}/ziglang/zig"
    assert (compiler.name, compiler.compile[:2], compiler.link) == (
        "zig",
        (zig, "clang"),
        (zig, "wasm-ld"),
    )
    assert compiler.compile[-2:] == ("-resource-dir", f"{folder}/ziglang/lib")
    (folder / "ziglang" / "zig").write_text("#!/bin/sh\necho clang version 18.1.8\n")
    assert "zig clang is of LLVM 18, too old" in str(usable("zig"))


def test_a_missing_compiler_is_one_error_with_all_remedies(machine: Machine) -> None:
    machine()
    with pytest.raises(ToolError) as caught:
        choose()
    text = str(caught.value)
    assert "\n" not in text
    assert all(f"{name}: " in text for name in COMPILERS)
    positions = [
        text.index(advice)
        for advice in (
            'pip install "webkiln[compiler]"',
            "apt-get install clang-19 lld-19)",
            "emsdk (https://",
            "backend=js",
        )
    ]
    assert positions == sorted(positions)


def test_a_requested_compiler_is_used(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(emcc="3.1.6", zig="22.1.8", **{"clang-19": "19.1.7", "wasm-ld-19": "19.1.7"})
    for name in COMPILERS:
        monkeypatch.setenv(compilers.VARIABLE, name)
        assert choose().name == name
    monkeypatch.setenv(compilers.VARIABLE, "")
    assert choose().name == "emcc"
    monkeypatch.setenv(compilers.VARIABLE, "gcc")
    expected = r"^WEBKILN_COMPILER is 'gcc', expected emcc, clang, zig, or unset"
    with pytest.raises(RecipeError, match=expected):
        choose()


def test_a_missing_requested_compiler_is_an_error(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    machine(emcc="3.1.6", **{"clang-19": "19.1.7", "wasm-ld-19": "19.1.7"})
    monkeypatch.setenv(compilers.VARIABLE, "zig")
    reason = r"^WEBKILN_COMPILER is zig, which cannot be used \(zig: the package ziglang is"
    with pytest.raises(ToolError, match=reason):
        choose()


def identities(root: Path, *, actual: bool) -> dict[str, str]:
    names = dict.fromkeys((*COMPILER_PARTS, *LINKER_PARTS))
    tools = Toolchain(root, Derived(root / "derived.json"), installed=True)
    return tools.actual(names) if actual else tools.locked(names)


def test_keys_contain_the_identity_of_each_compiler(
    tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """The pinned compiler while it is absent, and while an unrequested one is installed."""
    (tmp_path / "toolchain.lock").write_text('[tools]\nemcc = "3"\nclang = "19"\nwasm-ld = "19"\n')
    locked = {"emcc": "3", "clang": "19", "wasm-ld": "19"}
    assert identities(tmp_path, actual=False) == locked
    with pytest.raises(ToolError, match="none was found"):
        identities(tmp_path, actual=True)
    folder = machine(zig="22.1.8")
    answers = {"version": "0.17.1", "clang*": "clang version 22.1.8", "wasm-ld*": "LLD 22.1.8"}
    write(folder / "ziglang" / "zig", answers)
    zig = {
        "emcc": "not used",
        "clang": "ziglang 0.17.1; clang version 22.1.8",
        "wasm-ld": "ziglang 0.17.1; LLD 22.1.8",
    }
    assert identities(tmp_path, actual=True) == zig
    assert identities(tmp_path, actual=False) == locked
    machine(**{"clang-20": "20.1.0", "wasm-ld-20": "20.1.0"})
    clang = {"emcc": "not used", "clang": "clang version 20.1.0", "wasm-ld": "LLD 20.1.0"}
    assert identities(tmp_path, actual=True) == clang
    monkeypatch.setenv(compilers.VARIABLE, "zig")
    assert identities(tmp_path, actual=True) == identities(tmp_path, actual=False) == zig
    monkeypatch.setenv(compilers.VARIABLE, "emcc")
    assert identities(tmp_path, actual=False) == locked


SOURCE = """#include <wasm_simd128.h>
__attribute__((export_name("f"))) float f(v128_t *x) { return wasm_f32x4_extract_lane(*x, 1); }
"""
COMPILE = """
from pathlib import Path
from webkiln.backends.toolchain import compile_objects, link
place = Path({place!r})
compile_objects([place / "a.c"], [place / "a.o"], "simd")
link([place / "a.o"], place / "a.wasm")
"""


@pytest.mark.parametrize("name", HERE)
def test_stages_leave_no_files_in_their_home(name: str, tmp_path: Path) -> None:
    """In the environment of stages, the home folder and a working folder stay unchanged."""
    home, work, source = tmp_path / "home", tmp_path / "work", tmp_path / "a.c"
    home.mkdir()
    work.mkdir()
    source.write_text(SOURCE)
    program = COMPILE.format(place=str(tmp_path))
    settings = environment(home, REPOSITORY / "pipeline", {**os.environ, compilers.VARIABLE: name})
    subprocess.run([sys.executable, "-c", program], env=settings, cwd=work, check=True, timeout=120)
    assert (tmp_path / "a.wasm").read_bytes().startswith(b"\0asm")
    assert [*home.rglob("*"), *work.rglob("*")] == []


FAMILIES = (
    "Conv",
    "MatMul",
    "Softmax",
    "MaxPool",
    "Erf",
    "ReduceSum",
    "Cast",
    "Gather",
    "FloorDiv",
    "ShiftLeft",
    "Scan",
    "Sort",
)
"""Operators with the most different kernels: tiles, reductions, polynomials, conversions, indices,
loops.
"""


@pytest.mark.parametrize("variant", toolchain.VARIANT_FLAGS)
@pytest.mark.parametrize("name", HERE)
@pytest.mark.sample(3)
def test_kernels_of_each_compiler_agree_with_their_references(
    name: str, variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(compilers.VARIABLE, name)
    cases = [(op, case) for op in FAMILIES for case in list(OPERATORS[op].cases())[:4]]
    jobs = [node_job(op, case, trained=False) for op, case in cases]
    outputs = run(jobs, "wasm", tmp_path, variant)
    wrong = {
        f"{op} {case.attrs}": error
        for (op, case), got in zip(cases, outputs, strict=True)
        if (error := disagreement(got, expected(op, case), case.tolerance))
    }
    assert wrong == {}
