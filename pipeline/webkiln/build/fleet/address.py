"""The fleet that builds use."""

import os

from webkiln.errors import RecipeError

VARIABLE = "WEBKILN_EXECUTOR"
SCHEMES = ("tcp://", "tls://")


def address() -> str | None:
    """The address of the scheduler, if the environment names one. Raises RecipeError where it is
    invalid.
    """
    given = os.environ.get(VARIABLE, "")
    if given and not given.startswith(SCHEMES):
        raise RecipeError(
            f"{VARIABLE} is {given!r}, expected the address of a dask scheduler, such as"
            " tcp://build.local:8786"
        )
    return given or None
