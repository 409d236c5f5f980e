"""The WebDNN 1.x API over a bundle: load and its options, views, images, argmax."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.tampering import Site, in_node, in_page, serve
from webkiln import canonical
from webkiln.backends import browsers

FIRST = [11.5, 6.0, 10.75, 42.0]
SECOND = [21.5, 2.0, 20.75, 52.0]
EMPTY = '<!doctype html><link rel="icon" href="data:,"><title>page</title>'


def shards(bundle: Path) -> list[str]:
    return [shard["file"] for shard in canonical.read(bundle / "manifest.json")["shards"]]


@pytest.mark.parametrize(
    ("order", "backend"),
    [
        (["webassembly"], "webassembly"),
        ("fallback", "fallback"),
        (["webgpu", "webgl", "webassembly", "fallback"], "webassembly"),
        (["wasm"], "webassembly"),
    ],
)
def test_load_and_run(order: Any, backend: str, bundle: Path) -> None:
    result = in_page(
        Site(bundle), "webdnn", {"directory": "/bundle/", "options": {"backendOrder": order}}
    )
    assert (result["first"], result["second"], result["same"], result["backend"]) == (
        FIRST,
        SECOND,
        True,
        backend,
    )
    assert (result["type"], result["name"], result["length"], result["shape"], result["order"]) == (
        "SymbolicFloat32Array",
        "x",
        4,
        [1, 4],
        "NC",
    )
    assert (result["count"], result["progress"], result["global"]) == (1, 1, True)
    assert (result["placeholder"], result["none"]) == ("UnknownPlaceholder", "no error")


def test_in_node(bundle: Path) -> None:
    result = in_node(
        bundle,
        "webdnn",
        {
            "directory": bundle.as_uri() + "/",
            "options": {"backendOrder": ["webassembly", "fallback"]},
        },
    )
    assert (result["first"], result["second"], result["backend"]) == (FIRST, SECOND, "webassembly")


def test_default_order(bundle: Path) -> None:
    assert in_page(Site(bundle), "webdnn", {"directory": "/bundle/"})["backend"] == "webassembly"


def test_weight_directory(bundle: Path, tmp_path: Path) -> None:
    code = Path(shutil.copytree(bundle, tmp_path / "code", ignore=shutil.ignore_patterns("*.bin")))
    site = Site(bundle)
    result = in_page(
        site,
        "webdnn",
        {
            "directory": "/bundle/",
            "options": {"weightDirectory": "/weights", "cacheStrategy": "networkOnly"},
        },
    )
    assert result["first"] == FIRST
    assert {f"/weights/{name}" for name in shards(bundle)} <= set(site.requests)
    assert {f"/weights/{name}" for name in shards(bundle)} | {"/bundle/index.js"} <= set(
        result["urls"]
    )
    assert in_page(Site(code), "webdnnError", {"directory": "/bundle/"}) == "MissingFile"


def test_wrong_directory(bundle: Path) -> None:
    assert in_page(Site(bundle), "webdnnError", {"directory": "/elsewhere/"}) == "MissingFile"


@pytest.fixture
def page(bundle: Path) -> Iterator[tuple[Site, Any]]:
    """A page on one site, so that loads share its cache."""
    site = Site(bundle, pages={"/empty": EMPTY})
    with serve(site):
        browsers.session("chromium").get(site.url + "/empty")
        yield site, evaluate
        browsers.session("chromium").get("about:blank")


def evaluate(body: str) -> Any:
    script = (
        "const done = arguments[arguments.length - 1];"
        "(async () => { const { default: WebDNN } = await import('/bundle/webdnn.js');"
        + body
        + "})().then(value => done({ value }), error => done({ code: error.code ?? null, message:"
        " String(error) }));"
    )
    answer = browsers.session("chromium").execute_async_script(script)
    return answer["value"] if "value" in answer else answer.get("code") or answer


LOAD = """
const load = async options => {
  const runner = await WebDNN.load('/bundle', options);
  await runner.run();
  runner.dispose();
  return 1;
};
"""


def test_cache_strategies(page: tuple[Site, Any], bundle: Path) -> None:
    site, run = page
    weight = f"/bundle/{shards(bundle)[0]}"

    def load(options: str) -> Any:
        site.requests.clear()
        return run(f"{LOAD} return await load({options});"), weight in site.requests

    assert load("{cacheStrategy: 'cacheOnly'}") == ("MissingFile", False)
    assert load("{cacheStrategy: 'networkOnly', saveCache: false}") == (1, True)
    assert load("{cacheStrategy: 'cacheOnly'}") == ("MissingFile", False)
    assert load("{}") == (1, True)
    assert load("{}") == (1, False)
    assert load("{cacheStrategy: 'cacheOnly'}") == (1, False)
    assert load("{cacheStrategy: 'cacheFirst'}") == (1, False)
    assert load("{cacheStrategy: 'networkOnly', ignoreCache: true}") == (1, True)
    assert load("{cacheStrategy: 'networkFirst'}") == (1, True)
    site.faults = {shards(bundle)[0]: "missing"}
    assert load("{cacheStrategy: 'networkFirst'}") == (1, True)
    assert load("{cacheStrategy: 'latest'}") == (1, False)
    assert load("{cacheStrategy: 'networkOnly'}") == ("MissingFile", True)
    assert load("{cacheStrategy: 'always'}") == ("WrongOption", False)


def test_cache_holds_this_build_only(page: tuple[Site, Any], bundle: Path) -> None:
    _, run = page
    run(
        "const cache = await caches.open('webkiln:fake'); await cache.put('/bundle/weights-0.bin',"
        " new Response('old'));"
    )
    run(f"{LOAD} return await load();")
    stored = f"/bundle/{shards(bundle)[0]}"
    # A load does not wait until the cache is updated.
    names = run(
        "let names = []; const cache = await caches.open('webkiln:fake'); const until ="
        " performance.now() + 10_000; do {names = (await cache.keys()).map(request => new"
        " URL(request.url).pathname);} while ((names.includes('/bundle/weights-0.bin') ||"
        f" !names.includes('{stored}')) && performance.now() < until); return names;"
    )
    assert stored in names
    assert "/bundle/weights-0.bin" not in names


def test_cached_files_of_another_length_are_not_used(page: tuple[Site, Any], bundle: Path) -> None:
    site, run = page
    weight = f"/bundle/{shards(bundle)[0]}"
    run(f"{LOAD} return await load();")
    site.requests.clear()
    assert run(f"{LOAD} return await load();") == 1
    assert weight not in site.requests
    truncate = (
        "const cache = await caches.open('webkiln:fake'); const { url } = (await"
        " cache.keys()).find(({ url }) => url.endsWith('%s'));const file = await cache.match(url);"
        " await cache.put(url, new Response((await file.blob()).slice(1), { headers: file.headers"
        " }));"
    )
    run(truncate % weight)
    assert run(f"{LOAD} return await load();") == 1
    assert weight in site.requests


def test_availability_and_configuration(page: tuple[Site, Any]) -> None:
    _, run = page
    result = run("return WebDNN.getBackendAvailability();")
    assert result["status"]["webassembly"] is True
    assert result["status"]["fallback"] is True
    assert [name for name in result["defaultOrder"] if name in ("webassembly", "fallback")] == [
        "webassembly",
        "fallback",
    ]
    assert run(
        "WebDNN.setConfiguration('DEBUG', 1); return [WebDNN.getConfiguration('DEBUG'),"
        " WebDNN.getConfiguration('x', 2)];"
    ) == [1, 2]


def test_argmax(page: tuple[Site, Any]) -> None:
    _, run = page
    assert run("return WebDNN.Math.argmax([3, 9, 9, 1], 3);") == [1, 2, 0]
    assert run("return WebDNN.Math.argmin(new Float32Array([3, 9, 1, 1]), 2);") == [2, 3]
    assert run("return WebDNN.Math.argmax([5, 6]);") == [1]


PIXELS = """
const pixels = new ImageData(Uint8ClampedArray.from(
  [10, 20, 30, 255, 40, 50, 60, 255, 70, 80, 90, 255, 100, 110, 120, 255]),
  2, 2);
