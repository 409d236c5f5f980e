/** @import { Size, Tensor } from './types.ts' */
/** @import { Drawable } from './canvas.js' */
import { WebkilnError, arrayOf } from './main.js';
import { extentOf, isDrawable, pixelsOf } from './canvas.js';
import { pack } from './pixels.js';

/**
 * The pixels of an image at a size: all of it, or the largest part around its middle that has the shape of the size.
 * @param {Drawable} drawable
 * @param {'stretch' | 'crop'} fit
 * @param {number} dstW
 * @param {number} dstH
 */
function pixelsAt(drawable, fit, dstW, dstH) {
  const [width, height] = extentOf(drawable);
  if ('data' in drawable && width === dstW && height === dstH && drawable.data instanceof Uint8ClampedArray) return drawable;
  const srcW = fit === 'crop' ? Math.max(1, Math.min(width, Math.round(height * dstW / dstH))) : width;
  const srcH = fit === 'crop' ? Math.max(1, Math.min(height, Math.round(width * dstH / dstW))) : height;
  return pixelsOf(drawable, { srcX: (width - srcW) >> 1, srcY: (height - srcH) >> 1, srcW, srcH, dstW, dstH }, 'high');
}

/**
 * The largest size up to that of an image that leaves one of `rests` when divided by `period`, or where there is none the least.
 * @param {number} extent
 * @param {[period: number, rests: number[]]} allowed
 */
function near(extent, [period, rests]) {
  const below = rests.map(rest => extent - ((extent - rest) % period + period) % period).filter(size => size > 0);
  return below.length > 0 ? Math.max(...below) : Math.min(...rests.map(rest => rest || period));
}

/**
 * Makes arrays of the images among the inputs, as the recipe declares. Open sizes that are not set become those of the image, or the nearest below that
 * the model can have.
 * @param {Tensor[]} tensors
 * @param {Record<string, any>} inputs
 * @param {Record<string, number>} placeholders
 * @returns {[inputs: Record<string, any>, placeholders: Record<string, number>]}
 */
export function takeImages(tensors, inputs, placeholders) {
  const [arrays, sizes] = [{ ...inputs }, { ...placeholders }];
  for (const { name, dtype, shape, image } of tensors) {
    const value = inputs[name];
    if (!image || !isDrawable(value)) continue;
    const extent = extentOf(value);
    if (extent.includes(0)) throw new WebkilnError('WrongLength', `input '${name}': the image has no pixels; wait until it has loaded`);
    const lengthOf = (/** @type {Size} */ size, /** @type {number} */ otherwise) => {
      if (typeof size === 'number') return size;
      if (!Object.hasOwn(sizes, size)) sizes[size] = image.rests?.[size] ? near(otherwise, image.rests[size]) : otherwise;
      return Number(sizes[size]);
    };
    if (shape.length === 4) lengthOf(/** @type {Size} */ (shape[0]), 1);
    try {
      const pixels = pixelsAt(value, image.fit, lengthOf(image.size[1], extent[0]), lengthOf(image.size[0], extent[1]));
      arrays[name] = pack(pixels, { type: /** @type {any} */ (arrayOf(dtype)), color: image.color, order: image.layout, bias: image.mean, scale: image.scale });
    } catch (error) {
      if (/** @type {any} */ (error).name !== 'SecurityError') throw error;
      throw new WebkilnError('Tainted', `input '${name}': the image is of another origin, which keeps its pixels; load it with crossorigin="anonymous" from a server that allows it`);
    }
  }
  return [arrays, sizes];
}
