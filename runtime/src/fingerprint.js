/*
 * Hash buckets of strings, equal to those of `tf.strings.to_hash_bucket_fast` and
 * `to_hash_bucket_strong`: FarmHash's Fingerprint64 and SipHash-2-4 of the UTF-8 bytes.
 */

const [K0, K1, K2] = [0xc3a5c85c97cb3127n, 0xb492b66fbe98f273n, 0x9ae16a3b2f90404fn];

/** @param {bigint} value */
const wrap = value => BigInt.asUintN(64, value);

/** @param {bigint} value @param {bigint} count */
const rotateRight = (value, count) => wrap((value >> count) | (value << (64n - count)));

/** @param {bigint} value */
const shiftMix = value => value ^ (value >> 47n);

/** @param {bigint} u @param {bigint} v @param {bigint} factor */
function hashPair(u, v, factor) {
  const a = shiftMix(wrap((u ^ v) * factor));
  return wrap(shiftMix(wrap((v ^ a) * factor)) * factor);
}

/**
 * FarmHash (https://github.com/google/farmhash), `farmhashna::Hash64`.
 * @param {Uint8Array} bytes
 * @returns {bigint}
 */
export function fingerprint(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const size = bytes.length;
  const long = (/** @type {number} */ at) => view.getBigUint64(at, true);
  const factor = K2 + BigInt(size) * 2n;
  if (size <= 16) {
    if (size >= 8) {
      const [a, b] = [wrap(long(0) + K2), long(size - 8)];
      return hashPair(
        wrap(rotateRight(b, 37n) * factor + a),
        wrap((rotateRight(a, 25n) + b) * factor),
        wrap(factor),
      );
    }
    if (size >= 4)
      return hashPair(
        BigInt(size) + (BigInt(view.getUint32(0, true)) << 3n),
        BigInt(view.getUint32(size - 4, true)),
        wrap(factor),
      );
    if (size === 0) return K2;
    const [a = 0n, b = 0n, c = 0n] = [bytes[0], bytes[size >> 1], bytes[size - 1]].map(byte =>
      BigInt(byte ?? 0),
    );
    const [y, z] = [a + (b << 8n), BigInt(size) + (c << 2n)];
    return wrap(shiftMix(wrap(y * K2) ^ wrap(z * K0)) * K2);
  }
  if (size <= 32) {
    const [a, b, c, d] = [
      wrap(long(0) * K1),
      long(8),
      wrap(long(size - 8) * factor),
      wrap(long(size - 16) * K2),
    ];
    return hashPair(
      wrap(rotateRight(wrap(a + b), 43n) + rotateRight(c, 30n) + d),
      wrap(a + rotateRight(wrap(b + K2), 18n) + c),
      wrap(factor),
    );
  }
  if (size <= 64) {
    const [a, b, c, d] = [
      wrap(long(0) * K2),
      long(8),
      wrap(long(size - 8) * factor),
      wrap(long(size - 16) * K2),
    ];
    const y = wrap(rotateRight(wrap(a + b), 43n) + rotateRight(c, 30n) + d);
    const z = hashPair(y, wrap(a + rotateRight(wrap(b + K2), 18n) + c), wrap(factor));
    const [e, f, g, h] = [
      wrap(long(16) * factor),
      long(24),
      wrap((y + long(size - 32)) * factor),
      wrap((z + long(size - 24)) * factor),
    ];
    return hashPair(
      wrap(rotateRight(wrap(e + f), 43n) + rotateRight(g, 30n) + h),
      wrap(e + rotateRight(wrap(f + a), 18n) + g),
      wrap(factor),
    );
  }
  return hashLong(size, long);
}

