"""The tutorial of custom layers: its code runs unchanged, and its page prints 100 to 109 in a
browser.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.support.wait import WebDriverWait

from tests.docs.pages import ROOT, blocks
from tests.docs.programs import Programs
from webkiln.backends import browsers
from webkiln.backends.host import read_manifest, run_bundle
from webkiln.backends.server import Server

TUTORIAL = blocks("docs/tutorial-custom-layer.md")
EXPECTED = list(range(100, 110))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, with_keras: Programs) -> Path:
    """The working directory of the tutorial's Python blocks, which ran in order in one process."""
    folder = tmp_path_factory.mktemp("tutorial")
    (folder / "tutorial.py").write_text(
        "\n".join(block.text for block in TUTORIAL if block.language == "python")
    )
    status, printed = with_keras.run(folder, "tutorial.py")
    assert status == 0, printed
    return folder


@pytest.mark.parametrize("bundle", ["output", "traced"])
def test_the_page_prints_100_to_109(bundle: str, folder: Path) -> None:
    (page,) = (block.text for block in TUTORIAL if block.language == "html")
    (folder / f"{bundle}.html").write_text(
        f'<!DOCTYPE html><link rel="icon" href="data:,">{page.replace("./output", f"./{bundle}")}'
    )
    with Server({"/": folder}) as server, console_values() as browser:
        browser.get(f"{server.url}/{bundle}.html")
        printed = WebDriverWait(browser, 30).until(
            lambda page: page.execute_script("return printed")
        )
        browser.get("about:blank")
    assert printed == [[EXPECTED]]


@contextmanager
def console_values() -> Iterator[Any]:
    """A browser whose pages store printed values as numbers in `printed`. Its own log contains only
    Float32Array(10).
    """
    browser = browsers.session("chromium")
    override = (
        "window.printed = []; console.log = (...values) => printed.push(values.map((value) =>"
        " Array.from(value)));"
    )
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": override})
    yield browser
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_the_page_of_the_model_shows_it(folder: Path) -> None:
    for name in ("index.html", "index.js"):
        (folder / name).write_bytes((ROOT / "models" / "bias_layer" / name).read_bytes())
    with Server({"/": folder}) as server:
        browser = browsers.session("chromium")
        browser.get(server.url)
        script = "return document.getElementById('result').textContent.replace('loading', '')"
        text = WebDriverWait(browser, 30).until(lambda page: page.execute_script(script))
        browser.get("about:blank")
    assert [int(number) for number in text.split()] == EXPECTED


def test_the_command_builds_a_file_with_its_plugin(tmp_path: Path, with_keras: Programs) -> None:
    layer, model = next(block.text for block in TUTORIAL if block.language == "python").split(
        "\nx = "
    )
    registered_layer = layer.replace(
        "class ", '@keras.saving.register_keras_serializable(package="mine")\nclass '
    )
    (tmp_path / "my_layers.py").write_text(registered_layer)
    (tmp_path / "save.py").write_text(
        f'from my_layers import *\nx = {model}\nmodel.save("my.keras")\n'
    )
    (command,) = (block.text.split() for block in TUTORIAL if block.language == "sh")
    assert command[0] == "webkiln"
    status, printed = with_keras.run(tmp_path, "save.py")
    assert status == 0, printed
    build = [sys.executable, "-m", "webkiln.cli", *command[1:]]
    process = subprocess.run(
        build, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    inputs = {
        read_manifest(tmp_path / "public" / "my")["inputs"][0]["name"]: np.arange(
            10, dtype=np.float32
        )[None]
    }
    for backend in ("wasm", "js"):
        (result,) = run_bundle(tmp_path / "public" / "my", backend, [inputs])
        (output,) = result.outputs.values()
        assert output.tolist() == [EXPECTED]
