"""`webkiln init`: add a recipe, the plugin and a working page to a web project."""

import argparse
import gzip
import io
import json
import os
import re
import shutil
import sys
import tarfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from webkiln import canonical, npz
from webkiln.build import progress
from webkiln.build.backends import buildable
from webkiln.build.engine import Engine
from webkiln.build.files import write_atomic
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.locations import state_folder
from webkiln.build.share import shared_root
from webkiln.commands import build
from webkiln.commands.project import Project, find_project, with_package, with_plugin, with_script
from webkiln.commands.starter import Samples, answer, shown_in_page, shown_in_react, with_types
from webkiln.errors import SourceError, did_you_mean
from webkiln.frontends.core.formats import BY_NAME, format_of_file
from webkiln.recipe.read import parse_recipe, read_recipe
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import MODULE, PathSource

FIRST = "digits"
"""The model if none is given."""
COPIED_BYTES = 100_000_000
"""A larger model is not copied: the recipe refers to it."""
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


@dataclass(frozen=True)
class Addition:
    """A new file."""

    path: Path
    data: bytes


@dataclass(frozen=True)
class Amendment:
    """A change to an existing file. If `edit` returns None, the change is not safe, and `advice`
    describes it.
    """

    path: Path
    edit: Callable[[str], str | None]
    what: str
    advice: str


Change = Addition | Amendment


@dataclass(frozen=True)
class Given:
    """The model: its recipe, the files to copy into the project, and a sample input."""

    recipe: Recipe
    files: tuple[Addition, ...] = ()
    samples: Samples | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        nargs="?",
        help=(
            f"a model file, or a function that returns a model (module:function); default: {FIRST},"
            " included in webkiln"
        ),
    )
    build.add_options(parser, ["source-format"])
    parser.add_argument("--name", help="the model's name; default: the file's")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        type=Path,
        help="a Python file with the model's custom layers; added to the recipe",
    )
    parser.add_argument(
        "--trust-source",
        action="store_true",
        help="run code from the model file; added to the recipe",
    )
    parser.add_argument("--force", action="store_true", help="overwrite existing files that differ")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="build the model and print the changes, but write nothing",
    )


def run(options: argparse.Namespace) -> int:
    project = find_project(Path.cwd())
    given = given_model(project.root, options)
    manifest, types = built(given.recipe, project.root)
    changes = [*given.files, *CHANGES[project.kind](project, manifest, types, given.samples or {})]
    print(f"{project.root}: {project}")
    told = [
        apply(project.root, change, force=options.force, dry=options.dry_run) for change in changes
    ]
    print("\n".join(told))
    if not options.dry_run:
        name = given.recipe.name
        if project.kind in ("next", "html"):
            build_into(name, bundle_place(project, name))
        print(
            "\n".join(
                [
                    "",
                    "Next:",
                    *(
                        f"  {line}"
                        for line in (*by_hand(project, manifest, told), *next_steps(project))
                    ),
                ]
            )
        )
    return 0


def given_model(root: Path, options: argparse.Namespace) -> Given:
    """The requested model, with the files to copy into the project."""
    wanted, shared, force = options.model or FIRST, build.shipped(), options.force
    name = options.name or re.sub(
        r"[^A-Za-z0-9_-]",
        "_",
        wanted.rpartition(":")[2] if MODULE.fullmatch(wanted) else Path(wanted).stem,
    )
    if not Path(wanted).is_file() and wanted in shared:
        source = shared[wanted].source
        if not isinstance(source, PathSource):
            raise SourceError(
                f"{wanted} is included in webkiln and needs no recipe; import it as"
                f" 'webkiln:{wanted}'"
            )
        tests = source.path.with_name("test.npz")
        samples = (
            {tensor.removesuffix("s"): values[:1] for tensor, values in npz.read(tests).items()}
            if tests.is_file()
            else {}
        )
        known = shared[wanted].labels
        labels = (
            "".join(f"{output} = {json.dumps(list(names))}\n" for output, names in known.items())
            if isinstance(known, Mapping)
            else ""
        )
        return _given(
            root,
            name,
            source.path,
            f"\n[labels]\n{labels}" if labels else "",
            samples,
            copied=True,
            force=force,
        )
    if not Path(wanted).is_file() and MODULE.fullmatch(wanted):
        text = f"source = {json.dumps(wanted)}\n{_keys(root, name, options)}"
        return Given(
            _recipe(root, name, text, force=force),
            (Addition(Path("models") / name / "recipe.toml", text.encode()),),
        )
    if not Path(wanted).is_file():
        raise SourceError(
            f"{wanted}: no such file; give the path of a model file, such as my.keras, a function"
            f" as module:function, or no argument for {FIRST}, included in"
            f" webkiln{did_you_mean(wanted, shared)}"
        )
    source_file = Path(wanted).parent.resolve() / Path(wanted).name
    beside = (BY_NAME.get(options.source_format) or format_of_file(source_file)).companion_files(
        source_file
    )
    copied = (
        not source_file.is_relative_to(root)
        and not beside
        and source_file.stat().st_size <= COPIED_BYTES
    )
    return _given(
        root, name, source_file, _keys(root, name, options), {}, copied=copied, force=force
    )


