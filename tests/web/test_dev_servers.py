"""Dev servers build what modules of the project import, and nothing that a request names by URL.

Each server is a real one with the plugin. Its gadgets are requested without headers, with those
that browsers send for a page of another site, and by such pages in Chromium.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np
import pytest

from tests.sampling import representative
from tests.web import pages, project
from webkiln.backends.server import Server

PROJECTS = Path(__file__).parent / "projects"
PORT = ("--port={port}",)
HOST = ("--host=127.0.0.1",)
SERVERS = {
    "webpack": ("guarded", ("webpack", *HOST, *PORT)),
    "rspack": ("guarded", ("rspack", *HOST, *PORT)),
    "farm": ("guarded", ("farm", *HOST, *PORT)),
    "next": ("guarded-next", ("webpack", "--hostname=127.0.0.1", *PORT)),
}
FOREIGN = {
    "Origin": "http://evil.example:6001",
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "cors",
}
NO_CORS = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}

MARK = """
from pathlib import Path

(Path(__file__).parent / "ran-{name}").touch()
"""
MODEL = """
from pathlib import Path

PLACE = Path("{place}")
(PLACE / "ran-module").touch()


def model(units: int = 2):
    import keras

    (PLACE / f"ran-model-{units}").touch()
    return keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(units)])
"""
"""The module is run from a copy, which is gone afterwards."""

SIMPLE = """
import { manifest } from './tiny.onnx?webkiln&backend=js';

document.title = JSON.stringify([manifest.outputs[0].shape.at(-1)]);
"""

GADGETS = {
    "a model that nothing imports": "/src/unused.onnx?import&webkiln&backend=js",
    "plugin": "/src/tiny.onnx?import&webkiln&backend=js&plugin={evil}/evil.py",
    "operators": "/src/tiny.onnx?import&webkiln&backend=js&operators={evil}/evil.py",
    "reads": "/src/tiny.onnx?import&webkiln&backend=js&reads={evil}",
    "parameter": "/@id/webkiln:mine:model?import&backend=js&parameter=units=9",
    "trust-source": "/src/evil.keras?import&webkiln&backend=js&trust-source",
    "a function": "/@id/webkiln:mine:model?import&backend=js",
    "an absolute path": "{evil}/outside.onnx?import&webkiln&backend=js",
    "/@fs": "/@fs{evil}/outside.onnx?import&webkiln&backend=js",
    "/@id": "/@id/{evil}/outside.onnx?webkiln&backend=js&import",
    "a symbolic link": "/src/link.onnx?import&webkiln&backend=js",
    "a recipe elsewhere": "/@id/webkiln:{evil}/outside.onnx?import&backend=js",
    "a module of the project": "/src/main.js?import&webkiln&backend=js&plugin={evil}/evil.py",
    "a module from outside": "/@fs{evil}/evil.js?import",
    "a module from outside by a link": "/src/link.js?import",
    "code in a URL": (
        '/@id/data:text/javascript,import "{evil}/outside.onnx?webkiln&backend=js"?import'
    ),
    "?url": "/src/tiny.onnx?url&webkiln&backend=js&plugin={evil}/evil.py",
    "?raw": "/src/tiny.onnx?raw&import&webkiln&backend=js&plugin={evil}/evil.py",
    "?worker": "/src/tiny.onnx?worker&import&webkiln&backend=js&plugin={evil}/evil.py",
    "?html-proxy": "/index.html?html-proxy&index=0.js&webkiln&backend=js&plugin={evil}/evil.py",
    "lazy compilation of webpack": "/lazy-compilation-using-{evil}/evil.js",
    "lazy compilation of Rspack": "/_rspack/lazy/trigger?{evil}/evil.js",
    "lazy compilation of Vite": "/@vite/lazy?id={evil}/evil.js&clientId=1",
    "lazy compilation of Farm": "/__lazy_compile?paths={evil}/evil.js",
}
"""Paths by what they try; `{evil}` is a folder beside that of the project."""

ATTACK = """
const [urls, done] = arguments;
const soon = promise => Promise.race([promise, new Promise(resolve => setTimeout(resolve, 5000))]);
const tag = (name, fields) => new Promise(resolve => {
  const element = Object.assign(document.createElement(name), fields, { onload: resolve, onerror: resolve });
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


def save_onnx(path: Path) -> None:
    import onnx
    from onnx import helper, numpy_helper

    weights = numpy_helper.from_array(np.eye(4, dtype=np.float32), "W")
    places = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 4]) for name in ("x", "y")
    ]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "W"], ["y"])], "tiny", places[:1], places[1:], [weights]
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )


def save_lambda(path: Path, mark: Path) -> None:
    """A model whose Lambda writes a file wherever its code is run."""
    import keras

    code = f"lambda x: (open({str(mark)!r}, 'w').close(), x * 2)[1]"
    layer = keras.layers.Lambda(eval(code), output_shape=(4,))
    keras.Sequential([keras.Input((4,), name="x"), layer]).save(path)
    mark.unlink(missing_ok=True)


