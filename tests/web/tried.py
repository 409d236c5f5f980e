"""Tries one row of the table."""

from pathlib import Path

from tests.web import pages, project
from tests.web.rows import BASE, Row
from webkiln.backends.server import ISOLATED

OPENED = (("chromium", False), ("chromium", True), ("firefox", False), ("webkit", False))
"""In which browser a build is opened, and whether its page is isolated."""


def row(row: Row, bundle: Path, folder: Path) -> None:
    """AssertionError where a page does not show what its row says."""
    project.need_packages()
    place = project.laid(row, folder, bundle)
    if row.mode == "dev":
        base = BASE if "--base" in str(row.script) or place.name == "next" else "/"
        with project.serving(place, row.script, base) as dev:
            pages.check(pages.look(dev.url, 90))
            pages.check_fetched(dev.fetched(), bundle)
            pages.browser().get("about:blank")
        return
    built = project.build(row, place)
    for name, isolated in OPENED[:2] if row.limit else OPENED:
        headers = {
            "Content-Security-Policy": pages.policy(row.inline, built / "index.html"),
            **(ISOLATED if isolated else {}),
        }
        with pages.deployed(built, BASE, headers) as site:
            seen = pages.look(site.url, 5 if row.limit else 30, name)
            pages.browser(name).get("about:blank")
        if row.limit:
            assert site.missing, "every file is there"
            assert seen.scores == ()
            continue
        assert site.missing == []
        pages.check(seen)
        assert seen.isolated == isolated
        pages.check_fetched(site.fetched, bundle)
