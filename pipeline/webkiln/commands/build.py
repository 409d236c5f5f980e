"""`webkiln build`: build one bundle from a model file, without a recipe or dodo.py."""

import argparse
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from webkiln import canonical
from webkiln.build import progress, quantization, scalar_kernels
from webkiln.build.backends import buildable, missing_compilers, present
from webkiln.build.engine import Engine
from webkiln.build.files import write_atomic
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.locations import state_folder
from webkiln.build.names import bundle_files
from webkiln.build.page_files import loaded_files
from webkiln.build.source_format import format_of
from webkiln.errors import RecipeError, SourceError, did_you_mean
from webkiln.frontends.core.formats import BY_NAME
from webkiln.recipe.options import BY_FLAG, PACKAGING
from webkiln.recipe.read import read_recipe, read_recipes
from webkiln.recipe.recipe import Recipe, checked
from webkiln.recipe.sources import MODULE, PathSource, Source, find_module
from webkiln.shared_files import shared_root


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser)
    parser.add_argument("-o", "--output", type=Path, help="the bundle's folder; default: dist/NAME")
    parser.add_argument(
        "--depfile",
        type=Path,
        metavar="FILE",
        help="write the files that the bundle depends on, one per line, for tools that watch them",
    )
    add_options(parser, ["encoding", *PACKAGING])
    parser.add_argument(
        "--force", action="store_true", help="overwrite files in OUTPUT that are not from a build"
    )


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that describe the model. `recipe_of` reads them."""
    parser.add_argument(
        "source",
        type=Path,
        help=(
            "the model file, a function that returns a model (module:function), a folder with a"
            " recipe.toml, a model of models/, or one included in webkiln:"
            f" {', '.join(shipped())}"
        ),
    )
    parser.add_argument("--name", help="the model's name; default: the file's")
    parser.add_argument(
        "--weights",
        type=Path,
        metavar="FILE",
        help=(
            "the weights of an architecture in JSON or YAML (save_weights), of a definition of"
            " Caffe, or of the model that a function returns"
        ),
    )
    add_options(parser, [flag for flag in BY_FLAG if flag not in ("encoding", *PACKAGING)])


def add_options(parser: argparse.ArgumentParser, flags: Iterable[str]) -> None:
    """Add the options of the table in webkiln/recipe/options.py."""
    for flag in flags:
        option = BY_FLAG[flag]
        text = option.help.replace("%", "%%")
        if flag == "source-format":
            text += f"; one of {', '.join(BY_NAME)}"
        if option.flag.kind == "switch":
            parser.add_argument(f"--{flag}", action="store_true", help=text)
        else:
            action = "append" if option.flag.kind == "many" else "store"
            parser.add_argument(f"--{flag}", action=action, metavar=option.flag.metavar, help=text)


def run(options: argparse.Namespace) -> int:
    recipe = recipe_of(options)
    asked = options.encoding or options.max_error
    encodings = recipe.bundle.encodings if asked else ("float32",)
    target = options.output or Path("dist") / recipe.name
    state = state_folder(target)
    with Engine(state, progress=progress.console()) as engine, ExitStack() as reserved:
        for output in sorted(
            {output_of(target, encoding, encodings).absolute() for encoding in encodings}
        ):
            reserved.enter_context(engine.reserve(output))
        graph = ModelGraph(recipe, engine.share)
        backends = recipe.backends
        if (
            options.backend is None
            and (possible := buildable(engine, graph, Selection(backends, encodings[0])).backends)
            != backends
        ):
            backends = possible
            print("\n  ".join(["built without wasm:", *missing_compilers()]), file=sys.stderr)
        places = {
            output_of(target, encoding, encodings): graph.bundle(Selection(backends, encoding))
            for encoding in encodings
        }
        for output in places:
            engine.check_folder(
                output, bundle_files(recipe.name, backends, recipe.bundle.form), force=options.force
            )
        engine.expect(action for action in graph.actions() if engine.current(action) is None)
        for encoding, (output, action) in zip(encodings, places.items(), strict=True):
            before = present(output)
            current = engine.published(action, "bundle/", output)
            engine.publish(action, "bundle/", output, force=options.force)
            print(
                summary(
                    output,
                    up_to_date=current,
                    gone=[name for name in before if name not in backends],
                )
            )
            for label, text in quantization.described(engine, graph, encoding).items():
                print(f"  {label:<8}  {text}")
        scalar_kernels.warn(places)
        if options.depfile is not None:
            files = {path.absolute() for action in places.values() for path in engine.files(action)}
            others = [recipe_file(options.source), *label_files(options)]
            files |= {path.absolute() for path in others if path is not None}
            write_atomic(options.depfile, "".join(f"{path}\n" for path in sorted(files)).encode())
    return 0


def output_of(output: Path, encoding: str, encodings: Sequence[str]) -> Path:
    """The folder for one encoding. If there are several, all but float32's have the encoding as a
    suffix.
    """
    return (
        output
        if len(encodings) == 1 or encoding == "float32"
        else output.with_name(f"{output.absolute().name}-{encoding}")
    )


def summary(folder: Path, *, up_to_date: bool, gone: Sequence[str]) -> str:
    """Describe the bundle in a folder: backends, encoding, file sizes (as they are and compressed),
    and how to import it.
    """
    import brotli

    manifest = canonical.read(folder / "manifest.json")
    files = [folder / name for name in (*loaded_files(manifest), "manifest.json")]
    weights = [path for path in files if path.suffix == ".bin"]
    rows = [
        ("code", [path for path in files if path.suffix in (".js", ".wasm")]),
        ("weights", weights),
    ]
    lines = [f"{folder}: {'up to date' if up_to_date else 'written'}"]
    lines.append(
        "  backends "
        f" {', '.join(present(folder))}{f' ({chr(44).join(gone)} removed)' if gone else ''}"
    )
    lines.append(f"  encoding  {manifest['encoding']}")
    for what, paths in rows:
        raw = sum(path.stat().st_size for path in paths)
        packed = sum(
            len(brotli.compress(data, quality=9 if len(data) < 1 << 20 else 4))
            for data in (path.read_bytes() for path in paths)
        )
        lines.append(f"  {what:<8}  {progress.size(raw)}, {progress.size(packed)} with Brotli")
    name = folder.as_posix()
    lines.append(
        "  import { load } from"
        f" '{name if folder.is_absolute() or name.startswith('.') else f'./{name}'}/index.js';"
    )
    return "\n".join(lines)


def recipe_of(options: argparse.Namespace) -> Recipe:
    """The recipe of the source, with the options of the command line."""
    file = recipe_file(options.source)
    if options.weights is not None and (
        file is not None or not (options.source.is_file() or MODULE.fullmatch(str(options.source)))
    ):
        raise RecipeError(
            f"{options.source}: --weights applies to architectures in JSON or YAML, Caffe"
            " definitions and functions only"
        )
    recipe = read_recipe(file) if file is not None else _plain(options)
    recipe = with_options(recipe, options)
    format_of(recipe)
    return checked(recipe, str(options.source))


def with_options(
    recipe: Recipe, options: argparse.Namespace, flags: Collection[str] = BY_FLAG.keys()
) -> Recipe:
    """The recipe, with the values of `flags` that the command line sets."""
    if getattr(options, "name", None):
        recipe = replace(recipe, name=options.name)
    for flag, option in BY_FLAG.items():
        given = getattr(options, option.flag.attribute, None)
        if not given or flag not in flags:
            continue
        value = option.flag.read(given if option.flag.kind == "many" else [given], f"--{flag}")
        if not option.is_valid(value):
            raise RecipeError(f"--{flag} is {given!r}, expected {option.expected}")
        recipe = option.update(recipe, value, Path.cwd(), f"--{flag}")
    return recipe


def label_files(options: argparse.Namespace) -> list[Path]:
    """The files of `--labels`. They become part of the bundle, but are not inputs of an action."""
    return [Path(text.rpartition("=")[2]) for text in options.labels or ()]


def _plain(options: argparse.Namespace) -> Recipe:
    """A recipe for a model without one: its source and a name."""
    if not options.source.is_file() and MODULE.fullmatch(str(options.source)):
        module_source = find_module(str(options.source), (Path.cwd(),), str(options.source))
        source: Source = (
            module_source
            if options.weights is None
            else replace(module_source, weights=options.weights.absolute())
        )
        stem = str(options.source).rpartition(":")[2]
    elif not options.source.exists():
        names = ", ".join(shipped())
        raise SourceError(
            f"{options.source}: no such file; give the path of a model file, such as my.keras, a"
            " function as module:function, or one of"
            f" {names}{did_you_mean(str(options.source), shipped())}"
        )
    elif options.weights is not None:
        source, stem = (
            PathSource(options.source.absolute(), options.weights.absolute()),
            options.source.stem,
        )
    else:
        source, stem = PathSource(options.source.absolute()), options.source.stem
    return Recipe(name=options.name or re.sub(r"[^A-Za-z0-9_-]", "_", stem), source=source)


def recipe_file(source: Path) -> Path | None:
    """The recipe that a source refers to: a folder with a recipe, a model in `models/`, or a model
    that comes with webkiln.
    """
    if source.is_file():
        return None
    folders = [
        source,
        *(
            ([Path("models") / source, shared_root() / "models" / source])
            if source.name == str(source)
            else []
        ),
    ]
    return next(
        (folder / "recipe.toml" for folder in folders if (folder / "recipe.toml").is_file()), None
    )


def shipped() -> dict[str, Recipe]:
    """The recipes of the models that come with webkiln."""
    return read_recipes(shared_root() / "models")