@dataclass(frozen=True)
class Own:
    """What the page of a project imports: its module, or None for that of the project; what it
    shows;
    one of its imports by URL; and the code that its builds run.
    """

    module: str | None
    shown: list[int]
    path: str
    ran: set[str]


TWICE = """
import { manifest as handled } from './tiny.onnx?webkiln&backend=js&plugin=../handlers.py&operators=../operators.py&reads=../notes';
import { manifest as plain } from './tiny.onnx?webkiln&backend=js';

document.title = JSON.stringify([handled, plain].map(({ outputs }) => outputs[0].shape.at(-1)));
"""
OWN = {
    "tiny": Own(
        TWICE, [4, 4], "/src/tiny.onnx?import&webkiln&backend=js", {"ran-plugin", "ran-operators"}
    ),
    "all": Own(
        None,
        [4, 3, 4],
        "/src/lambda.keras?import&webkiln&backend=js&trust-source",
        {"ran-plugin", "ran-operators", "ran-model-3", "ran-lambda"},
    ),
}
"""Each build of a model of Keras takes ten seconds of a processor or more."""


@dataclass(frozen=True)
class Served:
    """A dev server, its project, and a folder beside it whose code and models are not of the
    project.
    """

    dev: project.Dev
    place: Path
    evil: Path
    own: Own

    @property
    def address(self) -> str:
        return self.dev.url.removesuffix("/")

    def state(self) -> tuple[list[str], ...]:
        """The builds that were begun, the code that ran, and the bundles that lie there."""
        builds = self.place / "builds.txt"
        ran = [*self.place.glob("ran-*"), *self.evil.glob("ran-*")]
        bundles = self.place.glob(".webkiln/bundles/*")
        return (
            builds.read_text("utf-8").splitlines() if builds.exists() else [],
            sorted(map(str, ran)),
            sorted(map(str, bundles)),
        )

    def path(self, gadget: str) -> str:
        return quote(GADGETS[gadget].replace("{evil}", str(self.evil)), safe="/?&=@:,")

    def get(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes]:
        """The answer to a request with these headers alone."""
        host = urlsplit(self.address)
        connection = HTTPConnection(host.hostname or "", host.port, timeout=150)
        try:
            connection.putrequest(
                method, path, skip_host="Host" in headers, skip_accept_encoding=True
            )
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the servers but Vite share: that of the user may know results, and code would not run."""
    return tmp_path_factory.mktemp("cache")


def start(name: str, folder: Path) -> tuple[Path, Path]:
    """A project, and a folder of what is not its own."""
    project.need_packages()
    place = project.lay(folder, PROJECTS / name)
    evil = place.parent.parent / "downloads"
    evil.mkdir()
    (place / "src").mkdir(exist_ok=True)
    for path in (place / "src" / "tiny.onnx", place / "src" / "unused.onnx", evil / "outside.onnx"):
        save_onnx(path)
    save_lambda(place / "src" / "lambda.keras", place / "ran-lambda")
    save_lambda(place / "src" / "evil.keras", evil / "ran-lambda")
    (place / "mine.py").write_text(MODEL.replace("{place}", str(place)), "utf-8")
    for option, file in (("plugin", "handlers"), ("operators", "operators")):
        (place / f"{file}.py").write_text(MARK.format(name=option), "utf-8")
    (evil / "evil.py").write_text(MARK.format(name="evil"), "utf-8")
    request = f"{evil}/outside.onnx?webkiln&backend=js&plugin={evil}/evil.py"
    (evil / "evil.js").write_text(f"export * from {json.dumps(request)};\n", "utf-8")
    (place / "src" / "link.onnx").symlink_to(evil / "outside.onnx")
    (place / "src" / "link.js").symlink_to(evil / "evil.js")
    return place, evil


def open_page(served: Served, expected: list[int]) -> None:
    """The project's own page shows that its own imports have what their options say."""
    pages.console()
    pages.browser().get(served.dev.url)
    title = pages.until(
        lambda: pages.browser().title.startswith("[") and pages.browser().title, 120
    )
    said = "\n".join([*pages.console(), served.dev.log.read_text("utf-8")[-3000:]])
    assert title, said
    assert json.loads(title) == expected, said
    pages.browser().get("about:blank")


