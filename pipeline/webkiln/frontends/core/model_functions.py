"""Functions of the user's that make a model: called with the parameters of a recipe."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from webkiln.errors import RecipeError, SourceError
from webkiln.plugins import import_file


def export(script: Path, params: Mapping[str, Any], target: Path) -> None:
    """Have a function of a script write a model file, to a path that ends as `suffix` of the
    parameters says.
    """
    function = params["function"]
    name = (script.readlink() if script.is_symlink() else script).name
    made = getattr(import_file(script), function, None)
    if not callable(made):
        raise RecipeError(f"{name}: has no function {function!r}; it takes the path to write to")
    path = target.with_name(f"export{params['suffix']}")
    check_parameters(f"{name}: {function}", made, path, **params["parameters"])
    try:
        made(path, **params["parameters"])
        if not path.is_file():
            raise SourceError(f"{name}: {function} wrote nothing to the path that it was given")
        path.replace(target)
    finally:
        path.unlink(missing_ok=True)


def check_parameters(
    where: str, function: Callable[..., Any], *args: Any, **parameters: Any
) -> None:
    """RecipeError where a function does not take the parameters of its recipe."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **parameters)
    except TypeError as error:
        raise RecipeError(
            f"{where}{signature} does not take the recipe's parameters: {error}"
        ) from None
