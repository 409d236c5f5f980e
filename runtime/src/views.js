/** @import { Tensor } from './types.ts' */
import { WebkilnError, shapeAt, interfaceArray, sizeOf } from './main.js';

/**
 * One input or output of a runner. `toActual` returns the same array until the shape changes; a run
 * overwrites the arrays of outputs.
 */
export class SymbolicTypedArray {
  /** @type {any} */
  #array = null;
  /** @type {Tensor['shape']} */
  #declared;

  /** @param {Tensor} tensor */
  constructor({ name, dtype, shape, order = '' }) {
    this.name = name;
    this.dtype = dtype;
    this.order = order;
    this.offset = 0;
    this.#declared = shape;
    this.isDynamic = shape.some(size => typeof size !== 'number');
    /** @type {number[]} */
    this.shape = [];
    if (!this.isDynamic) this.resize(shapeAt(shape, {}));
  }

  /** @param {number[]} shape */
  resize(shape) {
    if (this.#array?.length !== sizeOf(shape))
      this.#array = new (interfaceArray(this.dtype))(sizeOf(shape));
    this.shape = shape;
  }

  /** @param {Record<string, number>} placeholders the placeholders set so far */
  setPlaceholders(placeholders) {
    const shape = shapeAt(this.#declared, placeholders);
    if (!shape.some(Number.isNaN)) this.resize(shape);
  }

  get length() {
    return this.toActual().length;
  }

  /** @returns {any} */
  toActual() {
    if (this.#array) return this.#array;
    throw new WebkilnError(
      'MissingPlaceholder',
      `'${this.name}' has shape [${this.#declared}]; call setPlaceholderValue first`,
    );
  }

  /**
   * @param {any} array a typed or nested array of numbers
   * @param {number} [offset] the index at which they are written
   */
  set(array, offset = 0) {
    this.toActual().set(Array.isArray(array) ? array.flat(Infinity) : array, offset);
  }
}

export class SymbolicFloat32Array extends SymbolicTypedArray {}

/** @param {Tensor} tensor */
const viewOf = tensor =>
  tensor.dtype === 'float32' ? new SymbolicFloat32Array(tensor) : new SymbolicTypedArray(tensor);

/**
 * Views by index, and by name unless an array already has a property with this name.
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
