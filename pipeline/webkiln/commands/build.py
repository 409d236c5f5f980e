"""`webkiln build`: one model file to one bundle, without recipe or dodo.py."""

import argparse
import re
import sys
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import progress
from webkiln.build.backends import buildable, missing_compilers, present
from webkiln.build.engine import Engine
from webkiln.build.files import write_atomic
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.locations import state_folder
from webkiln.build.names import bundle_files
from webkiln.build.page_files import loaded_files
from webkiln.build.share import shared_root
from webkiln.build.source_format import format_of
from webkiln.errors import RecipeError, SourceError, similar
from webkiln.frontends.core.formats import BY_NAME
from webkiln.recipe import (
    BACKENDS,
    ENCODINGS,
    FLOAT16_ARITHMETIC_BACKENDS,
    FLOAT16_BACKENDS,
    FORMS,
    KEYS,
    MODULE,
    PRECISIONS,
    SIZE_NAME,
    USUAL_BACKENDS,
    Form,
    PathSource,
    Recipe,
    Source,
    checked,
    choose,
    find_module,
    read_recipe,
    read_recipes,
    with_parameters,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser)
    parser.add_argument(
        "-o", "--output", type=Path, help="the folder of the bundle; default: dist/NAME"
    )
    parser.add_argument(
        "--encoding",
        default="float32",
        help=(
            f"some of {','.join(ENCODINGS)}; of several, each has a folder OUTPUT-ENCODING beside"
            " that of float32"
        ),
    )
    parser.add_argument(
        "--depfile",
        type=Path,
        metavar="FILE",
        help="gets the files that the bundle was made of, one a line, for tools that watch them",
    )
    parser.add_argument(
        "--format",
        help=(
            f"{', '.join(FORMS)}: a folder for a web server, an npm package, or one file; default:"
            " folder"
        ),
    )
    parser.add_argument(
        "--hashed",
        action="store_true",
        help="files have names that follow their bytes, so that caches may keep them for ever",
    )
    parser.add_argument("--package", metavar="NAME@VERSION", help="of an npm package")
    parser.add_argument("--license", help="of an npm package, such as MIT")
    parser.add_argument(
        "--force", action="store_true", help="overwrite files in OUTPUT that no build wrote"
    )


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """What a recipe would say of the model; `recipe_of` reads it."""
    parser.add_argument(
        "source",
        type=Path,
        help=(
            "the model file, a function that returns a model (module:function), a folder with a"
            " recipe.toml, a model of models/, or one that comes with webkiln:"
            f" {', '.join(shipped())}"
        ),
    )
    parser.add_argument(
        "--weights",
        type=Path,
        help=(
            "the weights of an architecture in JSON or YAML (save_weights), or of a definition of"
            " Caffe"
        ),
    )
    add_format_argument(parser)
    add_reference_argument(parser)
    parser.add_argument("--name", help="the model's name; default: that of the file")
    parser.add_argument(
        "--backend",
        help=(
            f"some of {','.join(BACKENDS)}; default: {','.join(USUAL_BACKENDS)}, or those of the"
            " model's recipe"
        ),
    )
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        help=(
            f"of numbers between layers in the memory of {' and '.join(FLOAT16_BACKENDS)}, and of"
            f" products on {' and '.join(FLOAT16_ARITHMETIC_BACKENDS)}; default: float32"
        ),
    )
    parser.add_argument("--batch-size", type=int, help="default: 1")
    parser.add_argument(
        "--input-shape",
        action="append",
        default=[],
        metavar="[INPUT=]1,28,28,1",
        help="once per input",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="a size that the model file names; or another name for it",
    )
    parser.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="INPUT=VALUE",
        help="an input of the model file that is always this: a number or a list",
    )
    parser.add_argument(
        "--signature",
        default="",
        metavar="NAME",
        help="which signature or graph of a file that holds several",
    )
    add_cut_arguments(parser)
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for the function that makes the model",
    )
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        type=Path,
        help="a Python file that registers handlers",
    )
    parser.add_argument(
        "--operators",
        action="append",
        default=[],
        type=Path,
        help="a Python file that defines operators",
    )
    parser.add_argument(
        "--reads",
        action="append",
        default=[],
        type=Path,
        help="a file or folder outside this one that the model's own code may read",
    )
    parser.add_argument(
        "--trust-source", action="store_true", help="run code that the model file carries"
    )


def add_format_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--source-format",
        default="",
        help=f"what the source is, where it does not tell: one of {', '.join(BY_NAME)}",
    )


