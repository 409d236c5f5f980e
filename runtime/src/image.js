/** @import { PackOptions } from './pixels.js' */
import { WebkilnError } from './main.js';
import { pack, unpack } from './pixels.js';

/**
 * @typedef {{ srcX?: number, srcY?: number, srcW?: number, srcH?: number }} SourceRect
 * @typedef {{ dstX?: number, dstY?: number, dstW?: number, dstH?: number }} DestinationRect
 * @typedef {PackOptions & SourceRect & DestinationRect} ImageOptions
 * @typedef {HTMLImageElement | HTMLVideoElement | HTMLCanvasElement | ImageBitmap | ImageData} Drawable
 */

/** @param {number} width @param {number} height */
function makeCanvas(width, height) {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  return canvas;
}

/** @param {HTMLCanvasElement} canvas */
function contextOf(canvas) {
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) throw new WebkilnError('WrongOption', 'the canvas has another kind of context than 2d');
  return context;
}

/**
 * @param {Drawable} drawable
 * @returns {[number, number]}
 */
function extentOf(drawable) {
  if (drawable instanceof HTMLVideoElement) return [drawable.videoWidth, drawable.videoHeight];
  if (drawable instanceof HTMLImageElement) return [drawable.naturalWidth, drawable.naturalHeight];
  return [drawable.width, drawable.height];
}

/**
 * Cuts the source rectangle out, scales it into the destination rectangle and gives the pixels from (0, 0) to its far corner.
 * @param {Drawable} drawable
 * @param {SourceRect & DestinationRect} options
 */
function pixelsOf(drawable, options) {
  const [width, height] = extentOf(drawable);
  const { srcX = 0, srcY = 0, srcW = width, srcH = height, dstX = 0, dstY = 0 } = options;
  const { dstW = srcW, dstH = srcH } = options;
  // Cut first: scaling a part of a canvas blends in pixels from beside the part.
  const part = makeCanvas(srcW, srcH);
  if (drawable instanceof ImageData) contextOf(part).putImageData(drawable, -srcX, -srcY);
  else contextOf(part).drawImage(drawable, srcX, srcY, srcW, srcH, 0, 0, srcW, srcH);
  const context = contextOf(makeCanvas(dstX + dstW, dstY + dstH));
  context.drawImage(part, dstX, dstY, dstW, dstH);
  return context.getImageData(0, 0, dstX + dstW, dstY + dstH);
}

/**
 * @param {ImageData} image
 * @param {ImageOptions} [options] the rectangles are not used
 */
export const getImageArrayFromImageData = (image, options = {}) => pack(image, options);

/**
 * @param {HTMLCanvasElement} canvas
 * @param {ImageOptions} [options]
 */
export const getImageArrayFromCanvas = (canvas, options = {}) => pack(pixelsOf(canvas, options), options);

/**
 * @param {Drawable} drawable
 * @param {ImageOptions} [options]
 */
export const getImageArrayFromDrawable = (drawable, options = {}) => pack(pixelsOf(drawable, options), options);

/**
 * @param {string} url
 * @returns {Promise<HTMLImageElement>}
 */
export async function loadImageByUrl(url) {
  const image = document.createElement('img');
  const loaded = new Promise((resolve, reject) => {
    image.onload = resolve;
    image.onerror = () => reject(new WebkilnError('MissingFile', `${url} is not an image that can be loaded`));
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
 * Asks the user for an image file.
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
 * Loads an image from a URL, a file input or a drawable, cuts and scales it, and packs it into a typed array.
 * @param {string | HTMLInputElement | Drawable} image
 * @param {ImageOptions} [options]
 */
export async function getImageArray(image, options = {}) {
  if (typeof image === 'string') return getImageArrayFromDrawable(await loadImageByUrl(image), options);
  if (image instanceof HTMLInputElement) return getImageArrayFromDrawable(await loadImageFromFileInput(image), options);
  const types = [HTMLCanvasElement, HTMLImageElement, HTMLVideoElement, ImageBitmap, ImageData];
  if (types.some(type => image instanceof type)) return getImageArrayFromDrawable(image, options);
  throw new WebkilnError('WrongDtype', 'image: expected a URL, a file input, an image, a video, a canvas, an ImageBitmap or ImageData');
}

/**
 * Draws an array on a canvas: each pixel is `element * scale + bias`. The source rectangle of the image fills the destination rectangle.
 * @param {any} array numbers, typed or nested, `imageW * imageH` times the number of channels
 * @param {number} imageW
 * @param {number} imageH
 * @param {HTMLCanvasElement} canvas
 * @param {ImageOptions} [options]
 */
export function setImageArrayToCanvas(array, imageW, imageH, canvas, options = {}) {
  const { srcX = 0, srcY = 0, srcW = imageW, srcH = imageH } = options;
  const { dstX = 0, dstY = 0, dstW = canvas.width, dstH = canvas.height } = options;
  const flat = Array.isArray(array) ? array.flat(Infinity) : array;
  const image = unpack(flat, imageW, imageH, { x: srcX, y: srcY, width: srcW, height: srcH }, options);
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
