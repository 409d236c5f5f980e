"""`webkiln lower`: print the program that a model becomes on a backend, between any two passes."""

import argparse
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.backends.table import REGISTRY
from webkiln.build.action import Product
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph
from webkiln.build.locations import state_folder
from webkiln.commands.build import add_source_arguments, recipe_of
from webkiln.errors import RecipeError, did_you_mean
from webkiln.nest.text import print_program
from webkiln.nest.verify import verify
from webkiln.ops.plugins import defined_by
from webkiln.ops.table import from_json
from webkiln.plan.tuning import UNTUNED, Tuning, read_file
from webkiln.plugins import import_files
from webkiln.program_builder.backend import Options
from webkiln.recipe.recipe import Recipe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser)
    parser.add_argument(
        "--dump-after", metavar="PASS", help="print the program after this pass; default: the last"
    )
    parser.add_argument(
        "--dump-all", type=Path, metavar="DIR", help="write the program after each pass to a file"
    )
    parser.add_argument("--check", action="store_true", help="verify the program after each pass")


def run(options: argparse.Namespace) -> int:
    recipe = recipe_of(options)
    if len(recipe.backends) != 1 and options.backend is None:
        known = ", ".join(recipe.backends)
        raise RecipeError(f"{options.source} is built for {known}; choose one with --backend")
    (backend, *others) = recipe.backends
    if others:
        raise RecipeError(f"--backend is {options.backend}, expected one backend")
    with Engine(state_folder(options.source)) as engine:
        data, tuning = _inputs(engine, recipe, backend)
    with defined_by(None):
        import_files(recipe.user_code.operators)
        settings = Options(
            tuning=tuning,
            winograd=recipe.computation.winograd,
            precision=recipe.computation.precision_of(backend),
            rounds_float16=recipe.computation.rounds_float16(backend),
            products=recipe.computation.products_of(backend),
            caches=recipe.computation.caches,
            matrices=recipe.computation.matrices_of(backend),
        )
        configured = REGISTRY[backend].configured(settings)
        programs = dict(configured.programs(from_json(data), tuning=tuning))
        if options.check:
            for program in programs.values():
                verify(program)
    chosen = options.dump_after or list(programs)[-1]
    if chosen not in programs:
        names = ", ".join(programs)
        hint = did_you_mean(chosen, programs)
        raise RecipeError(f"{backend} has no pass {chosen!r}; it has {names}{hint}")
    if options.dump_all is not None:
        options.dump_all.mkdir(parents=True, exist_ok=True)
        for number, (name, program) in enumerate(programs.items()):
            path = options.dump_all / f"{number:02}-{name}.txt"
            path.write_text(print_program(program), "utf-8")
    if options.dump_all is None or options.dump_after is not None:
        print(print_program(programs[chosen]), end="")
    return 0


def _inputs(engine: Engine, recipe: Recipe, backend: str) -> tuple[dict[str, Any], Tuning]:
    """The optimised graph as JSON, and the tuned choices of the recipe."""
    optimised = ModelGraph(recipe, engine.share).optimize()
    assert isinstance(optimised, Product)
    blob = engine.run(optimised.action).outputs[optimised.path]
    data = canonical.read(engine.cache.store.file(blob))
    tuned = recipe.computation.tuned
    return data, UNTUNED if tuned is None else read_file(tuned, backend)
