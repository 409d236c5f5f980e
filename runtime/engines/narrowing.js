/** Storage types of GPU memory, all of 32 bits. @type {Record<string, any>} */
export const WORDS = { float32: Float32Array, int32: Int32Array, uint32: Uint32Array };

/** The array type of each dtype in the interface. @type {Record<string, any>} */
const INTERFACE_ARRAYS = {
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

/**
 * Convert 64-bit integers to words. Throws WrongValue for integers that do not fit.
 * @param {PlacedTensor} placed
 * @param {BigInt64Array | BigUint64Array} value
 * @returns {TypedArray}
 */
function checkedWords({ name, dtype, storage }, value) {
  const words = new WORDS[storage](value.length);
  for (let at = 0; at < value.length; at++) {
    words[at] = Number(value[at]);
    if (BigInt(words[at]) !== value[at]) {
      const message =
        `'${name}': element ${at} is ${value[at]}; ` +
        `this backend stores ${dtype} as ${storage}, which cannot represent it`;
      throw Object.assign(new Error(message), { code: 'WrongValue' });
    }
  }
  return words;
}

/**
 * Convert interface values to their storage type.
 * @param {PlacedTensor} placed
 * @param {any} value
 * @returns {any}
 */
export function narrowed(placed, value) {
  const { dtype, storage } = placed;
  if (dtype === storage) return value;
  if (dtype === 'float16') return Float32Array.from(value, wk_half);
  return dtype === 'int64' || dtype === 'uint64'
    ? checkedWords(placed, value)
    : WORDS[storage].from(value);
}

/**
 * Convert stored values to their interface type.
 * @param {Omit<PlacedTensor, 'name'>} placed
 * @param {ArrayBuffer} bytes
 * @returns {TypedArray}
 */
export function widened({ dtype, storage }, bytes) {
  const words = new WORDS[storage](bytes);
  if (dtype === storage) return words;
  if (dtype === 'float16') return Uint16Array.from(words, wk_to_half);
  return INTERFACE_ARRAYS[dtype].from(
    words,
    dtype === 'int64' || dtype === 'uint64' ? BigInt : Number,
  );
}

/**
 * The bytes of a weight, padded to words. Values of 64 bits are narrowed to 32 bits.
 * @param {Uint8Array} bytes
 * @param {string | undefined} narrow the dtype of the bytes if it has 64 bits
 * @returns {Uint8Array}
 */
export function stagedWords(bytes, narrow) {
  const words = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  words.set(bytes);
  if (narrow === undefined) return words;
  const storage = { int64: 'int32', uint64: 'uint32' }[narrow] ?? 'float32';
  const value = new INTERFACE_ARRAYS[narrow](words.buffer);
  return new Uint8Array(
    narrowed(/** @type {any} */ ({ name: 'a weight', dtype: narrow, storage }), value).buffer,
  );
}