/** @param {number} size @param {(at: number) => bigint} long */
function hashLong(size, long) {
  const seed = 81n;
  let [x, y] = [wrap(seed * K2 + long(0)), wrap(seed * K1 + 113n)];
  let z = wrap(shiftMix(wrap(y * K2 + 113n)) * K2);
  /** @type {[bigint, bigint]} */
  let v = [0n, 0n];
  /** @type {[bigint, bigint]} */
  let w = [0n, 0n];
  const weak = (
    /** @type {number} */ at,
    /** @type {bigint} */ first,
    /** @type {bigint} */ second,
  ) => {
    const a = wrap(first + long(at));
    const b = rotateRight(wrap(second + a + long(at + 24)), 21n);
    const c = wrap(a + long(at + 8) + long(at + 16));
    return /** @type {[bigint, bigint]} */ ([
      wrap(c + long(at + 24)),
      wrap(b + rotateRight(c, 44n) + a),
    ]);
  };
  const end = ((size - 1) >> 6) << 6;
  const last = end + ((size - 1) & 63) - 63;
  for (let at = 0; at < end; at += 64) {
    x = wrap(rotateRight(wrap(x + y + v[0] + long(at + 8)), 37n) * K1);
    y = wrap(rotateRight(wrap(y + v[1] + long(at + 48)), 42n) * K1);
    x ^= w[1];
    y = wrap(y + v[0] + long(at + 40));
    z = wrap(rotateRight(wrap(z + w[0]), 33n) * K1);
    v = weak(at, wrap(v[1] * K1), wrap(x + w[0]));
    w = weak(at + 32, wrap(z + w[1]), wrap(y + long(at + 16)));
    [z, x] = [x, z];
  }
  const factor = wrap(K1 + ((z & 0xffn) << 1n));
  w = [wrap(w[0] + BigInt((size - 1) & 63)), w[1]];
  v = [wrap(v[0] + w[0]), v[1]];
  w = [wrap(w[0] + v[0]), w[1]];
  x = wrap(rotateRight(wrap(x + y + v[0] + long(last + 8)), 37n) * factor);
  y = wrap(rotateRight(wrap(y + v[1] + long(last + 48)), 42n) * factor);
  x ^= wrap(w[1] * 9n);
  y = wrap(y + v[0] * 9n + long(last + 40));
  z = wrap(rotateRight(wrap(z + w[0]), 33n) * factor);
  v = weak(last, wrap(v[1] * factor), wrap(x + w[0]));
  w = weak(last + 32, wrap(z + w[1]), wrap(y + long(last + 16)));
  [z, x] = [x, z];
  return hashPair(
    wrap(hashPair(v[0], w[0], factor) + wrap(shiftMix(y) * K0) + z),
    wrap(hashPair(v[1], w[1], factor) + x),
    factor,
  );
}

/**
 * SipHash-2-4 (https://www.aumasson.jp/siphash/siphash.pdf).
 * @param {Uint8Array} bytes
 * @param {[bigint, bigint]} key
 * @returns {bigint}
 */
export function sipHash(bytes, [first, second]) {
  let [a, b, c, d] = /** @type {[bigint, bigint, bigint, bigint]} */ ([
    first ^ 0x736f6d6570736575n,
    second ^ 0x646f72616e646f6dn,
    first ^ 0x6c7967656e657261n,
    second ^ 0x7465646279746573n,
  ]);
  const left = (/** @type {bigint} */ value, /** @type {bigint} */ count) =>
    rotateRight(value, 64n - count);
  const round = () => {
    a = wrap(a + b);
    b = left(b, 13n) ^ a;
    a = left(a, 32n);
    c = wrap(c + d);
    d = left(d, 16n) ^ c;
    a = wrap(a + d);
    d = left(d, 21n) ^ a;
    c = wrap(c + b);
    b = left(b, 17n) ^ c;
    c = left(c, 32n);
  };
  const blocks = new Uint8Array((bytes.length >> 3) * 8 + 8);
  blocks.set(bytes);
  blocks[blocks.length - 1] = bytes.length;
  const view = new DataView(blocks.buffer);
  for (let at = 0; at < blocks.length; at += 8) {
    const word = view.getBigUint64(at, true);
    d ^= word;
    round();
    round();
    a ^= word;
  }
  c ^= 0xffn;
  for (let number = 0; number < 4; number++) round();
  return a ^ b ^ c ^ d;
}

/**
 * @param {string} text
 * @param {number} count
 * @param {string[] | null} salt
 */
export function bucketOf(text, count, salt) {
  const bytes = new TextEncoder().encode(text);
  const [first = 0, second = 0] = salt ?? [];
  const hash = salt
    ? sipHash(bytes, [wrap(BigInt(first)), wrap(BigInt(second))])
    : fingerprint(bytes);
  return Number(hash % BigInt(count));
}
