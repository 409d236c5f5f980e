"""The files and changes that `webkiln init` adds, for each kind of project."""

import gzip
import io
import json
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln.commands.changes import Addition, Amendment, Change
from webkiln.commands.project import Project, with_package, with_plugin, with_script
from webkiln.commands.starter import Samples, answer, shown_in_page, shown_in_react, with_types
from webkiln.shared_files import shared_root

DODO = (
    "from webkiln.build.tasks import DOIT_CONFIG, tasks\n\n\ndef task_models():\n    return"
    ' tasks("models")\n'
)
HTML = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
</head>
<body>
<script type="module" src="model.js"></script>
</body>
</html>
"""


def _additions_of_vite(
    project: Project, manifest: Mapping[str, Any], types: str, samples: Samples
) -> Iterator[Change]:
    ending, module = "ts" if project.typescript else "js", f"webkiln:{manifest['name']}"
    call = plugin_call(project)
    yield from _plugin_changes(project)
    config = project.vite_config
    if (project.root / config).is_file():
        advice = f"import webkiln from 'unplugin-webkiln/vite', and {call} among its plugins"
        yield Amendment(
            config,
            lambda text: text if "unplugin-webkiln" in text else with_plugin(text, call),
            "the plugin",
            advice,
        )
    else:
        yield Addition(
            config,
            "import { defineConfig } from 'vite';\nimport webkiln from"
            " 'unplugin-webkiln/vite';\n\nexport default defineConfig({\n  plugins:"
            f" [{call}],\n}});\n".encode(),
        )
    yield from _type_changes(project, module, types)
    page = f"src/model.{ending}"
    yield Addition(
        Path(page),
        shown_in_page(answer(manifest, module, samples, typescript=project.typescript)).encode(),
    )
    line = f'<script type="module" src="/{page}"></script>'
    if (project.root / "index.html").is_file():
        yield Amendment(
            Path("index.html"),
            lambda text: text if page in text else with_script(text, f"/{page}"),
            f"loads {page}",
            f"{line} before its end",
        )


def plugin_call(project: Project) -> str:
    """The plugin's call in a configuration."""
    return f"webkiln({{ types: '{project.types}' }})" if project.typescript else "webkiln()"


def _plugin_changes(project: Project) -> Iterator[Change]:
    """The plugin's package, as listed in package.json. A `file:` package that does not exist
    belongs to the project that this one was copied from.
    """
    archive = Path("vendor") / f"unplugin-webkiln-{plugin_version()}.tgz"
    yield Addition(archive, plugin())
    installed = str(project.package.get("devDependencies", {}).get("unplugin-webkiln", ""))
    is_missing = (
        installed.startswith("file:")
        and not (project.root / installed.removeprefix("file:")).exists()
    )
    needed = {"devDependencies": {"unplugin-webkiln": f"file:{archive.as_posix()}"}}
    yield _package_amendment(
        replace(project, package={}) if is_missing else project, needed, "devDependencies"
    )


def _type_changes(project: Project, module: str, types: str) -> Iterator[Change]:
    if project.typescript:
        yield Amendment(project.types, lambda text: with_types(text, module, types), "types", "")


def _additions_of_bundler(
    project: Project, manifest: Mapping[str, Any], types: str, samples: Samples
) -> Iterator[Change]:
    yield from _plugin_changes(project)
    yield from _type_changes(project, f"webkiln:{manifest['name']}", types)


def _additions_of_next(
    project: Project, manifest: Mapping[str, Any], types: str, samples: Samples
) -> Iterator[Change]:
    bundle = bundle_folder(project, manifest["name"])
    command = f"webkiln build {manifest['name']} -o {bundle.as_posix()}"
    scripts = {"predev": command, "prebuild": command}
    yield _package_amendment(project, {"scripts": scripts}, "scripts")
    yield Addition(bundle.parent / ".gitignore", b"*\n!.gitignore\n")
    ending = "tsx" if project.typescript else "jsx"
    has_app_router = (project.root / project.source / "app").is_dir() or not (
        project.root / project.source / "pages"
    ).is_dir()
    page = project.source / (
        f"app/model/page.{ending}" if has_app_router else f"pages/model.{ending}"
    )
    up = os.path.relpath(bundle / "index.js", page.parent).replace(os.sep, "/")
    yield Addition(
        page, shown_in_react(answer(manifest, up, samples, typescript=project.typescript)).encode()
    )


def _additions_of_html(
    project: Project, manifest: Mapping[str, Any], types: str, samples: Samples
) -> Iterator[Change]:
    name = manifest["name"]
    yield Addition(Path("dodo.py"), DODO.encode())
    yield Addition(Path("model.html"), HTML.format(name=name).encode())
    module = f"./{bundle_folder(project, name).as_posix()}/index.js"
    yield Addition(
        Path("model.js"),
        shown_in_page(answer(manifest, module, samples, typescript=False)).encode(),
    )


CHANGES: dict[str, Callable[[Project, Mapping[str, Any], str, Samples], Iterator[Change]]] = {
    "vite": _additions_of_vite,
    "next": _additions_of_next,
    "bundler": _additions_of_bundler,
    "html": _additions_of_html,
}


def bundle_folder(project: Project, name: str) -> Path:
    """The folder of a bundle that no plugin builds."""
    return Path("dist") / name if project.kind == "html" else project.source / "webkiln" / name


def _package_amendment(
    project: Project, additions: Mapping[str, Mapping[str, str]], what: str
) -> Amendment:
    missing = {
        table: {
            name: value for name, value in entries.items() if _lacks(project.package, table, name)
        }
        for table, entries in additions.items()
    }
    conflicts = [
        f'"{name}": "{value}"'
        for table, entries in additions.items()
        for name, value in entries.items()
        if table == "scripts" and value not in (project.package.get(table, {}).get(name, value))
    ]
    advice = f"{', '.join(conflicts)} among its {what}"
    return Amendment(
        Path("package.json"),
        lambda text: None if conflicts else with_package(text, missing),
        what,
        advice,
    )


def _lacks(package: Mapping[str, Any], table: str, name: str) -> bool:
    """Whether to write an entry: if there is none, or if an earlier init wrote it."""
    if table == "scripts":
        return name not in package.get(table, {})
    versions = [
        entries[name]
        for key in ("dependencies", "devDependencies")
        if name in (entries := package.get(key, {}))
    ]
    return not versions or (
        name in package.get(table, {}) and str(versions[-1]).startswith(f"file:vendor/{name}-")
    )


def plugin_version() -> str:
    return str(
        json.loads((shared_root() / "runtime" / "unplugin" / "package.json").read_text())["version"]
    )


def plugin() -> bytes:
    """The plugin's npm package for this version of webkiln. Its bytes are reproducible."""
    folder = shared_root() / "runtime" / "unplugin"
    files = sorted(
        path for pattern in ("package.json", "*.d.ts", "src/*.js") for path in folder.glob(pattern)
    )
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for path in files:
            entry = tarfile.TarInfo(f"package/{path.relative_to(folder).as_posix()}")
            entry.size = path.stat().st_size
            with path.open("rb") as data:
                archive.addfile(entry, data)
    return packed.getvalue()
