"""Drives the digits demo with a mouse."""

import functools
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from webkiln.backends import browsers
from webkiln.backends.server import Server

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "models" / "digits" / "demo"
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src"
    " 'self'; worker-src 'self'; img-src data:"
)
NO_DIGIT = "\N{EN DASH}"


@functools.cache
def examples() -> list[dict[str, Any]]:
    """Strokes of the ten digits, and the pictures that the demo renders of them."""
    process = subprocess.run(
        ["node", str(HERE / "strokes.js")], capture_output=True, text=True, timeout=30, check=True
    )
    result: list[dict[str, Any]] = json.loads(process.stdout)
    return result


def wait(browser: Any, condition: Callable[[Any], Any]) -> None:
    WebDriverWait(browser, 20).until(condition)


@contextmanager
def open_demo(bundle: Path) -> Iterator[Any]:
    """Serve the demo with a strict policy, and open it. Its model has loaded."""
    with Server(
        {"/models/digits/demo/": FOLDER, "/dist/digits/": bundle},
        headers={"Content-Security-Policy": POLICY},
    ) as server:
        browser = browsers.session("chromium")
        browser.get(server.url + "/models/digits/demo/")
        wait(browser, lambda page: page.execute_script("return document.body.dataset.ready"))
        yield browser
        browser.get("about:blank")


def clear(browser: Any) -> None:
    browser.find_element(By.ID, "clear").click()
    wait(browser, lambda page: displayed_digit(page) == NO_DIGIT)


def draw(browser: Any, strokes: list[list[list[float]]]) -> None:
    paper = browser.find_element(By.ID, "paper")
    width, height = paper.size["width"], paper.size["height"]
    for stroke in strokes:
        actions = ActionChains(browser, duration=4)
        for index, (x, y) in enumerate(stroke):
            actions.move_to_element_with_offset(
                paper, round((x - 0.5) * width), round((y - 0.5) * height)
            )
            if index == 0:
                actions.click_and_hold()
        actions.release().perform()


def displayed_digit(browser: Any) -> str:
    return str(browser.find_element(By.ID, "digit").text)


def shares(browser: Any) -> list[float]:
    return [
        float(share.text.removesuffix(" %"))
        for share in browser.find_elements(By.CSS_SELECTOR, "#bars span")
    ]
