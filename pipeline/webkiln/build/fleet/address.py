"""Which fleet builds use."""

import os

from webkiln.errors import RecipeError

VARIABLE = "WEBKILN_EXECUTOR"
SCHEMES = ("tcp://", "tls://")


def address() -> str | None:
    """Where the scheduler is, if the environment names one. Raises RecipeError where that is no
    address.
    """
    given = os.environ.get(VARIABLE, "")
    if given and not given.startswith(SCHEMES):
        raise RecipeError(
            f"{VARIABLE} is {given!r}, expected the address of a scheduler of dask, such as"
            " tcp://build.local:8786"
        )
    return given or None
