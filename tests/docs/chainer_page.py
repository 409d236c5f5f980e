"""Writes the tables of docs/from-chainer.md: python -m tests.docs.chainer_page"""

import re
from collections.abc import Mapping

from tests.docs.pages import ROOT
from tests.docs.wrapping import wrap
from tests.frontends.chainer.reading import HERE, MODULES
from webkiln.frontends.chainer.functions.table import GROUPS as FUNCTIONS
from webkiln.frontends.chainer.functions.table import REFUSED as NO_FUNCTIONS
from webkiln.frontends.chainer.links.table import GROUPS as LINKS
from webkiln.frontends.chainer.links.table import REFUSED as NO_LINKS

PAGE = ROOT / "docs" / "from-chainer.md"
MARK = "<!-- The tables below are written by python -m tests.docs.chainer_page -->\n"
CODE = "".join((HERE / f"{name}.py").read_text("utf-8") for name in (*MODULES, "small"))


def is_tested(letter: str, name: str) -> bool:
    return re.search(rf"\b{letter}\.{name}\(", CODE) is not None


def supported_table(groups: Mapping[str, Mapping[str, object]]) -> list[str]:
    return [
        "\n| | converted |",
        "|---|---|",
        *(
            f"| {title} | {', '.join(f'`{name}`' for name in sorted(names, key=str.lower))} |"
            for title, names in groups.items()
        ),
    ]


def unsupported_table(rows: Mapping[str, str]) -> list[str]:
    """The table of unsupported names, grouped by their reasons."""
    reasons: dict[str, list[str]] = {}
    for name, reason in rows.items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    return [
        "\n| not converted | why, and what to do |",
        "|---|---|",
        *(f"| {', '.join(sorted(names))} | {reason} |" for reason, names in reasons.items()),
    ]


def tables() -> str:
    links, functions = (sum(map(len, groups.values())) for groups in (LINKS, FUNCTIONS))
    lines = [
        f"\n## Links\n\n{links} links of `chainer.links` are recorded.",
        *supported_table(LINKS),
        *unsupported_table(NO_LINKS),
        (
            f"\n## Functions\n\n{functions} functions of `chainer.functions` are recorded; dropout,"
            " zoneout and similar functions behave as at inference."
        ),
        *supported_table(FUNCTIONS),
        *unsupported_table(NO_FUNCTIONS),
    ]
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with current tables."""
    return wrap(_text())


def _text() -> str:
    text = PAGE.read_text("utf-8")
    return text[: text.index(MARK) + len(MARK)] + tables()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
