"""`webkiln tune`: measure alternatives for each kernel of a model, and write the fastest ones to a
file next to its recipe.
"""

import argparse
from pathlib import Path

from webkiln.backends import host
from webkiln.backends.table import REGISTRY
from webkiln.build import progress
from webkiln.build.engine import Engine
from webkiln.build.locations import state_folder
from webkiln.build.tuned import hint, shown, tunable, tune, tuned_file, usual
from webkiln.commands.build import add_source_arguments, recipe_file, recipe_of
from webkiln.errors import RecipeError
from webkiln.plan.tuning import trials


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser)
    parser.add_argument(
        "--browser", choices=host.HOSTS, default="chromium", help="default: chromium"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="JSON",
        help="default: the recipe's file, or tuned.json next to it",
    )
    parser.add_argument("--force", action="store_true", help="repeat earlier measurements")


def run(options: argparse.Namespace) -> int:
    recipe, file = recipe_of(options), recipe_file(options.source)
    if file is None and options.output is None:
        raise RecipeError(
            f"{options.source} has no recipe; give a folder with a recipe.toml, or --output"
        )
    chosen = tunable(recipe) if options.backend is not None else usual(recipe)
    if not chosen:
        known = ", ".join(name for name, backend in REGISTRY.items() if trials(backend.target))
        raise RecipeError(
            f"{options.source}: there are no alternatives for {', '.join(recipe.backends)};"
            f" --backend takes {known}"
        )
    output = options.output or tuned_file(recipe, file.parent if file is not None else Path())
    state = state_folder(output)
    with Engine(state, progress=progress.console()) as engine:
        tables = [
            shown(
                f"{recipe.name}, {name} in {options.browser}",
                tune(engine, recipe, name, options.browser, output, rerun=options.force),
            )
            for name in chosen
        ]
    print("\n".join(tables))
    print(hint(output, recipe))
    return 0
