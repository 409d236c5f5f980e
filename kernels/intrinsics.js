const wk_words = new DataView(new ArrayBuffer(4));

const wk_bits = (x) => (wk_words.setFloat32(0, x), wk_words.getInt32(0));

const wk_float = (x) => (wk_words.setInt32(0, x), wk_words.getFloat32(0));

const wk_rint = (x) => {
  const low = Math.floor(x), rest = x - low;
  return rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? (x < 0 && low === 0 ? -0 : low) : rest >= 0.5 ? (low === -1 ? -0 : low + 1) : x;
};

const wk_i32 = (x) => (x !== x ? 0 : x <= -2147483648 ? -2147483648 : x >= 2147483647 ? 2147483647 : x | 0);

const wk_u32 = (x) => (x !== x || x <= 0 ? 0 : x >= 4294967295 ? 4294967295 : x >>> 0);

const wk_i64 = (x) => BigInt.asIntN(64, x !== x ? 0n : x <= -(2 ** 63) ? -(2n ** 63n) : x >= 2 ** 63 ? 2n ** 63n - 1n : BigInt(Math.trunc(x)));

const wk_u64 = (x) => (x !== x || x <= 0 ? 0n : x >= 2 ** 64 ? 2n ** 64n - 1n : BigInt(Math.trunc(x)));

const wk_floordiv_64 = (a, b) => (b === 0n ? 0n : a / b - BigInt(a % b !== 0n && a < 0n !== b < 0n));

const wk_floormod_64 = (a, b) => (b === 0n ? 0n : a - wk_floordiv_64(a, b) * b);

const wk_floordiv = (a, b) => (b === 0 ? 0 : Math.floor(a / b));

const wk_floormod = (a, b) => (b === 0 ? 0 : a - Math.floor(a / b) * b);

const wk_pow = (x, y) => (x === 1 || (x === -1 && (y === Infinity || y === -Infinity)) ? 1 : Math.pow(x, y));

const wk_turn = (x) => (Math.abs(x) < 8192 ? x : Math.atan2(Math.sin(x), Math.cos(x)));

const wk_erf_single = (x) => {
  const a = x > 3.9192059 ? 3.9192059 : x < -3.9192059 ? -3.9192059 : x, s = a * a;
  const above = ((((2.054815998e-6 * s + 2.850243445e-4) * s + 3.758738654e-3) * s + 5.272727992e-2) * s + 1.901983391e-1) * s + 1.128379146;
  const below = ((((3.815043966e-5 * s + 1.161470619e-3) * s + 1.495474374e-2) * s + 1.140286311e-1) * s + 5.018916271e-1) * s + 1;
  const y = a * above / below;
  return y > 1 ? 1 : y < -1 ? -1 : y;
};

const wk_erf = (x) => {
  const size = Math.min(Math.abs(x), 6), square = size * size;
  let value = size;
  if (size < 3) {
    for (let n = 1, term = size; n < 60; n++) {
      term *= -square / n;
      value += term / (2 * n + 1);
    }
    value *= 1.1283791670955126;
  } else {
    let fraction = size;
    for (let k = 60; k > 0; k--) fraction = size + k / (2 * fraction);
    value = 1 - Math.exp(-square) / (fraction * 1.7724538509055159);
  }
  return x < 0 ? -value : value;
};

const wk_half = (h) => {
  const e = (h >> 10) & 31, m = h & 1023;
  const size = e === 0 ? m * 2 ** -24 : e === 31 ? (m ? NaN : Infinity) : (1 + m / 1024) * 2 ** (e - 15);
  return h & 0x8000 ? -size : size;
};

const wk_to_half = (x) => {
  const value = Math.fround(x), size = Math.abs(value), sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  if (size !== size) return sign | 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  if (size < 2 ** -14) return sign | wk_rint(size * 2 ** 24);
  const bits = wk_bits(size) - (112 << 23);
  return sign | ((bits + 0xfff + ((bits >> 13) & 1)) >> 13);
};

const wk_greatest = Math.max;

const wk_least = Math.min;
