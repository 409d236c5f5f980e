"""`webkiln build`: one model file to one bundle, without recipe or dodo.py."""

import argparse
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import progress
from webkiln.build.cache import cache_folder
from webkiln.build.engine import Engine
from webkiln.build.graph import Choice, ModelGraph
from webkiln.build.share import shared_root
from webkiln.errors import RecipeError, SourceError
from webkiln.recipe import (
    BACKENDS,
    ENCODINGS,
    KEYS,
    MODULE,
    SIZE_NAME,
    USUAL_BACKENDS,
    PathSource,
    Recipe,
    Source,
    checked,
    choose,
    find_module,
    read_recipes,
    with_parameters,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder of the bundle")
    parser.add_argument("--encoding", default="float32", help=f"one of {', '.join(ENCODINGS)}")


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """What a recipe would say of the model; `recipe_of` reads it."""
    parser.add_argument(
        "source",
        type=Path,
        help=f"the model file, a function that returns a model (module:function), or a model that comes with webkiln: {', '.join(shipped())}",
    )
    parser.add_argument("--name", help="the model's name; default: that of the file")
    parser.add_argument("--backend", default=",".join(USUAL_BACKENDS), help=f"some of {','.join(BACKENDS)}")
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--input-shape", action="append", default=[], metavar="[INPUT=]1,28,28,1", help="once per input")
    parser.add_argument(
        "--dim", action="append", default=[], metavar="NAME=SIZE", help="a size that an ONNX file names; or another name for it"
    )
    parser.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="INPUT=VALUE",
        help="an input of an ONNX file that is always this: a number or a list",
    )
    parser.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE", help="for the function that makes the model")
    parser.add_argument("--plugin", action="append", default=[], type=Path, help="a Python file that registers handlers")
    parser.add_argument("--operators", action="append", default=[], type=Path, help="a Python file that defines operators")
    parser.add_argument("--trust-source", action="store_true", help="run code that the model file carries")


def run(options: argparse.Namespace) -> int:
    recipe = recipe_of(options)
    (encoding,) = choose("encoding", [options.encoding], ENCODINGS)
    output = options.output.absolute()
    state = cache_folder() / "state" / canonical.digest(str(output).encode())
    with Engine(state, progress=progress.console()) as engine:
        action = ModelGraph(recipe, engine.share).bundle(Choice(recipe.backends, encoding))
        engine.publish(action, "bundle/", output)
    return 0


def recipe_of(options: argparse.Namespace) -> Recipe:
    """The recipe that the options amount to."""
    if not options.source.is_file() and str(options.source) in shipped():
        known = with_parameters(shipped()[str(options.source)], parameters_of(options))
        return replace(
            known,
            name=options.name or known.name,
            backends=choose("backend", options.backend.split(","), BACKENDS),
            batch_size=options.batch_size,
            input_shapes={**known.input_shapes, **dict(map(_input_shape, options.input_shape))},
        )
    if not options.source.is_file() and MODULE.fullmatch(str(options.source)):
        source: Source = find_module(str(options.source), (Path.cwd(),), str(options.source))
        stem = str(options.source).rpartition(":")[2]
    elif not options.source.is_file():
        names = ", ".join(shipped())
        raise SourceError(
            f"{options.source}: no such file; give the path of a model file, such as my.keras, a function as module:function, or one of {names}"
        )
    else:
        source, stem = PathSource(options.source.absolute()), options.source.stem
    if options.batch_size < 1:
        raise RecipeError(f"--batch-size is {options.batch_size}, expected a positive integer")
    recipe = Recipe(
        name=options.name or re.sub(r"[^A-Za-z0-9_-]", "_", stem),
        source=source,
        input_shapes=dict(map(_input_shape, options.input_shape)),
        batch_size=options.batch_size,
        backends=choose("backend", options.backend.split(","), BACKENDS),
        plugins=tuple(path.absolute() for path in options.plugin),
        operators=tuple(path.absolute() for path in options.operators),
        trust_source=options.trust_source,
        dims=_dims(options.dim),
        values=dict(map(_value, options.value)),
    )
    return with_parameters(checked(recipe, str(options.source)), parameters_of(options))


def parameters_of(options: argparse.Namespace) -> dict[str, Any]:
    """The values of `--parameter`."""
    return dict(map(_parameter, options.parameter))


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
    raise RecipeError(f"--value is {text!r}, expected INPUT=VALUE, such as sr=16000 or scales=[1,1,2,2]")


def _dims(texts: Sequence[str]) -> dict[str, int | str]:
    made: dict[str, int | str] = {}
    for name, size in map(_dim, texts):
        if made.setdefault(name, size) != size:
            raise RecipeError(f"--dim gives {name} twice, as {made[name]} and as {size}")
    return made


def _dim(text: str) -> tuple[str, int | str]:
    name, _, size = text.rpartition("=")
    if not name or not re.fullmatch(SIZE, size):
        raise RecipeError(f"--dim is {text!r}, expected NAME=SIZE, such as batch=1; the size may be a name, too")
    return name, int(size) if size.isdecimal() else size


SIZE = rf"[1-9]\d*|{SIZE_NAME.pattern}"


def _input_shape(text: str) -> tuple[str, tuple[int | str, ...]]:
    name, _, sizes = text.rpartition("=")
    if not re.fullmatch(rf"({SIZE})(,({SIZE}))*", sizes):
        raise RecipeError(
            f"--input-shape is {text!r}, expected sizes such as 1,28,28,1 or image=1,28,28,1; a name, as in 1,T,16, is set at run time"
        )
    return name, tuple(int(size) if size.isdecimal() else size for size in sizes.split(","))
