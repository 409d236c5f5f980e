import { WebkilnError } from './main.js';

/**
 * @typedef {{ srcX?: number, srcY?: number, srcW?: number, srcH?: number }} SourceRect
 * @typedef {{ dstX?: number, dstY?: number, dstW?: number, dstH?: number }} DestinationRect
 * @typedef {HTMLImageElement | HTMLVideoElement | HTMLCanvasElement | OffscreenCanvas | ImageBitmap
 *   | ImageData | VideoFrame} Drawable
 * @typedef {HTMLCanvasElement | OffscreenCanvas} Canvas
 */

const DRAWABLE =
  /^\[object (HTML(Image|Video|Canvas)Element|OffscreenCanvas|ImageBitmap|ImageData|VideoFrame)\]$/;

/**
 * @param {unknown} value
 * @returns {value is Drawable}
 */
export const isDrawable = value => DRAWABLE.test(Object.prototype.toString.call(value));

/**
 * @param {number} width
 * @param {number} height
 * @returns {Canvas}
 */
export function makeCanvas(width, height) {
  if (typeof document === 'undefined') return new OffscreenCanvas(width, height);
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  return canvas;
}

/**
 * @param {Canvas} canvas
 * @returns {CanvasRenderingContext2D}
 */
export function contextOf(canvas) {
  const context = /** @type {any} */ (canvas).getContext('2d', { willReadFrequently: true });
  if (!context) throw new WebkilnError('WrongOption', 'the canvas has a context other than 2d');
  return context;
}

/**
 * @param {Drawable} drawable
 * @returns {[width: number, height: number]} the intrinsic size, independent of the layout
 */
export function extentOf(drawable) {
  const {
    naturalWidth,
    videoWidth,
    displayWidth,
    width,
    naturalHeight,
    videoHeight,
    displayHeight,
    height,
  } = /** @type {any} */ (drawable);
  return [
    naturalWidth ?? videoWidth ?? displayWidth ?? width,
    naturalHeight ?? videoHeight ?? displayHeight ?? height,
  ];
}

/**
 * Scale the source rectangle to the destination rectangle. Returns the pixels from (0, 0) to the
 * bottom right corner of the destination.
 * @param {Drawable} drawable
 * @param {SourceRect & DestinationRect} options
 * @param {ImageSmoothingQuality} [quality]
 */
export function pixelsOf(drawable, options, quality = 'low') {
  const [width, height] = extentOf(drawable);
  const { srcX = 0, srcY = 0, srcW = width, srcH = height, dstX = 0, dstY = 0 } = options;
  const { dstW = srcW, dstH = srcH } = options;
  // Crop first: scaling a rectangle of a canvas blends in pixels outside the rectangle.
  const part = makeCanvas(srcW, srcH);
  if ('data' in drawable) contextOf(part).putImageData(drawable, -srcX, -srcY);
  else contextOf(part).drawImage(drawable, srcX, srcY, srcW, srcH, 0, 0, srcW, srcH);
  const context = contextOf(makeCanvas(dstX + dstW, dstY + dstH));
  context.imageSmoothingQuality = quality;
  context.drawImage(part, dstX, dstY, dstW, dstH);
  return context.getImageData(0, 0, dstX + dstW, dstY + dstH);
}
