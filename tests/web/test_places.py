"""Pages without a bundler: served by Flask, and with the model on another origin."""

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
    root = project.copy_project(tmp_path, project.EXAMPLES / "flask")
    shutil.copytree(bundle, root / "static" / "digits")
    spec = importlib.util.spec_from_file_location("web_example_flask", root / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # Flask finds its folder through it
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
    result = pages.visit(flask_url, name=browser)
    pages.check(result)
    assert result.isolated


def plain_page(folder: Path, bundle_url: str) -> Path:
    root = project.copy_project(folder, project.EXAMPLES / "plain")
    page = root / "index.html"
    page.write_text(
        page.read_text("utf-8").replace("./digits/index.js", f"{bundle_url}index.js"), "utf-8"
    )
    return root


CROSS = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}


@pytest.mark.parametrize("isolated", [False, True], ids=["plain", "isolated"])
def test_another_origin(isolated: bool, bundle: Path, tmp_path: Path) -> None:
    with pages.deployed(bundle, "/cdn/digits@1/", CROSS) as cdn:
        root = plain_page(tmp_path, cdn.url)
        origin = cdn.url.removesuffix("/cdn/digits@1/")
        policy = pages.policy("hashed", root / "index.html")
        policy = re.sub("(script|connect)-src", rf"\1-src {origin}", policy).replace(
            "worker-src 'self'", f"worker-src blob: {origin}"
        )
        headers = {"Content-Security-Policy": policy, **(ISOLATED if isolated else {})}
        with pages.deployed(root, BASE, headers) as site:
            result = pages.visit(site.url)
        pages.check(result)
        assert result.isolated == isolated
        pages.check_downloads(cdn.downloads, bundle)


def test_another_origin_without_workers(bundle: Path, tmp_path: Path) -> None:
    """If the policy allows no `blob:` Workers, the model runs in the main thread, and the console
    has one message.
    """
    with pages.deployed(bundle, "/cdn/", CROSS) as cdn:
        root = plain_page(tmp_path, cdn.url)
        origin = cdn.url.removesuffix("/cdn/")
        policy = re.sub(
            "(script|connect)-src",
            rf"\1-src {origin}",
            pages.policy("hashed", root / "index.html"),
        )
        with pages.deployed(root, BASE, {"Content-Security-Policy": policy}) as site:
            result = pages.visit(site.url)
    assert (result.label, result.how) == ("6", "wasm, relaxed, in the main thread")
    assert len([line for line in result.messages if "webkiln" in line]) == 1, result.messages


def test_the_policy_of_the_page_is_the_documented_one() -> None:
    text = (project.ROOT / "docs" / "deploying.md").read_text("utf-8")
    expected = set(re.findall(r"`(script-src [^`]*)`", text)[0].split("; "))
    assert expected <= set(STRICT.replace(" 'wasm-unsafe-eval'", "").split("; "))
    assert "'wasm-unsafe-eval'" in text
