"""The custom-layer tutorial: its Python runs as it stands, and its page shows 100 to 109 in a real browser."""

import re
import subprocess
import sys
from pathlib import Path

from selenium.webdriver.support.wait import WebDriverWait

from webkiln.backends import chromium
from webkiln.backends.server import Server

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorial-custom-layer.md"
EXPECTED = " ".join(str(100 + index) for index in range(10))


def test_tutorial(tmp_path):
    text = TUTORIAL.read_text(encoding="utf-8")
    (tmp_path / "tutorial.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)))
    subprocess.run([sys.executable, "tutorial.py"], cwd=tmp_path, check=True, timeout=240)
    (page,) = re.findall(r"```html\n(.*?)```", text, re.DOTALL)
    shown = page.replace("console.log(runner.outputs[0].toActual())", "document.title = Array.from(runner.outputs[0].toActual()).join(' ')")
    for name, folder in (("handled", "output"), ("traced", "traced")):
        (tmp_path / f"{name}.html").write_text(f"<!DOCTYPE html><title></title>{shown.replace('./output', f'./{folder}')}")
        assert title(tmp_path, f"{name}.html") == EXPECTED
    for file in ("index.html", "index.js"):
        (tmp_path / file).write_bytes((ROOT / "models" / "bias_layer" / file).read_bytes())
    assert title(tmp_path, "index.html", "return document.getElementById('result').textContent.replace('loading', '')") == EXPECTED


def title(folder: Path, page: str, script: str = "return document.title") -> str:
    with Server({"/": folder}) as server:
        browser = chromium.browser()
        browser.get(f"{server.url}/{page}")
        shown = WebDriverWait(browser, 30).until(lambda page: page.execute_script(script))
        browser.get("about:blank")
    return str(shown)
