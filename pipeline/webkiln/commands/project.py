"""Detect the kind of a web project, and edit its files."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webkiln.errors import SourceError

VITE_CONFIGS = tuple(f"vite.config.{end}" for end in ("js", "mjs", "ts", "cjs", "mts", "cts"))
"""In Vite's search order."""
OTHER_BUNDLERS = {
    "@rspack/core": "rspack",
    "webpack": "webpack",
    "rolldown": "rolldown",
    "rollup": "rollup",
    "esbuild": "esbuild",
    "@farmfe/core": "farm",
}
LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}


@dataclass(frozen=True)
class Project:
    """A web project: `vite`, `next`, `bundler` (another bundler that the plugin supports) or
    `html`.
    """

    root: Path
    kind: str
    package: Mapping[str, Any] = field(default_factory=dict)
    bundler: str = ""

    @property
    def typescript(self) -> bool:
        return (self.root / "tsconfig.json").is_file()

    @property
    def source(self) -> Path:
        """The folder for source code, relative to the root."""
        return Path("src") if (self.root / "src").is_dir() or self.kind == "vite" else Path()

    @property
    def vite_config(self) -> Path:
        """Vite's configuration file; it may not exist."""
        there = next((name for name in VITE_CONFIGS if (self.root / name).is_file()), None)
        ending = (
            "ts" if self.typescript else "js" if self.package.get("type") == "module" else "mjs"
        )
        return Path(there or f"vite.config.{ending}")

    @property
    def types(self) -> Path:
        """The file for type declarations, at a path that the tsconfig.json of common templates
        includes.
        """
        return self.source / "webkiln-env.d.ts"

    @property
    def manager(self) -> str:
        """The package manager of this package or its workspace."""
        folders = [self.root, *(folder for folder in self.root.parents if _is_workspace(folder))]
        return next(
            (
                name
                for folder in folders
                for lock, name in LOCKS.items()
                if (folder / lock).is_file()
            ),
            "npm",
        )

    def __str__(self) -> str:
        names = {
            "vite": "a project with Vite",
            "next": "a project with Next",
            "bundler": f"a project with {self.bundler}",
            "html": "plain HTML",
        }
        return names[self.kind] + (" and TypeScript" if self.typescript else "")


def _is_workspace(folder: Path) -> bool:
    if (folder / "pnpm-workspace.yaml").is_file():
        return True
    try:
        return "workspaces" in json.loads((folder / "package.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def find_project(root: Path) -> Project:
    """Detect the project in a folder from package.json, file names and index.html. Raises
    SourceError, which lists what was searched for.
    """
    file = root / "package.json"
    package: dict[str, Any] = {}
    if file.is_file():
        try:
            package = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise SourceError(f"{file} is not JSON ({error}); fix it first") from error
    needs = {name for key in ("dependencies", "devDependencies") for name in package.get(key, {})}
    if "next" in needs:
        return Project(root, "next", package)
    if "vite" in needs or any((root / name).is_file() for name in VITE_CONFIGS):
        return Project(root, "vite", package)
    if other := next((name for name in OTHER_BUNDLERS if name in needs), None):
        return Project(root, "bundler", package, OTHER_BUNDLERS[other])
    if (root / "index.html").is_file():
        return Project(root, "html", package)
    raise SourceError(
        f"{root}: no web project found: no vite, next or other bundler in package.json, no"
        f" {' or '.join(VITE_CONFIGS[:4])}, and no index.html; create one with `npm create"
        " vite@latest`, or go to its folder"
    )


def with_package(text: str, additions: Mapping[str, Mapping[str, str]]) -> str:
    """A package.json with additional entries, formatted like npm's."""
    package = json.loads(text)
    before = json.dumps(package)
    for table, entries in additions.items():
        merged = {**entries, **package.get(table, {}), **entries}
        package[table] = merged if table == "scripts" else dict(sorted(merged.items()))
    if json.dumps(package) == before:
        return text
    indent = re.search(r"^([ \t]+)\"", text, re.MULTILINE)
    return json.dumps(package, indent=indent[1] if indent else 2, ensure_ascii=False) + (
        "\n" if text.endswith("\n") else ""
    )


def with_plugin(text: str, call: str) -> str | None:
    """A Vite configuration with `call` as its first plugin. None if its form is not one that can be
    edited safely.
    """
    bare = _without_words(text)
    found = re.search(r"export\s+default\s+(?:defineConfig\s*\(\s*)?\{", bare)
    if found is None or bare.count("export default") != 1:
        return None
    plugins = _key(bare, found.end(), "plugins")
    quote = '"' if text.count('"') > text.count("'") else "'"
    semicolon = ";" if re.search(r"^import .*;\s*$", text, re.MULTILINE) else ""
    line = f"import webkiln from {quote}unplugin-webkiln/vite{quote}{semicolon}\n"
    call = call.replace("'", quote)
    if plugins is None:
        if re.search(r"\bplugins\b|\.\.\.", bare) or re.search(r"""['"]plugins['"]\s*:""", text):
            return None
        at, inserted = found.end(), f"\n  plugins: [{call}],"
    else:
        opened = re.compile(r"\s*:\s*\[").match(bare, plugins)
        if opened is None:
            return None
        rest = bare[opened.end() :].lstrip()
        separator = re.match(r"\s*\n\s*", bare[opened.end() :])
        at, inserted = (
            opened.end(),
            (
                call
                if rest.startswith("]")
                else f"{separator[0]}{call},"
                if separator
                else f"{call}, "
            ),
        )
    changed = text[:at] + inserted + text[at:]
    imports = list(
        re.finditer(
            r"^import\b[^;\n]*(?:\{[^}]*\}[^;\n]*)?;?[ \t]*\n", bare[: found.start()], re.MULTILINE
        )
    )
    place = imports[-1].end() if imports else 0
    return changed[:place] + line + changed[place:]


def _without_words(text: str) -> str:
    """The text, with comments and quoted text replaced by spaces."""
    pattern = r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`"
    return re.sub(pattern, lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL)


def _key(bare: str, start: int, name: str) -> int | None:
    """The end of a key of the object that opens before `start`, but not of nested objects."""
    depth = 1
    for match in re.finditer(rf"[{{\[(]|[}}\])]|\b{name}\b", bare[start:]):
        if match[0] == name:
            if depth == 1:
                return start + match.end()
        elif match[0] in "{[(":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return None
    return None


def with_script(text: str, source: str) -> str | None:
    """A page with one more module at its end. None if its end is ambiguous."""
    ends = list(re.finditer(r"^([ \t]*)</body>", text, re.MULTILINE | re.IGNORECASE))
    if len(ends) != 1 or len(re.findall("</body>", text, re.IGNORECASE)) != 1:
        return None
    end = ends[0]
    return (
        f'{text[: end.start()]}{end[1]}{end[1] or "  "}<script type="module"'
        f' src="{source}"></script>\n{text[end.start() :]}'
    )
