/** Sample inputs, arrays from files, and statistics of outputs. */

const ARRAYS = {
  float32: Float32Array,
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

/** numpy's `descr` in .npy files -> dtype. */
const DESCR = {
  '<f4': 'float32',
  '<f8': 'float64',
  '|b1': 'bool',
  '|i1': 'int8',
  '<i2': 'int16',
  '<i4': 'int32',
  '<i8': 'int64',
  '|u1': 'uint8',
  '<u2': 'uint16',
  '<u4': 'uint32',
  '<u8': 'uint64',
};

/** A seeded generator of numbers in [0, 1) (mulberry32). */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Create an array of a dtype: of bigints for 64-bit integers, and a plain array for float16. */
const fill = (dtype, length, value) => {
  const type = ARRAYS[dtype] ?? Array;
  const big = dtype === 'int64' || dtype === 'uint64';
  return type.from({ length }, () => (big ? BigInt(Math.trunc(value())) : value()));
};

/** An input whose elements are sizes. */
export const ofSizes = ({ dtype, sizes }, sizeOf) => {
  const values = sizes.map(sizeOf).values();
  return fill(dtype, sizes.length, () => values.next().value);
};

export const zeros = ({ dtype }, length) => fill(dtype, length, () => 0);

/** Random numbers in [0, 1), integers from 0 to 7, or numbers of the distribution of an input. */
export function noise({ dtype, distribution }, length, seed) {
  const next = generator(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const truncated = () => {
    for (;;) {
      const value = normal();
      if (Math.abs(value) <= 2) return value;
    }
  };
  const { name, mean = 0, stddev = 1, minval = 0, maxval = 1 } = distribution ?? {};
  const uniform =
    dtype === 'bool'
      ? () => Number(next() > 0.5)
      : /int/.test(dtype)
        ? () => Math.floor(next() * 8)
        : next;
  const distributions = {
    normal: () => mean + stddev * normal(),
    truncated_normal: () => mean + stddev * truncated(),
    uniform: () => minval + (maxval - minval) * next(),
    randint: () => Math.floor(minval + (maxval - minval) * next()),
  };
  return fill(dtype, length, distributions[name] ?? uniform);
}

export function noiseImage(width, height, seed) {
  const next = generator(seed);
  const data = new Uint8ClampedArray(width * height * 4);
  for (let at = 0; at < data.length; at++) data[at] = at % 4 === 3 ? 255 : Math.floor(next() * 256);
  return new ImageData(data, width, height);
}

/** Read a .npy file of version 1 to 3. Returns `{ dtype, shape, values }`. */
export function readNpy(buffer) {
  const bytes = new Uint8Array(buffer);
  if (String.fromCharCode(...bytes.subarray(0, 6)) !== '\x93NUMPY')
    throw new Error('not a .npy file; write one with numpy.save');
  const view = new DataView(buffer);
  const long = bytes[6] > 1;
  const start = long ? 12 : 10;
  const end = start + (long ? view.getUint32(8, true) : view.getUint16(8, true));
  const header = new TextDecoder().decode(bytes.subarray(start, end));
  const [, descr] = /'descr': *'([^']*)'/.exec(header) ?? [];
  const [, sizes] = /'shape': *\(([^)]*)\)/.exec(header) ?? [];
  const dtype = DESCR[descr];
  if (dtype === undefined || sizes === undefined) {
    throw new Error(
      `the array has the dtype ${descr ?? 'of a structure'}, expected little-endian ` +
        `${Object.values(DESCR).join(', ')}; convert it with numpy's astype`,
    );
  }
  if (/'fortran_order': *True/.test(header))
    throw new Error('the array is in Fortran order; convert it with numpy.ascontiguousarray');
  const shape = sizes
    .split(',')
    .map(size => size.trim())
    .filter(Boolean)
    .map(Number);
  const length = shape.reduce((product, size) => product * size, 1);
  const type = ARRAYS[dtype];
  if (bytes.length < end + length * type.BYTES_PER_ELEMENT)
    throw new Error(`the file is truncated: expected ${length} numbers; save it again`);
  return {
    dtype,
    shape,
    values: new type(buffer.slice(end, end + length * type.BYTES_PER_ELEMENT)),
  };
}

/** Read the numbers of a JSON file: a list, or nested lists of equal lengths. */
export function readJson(text) {
  const shape = [];
  const value = JSON.parse(text);
  for (let inner = value; Array.isArray(inner); inner = inner[0]) shape.push(inner.length);
  const check = (inner, depth) => {
    const fits =
      depth === shape.length
        ? typeof inner === 'number' || typeof inner === 'boolean'
        : Array.isArray(inner) && inner.length === shape[depth];
    if (!fits)
      throw new Error(
        'expected a list of numbers, or nested lists of equal lengths; ' +
          `got ${JSON.stringify(inner)?.slice(0, 40)} at depth ${depth}`,
      );
    if (depth < shape.length) for (const item of inner) check(item, depth + 1);
  };
  check(value, 0);
  return {
    dtype: null,
    shape,
    values: shape.length === 0 ? [Number(value)] : value.flat(Infinity).map(Number),
  };
}

/**
 * Convert an array of a file for `run`: unchanged if it has the dtype of the input, else numbers.
 */
export function toInput({ name, dtype }, array) {
  if (array.dtype === dtype) return array.values;
  if (dtype !== 'int64' && dtype !== 'uint64') return Array.from(array.values, Number);
  const fraction = Array.from(array.values).find(
    value => typeof value === 'number' && !Number.isInteger(value),
  );
  if (fraction !== undefined)
    throw new Error(`input ${name}: expected integers (${dtype}), got ${fraction}`);
  return Array.from(array.values, BigInt);
}

/**
 * The minimum, maximum and mean of the finite numbers, the count of others, and the first numbers.
 */
export function summary(values, count = 12) {
  let [least, largest, sum, finite] = [Infinity, -Infinity, 0, 0];
  for (const each of values) {
    const value = Number(each);
    if (!Number.isFinite(value)) continue;
    finite += 1;
    sum += value;
    if (value < least) least = value;
    if (value > largest) largest = value;
  }
  return {
    least,
    largest,
    mean: sum / finite,
    finite,
    others: values.length - finite,
    first: Array.from(values.slice(0, count), Number),
  };
}

export const formatNumber = value =>
  Number.isInteger(value)
    ? String(value)
    : Number.isFinite(value)
      ? String(Number(value.toPrecision(5)))
      : String(value);
