/** @import { PackOptions } from './pixels.js' */
/** @import { DestinationRect, Drawable, SourceRect } from './canvas.js' */
import { WebkilnError } from './main.js';
import { contextOf, isDrawable, makeCanvas, pixelsOf } from './canvas.js';
import { pack, unpack } from './pixels.js';

/** @typedef {PackOptions & SourceRect & DestinationRect} ImageOptions */

/**
 * @param {ImageData} image
 * @param {ImageOptions} [options] the rectangles are not used
 */
export const getImageArrayFromImageData = (image, options = {}) => pack(image, options);

/**
 * @param {HTMLCanvasElement} canvas
 * @param {ImageOptions} [options]
 */
export const getImageArrayFromCanvas = (canvas, options = {}) =>
  pack(pixelsOf(canvas, options), options);

/**
 * @param {Drawable} drawable
 * @param {ImageOptions} [options]
 */
export const getImageArrayFromDrawable = (drawable, options = {}) =>
  pack(pixelsOf(drawable, options), options);

/**
 * @param {string} url
 * @returns {Promise<HTMLImageElement>}
 */
export async function loadImageByUrl(url) {
  const image = document.createElement('img');
  const loaded = new Promise((resolve, reject) => {
    image.onload = resolve;
    image.onerror = () =>
      reject(new WebkilnError('MissingFile', `${url} is not an image that can be loaded`));
  });
  image.src = url;
  await loaded;
  return image;
}

/**
 * @param {HTMLInputElement} input an `<input type="file">`
 * @returns {Promise<HTMLImageElement>}
 */
export async function loadImageFromFileInput(input) {
  const file = input.files?.[0];
  if (!file) throw new WebkilnError('MissingFile', 'no file is selected');
  const url = URL.createObjectURL(file);
  try {
    return await loadImageByUrl(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/**
 * Show a dialog in which the user selects an image file.
 * @returns {Promise<HTMLImageElement>}
 */
export function loadImageByDialog() {
  const input = document.createElement('input');
  input.type = 'file';
  input.accept = 'image/*';
  input.hidden = true;
  document.body.append(input);
  return new Promise((resolve, reject) => {
    input.onchange = () => resolve(loadImageFromFileInput(input));
    input.oncancel = () => reject(new WebkilnError('MissingFile', 'no file is selected'));
    input.click();
  }).finally(() => input.remove());
}

/**
 * Load an image from a URL, a file input or a drawable, crop and scale it, and pack it into a typed
 * array.
 * @param {string | HTMLInputElement | Drawable} image
 * @param {ImageOptions} [options]
 */
export async function getImageArray(image, options = {}) {
  if (typeof image === 'string')
    return getImageArrayFromDrawable(await loadImageByUrl(image), options);
  if (image instanceof HTMLInputElement)
    return getImageArrayFromDrawable(await loadImageFromFileInput(image), options);
  if (isDrawable(image)) return getImageArrayFromDrawable(image, options);
  throw new WebkilnError(
    'WrongDtype',
    'image: expected a URL, a file input, an image, a video, a canvas, an ImageBitmap or ImageData',
  );
}

/**
 * Draw an array on a canvas. Each pixel is `element * scale + bias`. The source rectangle of the
 * image fills the destination rectangle.
 * @param {any} array typed or nested, with `imageW * imageH * channels` numbers
 * @param {number} imageW
 * @param {number} imageH
 * @param {HTMLCanvasElement} canvas
 * @param {ImageOptions} [options]
 */
export function setImageArrayToCanvas(array, imageW, imageH, canvas, options = {}) {
  const { srcX = 0, srcY = 0, srcW = imageW, srcH = imageH } = options;
  const { dstX = 0, dstY = 0, dstW = canvas.width, dstH = canvas.height } = options;
  const flat = Array.isArray(array) ? array.flat(Infinity) : array;
  const image = unpack(
    flat,
    imageW,
    imageH,
    { x: srcX, y: srcY, width: srcW, height: srcH },
    options,
  );
  const context = contextOf(canvas);
  if (srcW === dstW && srcH === dstH) {
    context.putImageData(image, dstX, dstY);
    return;
  }
  const source = makeCanvas(srcW, srcH);
  contextOf(source).putImageData(image, 0, 0);
  context.clearRect(dstX, dstY, dstW, dstH);
  context.drawImage(source, 0, 0, srcW, srcH, dstX, dstY, dstW, dstH);
}
