/** @import { Dtype, Size, Tensor, TypedArray, TypedArrayConstructor } from './types.ts' */
import { WebkilnError } from './errors.js';

/** How memory holds a dtype; float16 is its 16 bits there. @type {Record<Dtype, any>} */
export const ARRAYS = {
  float32: Float32Array,
  float16: Uint16Array,
  float64: Float64Array,
  bool: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
};

/** @type {any} */
const FLOAT16 = /** @type {any} */ (globalThis).Float16Array;

/** Arrays that a dtype takes besides its own. @type {Record<string, string[]>} */
const ALTERNATIVES = { float16: ['Float16Array'], uint8: ['Uint8ClampedArray'] };

/**
 * @param {Dtype} dtype
 * @returns {TypedArrayConstructor}
 */
export const arrayOf = dtype => ARRAYS[dtype];

/**
 * What a caller gets of a dtype: for float16 the array of numbers where the engine has one.
 * @param {Dtype} dtype
 * @returns {TypedArrayConstructor}
 */
export const interfaceArray = dtype => (dtype === 'float16' && FLOAT16) || ARRAYS[dtype];

/**
 * What memory holds, as a caller sees it.
 * @param {Dtype} dtype
 * @param {TypedArray} value
 * @returns {TypedArray}
 */
export const toInterface = (dtype, value) =>
  new (interfaceArray(dtype))(value.buffer, value.byteOffset, value.length);

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
export const shapeAt = (shape, values) =>
  shape.map(size =>
    typeof size === 'number' ? size : Object.hasOwn(values, size) ? Number(values[size]) : NaN,
  );

/**
 * @param {any} value
 * @returns {boolean} whether it is a buffer of a GPU
 */
export const isBuffer = value => Object.prototype.toString.call(value) === '[object GPUBuffer]';

const LISTED = 20;
const LONGEST = 60;

/**
 * What was given, for messages: never the data itself.
 * @param {unknown} value
 * @returns {string}
 */
export function describe(value) {
  if (Object(value) !== value)
    return typeof value === 'string' ? `'${truncate(value)}'` : truncate(String(value));
  const { length } = /** @type {any} */ (value);
  return typeof length === 'number' ? `${kindOf(value)} of ${length}` : kindOf(value);
}

/** @param {string} text */
const truncate = text => (text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text);

/**
 * @param {string[]} names
 * @returns {string}
 */
export const listOf = names =>
  names
    .slice(0, LISTED)
    .map(name => `'${truncate(String(name))}'`)
    .concat(names.length > LISTED ? ['...'] : [])
    .join(', ') || 'none';

/**
 * @param {unknown} value
 * @returns {string}
 */
export const kindOf = value =>
  value === null
    ? 'null'
    : Object(value) === value
      ? (/** @type {any} */ (value).constructor?.name ?? 'an object')
      : typeof value;

/**
 * Writes an array of numbers; every element must be what the dtype holds.
 * @param {Tensor} tensor
 * @param {any[]} value
 * @param {any} into
 */
function writePlain({ name, dtype }, value, into) {
  const zero = typeof into[0];
  value.forEach((item, index) => {
    const fits = typeof item === zero || (dtype === 'bool' && typeof item === 'boolean');
    if (fits) into[index] = item;
    if (
      fits &&
      (dtype.startsWith('float') || (into[index] == item && (dtype !== 'bool' || item <= 1)))
    )
      return;
    throw new WebkilnError(
      fits ? 'WrongValue' : 'WrongDtype',
      `input '${name}': element ${index} is ${describe(item)}, not of ${dtype}`,
    );
  });
}

/**
 * One input as memory holds its dtype: in a fresh typed array, or, where it is `lent` and like that already, as it is.
 * @param {Tensor} tensor
 * @param {any} value a typed array of the dtype, or an array of numbers
 * @param {Record<string, number>} placeholders
 * @param {boolean} lent
 * @returns {TypedArray}
 */
function readInput(tensor, value, placeholders, lent) {
  if (isBuffer(value)) return value;
  const { name, dtype } = tensor;
  const type = arrayOf(dtype);
  const taken = [type.name, ...(ALTERNATIVES[dtype] ?? [])];
  const kind = ArrayBuffer.isView(value) ? /** @type {any} */ (value)[Symbol.toStringTag] : '';
  const plain = Array.isArray(value) && (dtype !== 'float16' || FLOAT16);
  if (!plain && !taken.includes(kind)) {
    throw new WebkilnError(
      'WrongDtype',
      `input '${name}': expected ${taken.join(' or ')} or an array of numbers (${dtype}), got ${describe(value)}`,
    );
  }
  const shape = shapeAt(tensor.shape, placeholders);
  const size = sizeOf(shape);
  if (value.length !== size) {
    throw new WebkilnError(
      'WrongLength',
      `input '${name}': expected ${size} elements for shape [${shape}], got ${value.length}`,
    );
  }
  if (lent && kind === type.name && dtype !== 'bool') return value;
  const copy = /** @type {any} */ (
    new (plain || kind === 'Float16Array' ? interfaceArray(dtype) : type)(size)
  );
  if (plain) writePlain(tensor, value, copy);
  else copy.set(dtype === 'bool' ? value.map(Boolean) : value);
  return new type(copy.buffer);
}

/** @param {Tensor[]} tensors */
const advice = tensors =>
  `pass { ${tensors
    .slice(0, LISTED)
    .map(({ name }) => `${/^\w+$/.test(name) ? name : `'${name}'`}: ...`)
    .join(', ')} } to run`;

/**
 * Inputs by name: the only input of a model may be given without its name.
 * @param {Tensor[]} tensors
 * @param {any} inputs
 * @returns {any}
 */
export function inputsByName(tensors, inputs) {
  if (
    inputs === undefined ||
    inputs === null ||
    Object.prototype.toString.call(inputs) === '[object Object]'
  )
    return inputs ?? {};
  const [only, ...others] = tensors;
  if (only && others.length === 0 && typeof inputs === 'object') return { [only.name]: inputs };
  throw new WebkilnError(
    'MissingInput',
    `expected an object with the inputs, got ${describe(inputs)}; ${advice(tensors)}`,
  );
}

/**
 * Checks names, dtypes and element counts, and copies the values, so that the caller may reuse its arrays at once, unless they are `lent`: read before anything else happens.
 * @param {Tensor[]} tensors
 * @param {any} inputs
 * @param {Record<string, number>} placeholders
 * @param {boolean} lent
 * @returns {Record<string, TypedArray>}
 */
export function readInputs(tensors, inputs, placeholders, lent) {
  const names = tensors.map(tensor => tensor.name);
  const given = Object.keys(inputs);
  const unknown = given.filter(name => !names.includes(name));
  if (unknown.length > 0) {
    throw new WebkilnError(
      'UnknownInput',
      `there is no input ${listOf(unknown)}; the inputs are ${listOf(names)}`,
    );
  }
  const missing = names.filter(name => !given.includes(name) || inputs[name] === undefined);
  if (missing.length > 0) {
    throw new WebkilnError(
      'MissingInput',
      `input ${listOf(missing)} is missing; ${advice(tensors)}`,
    );
  }
  return Object.fromEntries(
    tensors.map(tensor => [
      tensor.name,
      readInput(tensor, inputs[tensor.name], placeholders, lent),
    ]),
  );
}
