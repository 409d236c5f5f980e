"""Where a model comes from: the key `source` of a recipe."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from webkiln.errors import MissingPackageError, RecipeError, install_hint

MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
"""`package.module:function`."""


@dataclass(frozen=True, slots=True)
class PathSource:
    """A model file. An architecture (JSON or YAML) also has the file of its `weights`."""

    path: Path
    weights: Path | None = None


@dataclass(frozen=True, slots=True)
class UrlSource:
    url: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ExportSource:
    """A Python script whose `function(path, **parameters)` writes the model file."""

    script: Path
    function: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A Python module below the folder `root`, whose `function(**parameters)` returns the model.

    `weights` is a file to load into that model.
    """

    root: Path
    module: str
    function: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    weights: Path | None = None


Source = PathSource | UrlSource | ExportSource | ModuleSource


def parse_source(value: Any, parameters: Mapping[str, Any], folder: Path, where: str) -> Source:
    """The source of a recipe in `folder`, which relative paths start from."""
    if isinstance(value, str) and MODULE.fullmatch(value):
        module = find_module(value, (folder, *folder.parents[:2]), where)
        return replace(module, parameters=parameters)
    if isinstance(value, dict) and set(value) == {"module", "weights"}:
        if not MODULE.fullmatch(value["module"]):
            raise RecipeError(
                f"{where}: source.module is {value['module']!r}, expected module:function"
            )
        module = find_module(value["module"], (folder, *folder.parents[:2]), where)
        return replace(module, parameters=parameters, weights=folder / value["weights"])
    if parameters and not (isinstance(value, dict) and "script" in value):
        raise RecipeError(
            f"{where}: parameters are for a function that makes the model, and source names none"
        )
    if isinstance(value, str):
        return PathSource(folder / value)
    if set(value) == {"url", "sha256"}:
        return parse_url(value, f"{where}: source")
    if set(value) == {"path", "weights"}:
        return PathSource(folder / value["path"], folder / value["weights"])
    if set(value) == {"script", "function"}:
        return ExportSource(folder / value["script"], value["function"], parameters)
    raise RecipeError(
        f"{where}: source has the keys {', '.join(value)}; expected url and sha256, path and"
        " weights, module and weights, or script and function"
    )


def parse_url(value: Mapping[str, str], where: str) -> UrlSource:
    digest = value["sha256"]
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise RecipeError(
            f"{where}.sha256 is {digest!r}, expected 64 lower-case hexadecimal digits"
        )
    return UrlSource(value["url"], digest)


def find_module(value: str, folders: Sequence[Path], where: str) -> ModuleSource:
    """`module:function`, with the module searched in `folders` and then on Python's path."""
    module, _, function = value.partition(":")
    for root in (*folders, *map(Path, sys.path)):
        if module_file(root, module) is not None:
            return ModuleSource(root.absolute(), module, function)
    advice = install_hint(module)
    package = module.partition(".")[0]
    if advice is not None and not any(module_file(root, package) for root in map(Path, sys.path)):
        raise MissingPackageError(f"{where}: {advice}", package)
    raise RecipeError(
        f"{where}: there is no module {module} in {', '.join(map(str, folders))} or on Python's"
        " path"
    )


def module_file(root: Path, module: str) -> Path | None:
    """The file of a module below `root`, if it exists."""
    path = root.joinpath(*module.split("."))
    return next(filter(Path.is_file, (path.with_suffix(".py"), path / "__init__.py")), None)
