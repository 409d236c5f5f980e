"""Images as inputs of WebGPU models: they are converted on the GPU, with the same values as by the
CPU.

The software GPU of these tests cannot import video frames. For imported frames, only the shader is
compiled here; video frames are converted on the CPU.
"""

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

LOADED = "const model = await load({ worker: false });"
FILM = """
const gpu = await load({ backends: 'webgpu', worker: false });
const counts = { frames: 0, buffers: 0 };
for (const [what, method, count] of [[gpu.device.queue, 'copyExternalImageToTexture', 'frames'],
  [gpu.device, 'createBuffer', 'buffers']]) {
  const original = what[method].bind(what);
  what[method] = (...values) => { counts[count]++; return original(...values); };
}
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose outputs are its inputs."""
    folder = tmp_path_factory.mktemp("external_texture")
    (folder / "net").mkdir()
    nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name in INPUTS]
    shapes = [
        [helper.make_tensor_value_info(f"{name}{end}", t, s) for name, (t, s, _) in INPUTS.items()]
        for end in ("", "_out")
    ]
    onnx.save(model(nodes, *shapes), folder / "net" / "net.onnx")
    images = "".join(f"[inputs.{name}]\n{text}\n" for name, (_, _, text) in INPUTS.items())
    (folder / "net" / "recipe.toml").write_text(
        f'source = "net.onnx"\nbackends = ["webgpu", "js"]\n{images}'
    )
    with Engine(folder / ".webkiln") as engine:
        return Model(engine, read_recipe(folder / "net" / "recipe.toml"), folder).bundle()


@pytest.fixture(scope="module")
def evaluate(bundle: Path) -> Iterator[Any]:
    def run(body: str) -> Any:
        prelude = PRELUDE.replace(LOADED, FILM + "const model = gpu;")
        script = (
            f"const done = arguments[arguments.length - 1]; (async () => {{ {prelude} try {{ return"
            f" await (async () => {{ {body} }})(); }} finally {{ gpu.dispose(); }} }})().then(value"
            " => done({ value }), error => done({ code: error.code ?? null, message:"
            " String(error) }));"
        )
        answer = browsers.session("chromium").execute_async_script(script)
        assert "value" in answer, answer
        return answer["value"]

    with serve(Site(bundle, pages={"/empty": PAGE})) as site:
        browsers.session("chromium").get(site.url + "/empty")
        yield run
        browsers.session("chromium").get("about:blank")


FLOATS = [name for name in INPUTS if name not in ("open", "bytes")]


@pytest.mark.parametrize("source", ["canvas", "offscreen", "bitmap"])
def test_an_image_of_the_input_size_is_not_resampled(source: str, evaluate: Any) -> None:
    values, frames = evaluate(f"""
        return [await all({json.dumps(FLOATS)}, await sources.{source}(pictureOf(7, 5)), sized),
          counts.frames];
    """)
    assert frames == len(FLOATS), "each input is converted on the GPU"
    for name in FLOATS:
        scale = {"half": 127.5, "torch": 57, "grey": 255}.get(name, 1)
        np.testing.assert_allclose(
            values[name], expected(name, picture(7, 5)), rtol=1e-5, atol=1.01 / scale, err_msg=name
        )


def test_a_pixel_is_the_mean_of_its_source_area(evaluate: Any) -> None:
    """The image is a ramp in both directions with steps of 3 and 5 levels."""
    result = evaluate("""
        const data = new ImageData(Uint8ClampedArray.from({ length: 70 * 50 * 4 }, (_, at) =>
          [(at >> 2) % 70 * 3, Math.floor((at >> 2) / 70) * 5, 128, 255][at % 4]), 70, 50);
        return all(['plain', 'crop'], canvasOf(data), sized);
    """)
    rows, columns = np.mgrid[0:50, 0:70]
    levels = np.stack([columns * 3, rows * 5, np.full_like(rows, 128)], axis=-1)
    means = levels.reshape(5, 10, 7, 10, 3).mean(axis=(1, 3)).ravel()
    for name, values in result.items():
        np.testing.assert_allclose(values, means, atol=1.01, err_msg=name)