const canvas = document.createElement('canvas'); canvas.width = canvas.height = 2;
canvas.getContext('2d').putImageData(pixels, 0, 0);
const { Color, Order } = WebDNN.Image;
const array = async (source, options) =>
  Array.from(await WebDNN.Image.getImageArray(source, options));
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("{}", [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120]),
        ("{ color: Color.BGR }", [30, 20, 10, 60, 50, 40, 90, 80, 70, 120, 110, 100]),
        ("{ order: Order.CHW }", [10, 40, 70, 100, 20, 50, 80, 110, 30, 60, 90, 120]),
        (
            "{ order: Order.CHW, color: Color.BGR }",
            [30, 60, 90, 120, 20, 50, 80, 110, 10, 40, 70, 100],
        ),
        (
            "{ color: Color.RGBA }",
            [10, 20, 30, 255, 40, 50, 60, 255, 70, 80, 90, 255, 100, 110, 120, 255],
        ),
        (
            "{ color: 'BGRA', order: 'CHW' }",
            [30, 60, 90, 120, 20, 50, 80, 110, 10, 40, 70, 100, 255, 255, 255, 255],
        ),
        ("{ bias: [10, 20, 30], scale: [10, 10, 10] }", [0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9]),
        (
            "{ bias: [30, 20, 10], scale: [1, 1, 2], color: Color.BGR }",
            [0, 0, 0, 30, 30, 15, 60, 60, 30, 90, 90, 45],
        ),
        ("{ bias: 10, scale: 10 }", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("{ srcX: 1, srcY: 1, srcW: 1, srcH: 1 }", [100, 110, 120]),
        (
            "{ srcX: 1, srcW: 1, srcH: 1, dstX: 1, dstY: 0, dstW: 1, dstH: 1 }",
            [0, 0, 0, 40, 50, 60],
        ),
        ("{ srcW: 1, srcH: 1, dstW: 2, dstH: 2 }", [10, 20, 30] * 4),
        ("{ type: Int32Array, scale: 100 }", [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]),
    ],
)
@pytest.mark.parametrize("source", ["canvas", "pixels"])
@pytest.mark.sample(8)
def test_image_arrays(
    page: tuple[Site, Any], source: str, options: str, expected: list[float]
) -> None:
    _, run = page
    assert run(f"{PIXELS} return await array({source}, {options});") == pytest.approx(expected)


