/** @import { Dtype, Size, Tensor, TypedArray, TypedArrayConstructor } from './types.ts' */
import { WebkilnError } from './errors.js';

/** float16 travels as its 16 bits, because Node 20 has no Float16Array. @type {Record<Dtype, any>} */
export const ARRAYS = {
  float32: Float32Array, float16: Uint16Array, float64: Float64Array, bool: Uint8Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
};

/**
 * @param {Dtype} dtype
 * @returns {TypedArrayConstructor}
 */
export const arrayOf = dtype => ARRAYS[dtype];

/**
 * @param {number[]} shape
 * @returns {number}
 */
export const sizeOf = shape => shape.reduce((product, length) => product * length, 1);

/**
 * The shape of an input at given placeholders; NaN stands for one that is not set.
 * @param {Size[]} shape
 * @param {Record<string, number>} values
 * @returns {number[]}
 */
export const shapeAt = (shape, values) => shape.map(size => typeof size === 'number' ? size : Object.hasOwn(values, size) ? Number(values[size]) : NaN);

/**
 * @param {string[]} names
 * @returns {string}
 */
export const listOf = names => names.map(name => `'${name}'`).join(', ') || 'none';

/**
 * @param {unknown} value
 * @returns {string}
 */
const kindOf = value => value === null ? 'null' : Object(value) === value
  ? /** @type {any} */ (value).constructor?.name ?? 'an object' : typeof value;

/**
 * Copies one input into a fresh typed array of its dtype.
 * @param {Tensor} tensor
 * @param {any} value a typed array of the dtype, or an array of numbers for float32
 * @param {Record<string, number>} placeholders
 * @returns {TypedArray}
 */
function copyInput(tensor, value, placeholders) {
  const type = arrayOf(tensor.dtype);
  const plain = tensor.dtype === 'float32' && Array.isArray(value);
  if (!plain && value?.constructor?.name !== type.name) {
    const also = tensor.dtype === 'float32' ? ' or an array of numbers' : '';
    throw new WebkilnError('WrongDtype', `input '${tensor.name}': expected ${type.name}${also} (${tensor.dtype}), got ${kindOf(value)}`);
  }
  const shape = shapeAt(tensor.shape, placeholders);
  const size = sizeOf(shape);
  if (value.length !== size) {
    throw new WebkilnError('WrongLength',
      `input '${tensor.name}': expected ${size} elements for shape [${shape}], got ${value.length}`);
  }
  if (plain) {
    const odd = value.findIndex((/** @type {unknown} */ item) => typeof item !== 'number');
    if (odd >= 0) {
      throw new WebkilnError('WrongDtype', `input '${tensor.name}': element ${odd} is ${kindOf(value[odd])}, expected a number`);
    }
  }
  const copy = new type(size);
  copy.set(value);
  return copy;
}

/**
 * Checks names, dtypes and element counts, and copies the values, so that the caller may reuse its arrays at once.
 * @param {Tensor[]} tensors
 * @param {any} inputs
 * @param {Record<string, number>} placeholders
 * @returns {Record<string, TypedArray>}
 */
export function copyInputs(tensors, inputs, placeholders) {
  const names = tensors.map(tensor => tensor.name);
  const given = inputs === null || typeof inputs !== 'object' ? [] : Object.keys(inputs);
  const unknown = given.filter(name => !names.includes(name));
  if (unknown.length > 0) {
    throw new WebkilnError('UnknownInput', `there is no input ${listOf(unknown)}; the inputs are ${listOf(names)}`);
  }
  const missing = names.filter(name => !given.includes(name) || inputs[name] === undefined);
  if (missing.length > 0) {
    throw new WebkilnError('MissingInput', `input ${listOf(missing)} is missing; pass {${names.join(', ')}} to run`);
  }
  return Object.fromEntries(tensors.map(tensor => [tensor.name, copyInput(tensor, inputs[tensor.name], placeholders)]));
}