def add_reference_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="NPZ",
        help=(
            "inputs and the outputs that the framework computed of them elsewhere, to verify"
            " against"
        ),
    )


def add_cut_arguments(parser: argparse.ArgumentParser) -> None:
    for option, text in (
        ("from", "build what follows this layer: its output is an input"),
        ("to", "build up to this layer: its output is an output"),
    ):
        parser.add_argument(
            f"--{option}-layer",
            action="append",
            default=[],
            metavar="NAME",
            help=f"{text}; once per layer",
        )


def run(options: argparse.Namespace) -> int:
    recipe = formed(recipe_of(options), options)
    encodings = choose("encoding", options.encoding.split(","), ENCODINGS)
    wanted = options.output or Path("dist") / recipe.name
    state = state_folder(wanted)
    with Engine(state, progress=progress.console()) as engine, ExitStack() as reserved:
        for output in sorted(
            {output_of(wanted, encoding, encodings).absolute() for encoding in encodings}
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
            output_of(wanted, encoding, encodings): graph.bundle(Selection(backends, encoding))
            for encoding in encodings
        }
        for output in places:
            engine.check_folder(
                output, bundle_files(recipe.name, backends, recipe.form), force=options.force
            )
        engine.expect(action for action in graph.actions() if engine.current(action) is None)
        for output, action in places.items():
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
        if options.depfile is not None:
            files = {path.absolute() for action in places.values() for path in engine.files(action)}
            files |= {path.absolute() for path in [recipe_file(options.source)] if path is not None}
            write_atomic(options.depfile, "".join(f"{path}\n" for path in sorted(files)).encode())
    return 0


def formed(recipe: Recipe, options: argparse.Namespace) -> Recipe:
    """The recipe with what the options say of how its bundle is written."""
    said = dict(recipe.form.package)
    if options.package is not None:
        said["name"], at, said["version"] = options.package.rpartition("@")
        if not at or not said["name"]:
            raise RecipeError(
                f"--package is {options.package!r}, expected NAME@VERSION, such as @me/model@1.0.0"
            )
    if options.license is not None:
        said["license"] = options.license
    form = Form(options.format or recipe.form.kind, recipe.form.hashed or options.hashed, said)
    return checked(replace(recipe, form=form), str(options.source))


def output_of(output: Path, encoding: str, encodings: Sequence[str]) -> Path:
    """The folder of one encoding: with several, those but float32 have their names in it."""
    return (
        output
        if len(encodings) == 1 or encoding == "float32"
        else output.with_name(f"{output.absolute().name}-{encoding}")
    )


