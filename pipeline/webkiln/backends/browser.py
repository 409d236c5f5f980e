"""What a browser is to webkiln: the programs that run it, how a session starts, and what it cannot
run, with the reason.
"""

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
"""Where the programs of a browser are, by name."""
PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@dataclass(frozen=True, slots=True)
class Program:
    """A program by the names or patterns of paths under which it is found, and by those in a Python
    package, which is not imported.
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
    """`programs`: the browser first, then what drives it.

    `start` makes a session from the programs and a folder that the session may fill. `remote` are
    the capabilities that another machine is asked for, any of them. `version` finds the version in
    what the browser prints, and `shown` says that it prints only on a display. `lacks`: why it does
    not run a backend, or a variant as `wasm:relaxed`. `log` is the endpoint of its driver that
    gives console messages.
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
        """The paths of all programs by name; ToolError says which are missing and how they are
        installed.
        """
        paths = {program.name: program.find() for program in self.programs}
        if missing := [name for name, path in paths.items() if path is None]:
            raise ToolError(
                f"{self.name} cannot be run: {', '.join(missing)} {_are(missing)} missing;"
                f" {self.install}"
            )
        return {name: path for name, path in paths.items() if path is not None}

    def why_not(self, backend: str, variant: str | None) -> str | None:
        """Why this browser runs no such bundle, if it does not."""
        return self.lacks.get(backend) or self.lacks.get(f"{backend}:{variant}")


def own_environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a browser that keeps nothing outside `folder` and asks no proxy for pages
    of this machine.
    """
    kept = {name: value for name, value in os.environ.items() if name.lower() not in PROXIES}
    homes = dict.fromkeys(
        ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
        str(folder),
    )
    return {**kept, **homes, **more}


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
