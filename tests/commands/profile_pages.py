"""Pages of Chromium in which tests profile bundles."""

from pathlib import Path
from typing import Any

from webkiln.backends import browsers
from webkiln.backends.server import ISOLATED, Server


def in_page(bundle: Path, script: str) -> dict[str, Any]:
    """The result of a script in a page of Chromium beside a bundle."""
    page = {"/": (200, "text/html", b"<!doctype html><title>profile</title>")}
    with Server(
        {"/bundle/": bundle}, headers=ISOLATED, route=lambda path, body: page.get(path)
    ) as server:
        session = browsers.session("chromium")
        session.get(server.url)
        result: dict[str, Any] = session.execute_async_script(script)
    return result
