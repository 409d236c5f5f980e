"""Pages without a bundler: from Flask, and with the model on another origin."""

import importlib.util
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import make_server
from werkzeug.wrappers import Response

from tests.hosts import every_page
from tests.web import pages, project
from tests.web.rows import BASE, STRICT
from webkiln.backends.server import ISOLATED


@pytest.fixture
def flask_url(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the Flask example, below a path."""
    place = project.lay(tmp_path, project.EXAMPLES / "flask")
    shutil.copytree(bundle, place / "static" / "digits")
    spec = importlib.util.spec_from_file_location("web_example_flask", place / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where Flask looks for its folder
    spec.loader.exec_module(module)
    server = make_server(
        "127.0.0.1",
        0,
        DispatcherMiddleware(Response("not found", 404), {BASE.rstrip("/"): module.app}),
        threaded=True,
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}{BASE}"
    server.shutdown()
    thread.join()


@every_page
@pytest.mark.sample("chromium")
def test_flask(browser: str, flask_url: str) -> None:
    seen = pages.look(flask_url, name=browser)
    pages.check(seen)
    assert seen.isolated


def plain(folder: Path, bundle_url: str) -> Path:
    place = project.lay(folder, project.EXAMPLES / "plain")
    page = place / "index.html"
    page.write_text(
        page.read_text("utf-8").replace("./digits/index.js", f"{bundle_url}index.js"), "utf-8"
    )
    return place


CROSS = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}


@pytest.mark.parametrize("isolated", [False, True], ids=["plain", "isolated"])
def test_another_origin(isolated: bool, bundle: Path, tmp_path: Path) -> None:
    with pages.deployed(bundle, "/cdn/digits@1/", CROSS) as cdn:
        place = plain(tmp_path, cdn.url)
        origin = cdn.url.removesuffix("/cdn/digits@1/")
        policy = pages.policy("hashed", place / "index.html")
        policy = re.sub("(script|connect)-src", rf"\1-src {origin}", policy).replace(
            "worker-src 'self'", f"worker-src blob: {origin}"
        )
        headers = {"Content-Security-Policy": policy, **(ISOLATED if isolated else {})}
        with pages.deployed(place, BASE, headers) as site:
            seen = pages.look(site.url)
        pages.check(seen)
        assert seen.isolated == isolated
        pages.check_fetched(cdn.fetched, bundle)


def test_another_origin_without_workers(bundle: Path, tmp_path: Path) -> None:
    """If the policy allows no blob, the model runs in the page's thread, with one message."""
    with pages.deployed(bundle, "/cdn/", CROSS) as cdn:
        place = plain(tmp_path, cdn.url)
        origin = cdn.url.removesuffix("/cdn/")
        policy = re.sub(
            "(script|connect)-src",
            rf"\1-src {origin}",
            pages.policy("hashed", place / "index.html"),
        )
        with pages.deployed(place, BASE, {"Content-Security-Policy": policy}) as site:
            seen = pages.look(site.url)
    assert (seen.label, seen.how) == ("6", "wasm, relaxed, in the main thread")
    assert len([line for line in seen.said if "webkiln" in line]) == 1, seen.said


def test_the_policy_of_the_page_is_the_documented_one() -> None:
    text = (project.ROOT / "docs" / "deploying.md").read_text("utf-8")
    wanted = set(re.findall(r"`(script-src [^`]*)`", text)[0].split("; "))
    assert wanted <= set(STRICT.replace(" 'wasm-unsafe-eval'", "").split("; "))
    assert "'wasm-unsafe-eval'" in text
