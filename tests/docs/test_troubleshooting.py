"""The page documents every error code of the runtime, and no other."""

import re

from tests.docs.pages import ROOT


def test_every_code_is_explained() -> None:
    declared = (ROOT / "runtime" / "src" / "errors.js").read_text().partition("} ErrorCode")[0]
    codes = set(re.findall(r"'(\w+)'", declared))
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    told = [
        code
        for line in page.splitlines()
        if line.startswith("| `")
        for code in re.findall(r"`(\w+)`", line.split("|")[1])
    ]
    assert len(told) == len(set(told))
    assert set(told) == codes