def summary(folder: Path, *, up_to_date: bool, gone: Sequence[str]) -> str:
    """What lies in a folder: backends, encoding, sizes of what pages load as they are and
    compressed, and how it is imported.
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
        f" {', '.join(present(folder))}{f' ({chr(44).join(gone)} is no longer in it)' if gone else ''}"
    )
    lines.append(f"  encoding  {manifest['encoding']}")
    for what, paths in rows:
        raw = sum(path.stat().st_size for path in paths)
        packed = sum(
            len(brotli.compress(data, quality=9 if len(data) < 1 << 20 else 4))
            for data in (path.read_bytes() for path in paths)
        )
        lines.append(f"  {what:<8}  {progress.size(raw)}, {progress.size(packed)} with brotli")
    name = folder.as_posix()
    lines.append(
        "  import { load } from"
        f" '{name if folder.is_absolute() or name.startswith('.') else f'./{name}'}/index.js';"
    )
    return "\n".join(lines)


def recipe_of(options: argparse.Namespace) -> Recipe:
    """The recipe that the options amount to."""
    if options.batch_size is not None and options.batch_size < 1:
        raise RecipeError(f"--batch-size is {options.batch_size}, expected a positive integer")
    file = recipe_file(options.source)
    if options.weights is not None and (
        file is not None or not (options.source.is_file() or MODULE.fullmatch(str(options.source)))
    ):
        raise RecipeError(
            f"{options.source}: --weights are those of an architecture in JSON or YAML, of a"
            " definition of Caffe or of a function's model, which this is not"
        )
    known = with_parameters(
        read_recipe(file) if file is not None else _plain(options), parameters_of(options)
    )
    changed = replace(
        known,
        name=options.name or known.name,
        source_format=options.source_format or known.source_format,
        signature=options.signature or known.signature,
        reference=known.reference if options.reference is None else options.reference.absolute(),
        backends=(
            choose("backend", options.backend.split(","), BACKENDS)
            if options.backend
            else known.backends
        ),
        precision=options.precision or known.precision,
        batch_size=known.batch_size if options.batch_size is None else options.batch_size,
        reads=(*known.reads, *(path.absolute() for path in options.reads)),
        plugins=(*known.plugins, *(path.absolute() for path in options.plugin)),
        operators=(*known.operators, *(path.absolute() for path in options.operators)),
        trust_source=known.trust_source or options.trust_source,
        input_shapes={**known.input_shapes, **dict(map(_input_shape, options.input_shape))},
        dims={**known.dims, **_dims(options.dim)},
        values={**known.values, **dict(map(_value, options.value))},
        from_layers=tuple(dict.fromkeys(options.from_layer)) or known.from_layers,
        to_layers=tuple(dict.fromkeys(options.to_layer)) or known.to_layers,
    )
    format_of(changed)
    return checked(changed, str(options.source))


def _plain(options: argparse.Namespace) -> Recipe:
    """The recipe of a model without one: its source, and a name for it."""
    if not options.source.is_file() and MODULE.fullmatch(str(options.source)):
        made = find_module(str(options.source), (Path.cwd(),), str(options.source))
        source: Source = (
            made if options.weights is None else replace(made, weights=options.weights.absolute())
        )
        stem = str(options.source).rpartition(":")[2]
    elif not options.source.exists():
        names = ", ".join(shipped())
        raise SourceError(
            f"{options.source}: no such file; give the path of a model file, such as my.keras, a"
            " function as module:function, or one of"
            f" {names}{similar(str(options.source), shipped())}"
        )
    elif options.weights is not None:
        source, stem = (
            PathSource(options.source.absolute(), options.weights.absolute()),
            options.source.stem,
        )
    else:
        source, stem = PathSource(options.source.absolute()), options.source.stem
    return Recipe(name=options.name or re.sub(r"[^A-Za-z0-9_-]", "_", stem), source=source)


def parameters_of(options: argparse.Namespace) -> dict[str, Any]:
    """The values of `--parameter`."""
    return dict(map(_parameter, options.parameter))


def recipe_file(source: Path) -> Path | None:
    """The recipe that a source names: a folder that has one, a model in `models/` here, or one that
    is installed with webkiln.
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
    """The recipes of the models that are installed with webkiln."""
    return read_recipes(shared_root() / "models")


def _parameter(text: str) -> tuple[str, Any]:
    """A string, or what TOML reads as a number or truth value."""
    name, equals, value = text.partition("=")
    if not equals:
        raise RecipeError(f"--parameter is {text!r}, expected NAME=VALUE, such as weights=random")
    try:
        read = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        read = value
    return name, read if isinstance(read, bool | int | float | str) else value


def _value(text: str) -> tuple[str, Any]:
    """An input and its value, as TOML writes numbers, truth values and lists."""
    name, _, value = text.rpartition("=")
    with suppress(tomllib.TOMLDecodeError):
        read = tomllib.loads(f"value = {value}")["value"]
        if name and KEYS["values"][1]({name: read}):
            return name, read
    raise RecipeError(
        f"--value is {text!r}, expected INPUT=VALUE, such as sr=16000 or scales=[1,1,2,2]"
    )


def _dims(texts: Sequence[str]) -> dict[str, int | str]:
    made: dict[str, int | str] = {}
    for name, size in map(_dim, texts):
        if made.setdefault(name, size) != size:
            raise RecipeError(f"--dim gives {name} twice, as {made[name]} and as {size}")
    return made


def _dim(text: str) -> tuple[str, int | str]:
    name, _, size = text.rpartition("=")
    if not name or not re.fullmatch(SIZE, size):
        raise RecipeError(
            f"--dim is {text!r}, expected NAME=SIZE, such as batch=1; the size may be a name, too"
        )
    return name, int(size) if size.isdecimal() else size


SIZE = rf"[1-9]\d*|{SIZE_NAME.pattern}"


def _input_shape(text: str) -> tuple[str, tuple[int | str, ...]]:
    name, _, sizes = text.rpartition("=")
    if not re.fullmatch(rf"({SIZE})(,({SIZE}))*", sizes):
        raise RecipeError(
            f"--input-shape is {text!r}, expected sizes such as 1,28,28,1 or image=1,28,28,1; a"
            " name, as in 1,T,16, is set at run time"
        )
    return name, tuple(int(size) if size.isdecimal() else size for size in sizes.split(","))
