"""Call functions of user code that build a model, with the parameters of the recipe."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from webkiln.errors import RecipeError, SourceError
from webkiln.plugins import import_file


def export(script: Path, params: Mapping[str, Any], target: Path) -> None:
    """Call a function of a script that writes a model file, then move the file to `target`.

    The function receives a path with the extension `params["suffix"]`. Raise RecipeError if the
    script has no such function, SourceError if it writes no file.
    """
    function = params["function"]
    name = (script.readlink() if script.is_symlink() else script).name
    exporter = getattr(import_file(script), function, None)
    if not callable(exporter):
        raise RecipeError(f"{name}: has no function {function!r}; it takes the path to write to")
    path = target.with_name(f"export{params['suffix']}")
    check_parameters(f"{name}: {function}", exporter, path, **params["parameters"])
    try:
        exporter(path, **params["parameters"])
        if not path.is_file():
            raise SourceError(f"{name}: {function} wrote no file to the path in its first argument")
        path.replace(target)
    finally:
        path.unlink(missing_ok=True)


def check_parameters(
    where: str, function: Callable[..., Any], *args: Any, **parameters: Any
) -> None:
    """Raise RecipeError if a function does not accept the arguments and the parameters of the
    recipe.
    """
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **parameters)
    except TypeError as error:
        raise RecipeError(
            f"{where}{signature} does not accept the recipe's parameters: {error}"
        ) from None