def test_grey_is_luma(page: tuple[Site, Any]) -> None:
    _, run = page
    luma = [
        0.2126 * r + 0.7152 * g + 0.0722 * b
        for r, g, b in ((10, 20, 30), (40, 50, 60), (70, 80, 90), (100, 110, 120))
    ]
    assert run(f"{PIXELS} return await array(canvas, {{ color: Color.GREY }});") == pytest.approx(
        luma, rel=1e-6
    )


def test_image_sources(page: tuple[Site, Any]) -> None:
    _, run = page
    pixels = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120]
    assert run(f"{PIXELS} return await array(canvas.toDataURL(), {{}});") == pixels
    assert (
        run(
            f"{PIXELS} return await array(await WebDNN.Image.loadImageByUrl(canvas.toDataURL()),"
            " {});"
        )
        == pixels
    )
    assert run(f"{PIXELS} return await array(await createImageBitmap(pixels), {{}});") == pixels
    assert (
        run(f"{PIXELS} return Array.from(WebDNN.Image.getImageArrayFromImageData(pixels));")
        == pixels
    )
    assert (
        run(f"{PIXELS} return Array.from(WebDNN.Image.getImageArrayFromCanvas(canvas));") == pixels
    )
    assert (
        run(f"{PIXELS} return Array.from(WebDNN.Image.getImageArrayFromDrawable(canvas));")
        == pixels
    )
    file = (
        "const blob = await new Promise(resolve => canvas.toBlob(resolve)); const input ="
        " document.createElement('input');input.type = 'file'; const list = new DataTransfer();"
        " list.items.add(new File([blob], 'a.png')); input.files = list.files;"
    )
    assert run(f"{PIXELS} {file} return await array(input, {{}});") == pixels
    assert (
        run("return await WebDNN.Image.getImageArray(document.createElement('input'));")
        == "MissingFile"
    )
    assert run("return await WebDNN.Image.getImageArray('/bundle/nothing.png');") == "MissingFile"
    assert run("return await WebDNN.Image.getImageArray(7);") == "WrongDtype"
    assert run(f"{PIXELS} return await array(canvas, {{ color: 'CMYK' }});") == "WrongOption"


