/** @import { Tensor } from './types.ts' */
import { arrayOf, sizeOf } from './main.js';

/** One input or output of a runner. The array that `toActual` gives stays the same; a run overwrites that of an output. */
export class SymbolicTypedArray {
  /** @type {any} */
  #array;

  /** @param {Tensor} tensor */
  constructor({ name, dtype, shape, order = '' }) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.order = order;
    this.isDynamic = false;
    this.offset = 0;
    this.#array = new (arrayOf(dtype))(sizeOf(shape));
  }

  get length() {
    return this.#array.length;
  }

  /** @returns {any} */
  toActual() {
    return this.#array;
  }

  /**
   * @param {any} array numbers, typed or nested
   * @param {number} [offset] the index at which they are written
   */
  set(array, offset = 0) {
    this.#array.set(Array.isArray(array) ? array.flat(Infinity) : array, offset);
  }
}

export class SymbolicFloat32Array extends SymbolicTypedArray {}

/** @param {Tensor} tensor */
const viewOf = tensor => tensor.dtype === 'float32' ? new SymbolicFloat32Array(tensor) : new SymbolicTypedArray(tensor);

/**
 * Views by index, and by name wherever the name is not one of an array's own.
 * @param {Tensor[]} tensors
 * @returns {SymbolicTypedArray[] & Record<string, any>}
 */
export function viewsOf(tensors) {
  const views = tensors.map(viewOf);
  for (const view of views) {
    if (!(view.name in views)) Object.defineProperty(views, view.name, { value: view });
  }
  return /** @type {any} */ (views);
}