@pytest.mark.parametrize(
    ("width", "height", "crop"), [(11, 5, np.s_[:, 2:9]), (7, 9, np.s_[2:7, :])]
)
def test_a_crop_is_the_middle(width: int, height: int, crop: Any, evaluate: Any) -> None:
    result = evaluate(f"return all(['crop'], canvasOf(pictureOf({width}, {height})), sized);")
    np.testing.assert_allclose(
        result["crop"], picture(width, height)[crop][..., :3].ravel(), atol=1.01
    )


def test_an_open_size_is_that_of_the_image(evaluate: Any) -> None:
    result = evaluate(
        "return [await all(['open'], canvasOf(pictureOf(4, 9))), model.shapes.open_out];"
    )
    np.testing.assert_allclose(result[0]["open"], picture(4, 9)[..., :3].ravel(), atol=1.01)
    assert result[1] == [1, 9, 4, 3]


def test_integers_are_converted_on_the_cpu(evaluate: Any) -> None:
    result = evaluate(
        "return [await all(['bytes'], canvasOf(pictureOf(7, 5)), sized), counts.frames];"
    )
    np.testing.assert_allclose(result[0]["bytes"], picture(7, 5).ravel(), atol=1.01)
    assert result[1] == 0


def test_a_video_that_cannot_be_imported_is_converted_on_the_cpu(evaluate: Any) -> None:
    """The frame has one colour, since codecs preserve colours only roughly."""
    result = evaluate("""
        const flat = new ImageData(
          Uint8ClampedArray.from({ length: 64 * 48 * 4 }, (_, at) => [200, 100, 50, 255][at % 4]),
          64, 48);
        return [await all(['plain'], await videoOf(flat), sized), counts.frames];
    """)
    np.testing.assert_allclose(
        np.reshape(result[0]["plain"], (-1, 3)), np.tile([200, 100, 50], (35, 1)), atol=6
    )
    assert result[1] == 0


def test_the_shader_of_imported_frames_compiles(evaluate: Any) -> None:
    """Imported frames need the same shader with another type of texture."""
    messages = evaluate("""
        const texts = [], { createShaderModule } = GPUDevice.prototype;
        gpu.device.createShaderModule = options =>
          (texts.push(options.code), createShaderModule.call(gpu.device, options));
        await all(['plain'], canvasOf(pictureOf(7, 5)), sized);
        const text = texts.find(code => code.includes('texture_2d<f32>'))
          .replace('texture_2d<f32>', 'texture_external');
        const module = createShaderModule.call(gpu.device, { code: text });
        await gpu.device.createComputePipelineAsync({ layout: 'auto', compute: { module } });
        return (await module.getCompilationInfo()).messages.map(({ message }) => message);
    """)
    assert messages == []


def test_buffers_are_reused_after_their_run(evaluate: Any) -> None:
    frames, buffers, values = evaluate("""
        const frames = [10, 90, 170].map(level => canvasOf(
          new ImageData(new Uint8ClampedArray(7 * 5 * 4).fill(level)
          .map((value, at) => at % 4 === 3 ? 255 : value),
          7, 5)));
        const both = await Promise.all(
          frames.slice(0, 2).map(frame => model.run({ ...zeros, plain: frame }, sized)));
        const before = counts.buffers;
        both.push(await model.run({ ...zeros, plain: frames[2] }, sized));
        return [counts.frames, counts.buffers - before, both.map(outputs => outputs.plain_out[0])];
    """)
    assert frames == 3
    assert buffers == 1, "only the parameters of the shader get a buffer"
    np.testing.assert_allclose(
        values, [10, 90, 170], atol=1.01, err_msg="queued runs keep their frames"
    )


def test_other_backends_convert_images_on_the_cpu(evaluate: Any) -> None:
    result = evaluate("""
        const js = await load({ backends: 'js', worker: false });
        const outputs = await js.run({ ...zeros, plain: canvasOf(pictureOf(7, 5)) }, sized);
        js.dispose();
        return [Array.from(outputs.plain_out), counts.frames];
    """)
    np.testing.assert_allclose(result[0], picture(7, 5)[..., :3].ravel(), atol=1.01)
    assert result[1] == 0
