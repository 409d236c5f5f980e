"""Versions of compilers, browsers and Python packages: those in the lock files, and those installed
on this machine.

Keys use the locked versions, so that a machine without a tool computes the same key and finds the
cached result. A machine whose tool differs warns once, and its own version is in its keys.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from webkiln import canonical
from webkiln.backends import browsers, compilers, remote
from webkiln.backends.browsers import BROWSERS
from webkiln.backends.display import hidden_display
from webkiln.build.derived import Derived
from webkiln.build.environment import of_tools
from webkiln.build.file_stamps import Stamp, is_fresh, stamp
from webkiln.build.progress import warn
from webkiln.errors import ToolError

Found = TypeVar("Found")
ABSENT = "absent"
UNLOCKED = "unlocked"
NOT_USED = "not used"
ELSEWHERE = f" at {remote.VARIABLE}"
DISTRIBUTIONS = {
    "cv2": "opencv-python-headless",
    "google": "protobuf",
    "tensorflow": "tensorflow-cpu",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")


@dataclass(frozen=True, slots=True)
class Tool:
    """How to find a program and read its version. `version` matches all version lines of compilers,
    and of other programs what results depend on. `hint` says how to install it. A program that is
    `shown` prints its version only with a display.
    """

    commands: tuple[str, ...]
    version: str
    hint: str
    shown: bool = False
    flag: str = "--version"


EMSCRIPTEN = "on Debian and Ubuntu: apt-get install emscripten; or install the emsdk and set EMSDK"
LLVM = "on Debian and Ubuntu: apt-get install clang-19 lld-19"
ZIG = 'pip install "webkiln[compiler]"'
NODE = "install Node 20 or newer from your system or nodejs.org"
TOOLS = {
    "emcc": Tool(
        ("emcc",),
        r"(?m)^(?:emcc .*\) )?(\d+\.\d+\.\d+ .*|.*clang version .*)$",
        EMSCRIPTEN,
        flag="-v",
    ),
    "clang": Tool((f"clang-{compilers.OLDEST}", "clang"), r"(?m)^(.*clang version .*)$", LLVM),
    "wasm-ld": Tool((f"wasm-ld-{compilers.OLDEST}", "wasm-ld"), r"(?m)^(.*LLD .*)$", LLVM),
    "ziglang": Tool(("the package ziglang",), r"(?m)^(\d+\.\d+.*)$", ZIG, flag="version"),
    **{
        name: Tool(browser.programs[0].commands, browser.version, browser.install, browser.shown)
        for name, browser in BROWSERS.items()
    },
    "node": Tool(("node",), r"v(\d+)\.", NODE),
}


def find(name: str) -> Path:
    """The program of a tool: of LLVM the one that compiles, else the first on PATH. Raises
    ToolError with how to install it.
    """
    tool = TOOLS[name]
    if name in BROWSERS:
        return Path(next(iter(BROWSERS[name].find().values())))
    if name in compilers.PROGRAMS:
        program = compilers.programs().get(name)
    else:
        program = next(
            (Path(path) for command in tool.commands if (path := shutil.which(command))), None
        )
    if program is not None:
        return program
    raise ToolError(
        f"{name} is required and was not found (looked for {', '.join(tool.commands)}); {tool.hint}"
    )


def read_version(name: str, path: Path) -> str:
    """The version that a program prints."""
    compiler = compilers.usable(name) if name in compilers.COMPILERS else ""
    more = {} if isinstance(compiler, str) else compiler.environment
    return _version_of(name, (str(path),), more)


def _version_of(name: str, command: compilers.Command, more: Mapping[str, str]) -> str:
    """The version that a command prints, run with these additional variables."""
    tool = TOOLS[name]
    display = {"DISPLAY": hidden_display()} if tool.shown else {}
    variables = {**of_tools(os.environ), **display, **more}
    try:
        done = subprocess.run(
            [*command, tool.flag],
            env=variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        shown = " ".join(command)
        raise ToolError(f"{name} ({shown}) does not run: {error}; {tool.hint}") from error
    text = done.stdout + done.stderr
    return "; ".join(re.findall(tool.version, text)) or text.strip().splitlines()[0]


def tool_of(browser: str) -> str:
    """The tool that verifies a bundle. The version of a browser on another machine is unknown until
    it is queried.
    """
    return f"{browser}{ELSEWHERE}" if browser in BROWSERS and remote.remote_url() else browser


class Toolchain:
    """`toolchain.lock` and `requirements.lock` of a shared root, compared with this machine. An
    `installed` package uses the tools that it finds, without warnings. With `fleet`, other machines
    exist, and a program that is missing here counts as locked.
    """

    def __init__(
        self, root: Path, derived: Derived, *, installed: bool = False, fleet: bool = False
    ) -> None:
        self._root = root
        self._fleet = fleet
        self._installed = installed
        self._derived = derived
        self._warned: set[str] = set()
        self._found: dict[str, tuple[Sequence[Stamp | None], Any]] = {}

    def distributions(self, modules: Iterable[str]) -> tuple[str, ...]:
        """The names of these top-level modules in the lock file."""
        return tuple(sorted({_normalised(DISTRIBUTIONS.get(module, module)) for module in modules}))

    def discovered(self, packages: Iterable[str]) -> tuple[str, ...]:
        """The names of distributions in the lock file. No warnings are printed for those that it
        does not contain.
        """
        names = set(map(_normalised, packages))
        self._warned |= names - self._locks.keys()
        return tuple(sorted(names))

    def locked(self, names: Iterable[str]) -> dict[str, str]:
        """The versions in the lock files. For Python packages that they do not contain, and for the
        compiler that WEBKILN_COMPILER selects, the versions of this machine.
        """
        versions = {name: self._forced(name) or self._locks.get(name) for name in names}
        return {name: version or self._unlocked(name) for name, version in versions.items()}

    def actual(self, names: Iterable[str]) -> dict[str, str]:
        """The versions on this machine. A missing program raises ToolError; a missing Python
        package is `absent`.
        """
        versions = {name: self._version(name) for name in names}
        differing: list[str] = []
        for name, version in versions.items():
            locked = self._locks.get(name, UNLOCKED)
            # Builds of one version, such as PyTorch with and without CUDA, count as equal.
            if {version, version.partition("+")[0]} & {*locked.split("|")}:
                versions[name] = locked
            elif name not in self._warned and version != ABSENT:
                self._warned.add(name)
                differing.append(f"{name} is {version} here, {locked} in the lock file")
        if differing and not self._installed:
            warn(f"{'; '.join(differing)}; results are cached separately")
        return versions

    @cached_property
    def _locks(self) -> dict[str, str]:
        path = self._root / "toolchain.lock"
        locks: dict[str, str] = (
            dict(tomllib.loads(path.read_text())["tools"]) if path.is_file() else {}
        )
        requirements = self._root / "requirements.lock"
        versions: dict[str, list[str]] = {}
        for line in requirements.read_text().splitlines() if requirements.is_file() else ():
            if match := REQUIREMENT.match(line):
                versions.setdefault(_normalised(match[1]), []).append(match[2])
        return locks | {name: "|".join(sorted(matches)) for name, matches in versions.items()}

    def _forced(self, name: str) -> str | None:
        if name not in compilers.PROGRAMS or compilers.forced() is None:
            return None
        with suppress(ToolError):
            return self.actual([name])[name]
        return None

    def _unlocked(self, name: str) -> str:
        return (
            UNLOCKED
            if name in TOOLS or name.endswith(ELSEWHERE)
            else self._distribution_version(name)
        )

    def _version(self, name: str) -> str:
        if name in TOOLS:
            try:
                return self._program_version(name)
            except ToolError:
                if not self._fleet:
                    raise
                return self._locks.get(name, UNLOCKED)
        if name.endswith(ELSEWHERE):
            return browsers.version(name.removesuffix(ELSEWHERE))
        return self._distribution_version(name)

    def _distribution_version(self, name: str) -> str:
        return self._remembered(name, sys.path, lambda: _installed_version(name))

    def _program_version(self, name: str) -> str:
        question = f"{name} {os.environ.get(compilers.VARIABLE)}"
        described = self._remembered(question, compilers.folders(), lambda: _described(name))
        files = [[file, *(stamp(file) or ())] for file in described.files]
        commands = [[tool, *command] for tool, command in described.commands.items()]
        key = canonical.key(["tool", name, commands, files])
        known = self._derived.get(key)
        if known is None:
            known = described.read(name)
            self._derived.remember(key, known)
        return str(known)

    def _remembered(self, name: str, folders: Sequence[str], find: Callable[[], Found]) -> Found:
        """A value value in these folders, as long as their stamps stay the same: installing,
        upgrading and removing replaces names in them.
        """
        now, stamps = time.time(), [stamp(folder or ".") for folder in folders]
        known = self._found.get(name)
        if known is not None and known[0] == stamps:
            return cast("Found", known[1])
        value = find()
        if not any(folder is not None and is_fresh(folder, now) for folder in stamps):
            self._found[name] = (stamps, value)
        return value


@dataclass(frozen=True, slots=True)
class _Described:
    """How to read the version of a tool: the commands to run, by tool, and the `files` that their
    output depends on.
    """

    commands: Mapping[str, compilers.Command]
    files: Sequence[str]
    environment: Mapping[str, str]

    def read(self, name: str) -> str:
        versions = []
        for tool, command in self.commands.items():
            version = _version_of(tool, command, self.environment)
            versions.append(version if tool == name else f"{tool} {version}")
        return "; ".join(versions) or NOT_USED


def _described(name: str) -> _Described:
    """Each part of the compiler may depend on the others: emcc also prints the version of the clang
    that it runs.
    """
    if name not in compilers.PROGRAMS:
        path = str(find(name))
        return _Described({name: (path,)}, [path], {})
    compiler = compilers.choose()
    parts = compiler.identity.values()
    files = sorted({command[0] for part in parts for command in part.values()})
    return _Described(compiler.identity[name], files, compiler.environment)


def _installed_version(distribution: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return ABSENT


def _normalised(distribution: str) -> str:
    """A name normalised for comparison (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()
