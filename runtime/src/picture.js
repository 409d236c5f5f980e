/** @import { Size, Tensor } from './types.ts' */
/** @import { Drawable } from './canvas.js' */
import { WebkilnError, arrayOf } from './main.js';
import { extentOf, isDrawable, pixelsOf } from './canvas.js';
import { pack } from './pixels.js';

/**
 * The rectangle of an image to scale to a size: the entire image, or the largest centred rectangle
 * with the aspect ratio of the size.
 * @param {[width: number, height: number]} extent
 * @param {'stretch' | 'crop'} fit
 * @param {number} dstW
 * @param {number} dstH
 */
function cropOf([width, height], fit, dstW, dstH) {
  const srcW =
    fit === 'crop' ? Math.max(1, Math.min(width, Math.round((height * dstW) / dstH))) : width;
  const srcH =
    fit === 'crop' ? Math.max(1, Math.min(height, Math.round((width * dstH) / dstW))) : height;
  return { srcX: (width - srcW) >> 1, srcY: (height - srcH) >> 1, srcW, srcH, dstW, dstH };
}

/**
 * @param {Drawable} drawable
 * @param {ReturnType<typeof cropOf>} crop
 */
function pixelsAt(drawable, crop) {
  const [width, height] = extentOf(drawable);
  const same =
    'data' in drawable &&
    width === crop.dstW &&
    height === crop.dstH &&
    drawable.data instanceof Uint8ClampedArray;
  return same ? /** @type {ImageData} */ (drawable) : pixelsOf(drawable, crop, 'high');
}

/**
 * The largest size up to `extent` whose remainder by `modulus` is one of `remainders`. If there is
 * none, the smallest such size.
 * @param {number} extent
 * @param {[modulus: number, remainders: number[]]} allowed
 */
function alignedSize(extent, [modulus, remainders]) {
  const below = remainders
    .map(rest => extent - ((((extent - rest) % modulus) + modulus) % modulus))
    .filter(size => size > 0);
  return below.length > 0
    ? Math.max(...below)
    : Math.min(...remainders.map(rest => rest || modulus));
}

/**
 * Convert the images among the inputs to arrays, as the recipe declares. Placeholders that are not
 * set become the size of the image, or the largest valid size below it.
 * @param {Tensor[]} tensors
 * @param {Record<string, any>} inputs
 * @param {Record<string, number>} placeholders
 * @param {import('./external_texture.js').TextureImporter | null} [importer] converts on the GPU
 * @returns {[inputs: Record<string, any>, placeholders: Record<string, number>, imported: any[]]}
 */
export function takeImages(tensors, inputs, placeholders, importer) {
  const [arrays, sizes] = [{ ...inputs }, { ...placeholders }];
  /** @type {any[]} */
  const imported = [];
  for (const { name, dtype, shape, image } of tensors) {
    const value = inputs[name];
    if (!image || !isDrawable(value)) continue;
    const extent = extentOf(value);
    if (extent.includes(0))
      throw new WebkilnError(
        'WrongLength',
        `input '${name}': the image has no pixels; wait until it has loaded`,
      );
    const lengthOf = (/** @type {Size} */ size, /** @type {number} */ otherwise) => {
      if (typeof size === 'number') return size;
      if (!Object.hasOwn(sizes, size))
        sizes[size] = image.remainders?.[size]
          ? alignedSize(otherwise, image.remainders[size])
          : otherwise;
      return Number(sizes[size]);
    };
    if (shape.length === 4) lengthOf(/** @type {Size} */ (shape[0]), 1);
    try {
      const crop = cropOf(
        extent,
        image.fit,
        lengthOf(image.size[1], extent[0]),
        lengthOf(image.size[0], extent[1]),
      );
      const options = {
        type: /** @type {any} */ (arrayOf(dtype)),
        color: image.color,
        order: image.layout,
        bias: image.mean,
        scale: image.scale,
      };
      const buffer = dtype === 'float32' ? importer?.convert(value, extent, crop, options) : null;
      if (buffer) imported.push(buffer);
      arrays[name] = buffer ?? pack(pixelsAt(value, crop), options);
    } catch (error) {
      if (/** @type {any} */ (error).name !== 'SecurityError') throw error;
      throw new WebkilnError(
        'Tainted',
        `input '${name}': the pixels of an image from another origin cannot be read; ` +
          'load it with crossorigin="anonymous" from a server that allows it',
      );
    }
  }
  return [arrays, sizes, imported];
}
