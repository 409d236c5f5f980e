"""The digits demo, driven with a mouse."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser import fake_digits, looks
from webkiln.backends import chromium
from webkiln.backends.server import Server

DEMO = fake_digits.HERE.parents[1] / "models" / "digits" / "demo"
NOTHING = "\N{EN DASH}"
POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; worker-src 'self'; img-src data:"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    bundle = fake_digits.build(tmp_path_factory.mktemp("digits"))
    folders = {"/models/digits/demo/": DEMO, "/dist/digits/": bundle}
    with Server(folders, headers={"Content-Security-Policy": POLICY}) as server:
        browser = chromium.browser()
        browser.get(server.url + "/models/digits/demo/")
        WebDriverWait(browser, 20).until(lambda page: page.execute_script("return document.body.dataset.ready"))
        yield browser
        browser.get("about:blank")


def draw(browser: Any, strokes: list[list[list[float]]]) -> None:
    paper = browser.find_element(By.ID, "paper")
    width, height = paper.size["width"], paper.size["height"]
    for stroke in strokes:
        actions = ActionChains(browser, duration=4)
        for index, (x, y) in enumerate(stroke):
            actions.move_to_element_with_offset(paper, round((x - 0.5) * width), round((y - 0.5) * height))
            if index == 0:
                actions.click_and_hold()
        actions.release().perform()


def read(browser: Any) -> str:
    return str(browser.find_element(By.ID, "digit").text)


@pytest.mark.parametrize("digit", range(10))
def test_reads_what_is_drawn(page: Any, digit: int) -> None:
    page.find_element(By.ID, "clear").click()
    WebDriverWait(page, 5).until(lambda page: read(page) == NOTHING)
    draw(page, fake_digits.examples()[digit]["strokes"])
    WebDriverWait(page, 5).until(lambda page: read(page) == str(digit))
    best = page.find_element(By.CSS_SELECTOR, "#bars .best")
    assert best.text.split()[0] == str(digit)
    shares = [float(share.text.removesuffix(" %")) for share in page.find_elements(By.CSS_SELECTOR, "#bars span")]
    assert sum(shares) == pytest.approx(100, abs=0.6)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_looks_drawn(page: Any, scheme: str) -> None:
    page.find_element(By.ID, "clear").click()
    draw(page, fake_digits.examples()[3]["strokes"])
    WebDriverWait(page, 5).until(lambda page: read(page) == "3")
    assert looks.has_content(looks.screenshot(scheme))


def test_names_a_missing_bundle(tmp_path: Path) -> None:
    with Server({"/models/digits/demo/": DEMO, "/dist/": tmp_path}) as server:
        browser = chromium.browser()
        browser.get(server.url + "/models/digits/demo/")
        WebDriverWait(browser, 10).until(lambda page: "failed" in page.find_element(By.ID, "status").get_attribute("class"))
        assert "index.js" in browser.find_element(By.ID, "status").text
