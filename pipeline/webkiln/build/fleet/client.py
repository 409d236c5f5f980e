"""Clients of dask's scheduler."""

import logging
import socket
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from webkiln.build.fleet.address import VARIABLE
from webkiln.errors import ToolError, missing_package

if TYPE_CHECKING:
    from distributed import Client

RECONNECT_SECONDS = 3.0
"""How long an attempt to reconnect, and the end of a connection, may take."""


def connect(address: str, seconds: float) -> "Client":
    """A client of the scheduler at an address. Raises ToolError where there is none, with
    instructions to start one.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise missing_package(error, "a fleet") or ToolError(str(error)) from error
    # The build reports the state of connections itself.
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        return Client(address, timeout=seconds, set_as_default=False)
    except OSError as error:
        raise ToolError(
            f"{VARIABLE}: no scheduler answers at {address} ({error}); start one with `dask"
            f" scheduler`, and workers with `webkiln worker {address}`; or unset {VARIABLE}"
        ) from error


def leave(client: "Client") -> None:
    """Close a client, even if its scheduler is gone."""

    def close() -> None:
        with suppress(Exception):
            client.close(RECONNECT_SECONDS)

    closing = Thread(target=close, daemon=True)
    closing.start()
    closing.join(RECONNECT_SECONDS)


def listens(address: str) -> bool:
    parts = urlsplit(address)
    try:
        socket.create_connection(
            (parts.hostname or "", parts.port or 8786), RECONNECT_SECONDS
        ).close()
    except OSError:
        return False
    return True
