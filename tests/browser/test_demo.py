"""The demo page without its model."""

from pathlib import Path

from tests.browser import demo
from webkiln.backends import browsers
from webkiln.backends.server import Server


def test_names_a_missing_bundle(tmp_path: Path) -> None:
    with Server({"/models/digits/demo/": demo.FOLDER, "/dist/": tmp_path}) as server:
        browser = browsers.session("chromium")
        browser.get(server.url + "/models/digits/demo/")
        demo.wait(
            browser,
            lambda page: "failed" in page.find_element("id", "status").get_attribute("class"),
        )
        assert "index.js" in browser.find_element("id", "status").text
