/** @import { Tensor } from './types.ts' */
import { WebkilnError } from './errors.js';
import { describe, kindOf } from './dtypes.js';

/** @type {(value: any) => boolean} */
const isRow = value => Array.isArray(value) || ArrayBuffer.isView(value);

/**
 * The elements of nested arrays, in row-major order, and their shape. Throws WrongLength if rows
 * differ in length, and WrongDtype if they are arrays of several kinds.
 * @param {string} name the name of the input
 * @param {any[]} value arrays in arrays; the innermost may be typed arrays
 * @returns {[array: any, shape: number[]]}
 */
function flattenRows(name, value) {
  /** @type {number[]} */
  const shape = [];
  /** @type {any} */
  let first = value;
  for (let row = value; isRow(row); row = row[0]) shape.push((first = row).length);
  const kind = kindOf(first);
  /** @type {any[]} */
  const rows = [];
  const visit = (/** @type {any} */ row, /** @type {number} */ depth, path = '') => {
    const right = isRow(row) && row.length === shape[depth];
    if (!right) {
      throw new WebkilnError(
        'WrongLength',
        `input '${name}': row ${path} is ${describe(row)}, row ${'[0]'.repeat(depth)} has ` +
          `${shape[depth]} elements; pad the rows to one length`,
      );
    }
    if (depth < shape.length - 1)
      row.forEach((/** @type {any} */ item, /** @type {number} */ index) =>
        visit(item, depth + 1, `${path}[${index}]`),
      );
    else if (kindOf(row) === kind) rows.push(row);
    else {
      throw new WebkilnError(
        'WrongDtype',
        `input '${name}': row ${path} is ${describe(row)}, the first row is ${describe(first)}`,
      );
    }
  };
  visit(value, 0);
  if (Array.isArray(first)) return [rows.flat(), shape];
  const array = new first.constructor(rows.length * first.length);
  rows.forEach((row, index) => array.set(row, index * first.length));
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