def _keys(root: Path, name: str, options: argparse.Namespace) -> str:
    """The recipe's settings besides the source."""
    plugins = [
        Path(os.path.relpath(path.absolute(), root / "models" / name)).as_posix()
        for path in options.plugin
    ]
    lines = (
        [f"source_format = {json.dumps(options.source_format)}"] if options.source_format else []
    )
    lines += [f"plugins = {json.dumps(plugins, ensure_ascii=False)}"] if plugins else []
    lines += ["trust_source = true"] if options.trust_source else []
    return "".join(f"{line}\n" for line in lines)


def _given(
    root: Path, name: str, source: Path, more: str, samples: Samples, *, copied: bool, force: bool
) -> Given:
    folder = Path("models") / name
    written = source.name if copied else Path(os.path.relpath(source, root / folder)).as_posix()
    text = f"source = {json.dumps(written, ensure_ascii=False)}\n{more}"
    recipe = _recipe(root, name, text, force=force)
    if recipe.source == PathSource(root / folder / written) and not recipe.source.path.is_file():
        # Build before writing anything: if the build fails, the project does not change.
        recipe = replace(recipe, source=PathSource(source))
    model = [Addition(folder / written, source.read_bytes())] if copied else []
    return Given(recipe, (Addition(folder / "recipe.toml", text.encode()), *model), samples)


def _recipe(root: Path, name: str, text: str, *, force: bool) -> Recipe:
    """The recipe in the project, or one with this text."""
    place = root / "models" / name / "recipe.toml"
    if place.is_file() and not force:
        return read_recipe(place)
    recipe = parse_recipe(name, tomllib.loads(text), place)
    # Read it before the folder exists that its paths are relative to.
    return replace(recipe, plugins=tuple(Path(os.path.normpath(path)) for path in recipe.plugins))


def built(recipe: Recipe, root: Path) -> tuple[dict[str, Any], str]:
    """The manifest and type declarations of the model's bundle, which is built in the cache."""
    with Engine(state_folder(root), progress=progress.console()) as engine:
        graph = ModelGraph(recipe, engine.share)
        action = graph.bundle(buildable(engine, graph, Selection(recipe.backends)))
        engine.expect(each for each in graph.actions() if engine.current(each) is None)
        outputs = engine.run(action).outputs
        manifest, types = (
            engine.cache.store.file(outputs[f"bundle/{name}"])
            for name in ("manifest.json", "index.d.ts")
        )
        return canonical.read(manifest), types.read_text()


def _additions_of_vite(
    project: Project, manifest: Mapping[str, Any], types: str, samples: Samples
) -> Iterator[Change]:
    ending, module = "ts" if project.typescript else "js", f"webkiln:{manifest['name']}"
    call = plugin_call(project)
    yield from _plugin_packed(project)
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
    yield from _types_added(project, module, types)
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


def _plugin_packed(project: Project) -> Iterator[Change]:
    """The plugin's package, as listed in package.json. A `file:` package that does not exist
    belongs to the project that this one was copied from.
    """
    archive = Path("vendor") / f"unplugin-webkiln-{plugin_version()}.tgz"
    yield Addition(archive, plugin())
    said = str(project.package.get("devDependencies", {}).get("unplugin-webkiln", ""))
    gone = said.startswith("file:") and not (project.root / said.removeprefix("file:")).exists()
    needed = {"devDependencies": {"unplugin-webkiln": f"file:{archive.as_posix()}"}}
    yield _package_amendment(
        replace(project, package={}) if gone else project, needed, "devDependencies"
    )


def _types_added(project: Project, module: str, types: str) -> Iterator[Change]:
    if project.typescript:
        yield Amendment(project.types, lambda text: with_types(text, module, types), "types", "")


def _additions_of_bundler(
    project: Project, manifest: Mapping[str, Any], types: str, samples: Samples
) -> Iterator[Change]:
    yield from _plugin_packed(project)
    yield from _types_added(project, f"webkiln:{manifest['name']}", types)


