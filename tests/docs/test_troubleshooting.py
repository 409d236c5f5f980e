"""The page documents exactly the error codes of the runtime."""

import re

from tests.docs.pages import ROOT


def test_every_code_is_documented() -> None:
    declared = (ROOT / "runtime" / "src" / "errors.js").read_text().partition("} ErrorCode")[0]
    codes = set(re.findall(r"'(\w+)'", declared))
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    documented = [
        code
        for line in page.splitlines()
        if line.startswith("| `")
        for code in re.findall(r"`(\w+)`", line.split("|")[1])
    ]
    assert len(documented) == len(set(documented))
    assert set(documented) == codes