@pytest.fixture(scope="module", params=representative(OWN, "tiny"))
def vite(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder, own = tmp_path_factory.mktemp("vite"), OWN[request.param]
    place, evil = start("guarded", folder)
    if own.module is not None:
        (place / "src" / "main.js").write_text(own.module, "utf-8")
    script = ("vite", "--strictPort", *HOST, *PORT)
    with project.serving(place, script, "/", WEBKILN_CACHE=str(folder / "cache")) as dev:
        served = Served(dev, place, evil, own)
        assert served.get("/src/main.js")[0] == 200, dev.log.read_text("utf-8")[-3000:]
        open_page(served, own.shown)
        yield served


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Two pages of another origin: on another port, and of an opaque origin on another site."""
    folder = tmp_path_factory.mktemp("others")
    (folder / "index.html").write_text("<!doctype html><title>another page</title>", "utf-8")
    with (
        Server({"/": folder}) as port,
        Server({"/": folder}, headers={"Content-Security-Policy": "sandbox allow-scripts"}) as site,
    ):
        yield [f"{port.url}/", f"{site.url.replace('127.0.0.1', 'localhost')}/"]


def attack_from(served: Served, page: str, paths: list[str]) -> None:
    """Have a page of another origin request the paths in every way that needs no permission."""
    pages.browser().get(page)
    urls = [served.address + path for path in paths]
    imported = pages.browser().execute_async_script(ATTACK, urls)
    pages.browser().get("about:blank")
    requested = served.dev.record.read_text("utf-8").splitlines()
    for path, kind in zip(paths, imported, strict=True):
        assert kind != "function", f"{page} has imported the model at {path}"
        assert path in requested, f"{path} was not requested"


def test_own_imports_are_built_with_their_options(vite: Served) -> None:
    builds, ran, bundles = vite.state()
    assert {Path(path).name for path in ran} >= vite.own.ran
    assert len(bundles) >= len(vite.own.shown)
    assert any("--reads=" in line for line in builds)


def test_the_url_of_an_import_is_served(vite: Served) -> None:
    before = vite.state()
    status, text = vite.get(vite.own.path)
    assert status == 200, text
    assert b"export async function load" in text
    assert vite.state() == before


@pytest.mark.parametrize("gadget", GADGETS)
def test_vite_builds_nothing_for_a_url(gadget: str, vite: Served) -> None:
    before, path = vite.state(), vite.path(gadget)
    for headers in ({}, FOREIGN, NO_CORS, {**NO_CORS, "Referer": f"{vite.address}/src/main.js"}):
        status, text = vite.get(path, **headers)
        assert b"export async function load" not in text
        assert vite.state() == before, f"{gadget} with {headers}: {status}"
        if headers and "webkiln" in path:
            assert status == 403, text


def test_vite_builds_nothing_for_pages_of_other_origins(vite: Served, others: list[str]) -> None:
    before = vite.state()
    for page in others:
        attack_from(vite, page, list(map(vite.path, GADGETS)))
        assert vite.state() == before, page


@pytest.mark.long
@pytest.mark.parametrize("gadget", GADGETS)
def test_vite_builds_nothing_for_one_url_of_a_page(
    gadget: str, vite: Served, others: list[str]
) -> None:
    before = vite.state()
    for page in others:
        attack_from(vite, page, [vite.path(gadget)])
        assert vite.state() == before, page


def test_vite_serves_nothing_to_another_name(vite: Served) -> None:
    """DNS rebinding: a name of the attacker's points to this machine, and the page has that origin."""
    before = vite.state()
    bundle = next(vite.place.glob(".webkiln/bundles/*")).name
    own = (f"/.webkiln/bundles/{bundle}/index.js", "/src/main.js", vite.own.path)
    for path in (*own, *map(vite.path, GADGETS)):
        host = {
            "Host": "evil.example:5173",
            "Origin": "http://evil.example:5173",
            "Sec-Fetch-Site": "same-origin",
        }
        status, text = vite.get(path, **host)
        assert (status, b"not allowed" in text) == (403, True), path
    assert vite.state() == before


def test_vite_rejects_imports_from_pages_of_other_sites(vite: Served) -> None:
    path = vite.own.path
    for headers in (FOREIGN, NO_CORS):
        status, text = vite.get(path, **headers)
        assert (status, b"may not request models" in text) == (403, True)
    for headers in ({"Origin": "http://localhost:8000"}, {"Sec-Fetch-Site": "same-origin"}):
        assert vite.get(path, **headers)[0] == 200


def test_messages_to_vite_build_nothing(vite: Served, others: list[str]) -> None:
    """Of Vite's WebSocket, which asks programs for no token: they fetch modules by URL, with any
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
        for importer in ("/src/main.js", str(vite.place / "src" / "main.js")):
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


@pytest.mark.long  # Vite, whose attacks run in make test, is the server that more can be asked of
@pytest.mark.parametrize("tool", SERVERS)
def test_other_servers_build_nothing_for_a_url(
    tool: str, others: list[str], cache: Path, tmp_path: Path
) -> None:
    name, script = SERVERS[tool]
    place, evil = start(name, tmp_path)
    (place / "src" / "main.js").write_text(SIMPLE, "utf-8")
    with project.serving(place, script, "/", WEBKILN_CACHE=str(cache)) as dev:
        served = Served(dev, place, evil, OWN["tiny"])
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
