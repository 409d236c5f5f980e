"""Projects with hostile imports, and dev servers that serve them."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np

from tests.web import pages, project

PROJECTS = Path(__file__).parent / "projects"
PORT = ("--port={port}",)
HOST = ("--host=127.0.0.1",)
SERVERS = {
    "webpack": ("guarded", ("webpack", *HOST, *PORT)),
    "rspack": ("guarded", ("rspack", *HOST, *PORT)),
    "farm": ("guarded", ("farm", *HOST, *PORT)),
    "next": ("guarded-next", ("webpack", "--hostname=127.0.0.1", *PORT)),
}
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
"""The module runs from a temporary copy."""
SIMPLE = """
import { manifest } from './tiny.onnx?webkiln&backend=js';

document.title = JSON.stringify([manifest.outputs[0].shape.at(-1)]);
"""


def save_onnx(path: Path) -> None:
    import onnx
    from onnx import helper, numpy_helper

    weights = numpy_helper.from_array(np.eye(4, dtype=np.float32), "W")
    values = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 4]) for name in ("x", "y")
    ]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "W"], ["y"])], "tiny", values[:1], values[1:], [weights]
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )


def save_lambda(path: Path, mark: Path) -> None:
    """Save a model whose Lambda creates the file `mark` wherever its code runs."""
    import keras

    code = f"lambda x: (open({str(mark)!r}, 'w').close(), x * 2)[1]"
    layer = keras.layers.Lambda(eval(code), output_shape=(4,))
    keras.Sequential([keras.Input((4,), name="x"), layer]).save(path)
    mark.unlink(missing_ok=True)


@dataclass(frozen=True)
class PageImports:
    """The imports of a project's page. `module`: the source of the page's module, or None for the
    unchanged one. `shown`: the expected title. `path`: the URL of one of the imports. `ran`: marks
    of the code that its builds run.
    """

    module: str | None
    shown: list[int]
    path: str
    ran: set[str]


TWICE = """
import { manifest as handled } from './tiny.onnx?webkiln&backend=js&plugin=../handlers.py&operators=../operators.py&reads=../notes';
import { manifest as plain } from './tiny.onnx?webkiln&backend=js';

document.title = JSON.stringify([handled, plain].map(({ outputs }) => outputs[0].shape.at(-1)));
"""  # noqa: E501
PAGE_IMPORTS = {
    "tiny": PageImports(
        TWICE, [4, 4], "/src/tiny.onnx?import&webkiln&backend=js", {"ran-plugin", "ran-operators"}
    ),
    "all": PageImports(
        None,
        [4, 3, 4],
        "/src/lambda.keras?import&webkiln&backend=js&trust-source",
        {"ran-plugin", "ran-operators", "ran-model-3", "ran-lambda"},
    ),
}
"""Each build of a Keras model takes ten seconds of processor time or more."""


@dataclass(frozen=True)
class DevSite:
    """A dev server, its project, and a folder outside the project with foreign code and models."""

    dev: project.Dev
    root: Path
    evil: Path
    imports: PageImports

    @property
    def address(self) -> str:
        return self.dev.url.removesuffix("/")

    def state(self) -> tuple[list[str], ...]:
        """The builds that were started, the code that ran, and the existing bundles."""
        builds = self.root / "builds.txt"
        ran = [*self.root.glob("ran-*"), *self.evil.glob("ran-*")]
        bundles = self.root.glob(".webkiln/bundles/*")
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
        """The answer to a request with exactly these headers."""
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


def start(name: str, folder: Path) -> tuple[Path, Path]:
    """Copy a project. Returns its folder, and a folder outside of it with foreign code."""
    project.need_packages()
    root = project.copy_project(folder, PROJECTS / name)
    evil = root.parent.parent / "downloads"
    evil.mkdir()
    (root / "src").mkdir(exist_ok=True)
    for path in (root / "src" / "tiny.onnx", root / "src" / "unused.onnx", evil / "outside.onnx"):
        save_onnx(path)
    save_lambda(root / "src" / "lambda.keras", root / "ran-lambda")
    save_lambda(root / "src" / "evil.keras", evil / "ran-lambda")
    (root / "mine.py").write_text(MODEL.replace("{place}", str(root)), "utf-8")
    for option, file in (("plugin", "handlers"), ("operators", "operators")):
        (root / f"{file}.py").write_text(MARK.format(name=option), "utf-8")
    (evil / "evil.py").write_text(MARK.format(name="evil"), "utf-8")
    request = f"{evil}/outside.onnx?webkiln&backend=js&plugin={evil}/evil.py"
    (evil / "evil.js").write_text(f"export * from {json.dumps(request)};\n", "utf-8")
    (root / "src" / "link.onnx").symlink_to(evil / "outside.onnx")
    (root / "src" / "link.js").symlink_to(evil / "evil.js")
    return root, evil


def open_page(served: DevSite, expected: list[int]) -> None:
    """Open the project's page, and check that its imports were built with their options."""
    pages.console()
    pages.browser().get(served.dev.url)
    title = pages.until(
        lambda: pages.browser().title.startswith("[") and pages.browser().title, 120
    )
    messages = "\n".join([*pages.console(), served.dev.log.read_text("utf-8")[-3000:]])
    assert title, messages
    assert json.loads(title) == expected, messages
    pages.browser().get("about:blank")


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
"""Paths by the attack. `{evil}` is a folder outside of the project."""
