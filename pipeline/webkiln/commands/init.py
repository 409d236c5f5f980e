"""`webkiln init`: add a recipe, the plugin and a working page to a web project."""

import argparse
import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from webkiln import canonical, npz
from webkiln.build import progress
from webkiln.build.backends import buildable
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.locations import state_folder
from webkiln.commands import build
from webkiln.commands.additions import CHANGES, bundle_folder, plugin_call
from webkiln.commands.changes import Addition, apply
from webkiln.commands.project import Project, find_project
from webkiln.commands.starter import Samples
from webkiln.errors import SourceError, did_you_mean
from webkiln.frontends.core.formats import BY_NAME, format_of_file
from webkiln.recipe.read import parse_recipe, read_recipe
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import MODULE, PathSource

FIRST = "digits"
"""The model if none is given."""
COPIED_BYTES = 100_000_000
"""A larger model is not copied: the recipe refers to it."""


@dataclass(frozen=True)
class ModelSetup:
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
    setup = model_setup(project.root, options)
    manifest, types = build_outputs(setup.recipe, project.root)
    changes = [*setup.files, *CHANGES[project.kind](project, manifest, types, setup.samples or {})]
    print(f"{project.root}: {project}")
    printed = [
        apply(project.root, change, force=options.force, dry=options.dry_run) for change in changes
    ]
    print("\n".join(printed))
    if not options.dry_run:
        name = setup.recipe.name
        if project.kind in ("next", "html"):
            build_into(name, bundle_folder(project, name))
        print(
            "\n".join(
                [
                    "",
                    "Next:",
                    *(
                        f"  {line}"
                        for line in (
                            *manual_steps(project, manifest, printed),
                            *next_steps(project),
                        )
                    ),
                ]
            )
        )
    return 0


def model_setup(root: Path, options: argparse.Namespace) -> ModelSetup:
    """The requested model, with the files to copy into the project."""
    model, shared = options.model or FIRST, build.shipped()
    is_file, is_function = Path(model).is_file(), bool(MODULE.fullmatch(model))
    stem = model.rpartition(":")[2] if is_function else Path(model).stem
    name = options.name or re.sub(r"[^A-Za-z0-9_-]", "_", stem)
    if is_file:
        return _user_file_setup(root, name, Path(model), options)
    if model in shared:
        return _shipped_setup(root, name, shared[model], force=options.force)
    if is_function:
        text = f"source = {json.dumps(model)}\n{_keys(root, name, options)}"
        return ModelSetup(
            _recipe(root, name, text, force=options.force),
            (Addition(Path("models") / name / "recipe.toml", text.encode()),),
        )
    raise SourceError(
        f"{model}: no such file; give the path of a model file, such as my.keras, a function"
        f" as module:function, or no argument for {FIRST}, included in"
        f" webkiln{did_you_mean(model, shared)}"
    )


def _shipped_setup(root: Path, name: str, shipped: Recipe, *, force: bool) -> ModelSetup:
    """A model that is included in webkiln; its file is copied."""
    source = shipped.source
    if not isinstance(source, PathSource):
        raise SourceError(
            f"{shipped.name} is included in webkiln and needs no recipe; import it as"
            f" 'webkiln:{shipped.name}'"
        )
    tests = source.path.with_name("test.npz")
    samples = (
        {tensor.removesuffix("s"): values[:1] for tensor, values in npz.read(tests).items()}
        if tests.is_file()
        else {}
    )
    table = shipped.bundle.labels
    labels = (
        "".join(f"{output} = {json.dumps(list(names))}\n" for output, names in table.items())
        if isinstance(table, Mapping)
        else ""
    )
    return _file_setup(
        root,
        name,
        source.path,
        f"\n[labels]\n{labels}" if labels else "",
        samples,
        copied=True,
        force=force,
    )


def _user_file_setup(root: Path, name: str, model: Path, options: argparse.Namespace) -> ModelSetup:
    """A model file of the user. A small file outside of the project is copied."""
    source = model.parent.resolve() / model.name
    model_format = BY_NAME.get(options.source_format) or format_of_file(source)
    copied = (
        not model_format.companion_files(source)
        and not source.is_relative_to(root)
        and source.stat().st_size <= COPIED_BYTES
    )
    return _file_setup(
        root, name, source, _keys(root, name, options), {}, copied=copied, force=options.force
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


def _file_setup(
    root: Path, name: str, source: Path, more: str, samples: Samples, *, copied: bool, force: bool
) -> ModelSetup:
    folder = Path("models") / name
    written = source.name if copied else Path(os.path.relpath(source, root / folder)).as_posix()
    text = f"source = {json.dumps(written, ensure_ascii=False)}\n{more}"
    recipe = _recipe(root, name, text, force=force)
    if recipe.source == PathSource(root / folder / written) and not recipe.source.path.is_file():
        # Build before writing anything: if the build fails, the project does not change.
        recipe = replace(recipe, source=PathSource(source))
    model = [Addition(folder / written, source.read_bytes())] if copied else []
    return ModelSetup(recipe, (Addition(folder / "recipe.toml", text.encode()), *model), samples)


def _recipe(root: Path, name: str, text: str, *, force: bool) -> Recipe:
    """The recipe in the project, or one with this text."""
    path = root / "models" / name / "recipe.toml"
    if path.is_file() and not force:
        return read_recipe(path)
    recipe = parse_recipe(name, tomllib.loads(text), path)
    # Read it before the folder exists that its paths are relative to.
    plugins = tuple(Path(os.path.normpath(path)) for path in recipe.user_code.plugins)
    return replace(recipe, user_code=replace(recipe.user_code, plugins=plugins))


def build_outputs(recipe: Recipe, root: Path) -> tuple[dict[str, Any], str]:
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


def build_into(name: str, folder: Path) -> None:
    """Store the build's inputs as `webkiln build` does, so that the next build is a no-op."""
    parser = argparse.ArgumentParser()
    build.add_arguments(parser)
    build.run(parser.parse_args([name, "--output", str(folder)]))


def manual_steps(
    project: Project, manifest: Mapping[str, Any], printed: Sequence[str]
) -> Iterator[str]:
    """The remaining steps before the first run."""
    if any(line.startswith("  skipped ") for line in printed):
        yield "add by hand what was skipped, above"
    if project.kind == "bundler":
        yield (
            f"import webkiln from 'unplugin-webkiln/{project.bundler}', and {plugin_call(project)}"
            f" among the plugins of the configuration of {project.bundler}"
        )
    if project.kind == "bundler" or (
        project.kind == "vite"
        and any(
            line.startswith("  kept ") and f"{project.source}/model." in line for line in printed
        )
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
    path = "/model" if project.kind == "next" else "/"
    install = (
        ""
        if (project.kind == "next" and (project.root / "node_modules").is_dir())
        else f"{project.manager} install && "
    )
    yield f"{install}{project.manager} run dev    and open {path} at the address that it prints"
