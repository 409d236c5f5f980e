"""The table of docs/web-projects.md, from the tested rows and the locked versions of the tools."""

from tests.web.project import ROOT, versions
from tests.web.rows import ROWS

PAGE = ROOT / "docs" / "web-projects.md"
BEGIN = "<!-- written by python -m tests.web -->\n"
END = "<!-- end -->\n"
COLUMNS = (("plugin", "build"), ("plugin", "dev"), ("bundle", "build"), ("bundle", "dev"))
POLICIES = {
    "": "as it stands",
    "hashed": "with the hashes of the page's scripts",
    "allowed": "with `'unsafe-inline'` for scripts and styles, or nonces",
}


def text() -> str:
    locked = versions()
    lines = [
        (
            "| tool | version | plugin, build | plugin, dev server | plain bundle, build | plain"
            " bundle, dev server | policy |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for tool in dict.fromkeys(row.tool for row in ROWS):
        rows = [row for row in ROWS if row.tool == tool]
        results = {(row.model, row.mode): row.limit or "wasm in a Worker" for row in rows}
        cells = [results.get(column, "") for column in COLUMNS]
        inline = next(row.inline for row in rows if row.mode == "build")
        lines.append(
            "| "
            + " | ".join([tool, locked.get(rows[0].package, ""), *cells, POLICIES[inline]])
            + " |"
        )
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the current table."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + text() + END + after


def write() -> None:
    PAGE.write_text(page(), "utf-8")
