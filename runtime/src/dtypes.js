/** @import { Dtype, Size, Tensor, TypedArray, TypedArrayConstructor } from './types.ts' */
import { WebkilnError } from './errors.js';

/**
 * The storage array of each dtype; float16 values are stored as their bits.
 * @type {Record<Dtype, any>}
 */
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

/** Arrays that are accepted in addition to the storage array. @type {Record<string, string[]>} */
const ALTERNATIVES = { float16: ['Float16Array', 'Float32Array'], uint8: ['Uint8ClampedArray'] };

/**
 * @param {Dtype} dtype
 * @returns {TypedArrayConstructor}
 */
export const arrayOf = dtype => ARRAYS[dtype];

/**
 * The array type of a dtype in the interface: Float16Array for float16 if the engine supports it.
 * @param {Dtype} dtype
 * @returns {TypedArrayConstructor}
 */
export const interfaceArray = dtype => (dtype === 'float16' && FLOAT16) || ARRAYS[dtype];

/**
 * Convert a storage array to the array type of the interface.
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
 * Replace the placeholders of a shape by their values; NaN for one that is not set.
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
 * @returns {boolean} whether it is a GPUBuffer
 */
export const isBuffer = value => Object.prototype.toString.call(value) === '[object GPUBuffer]';

const MAX_LISTED = 20;
const MAX_LENGTH = 60;

/**
 * Describe a value in a message. Never prints data of arrays.
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
const truncate = text => (text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}...` : text);

/**
 * @param {string[]} names
 * @returns {string}
 */
export const listOf = names =>
  names
    .slice(0, MAX_LISTED)
    .map(name => `'${truncate(String(name))}'`)
    .concat(names.length > MAX_LISTED ? ['...'] : [])
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
 * Copy an array of numbers. Throws if an element is not a value of the dtype.
 * @param {Tensor} tensor
 * @param {any[]} value
 * @param {any} into
 */
function writePlain({ name, dtype }, value, into) {
  const zero = typeof into[0];
  value.forEach((given, index) => {
    const item = zero === 'bigint' && Number.isSafeInteger(given) ? BigInt(given) : given;
    const fits = typeof item === zero || (dtype === 'bool' && typeof item === 'boolean');
    if (fits) into[index] = item;
    if (
      fits &&
      (dtype.startsWith('float') || (into[index] == item && (dtype !== 'bool' || item <= 1)))
    )
      return;
    throw new WebkilnError(
      fits ? 'WrongValue' : 'WrongDtype',
      `input '${name}': element ${index} is ${describe(given)}, not of ${dtype}`,
    );
  });
}

const DOUBLE = new Float64Array(1);
const WORDS = new Uint32Array(DOUBLE.buffer);

/**
 * The bits of the nearest float16, ties to even, for engines without Float16Array. Beyond the
 * largest float16, that is infinity.
 * @param {number} value
 * @returns {number}
 */
export function halfBits(value) {
  DOUBLE[0] = value;
  const high = Number(WORDS[1]);
  const sign = (high >>> 16) & 0x8000;
  const size = Math.abs(value);
  if (!(size < 65520)) return sign | (size > 0 ? 0x7c00 : 0x7e00);
  const exponent = Math.max(-14, ((high >>> 20) & 0x7ff) - 1023);
  const unit = 2 ** (exponent - 10);
  // The sum has no bits below the unit.
  const rounded = size + unit * 2 ** 52 - unit * 2 ** 52;
  return sign | ((exponent + 14) * 1024 + rounded / unit);
}

/**
 * Convert one input to the storage array of its dtype. The array is new, unless `borrow` is set and
 * no conversion is needed.
 * @param {Tensor} tensor
 * @param {any} value a typed array of the dtype, an array of numbers, or a Float32Array for float16
 * @param {Record<string, number>} placeholders
 * @param {boolean} borrow
 * @returns {TypedArray}
 */
function readInput(tensor, value, placeholders, borrow) {
  if (isBuffer(value)) return value;
  const { name, dtype } = tensor;
  const type = arrayOf(dtype);
  const accepted = [type.name, ...(ALTERNATIVES[dtype] ?? [])];
  const kind = ArrayBuffer.isView(value) ? /** @type {any} */ (value)[Symbol.toStringTag] : '';
  const plain = Array.isArray(value);
  if (!plain && !accepted.includes(kind)) {
    throw new WebkilnError(
      'WrongDtype',
      `input '${name}': expected ${accepted.join(' or ')} or an array of numbers (${dtype}), ` +
        `got ${describe(value)}`,
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
  if (borrow && kind === type.name && dtype !== 'bool') return value;
  const half = dtype === 'float16' && kind !== type.name;
  const copy = /** @type {any} */ (new (half ? (FLOAT16 ?? Float64Array) : type)(size));
  if (plain) writePlain(tensor, value, copy);
  else copy.set(dtype === 'bool' ? value.map(Boolean) : value);
  return half && !FLOAT16 ? Uint16Array.from(copy, halfBits) : new type(copy.buffer);
}

/** @param {Tensor[]} tensors */
const advice = tensors =>
  `pass { ${tensors
    .slice(0, MAX_LISTED)
    .map(({ name }) => `${/^\w+$/.test(name) ? name : `'${name}'`}: ...`)
    .join(', ')} } to run`;

/**
 * Return the inputs by name. A model's only input may be passed without its name.
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
 * Check names, dtypes and element counts, and copy the values, so that the caller may reuse its
 * arrays. With `borrow`, the arrays are read before the caller continues and need no copy.
 * @param {Tensor[]} tensors
 * @param {any} inputs
 * @param {Record<string, number>} placeholders
 * @param {boolean} borrow
 * @returns {Record<string, TypedArray>}
 */
export function readInputs(tensors, inputs, placeholders, borrow) {
  const names = tensors.map(tensor => tensor.name);
  const passed = Object.keys(inputs);
  const unknown = passed.filter(name => !names.includes(name));
  if (unknown.length > 0) {
    throw new WebkilnError(
      'UnknownInput',
      `there is no input ${listOf(unknown)}; the inputs are ${listOf(names)}`,
    );
  }
  const missing = names.filter(name => !passed.includes(name) || inputs[name] === undefined);
  if (missing.length > 0) {
    throw new WebkilnError(
      'MissingInput',
      `input ${listOf(missing)} is missing; ${advice(tensors)}`,
    );
  }
  return Object.fromEntries(
    tensors.map(tensor => [
      tensor.name,
      readInput(tensor, inputs[tensor.name], placeholders, borrow),
    ]),
  );
}