def _additions_of_next(
    project: Project, manifest: Mapping[str, Any], types: str, samples: Samples
) -> Iterator[Change]:
    bundle = bundle_place(project, manifest["name"])
    command = f"webkiln build {manifest['name']} -o {bundle.as_posix()}"
    scripts = {"predev": command, "prebuild": command}
    yield _package_amendment(project, {"scripts": scripts}, "scripts")
    yield Addition(bundle.parent / ".gitignore", b"*\n!.gitignore\n")
    ending = "tsx" if project.typescript else "jsx"
    routed = (project.root / project.source / "app").is_dir() or not (
        project.root / project.source / "pages"
    ).is_dir()
    page = project.source / (f"app/model/page.{ending}" if routed else f"pages/model.{ending}")
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
    module = f"./{bundle_place(project, name).as_posix()}/index.js"
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


def bundle_place(project: Project, name: str) -> Path:
    """The folder of a bundle that no plugin builds."""
    return Path("dist") / name if project.kind == "html" else project.source / "webkiln" / name


def _package_amendment(
    project: Project, additions: Mapping[str, Mapping[str, str]], what: str
) -> Amendment:
    lacking = {
        table: {
            name: value for name, value in entries.items() if _lacks(project.package, table, name)
        }
        for table, entries in additions.items()
    }
    taken = [
        f'"{name}": "{value}"'
        for table, entries in additions.items()
        for name, value in entries.items()
        if table == "scripts" and value not in (project.package.get(table, {}).get(name, value))
    ]
    advice = f"{', '.join(taken)} among its {what}"
    return Amendment(
        Path("package.json"),
        lambda text: None if taken else with_package(text, lacking),
        what,
        advice,
    )


def _lacks(package: Mapping[str, Any], table: str, name: str) -> bool:
    """Whether to write an entry: if there is none, or if an earlier init wrote it."""
    if table == "scripts":
        return name not in package.get(table, {})
    found = [
        entries[name]
        for key in ("dependencies", "devDependencies")
        if name in (entries := package.get(key, {}))
    ]
    return not found or (
        name in package.get(table, {}) and str(found[-1]).startswith(f"file:vendor/{name}-")
    )


WOULD = {"wrote": "write", "overwrote": "overwrite", "changed": "change"}


def apply(root: Path, change: Change, *, force: bool, dry: bool) -> str:
    """Apply one change, and report it."""
    path = root / change.path
    there = path.read_bytes() if path.is_file() else None
    name = change.path.as_posix()
    if isinstance(change, Addition):
        if there == change.data:
            return f"  unchanged  {name}"
        if there is not None and not force:
            return f"  kept       {name}, which has other content; --force overwrites it"
        data, verb = change.data, "wrote" if there is None else "overwrote"
    else:
        before = (there or b"").decode()
        ends = "\r\n" if "\r\n" in before else "\n"
        text = change.edit(before.replace("\r\n", "\n"))
        if text is None:
            return f"  skipped    {name}; add by hand: {change.advice}"
        if text == before.replace("\r\n", "\n"):
            return f"  unchanged  {name}"
        data, verb, name = (
            text.replace("\n", ends).encode(),
            *(("wrote", name) if there is None else ("changed", f"{name}: {change.what}")),
        )
    if dry:
        return f"  would {WOULD[verb]} {name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data)
    return f"  {verb:<9}  {name}"


def build_into(name: str, folder: Path) -> None:
    """Store the build's inputs as `webkiln build` does, so that the next build is a no-op."""
    parser = argparse.ArgumentParser()
    build.add_arguments(parser)
    build.run(parser.parse_args([name, "--output", str(folder)]))


def by_hand(project: Project, manifest: Mapping[str, Any], told: Sequence[str]) -> Iterator[str]:
    """The remaining steps before the first run."""
    if any(line.startswith("  skipped ") for line in told):
        yield "add by hand what was skipped, above"
    if project.kind == "bundler":
        yield (
            f"import webkiln from 'unplugin-webkiln/{project.bundler}', and {plugin_call(project)}"
            f" among the plugins of the configuration of {project.bundler}"
        )
    if project.kind == "bundler" or (
        project.kind == "vite"
        and any(line.startswith("  kept ") and f"{project.source}/model." in line for line in told)
    ):
        yield f"import {{ load }} from 'webkiln:{manifest['name']}' in your code"


def next_steps(project: Project) -> Iterator[str]:
    if not shutil.which("webkiln") and not (project.root / ".venv" / "bin" / "webkiln").is_file():
        yield (
            f"export PATH={Path(sys.argv[0]).absolute().parent}:$PATH   (the plugin runs webkiln"
            " from PATH)"
        )
    if project.kind == "html":
        yield "python3 -m http.server    and open http://localhost:8000/model.html"
        yield "doit watch                rebuild on changes"
        return
    if project.kind == "bundler":
        yield f"{project.manager} install"
        return
    place = "/model" if project.kind == "next" else "/"
    install = (
        ""
        if (project.kind == "next" and (project.root / "node_modules").is_dir())
        else f"{project.manager} install && "
    )
    yield f"{install}{project.manager} run dev    and open {place} at the address that it prints"


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