SHOW = """
const target = document.createElement('canvas'); target.width = target.height = 2;
const shown = () => Array.from(target.getContext('2d').getImageData(0, 0, 2, 2).data);
"""


def test_images_are_drawn(page: tuple[Site, Any]) -> None:
    _, run = page
    pixels = [10, 20, 30, 255, 40, 50, 60, 255, 70, 80, 90, 255, 100, 110, 120, 255]
    for options in (
        "{}",
        "{ color: Color.BGR, order: Order.CHW }",
        "{ color: 'RGBA' }",
        "{ bias: [5, 6, 7], scale: [2, 2, 2] }",
    ):
        body = (
            f"const o = {options}; WebDNN.Image.setImageArrayToCanvas(await array(canvas, o), 2, 2,"
            " target, o); return shown();"
        )
        assert run(PIXELS + SHOW + body) == pixels
    nested = (
        "WebDNN.Image.setImageArrayToCanvas([[0, 1], [0.5, 1]], 2, 2, target, { color: 'GREY',"
        " scale: [200] }); return shown();"
    )
    assert run(PIXELS + SHOW + nested) == [
        0,
        0,
        0,
        255,
        200,
        200,
        200,
        255,
        100,
        100,
        100,
        255,
        200,
        200,
        200,
        255,
    ]
    crop = (
        "WebDNN.Image.setImageArrayToCanvas(await array(canvas), 2, 2, target, { srcX: 1, srcY: 1,"
        " srcW: 1, srcH: 1 }); return shown();"
    )
    assert run(PIXELS + SHOW + crop) == [100, 110, 120, 255] * 4
    placement = (
        "WebDNN.Image.setImageArrayToCanvas(await array(canvas), 2, 2, target, { srcW: 1, srcH: 1,"
        " dstX: 1, dstY: 1, dstW: 1, dstH: 1 });"
    )
    assert run(PIXELS + SHOW + placement + "return shown();") == [0] * 12 + [10, 20, 30, 255]
    assert (
        run(PIXELS + SHOW + "WebDNN.Image.setImageArrayToCanvas([1], 2, 2, target);")
        == "WrongLength"
    )


TUTORIAL = """<!doctype html><link rel="icon" href="data:,"><title>tutorial</title>
<script type="module" src="./bundle/webdnn.js"></script>
<script type="module">
let runner = await WebDNN.load("./bundle");
runner.inputs[0].set([1, 2, 3, 4]);
await runner.run();
document.title = Array.from(runner.outputs[0].toActual()).join();
</script>"""


def test_inline_page(bundle: Path) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    with serve(Site(bundle, pages={"/tutorial.html": TUTORIAL})) as site:
        browser = browsers.session("chromium")
        browser.get(site.url + "/tutorial.html")
        WebDriverWait(browser, 20).until(lambda page: page.title != "tutorial")
        assert browser.title == "11.5,6,10.75,42"
