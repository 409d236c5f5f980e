"""`webkiln serve`: the page in Chromium, with files and images dropped on it, and the responses of
the server.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser.screenshots import has_content, screenshot
from tests.frontends.onnx.models import model
from tests.models.conftest import Model
from tests.runtime import fake_bundle
from tests.stages.forms import FORMS
from webkiln.backends import browsers
from webkiln.backends.server import Server
from webkiln.build.engine import Engine
from webkiln.cli import main
from webkiln.commands.serve import serving
from webkiln.recipe.read import read_recipe

RECIPE = """
source = "colours.onnx"
backends = ["js"]
labels = ["red", "green", "blue"]
[inputs.image]
scale = 255
layout = "CHW"
"""


class Page:
    """The page of a bundle."""

    def __init__(self, server: Server) -> None:
        self.browser = browsers.session("chromium")
        browsers.console("chromium")
        self.browser.get(server.url + "/")
        self.settle()

    def settle(self) -> None:
        WebDriverWait(self.browser, 30).until(
            lambda page: page.execute_script("return document.body.dataset.ready")
        )

    def text(self, selector: str) -> str:
        return str(self.browser.find_element(By.CSS_SELECTOR, selector).text)

    def drop(self, name: str, file: str, data: bytes, kind: str = "") -> None:
        """Drop a file on the card of an input."""
        self.browser.execute_script(
            "const [name, file, bytes, type] = arguments; const dataTransfer = new"
            " DataTransfer();dataTransfer.items.add(new File([Uint8Array.from(bytes)], file, { type"
            " }));document.querySelector(`[data-input=${name}]`).dispatchEvent(new"
            " DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));",
            name,
            file,
            list(data),
            kind,
        )
        WebDriverWait(self.browser, 30).until(
            lambda page: file in page.find_element(By.TAG_NAME, "main").text
        )
        self.settle()

    def choose(self, name: str, value: str) -> None:
        self.browser.find_element(By.CSS_SELECTOR, f"[name=sample-{name}][value={value}]").click()
        self.settle()

    def numbers(self, name: str) -> list[float]:
        return [
            float(text)
            for text in self.text(f"[data-output={name}] .first").partition("…")[0].split()
        ]


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Open the page of a bundle; it must not log to the console."""
    servers = []

    def opened(bundle: Path) -> Page:
        server = serving(bundle)
        servers.append(server)
        return Page(server.__enter__())

    yield opened
    noise = browsers.console("chromium")
    browsers.session("chromium").execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browsers.session("chromium").get("about:blank")
    for server in servers:
        server.__exit__(None, None, None)
    assert noise == []


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mean of each channel of an image, and any number of rows unchanged."""
    folder = tmp_path_factory.mktemp("colours")
    (folder / "colours").mkdir()
    nodes = [
        helper.make_node("GlobalAveragePool", ["image"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["means"]),
        helper.make_node("Identity", ["rows"], ["same"]),
    ]
    inputs = [
        helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 24, 24]),
        helper.make_tensor_value_info("rows", TensorProto.INT32, ["T", 2]),
    ]
    outputs = [
        helper.make_tensor_value_info("means", TensorProto.FLOAT, [1, 3]),
        helper.make_tensor_value_info("same", TensorProto.INT32, ["T", 2]),
    ]
    onnx.save(model(nodes, inputs, outputs), folder / "colours" / "colours.onnx")
    (folder / "colours" / "recipe.toml").write_text(RECIPE)
    with Engine(folder / ".webkiln") as engine:
        return Model(engine, read_recipe(folder / "colours" / "recipe.toml"), folder).bundle()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.sample(3)
def test_every_form_of_bundle_runs(form: str, page: Any, tmp_path: Path) -> None:
    opened = page(fake_bundle.build(tmp_path, form=FORMS[form]))
    assert opened.text("h1") == "fake"
    assert "runs on\nwasm, relaxed" in opened.text("#times")
    opened.drop("x", "x.json", b"[[1, 2, 3, 4]]")
    assert opened.numbers("y") == [11.5, 6, 10.75, 42]
    assert opened.text("[data-output=y] ol").split("\n")[:2] == ["d", "42"]
    assert (
        re.sub(r"\s+", " ", opened.text("[data-output=y] .numbers")) == "min 6 max 42 mean 17.563"
    )
    assert not opened.browser.find_element(By.ID, "error").is_displayed()
    assert opened.browser.execute_script("return crossOriginIsolated")


def test_each_run_starts_from_the_initial_states(page: Any, bundle: Path) -> None:
    opened = page(bundle)
    opened.choose("x", "zeros")
    for _ in range(2):
        opened.browser.find_element(By.ID, "run").click()
        opened.settle()
        assert opened.numbers("y") == [10, 10, 10, 10]


def test_the_backend_is_chosen(page: Any, bundle: Path) -> None:
    opened = page(bundle)
    noise = opened.numbers("y")
    opened.browser.find_element(By.CSS_SELECTOR, "#backend [value=js]").click()
    opened.settle()
    assert opened.text("#times").startswith("runs on\njs\nload")
    np.testing.assert_allclose(opened.numbers("y"), noise, rtol=1e-4)
    assert opened.text("#status").startswith("in a Worker")


def test_noise_follows_its_seed(page: Any, bundle: Path) -> None:
    opened = page(bundle)
    before = opened.numbers("y")
    seeds = [before]
    for seed in (7, 1):
        field = opened.browser.find_element(By.NAME, "seed-x")
        field.clear()
        field.send_keys(f"{seed}\n")
        opened.settle()
        seeds.append(opened.numbers("y"))
    assert seeds[0] == seeds[2] != seeds[1]


def png(colour: tuple[int, int, int]) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(file, "png")
    return file.getvalue()


def test_texts_are_typed(page: Any, tmp_path: Path) -> None:
    import keras

    x = keras.Input((2,), dtype="string", name="words")
    keras.Model(
        x, keras.layers.StringLookup(vocabulary=["film", "play"], name="places")(x), name="looked"
    ).save(tmp_path / "looked.keras")
    assert (
        main(
            [
                "build",
                str(tmp_path / "looked.keras"),
                "--backend",
                "js",
                "-o",
                str(tmp_path / "bundle"),
            ]
        )
        == 0
    )
    opened = page(tmp_path / "bundle")
    assert opened.numbers("places") == [0, 0]
    fields = opened.browser.find_elements(By.CSS_SELECTOR, "[data-input=words] input")
    for field, word in zip(fields, ("play", "film"), strict=True):
        field.clear()
        field.send_keys(word)
    opened.browser.find_element(By.ID, "run").click()
    opened.settle()
    assert opened.numbers("places") == [2, 1]


def test_an_image_is_dropped(page: Any, colours: Path) -> None:
    opened = page(colours)
    np.testing.assert_allclose(opened.numbers("means"), [0.5, 0.5, 0.5], atol=0.05)
    opened.drop("image", "sea.png", png((0, 51, 204)), "image/png")
    np.testing.assert_allclose(opened.numbers("means"), [0, 0.2, 0.8], atol=1e-3)
    assert opened.text("[data-output=means] ol").split("\n")[:2] == ["blue", "80.0 %"]
    assert "sea.png, 40 \N{MULTIPLICATION SIGN} 30 pixels" in opened.text("[data-input=image]")
    preview = (
        "const c = document.querySelector('[data-input=image] canvas'); return"
        " [...c.getContext('2d').getImageData(20, 15, 1, 1).data];"
    )
    assert opened.browser.execute_script(preview) == [0, 51, 204, 255]
    opened.choose("image", "zeros")
    assert opened.numbers("means") == [0, 0, 0]


def test_an_image_is_chosen(page: Any, colours: Path, tmp_path: Path) -> None:
    opened = page(colours)
    (tmp_path / "grass.png").write_bytes(png((0, 255, 0)))
    opened.browser.find_element(By.NAME, "file-image").send_keys(str(tmp_path / "grass.png"))
    WebDriverWait(opened.browser, 30).until(
        lambda _: "grass.png" in opened.text("[data-input=image]")
    )
    opened.settle()
    assert opened.numbers("means") == [0, 1, 0]


@pytest.mark.parametrize("dtype", ["<i4", "<i8", "|u1", "<f8"])
def test_an_array_determines_the_open_sizes(dtype: str, page: Any, colours: Path) -> None:
    opened = page(colours)
    assert "int32 [16, 2]" in opened.text("[data-output=same]")
    file = io.BytesIO()
    np.save(file, np.array([[1, 2], [3, 4], [5, 6]], dtype))
    opened.drop("rows", "rows.npy", file.getvalue())
    assert "int32 [3, 2]" in opened.text("[data-output=same]")
    assert opened.numbers("same") == [1, 2, 3, 4, 5, 6]


def fortran() -> bytes:
    file = io.BytesIO()
    np.save(file, np.asfortranarray(np.zeros((2, 3), np.int32)))
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "file", "data", "kind", "message"),
    [
        (
            "rows",
            "cat.png",
            png((1, 2, 3)),
            "image/png",
            "cat.png: input rows is not an image; use a .npy or .json file",
        ),
        ("rows", "x.npy", b"PK", "", "x.npy: not a .npy file; write one with numpy.save"),
        ("rows", "f.npy", fortran(), "", "f.npy: the array is in Fortran order"),
        (
            "rows",
            "x.json",
            b"[[1, 2], [3]]",
            "",
            (
                "x.json: expected a list of numbers, or nested lists of equal lengths; got [3] at"
                " depth 1"
            ),
        ),
        ("rows", "x.json", b"[[1.5, 2]]", "", "WrongValue: input 'rows'"),
        ("rows", "x.json", b"[1, 2, 3]", "", "WrongLength: input 'rows'"),
        ("image", "x.png", b"no png", "image/png", "x.png: "),
    ],
)
def test_mismatched_inputs_are_reported(
    name: str, file: str, data: bytes, kind: str, message: str, page: Any, colours: Path
) -> None:
    opened = page(colours)
    browser = opened.browser
    opened.drop(name, file, data, kind)
    WebDriverWait(browser, 30).until(lambda _: message in opened.text("#error"))
    opened.choose(name, "zeros")
    assert not browser.find_element(By.ID, "error").is_displayed(), "it goes with the next run"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 1200), ("light", 400)])
@pytest.mark.sample("light-1200")
def test_the_page_fits_and_follows_the_colour_scheme(
    scheme: str, width: int, page: Any, colours: Path
) -> None:
    opened = page(colours)
    pixels = screenshot(scheme, width)
    assert has_content(pixels)
    assert (pixels[2, 2].mean() > 128) == (scheme == "light")
    assert opened.browser.execute_script(
        "return document.documentElement.scrollWidth <= innerWidth"
    ), "nothing is cut off"
    unnamed = (
        "return [...document.querySelectorAll('input, select, button')].filter(e =>"
        " !e.labels?.length && !e.textContent).length"
    )
    assert opened.browser.execute_script(unnamed) == 0, "every control has a label"
