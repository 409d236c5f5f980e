"""The fleet that builds use."""

import os

from webkiln.errors import RecipeError

VARIABLE = "WEBKILN_EXECUTOR"
SCHEMES = ("tcp://", "tls://")


def scheduler_address() -> str | None:
    """The address of the scheduler, if the environment names one. Raises RecipeError where it is
    invalid.
    """
    address = os.environ.get(VARIABLE, "")
    if address and not address.startswith(SCHEMES):
        raise RecipeError(
            f"{VARIABLE} is {address!r}, expected the address of a dask scheduler, such as"
            " tcp://build.local:8786"
        )
    return address or None
