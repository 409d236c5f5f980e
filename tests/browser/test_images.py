"""Images as inputs: the values that a bundle computes from pictures, compared with numpy."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.browser.pictures import INPUTS, PAGE, PRELUDE, expected, picture
from tests.frontends.onnx.models import model
from tests.models.conftest import Model
from tests.runtime.tampering import Site, serve
from webkiln.backends import browsers
from webkiln.build.engine import Engine
from webkiln.recipe.read import read_recipe

HEIGHT, WIDTH = 5, 7


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose outputs are its inputs."""
    folder = tmp_path_factory.mktemp("images")
    (folder / "net").mkdir()
    nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name in INPUTS]
    shapes = [
        [helper.make_tensor_value_info(f"{name}{end}", t, s) for name, (t, s, _) in INPUTS.items()]
        for end in ("", "_out")
    ]
    onnx.save(model(nodes, *shapes), folder / "net" / "net.onnx")
    images = "".join(f"[inputs.{name}]\n{text}\n" for name, (_, _, text) in INPUTS.items())
    (folder / "net" / "recipe.toml").write_text(f'source = "net.onnx"\nbackends = ["js"]\n{images}')
    with Engine(folder / ".webkiln") as engine:
        return Model(engine, read_recipe(folder / "net" / "recipe.toml"), folder).bundle()


@pytest.fixture(scope="module")
def evaluate(bundle: Path) -> Iterator[Any]:
    def run(body: str) -> Any:
        script = (
            f"const done = arguments[arguments.length - 1]; (async () => {{ {PRELUDE} {body}"
            " })().then(value => done({ value }), error => done({ code: error.code ?? null,"
            " message: String(error) }));"
        )
        answer = browsers.session("chromium").execute_async_script(script)
        return answer.get("value", answer)

    with serve(Site(bundle, pages={"/empty": PAGE})) as site:
        browsers.session("chromium").get(site.url + "/empty")
        yield run
        browsers.session("chromium").get("about:blank")


FIXED = [name for name in INPUTS if name != "open"]


@pytest.mark.parametrize("source", ["data", "canvas", "offscreen", "bitmap", "image"])
def test_pixels_of_the_right_size_are_exact(source: str, evaluate: Any) -> None:
    result = evaluate(
        f"return all({json.dumps(FIXED)}, await sources.{source}(pictureOf(7, 5)), sized);"
    )
    for name in FIXED:
        np.testing.assert_allclose(
            result[name], expected(name, picture(7, 5)), rtol=1e-6, atol=2e-6, err_msg=name
        )


def test_frames_of_a_video(evaluate: Any) -> None:
    """The frame has one colour, since codecs preserve colours only roughly."""
    result = evaluate("""
        const flat = new ImageData(
          Uint8ClampedArray.from({ length: 64 * 48 * 4 }, (_, at) => [200, 100, 50, 255][at % 4]),
          64, 48);
        return all(['plain'], await videoOf(flat), sized);
    """)
    np.testing.assert_allclose(
        np.reshape(result["plain"], (-1, 3)), np.tile([200, 100, 50], (35, 1)), atol=6
    )


@pytest.mark.parametrize("source", ["data", "canvas", "bitmap", "image"])
@pytest.mark.parametrize(("width", "height"), [(14, 10), (40, 33), (3, 2)])
def test_other_sizes_are_scaled_by_the_browser(
    source: str, width: int, height: int, evaluate: Any
) -> None:
    """A canvas of the test scales the image in the same way."""
    result = evaluate(f"""
        const canvas = document.createElement('canvas'), context = canvas.getContext('2d');
        Object.assign(canvas, {{ width: 7, height: 5 }});
        context.imageSmoothingQuality = 'high';
        context.drawImage(canvasOf(pictureOf({width}, {height})), 0, 0, 7, 5);
        const names = NAMES.filter(name => !['crop', 'open'].includes(name));
        return [Array.from(context.getImageData(0, 0, 7, 5).data),
          await all(names, await sources.{source}(pictureOf({width}, {height})), sized)];
    """)
    pixels = np.array(result[0], np.uint8).reshape(5, 7, 4)
    for name, values in result[1].items():
        np.testing.assert_allclose(
            values, expected(name, pixels), rtol=1e-6, atol=2e-6, err_msg=name
        )


