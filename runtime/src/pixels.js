import { WebkilnError, describe } from './main.js';

/** @type {Record<string | number, any>} */
export const Order = Object.freeze({ CHW: 0, HWC: 1, 0: 'CHW', 1: 'HWC' });

/** @type {Record<string | number, any>} */
export const Color = Object.freeze({
  RGB: 0,
  BGR: 1,
  GREY: 2,
  RGBA: 3,
  BGRA: 4,
  0: 'RGB',
  1: 'BGR',
  2: 'GREY',
  3: 'RGBA',
  4: 'BGRA',
});

/**
 * For each color format, the indices of its channels in a canvas pixel (red, green, blue, alpha).
 * @type {Record<string, number[]>}
 */
const CHANNELS = {
  RGB: [0, 1, 2],
  BGR: [2, 1, 0],
  GREY: [0, 1, 2],
  RGBA: [0, 1, 2, 3],
  BGRA: [2, 1, 0, 3],
};

/** The weights of red, green and blue in luma (ITU-R BT.709). */
const LUMA = [0.2126, 0.7152, 0.0722];

/**
 * @typedef {{ new (length: number): Float32Array | Int32Array | Uint8Array }} ArrayType
 */
/**
 * @typedef {object} PackOptions
 * @property {ArrayType} [type]
 * @property {number | string} [color]
 * @property {number | string} [order]
 * @property {number | number[]} [bias]
 * @property {number | number[]} [scale]
 */

/**
 * @param {Record<string | number, any>} names
 * @param {string} option
 * @param {number | string} value
 * @returns {string}
 */
function nameOf(names, option, value) {
  const name = typeof value === 'string' && value in names ? value : names[value];
  if (typeof name === 'string' && typeof names[name] === 'number') return name;
  const valid = Object.keys(names)
    .filter(key => typeof names[key] === 'number')
    .join(', ');
  throw new WebkilnError(
    'WrongOption',
    `${option}: expected one of ${valid}, got ${describe(value)}`,
  );
}

/** @param {PackOptions} options */
export function layout({ color = Color.RGB, order = Order.HWC, bias = 0, scale = 1 }) {
  const format = nameOf(Color, 'color', color);
  const grey = format === 'GREY';
  const channels = /** @type {number[]} */ (CHANNELS[format]);
  const pick = (
    /** @type {number | number[]} */ values,
    /** @type {number} */ channel,
    /** @type {number} */ otherwise,
  ) =>
    typeof values === 'number'
      ? channel < 3
        ? values
        : otherwise
      : (values[channel] ?? (grey ? values[0] : otherwise) ?? otherwise);
  return {
    grey,
    channels,
    planar: nameOf(Order, 'order', order) === 'CHW',
    bias: channels.map((_, channel) => pick(bias, channel, 0)),
    scale: channels.map((_, channel) => pick(scale, channel, 1)),
  };
}

/**
 * Pack canvas pixels into an array. Each element is `(pixel - bias) / scale`, with one bias and
 * scale per channel, in the order of `color`.
 * @param {ImageData} image
 * @param {PackOptions} [options]
 */
export function pack(image, options = {}) {
  const { grey, channels, planar, bias, scale } = layout(options);
  const { data, width, height } = image;
  const pixels = width * height;
  const depth = grey ? 1 : channels.length;
  const array = new (options.type ?? Float32Array)(pixels * depth);
  for (let pixel = 0; pixel < pixels; pixel++) {
    let luma = 0;
    for (let channel = 0; channel < channels.length; channel++) {
      const from = pixel * 4 + /** @type {number} */ (channels[channel]);
      const element = /** @type {number} */ (data[from]) - /** @type {number} */ (bias[channel]);
      const value = element / /** @type {number} */ (scale[channel]);
      if (grey) luma += value * /** @type {number} */ (LUMA[channel]);
      else array[planar ? channel * pixels + pixel : pixel * depth + channel] = value;
    }
    if (grey) array[pixel] = luma;
  }
  return array;
}

/**
 * The inverse of `pack` for a rectangle of the image. Missing channels are 255.
 * @param {ArrayLike<number>} array
 * @param {number} width
 * @param {number} height
 * @param {{ x: number, y: number, width: number, height: number }} crop
 * @param {PackOptions} [options]
 */
export function unpack(array, width, height, crop, options = {}) {
  const { grey, channels, planar, bias, scale } = layout(options);
  const depth = grey ? 1 : channels.length;
  if (array.length !== width * height * depth) {
    throw new WebkilnError(
      'WrongLength',
      `image: expected ${width * height * depth} elements for ${width} x ${height} x ${depth}, ` +
        `got ${array.length}`,
    );
  }
  const data = new Uint8ClampedArray(crop.width * crop.height * 4).fill(255);
  for (let row = 0; row < crop.height; row++) {
    for (let column = 0; column < crop.width; column++) {
      const pixel = (crop.y + row) * width + crop.x + column;
      const target = (row * crop.width + column) * 4;
      for (let channel = 0; channel < channels.length; channel++) {
        const source = grey ? 0 : channel;
        const value = /** @type {any} */ (
          array[planar ? source * width * height + pixel : pixel * depth + source]
        );
        data[target + /** @type {any} */ (channels[channel])] =
          value * /** @type {any} */ (scale[source]) + /** @type {any} */ (bias[source]);
      }
    }
  }
  return new ImageData(data, crop.width, crop.height);
}
