"""Dev servers build the imports of the project's modules, and nothing that a request names by URL.

Each server is a real one with the plugin. Its gadgets are requested without headers, with the
headers that browsers send for a page of another site, and by such pages in Chromium.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sampling import representative
from tests.web import pages, project
from tests.web.dev_servers import (
    GADGETS,
    HOST,
    PAGE_IMPORTS,
    PORT,
    SERVERS,
    SIMPLE,
    DevSite,
    open_page,
    start,
)
from webkiln.backends.server import Server

FOREIGN = {
    "Origin": "http://evil.example:6001",
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "cors",
}
NO_CORS = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}


ATTACK = """
const [urls, done] = arguments;
const soon = promise => Promise.race([promise, new Promise(resolve => setTimeout(resolve, 5000))]);
const tag = (name, fields) => new Promise(resolve => {
  const element = Object.assign(document.createElement(name), fields,
    { onload: resolve, onerror: resolve });
  document.head.append(element);
});
const attack = url => Promise.all([
  soon(import(url).then(({ load }) => typeof load, () => 'refused')),
  soon(fetch(url, { mode: 'no-cors' }).catch(() => {})),
  soon(tag('script', { type: 'module', src: `${url}&module` })),
  soon(tag('script', { src: url })),
  soon(tag('link', { rel: 'modulepreload', href: url })),
]);
Promise.all(urls.map(attack)).then(results => done(results.map(([imported]) => imported)));
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Servers other than Vite share results: a result from the cache runs no code."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", params=representative(PAGE_IMPORTS, "tiny"))
def vite(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevSite]:
    folder, imports = tmp_path_factory.mktemp("vite"), PAGE_IMPORTS[request.param]
    root, evil = start("guarded", folder)
    if imports.module is not None:
        (root / "src" / "main.js").write_text(imports.module, "utf-8")
    script = ("vite", "--strictPort", *HOST, *PORT)
    with project.serving(root, script, "/", WEBKILN_CACHE=str(folder / "cache")) as dev:
        served = DevSite(dev, root, evil, imports)
        assert served.get("/src/main.js")[0] == 200, dev.log.read_text("utf-8")[-3000:]
        open_page(served, imports.shown)
        yield served


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Two pages of other origins: one on another port, and one with an opaque origin on another
    site.
    """
    folder = tmp_path_factory.mktemp("others")
    (folder / "index.html").write_text("<!doctype html><title>another page</title>", "utf-8")
    with (
        Server({"/": folder}) as port,
        Server({"/": folder}, headers={"Content-Security-Policy": "sandbox allow-scripts"}) as site,
    ):
        yield [f"{port.url}/", f"{site.url.replace('127.0.0.1', 'localhost')}/"]


def attack_from(served: DevSite, page: str, paths: list[str]) -> None:
    """Let a page of another origin request the paths in every way that needs no permission."""
    pages.browser().get(page)
    urls = [served.address + path for path in paths]
    imported = pages.browser().execute_async_script(ATTACK, urls)
    pages.browser().get("about:blank")
    requested = served.dev.record.read_text("utf-8").splitlines()
    for path, kind in zip(paths, imported, strict=True):
        assert kind != "function", f"{page} has imported the model at {path}"
        assert path in requested, f"{path} was not requested"


def test_own_imports_are_built_with_their_options(vite: DevSite) -> None:
    builds, ran, bundles = vite.state()
    assert {Path(path).name for path in ran} >= vite.imports.ran
    assert len(bundles) >= len(vite.imports.shown)
    assert any("--reads=" in line for line in builds)


def test_the_url_of_an_import_is_served(vite: DevSite) -> None:
    before = vite.state()
    status, text = vite.get(vite.imports.path)
    assert status == 200, text
    assert b"export async function load" in text
    assert vite.state() == before


@pytest.mark.parametrize("gadget", GADGETS)
def test_vite_builds_nothing_for_a_url(gadget: str, vite: DevSite) -> None:
    before, path = vite.state(), vite.path(gadget)
    for headers in ({}, FOREIGN, NO_CORS, {**NO_CORS, "Referer": f"{vite.address}/src/main.js"}):
        status, text = vite.get(path, **headers)
        assert b"export async function load" not in text
        assert vite.state() == before, f"{gadget} with {headers}: {status}"
        if headers and "webkiln" in path:
            assert status == 403, text


def test_vite_builds_nothing_for_pages_of_other_origins(vite: DevSite, others: list[str]) -> None:
    before = vite.state()
    for page in others:
        attack_from(vite, page, list(map(vite.path, GADGETS)))
        assert vite.state() == before, page


@pytest.mark.long
@pytest.mark.parametrize("gadget", GADGETS)
def test_vite_builds_nothing_for_one_url_of_a_page(
    gadget: str, vite: DevSite, others: list[str]
) -> None:
    before = vite.state()
    for page in others:
        attack_from(vite, page, [vite.path(gadget)])
        assert vite.state() == before, page


def test_vite_rejects_other_host_names(vite: DevSite) -> None:
    """DNS rebinding: a name of the attacker resolves to this machine, so that the page has the
    server's origin.
    """
    before = vite.state()
    bundle = next(vite.root.glob(".webkiln/bundles/*")).name
    imports = (f"/.webkiln/bundles/{bundle}/index.js", "/src/main.js", vite.imports.path)
    for path in (*imports, *map(vite.path, GADGETS)):
        host = {
            "Host": "evil.example:5173",
            "Origin": "http://evil.example:5173",
            "Sec-Fetch-Site": "same-origin",
        }
        status, text = vite.get(path, **host)
        assert (status, b"not allowed" in text) == (403, True), path
    assert vite.state() == before


def test_vite_rejects_imports_from_pages_of_other_sites(vite: DevSite) -> None:
    path = vite.imports.path
    for headers in (FOREIGN, NO_CORS):
        status, text = vite.get(path, **headers)
        assert (status, b"may not request models" in text) == (403, True)
    for headers in ({"Origin": "http://localhost:8000"}, {"Sec-Fetch-Site": "same-origin"}):
        assert vite.get(path, **headers)[0] == 200


def test_messages_to_vite_build_nothing(vite: DevSite, others: list[str]) -> None:
    """Vite's WebSocket requires no token from programs. They can fetch modules by URL, with any
    importer.
    """
    import websocket

    before = vite.state()
    socket = websocket.create_connection(
        vite.address.replace("http", "ws"),
        subprotocols=["vite-hmr"],
        suppress_origin=True,
        timeout=30,
    )
    paths = [vite.path(gadget).replace("import&", "") for gadget in GADGETS]
    for number, path in enumerate(paths):
        for importer in ("/src/main.js", str(vite.root / "src" / "main.js")):
            data = {"name": "fetchModule", "id": f"send:{number}", "data": [path, importer, {}]}
            socket.send(json.dumps({"type": "custom", "event": "vite:invoke", "data": data}))
        socket.send(
            json.dumps({"type": "custom", "event": "vite:invalidate", "data": {"path": path}})
        )
    socket.ping()
    time.sleep(1)
    socket.close()
    assert vite.get("/src/main.js")[0] == 200
    assert vite.state() == before
    pages.browser().get(others[0])
    opened = pages.browser().execute_async_script(
        "const socket = new WebSocket(arguments[0], 'vite-hmr');"
        "socket.onopen = () => arguments[1](true); socket.onerror = () => arguments[1](false);",
        vite.address.replace("http", "ws"),
    )
    pages.browser().get("about:blank")
    assert opened is False


@pytest.mark.long  # make test attacks Vite, the server with the largest attack surface
@pytest.mark.parametrize("tool", SERVERS)
def test_other_servers_build_nothing_for_a_url(
    tool: str, others: list[str], cache: Path, tmp_path: Path
) -> None:
    name, script = SERVERS[tool]
    root, evil = start(name, tmp_path)
    (root / "src" / "main.js").write_text(SIMPLE, "utf-8")
    with project.serving(root, script, "/", WEBKILN_CACHE=str(cache)) as dev:
        served = DevSite(dev, root, evil, PAGE_IMPORTS["tiny"])
        open_page(served, [4])
        before = served.state()
        assert before[0]
        for gadget in GADGETS:
            path = served.path(gadget)
            for headers in ({}, FOREIGN, NO_CORS):
                served.get(path, **headers)
                assert served.state() == before, f"{gadget} with {headers}"
            served.get(path, "POST", json.dumps([f"{evil}/evil.js", path]).encode(), **FOREIGN)
            served.get(path, Host="evil.example:6001")
            assert served.state() == before, gadget
        for page in others:
            attack_from(served, page, list(map(served.path, GADGETS)))
            assert served.state() == before, page
        open_page(served, [4])