def test_scaling_preserves_positions(evaluate: Any) -> None:
    """A ramp remains a ramp: each pixel is the value at its centre, with a tolerance of a quarter
    of a pixel (a step is 30 or 50 levels).
    """
    result = evaluate("""
        const data = new ImageData(Uint8ClampedArray.from({ length: 70 * 50 * 4 }, (_, at) =>
          [(at >> 2) % 70 * 3, Math.floor((at >> 2) / 70) * 5, 128, 255][at % 4]), 70, 50);
        return all(['plain'], data, sized);
    """)
    values = np.reshape(result["plain"], (5, 7, 3))[1:-1, 1:-1]
    rows, columns = np.mgrid[1:4, 1:6]
    centres = np.stack(
        [(columns * 10 + 4.5) * 3, (rows * 10 + 4.5) * 5, np.full_like(rows, 128)], axis=-1
    )
    np.testing.assert_allclose(values, centres, atol=7.5)


@pytest.mark.parametrize(
    ("width", "height", "crop"),
    [(11, 5, np.s_[:, 2:9]), (7, 9, np.s_[2:7, :]), (7, 5, np.s_[:, :])],
)
def test_a_crop_is_the_middle(width: int, height: int, crop: Any, evaluate: Any) -> None:
    result = evaluate(f"return all(['crop'], canvasOf(pictureOf({width}, {height})), sized);")
    np.testing.assert_array_equal(result["crop"], picture(width, height)[crop][..., :3].ravel())


def test_open_sizes_are_those_of_the_image_unless_they_are_set(evaluate: Any) -> None:
    result = evaluate(
        "return [await all(['open'], canvasOf(pictureOf(4, 9))), model.shapes.open_out];"
    )
    np.testing.assert_array_equal(result[0]["open"], picture(4, 9)[..., :3].ravel())
    assert result[1] == [1, 9, 4, 3]
    assert evaluate(
        "await all(['open'], canvasOf(pictureOf(4, 9)), { placeholders: { H: 6, W: 5 } }); return"
        " model.shapes.open_out;"
    ) == [
        1,
        6,
        5,
        3,
    ]


@pytest.mark.parametrize(
    ("value", "code", "message"),
    [
        (
            "new Image()",
            "WrongLength",
            "input 'plain': the image has no pixels; wait until it has loaded",
        ),
        ("document.createElement('video')", "WrongLength", "wait until it has loaded"),
        (
            "'picture.png'",
            "WrongDtype",
            (
                "input 'plain': expected Float32Array or an array of numbers (float32), got"
                " 'picture.png'"
            ),
        ),
        ("document.body", "WrongDtype", "got HTMLBodyElement"),
        ("pictureOf(7, 5).data", "WrongDtype", "got Uint8ClampedArray of 140"),
    ],
)
def test_inputs_that_are_not_images(value: str, code: str, message: str, evaluate: Any) -> None:
    result = evaluate(f"return all(['plain'], {value}, sized);")
    assert result["code"] == code
    assert message in result["message"]


def test_an_image_of_another_origin(evaluate: Any) -> None:
    with serve(Site(Path(__file__).parent)) as other:
        url = other.url.replace("127.0.0.1", "localhost") + "/bundle/dot.png"
        result = evaluate(f"""
            const image = new Image();
            image.src = {json.dumps(url)};
            await image.decode();
            return all(['plain'], image, sized);
        """)
    assert result["code"] == "Tainted", result
    assert 'crossorigin="anonymous"' in result["message"]


def test_only_bundles_with_image_inputs_contain_image_code(bundle: Path, tmp_path: Path) -> None:
    from tests.runtime import fake_bundle

    assert "drawImage" in (bundle / "runtime.js").read_text()
    assert "drawImage" not in (fake_bundle.build(tmp_path) / "runtime.js").read_text()
