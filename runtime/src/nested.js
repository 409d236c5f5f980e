/** @import { Tensor } from './types.ts' */
import { WebkilnError } from './errors.js';
import { describe } from './dtypes.js';

/** @type {(value: any) => boolean} */
const isRow = value => Array.isArray(value) || ArrayBuffer.isView(value);

/**
 * The elements of nested arrays, in row-major order, and their shape. Throws WrongLength if rows
 * differ in length or type.
 * @param {string} name the name of the input
 * @param {any[]} value arrays in arrays; the innermost may be typed arrays
 * @returns {[array: any, shape: number[]]}
 */
function flattenRows(name, value) {
  /** The first row of each depth. @type {any[]} */
  const first = [];
  for (let row = value; isRow(row); row = row[0]) first.push(row);
  const inner = first.at(-1);
  /** @type {any[]} */
  const rows = [];
  const visit = (/** @type {any} */ row, /** @type {number} */ depth, path = '') => {
    const [got, expected] = [row, first[depth]].map(describe);
    if (got !== expected) {
      throw new WebkilnError(
        'WrongLength',
        `input '${name}': row ${path} is ${got}, row ${'[0]'.repeat(depth)} is ${expected}; ` +
          'pad the rows to one length',
      );
    }
    if (depth === first.length - 1) rows.push(row);
    else
      row.forEach((/** @type {any} */ item, /** @type {number} */ index) =>
        visit(item, depth + 1, `${path}[${index}]`),
      );
  };
  visit(value, 0);
  const shape = first.map(({ length }) => length);
  if (Array.isArray(inner)) return [rows.flat(), shape];
  const array = new inner.constructor(rows.length * inner.length);
  rows.forEach((row, index) => array.set(row, index * inner.length));
  return [array, shape];
}

/**
 * Replace nested arrays by their elements.
 * @param {Tensor[]} tensors
 * @param {any} inputs
 * @returns {[inputs: any, shapes: Record<string, number[]>]} the inputs, and the shapes of those
 *   that were nested
 */
export function flattenInputs(tensors, inputs) {
  const flat = { ...inputs };
  /** @type {Record<string, number[]>} */
  const shapes = {};
  for (const { name, shape } of tensors) {
    const value = inputs[name];
    if (!Array.isArray(value) || !isRow(value[0])) continue;
    const [array, sizes] = flattenRows(name, value);
    if (
      sizes.length !== shape.length ||
      shape.some((size, axis) => typeof size === 'number' && size !== sizes[axis])
    ) {
      throw new WebkilnError(
        'WrongLength',
        `input '${name}': the nested arrays have shape [${sizes}], expected [${shape}]`,
      );
    }
    flat[name] = array;
    shapes[name] = sizes;
  }
  return [flat, shapes];
}
