"""Checks one row of the table."""

from pathlib import Path

from tests.web import pages, project
from tests.web.rows import BASE, Row
from webkiln.backends.server import ISOLATED

OPENED = (("chromium", False), ("chromium", True), ("firefox", False), ("webkit", False))
"""(browser, whether the page is isolated) in which a build is opened."""


def check_row(row: Row, bundle: Path, folder: Path) -> None:
    """Raise AssertionError if a page does not show what its row states."""
    project.need_packages()
    root = project.prepare(row, folder, bundle)
    if row.mode == "dev":
        base = BASE if "--base" in str(row.script) or root.name == "next" else "/"
        with project.serving(root, row.script, base) as dev:
            pages.check(pages.visit(dev.url, 90))
            pages.check_downloads(dev.downloads(), bundle)
            pages.browser().get("about:blank")
        return
    output = project.build(row, root)
    for name, isolated in OPENED[:2] if row.limit else OPENED:
        headers = {
            "Content-Security-Policy": pages.policy(row.inline, output / "index.html"),
            **(ISOLATED if isolated else {}),
        }
        with pages.deployed(output, BASE, headers) as site:
            result = pages.visit(site.url, 5 if row.limit else 30, name)
            pages.browser(name).get("about:blank")
        if row.limit:
            assert site.missing, "no file is missing"
            assert result.scores == ()
            continue
        assert site.missing == []
        pages.check(result)
        assert result.isolated == isolated
        pages.check_downloads(site.downloads, bundle)
