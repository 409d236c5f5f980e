"""A browser: its programs, how a session starts, and the backends that it cannot run."""

import importlib.util
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from webkiln.errors import ToolError

if TYPE_CHECKING:
    from selenium.webdriver.common.options import BaseOptions
    from selenium.webdriver.remote.webdriver import WebDriver

Programs = Mapping[str, str]
"""The paths of a browser's programs, by name."""
PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@dataclass(frozen=True, slots=True)
class Program:
    """A program: the names or path patterns to look for, and those inside a Python package. The
    package is located without importing it.
    """

    name: str
    commands: tuple[str, ...]
    package: str = ""
    files: tuple[str, ...] = ()

    def find(self) -> str | None:
        for command in self.commands:
            paths = (
                sorted(map(str, Path("/").glob(command.removeprefix("/"))))
                if "*" in command
                else [command]
            )
            if found := next(filter(None, map(shutil.which, paths)), None):
                return found
        spec = importlib.util.find_spec(self.package) if self.package else None
        folders = map(Path, spec.submodule_search_locations or ()) if spec is not None else ()
        return next(
            (
                str(path)
                for folder in folders
                for name in self.files
                if (path := folder / name).is_file()
            ),
            None,
        )


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser that Selenium drives.

    `programs` lists the browser first, then its driver. `start` creates a session from the
    programs' paths and a folder for temporary files. `remote` are the capabilities to request from
    a remote WebDriver server; any of them will do. `version` is a pattern for the output of the
    browser's `--version`; `shown` states that this output needs a display. `lacks` maps a backend,
    or a variant such as `wasm:relaxed`, to the reason why the browser does not run it. `log` is the
    driver's endpoint for console messages.
    """

    name: str
    title: str
    programs: tuple[Program, ...]
    install: str
    version: str
    start: "Callable[[Programs, Path], WebDriver]"
    remote: "Callable[[], list[BaseOptions]]"
    shown: bool = False
    lacks: Mapping[str, str] = field(default_factory=dict)
    log: bool = False

    def find(self) -> dict[str, str]:
        """The paths of all programs, by name. Raises ToolError, which names the missing ones and
        how to install them.
        """
        paths = {program.name: program.find() for program in self.programs}
        if missing := [name for name, path in paths.items() if path is None]:
            raise ToolError(
                f"{self.name} cannot be run: {', '.join(missing)} {_are(missing)} missing;"
                f" {self.install}"
            )
        return {name: path for name, path in paths.items() if path is not None}

    def why_not(self, backend: str, variant: str | None) -> str | None:
        """The reason why this browser does not run a variant of a backend, or None."""
        return self.lacks.get(backend) or self.lacks.get(f"{backend}:{variant}")


def own_environment(folder: Path, **more: str) -> dict[str, str]:
    """Environment variables that keep a browser's files in `folder` and bypass proxies for this
    machine.
    """
    kept = {name: value for name, value in os.environ.items() if name.lower() not in PROXIES}
    homes = dict.fromkeys(
        ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
        str(folder),
    )
    return {**kept, **homes, **more}


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
