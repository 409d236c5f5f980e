"""Pictures from every kind of element, and the expected values of inputs for them."""

import numpy as np
from onnx import TensorProto

FLOAT, UINT8 = TensorProto.FLOAT, TensorProto.UINT8
INPUTS: dict[str, tuple[int, list[int | str], str]] = {
    "plain": (FLOAT, [1, 5, 7, 3], 'fit = "stretch"'),
    "caffe": (FLOAT, [1, 5, 7, 3], 'color = "BGR"\nmean = [103.939, 116.779, 123.68]'),
    "torch": (
        FLOAT,
        [1, 3, 5, 7],
        'layout = "CHW"\nmean = [123.675, 116.28, 103.53]\nscale = [58.395, 57.12, 57.375]',
    ),
    "half": (FLOAT, [1, 5, 7, 3], "mean = 127.5\nscale = 127.5"),
    "grey": (FLOAT, [5, 7, 1], 'color = "GREY"\nscale = 255'),
    "bytes": (UINT8, [1, 5, 7, 4], 'color = "RGBA"'),
    "crop": (FLOAT, ["N", 5, 7, 3], 'fit = "crop"'),
    "open": (FLOAT, [1, "H", "W", 3], 'fit = "stretch"'),
}


def expected(name: str, pixels: np.ndarray) -> np.ndarray:
    """The values of an input for pixels [height, width, 4] of its size."""
    rgb = pixels[..., :3].astype(np.float64)
    match name:
        case "caffe":
            values = rgb[..., ::-1] - [103.939, 116.779, 123.68]
        case "torch":
            values = np.transpose(
                (rgb / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225], (2, 0, 1)
            )
        case "half":
            values = rgb / 127.5 - 1
        case "grey":
            values = rgb @ [[0.2126], [0.7152], [0.0722]] / 255
        case "bytes":
            values = pixels
        case _:
            values = rgb
    return values.ravel()


PAGE = '<!doctype html><link rel="icon" href="data:,"><title>images</title>'
PRELUDE = """
const { load } = await import('/bundle/index.js');
const pictureOf = (width, height) => new ImageData(
  Uint8ClampedArray.from({ length: width * height * 4 },
  (_, at) => at % 4 === 3 ? 255 : (at * 73 + (at >> 3) * 31) % 256), width, height);
const canvasOf = (data,
  canvas = Object.assign(document.createElement('canvas'),
  { width: data.width, height: data.height })) => {
  canvas.getContext('2d').putImageData(data, 0, 0);
  return canvas;
};
const imageOf = async data => {
  const image = new Image(3, 3);
  image.src = canvasOf(data).toDataURL();
  await image.decode();
  return image;
};
const videoOf = async data => {
  const canvas = canvasOf(data),
    video = Object.assign(document.createElement('video'),
    { muted: true, srcObject: canvas.captureStream(30) });
  const drawing = setInterval(() => canvasOf(data, canvas), 20);
  await video.play();
  clearInterval(drawing);
  return video;
};
const sources = {
  data: async data => data, canvas: async data => canvasOf(data),
    offscreen: async data => canvasOf(data, new OffscreenCanvas(data.width, data.height)),
  bitmap: data => createImageBitmap(data), image: imageOf, video: videoOf,
};
const model = await load({ worker: false });
const NAMES = model.manifest.inputs.map(({ name }) => name);
const zeros = Object.fromEntries(model.manifest.inputs.map(({ name, dtype, shape }) =>
  [name, new (dtype === 'uint8' ? Uint8Array : Float32Array)
    (shape.reduce((product, size) => product * (Number(size) || 1), 1))]));
const all = async (names, value, options) => {
  const outputs = await model.run(
    { ...zeros, ...Object.fromEntries(names.map(name => [name, value])) }, options);
  return Object.fromEntries(names.map(name => [name, Array.from(outputs[`${name}_out`])]));
};
const sized = { placeholders: { N: 1, H: 1, W: 1 } };
"""


def picture(width: int, height: int) -> np.ndarray:
    """The pixels of `pictureOf`, [height, width, 4]."""
    index = np.arange(width * height * 4)
    return (
        np.where(index % 4 == 3, 255, (index * 73 + (index >> 3) * 31) % 256)
        .astype(np.uint8)
        .reshape(height, width, 4)
    )
