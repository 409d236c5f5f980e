"""Pages of Chromium that load a bundle."""

from pathlib import Path
from typing import Any

from webkiln.backends import browsers
from webkiln.backends.server import ISOLATED, Server


def in_page(bundle: Path, script: str, *arguments: Any) -> dict[str, Any]:
    """The result of a script with these arguments in a page that serves `bundle` at /bundle/."""
    page = {"/": (200, "text/html", b"<!doctype html><title>bundle</title>")}
    with Server(
        {"/bundle/": bundle}, headers=ISOLATED, route=lambda path, body: page.get(path)
    ) as server:
        session = browsers.session("chromium")
        session.get(server.url)
        result: dict[str, Any] = session.execute_async_script(script, *arguments)
    return result
