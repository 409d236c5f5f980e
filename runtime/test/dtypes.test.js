import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ARRAYS, halfBits, readInputs, inputsByName, describe, sizeOf } from '../src/dtypes.js';

const tensor = (dtype, shape = [2, 2]) => ({ name: 'x', dtype, shape });

test('each dtype accepts its own typed array and copies it', () => {
  for (const [dtype, type] of Object.entries(ARRAYS)) {
    const value = new type(4);
    const { x } = readInputs([tensor(dtype)], { x: value });
    assert.equal(x.constructor, type, dtype);
    assert.notEqual(x.buffer, value.buffer);
  }
});

test('no dtype accepts the array of another, but float16 accepts a Float32Array', () => {
  for (const [dtype, type] of Object.entries(ARRAYS)) {
    for (const other of new Set(Object.values(ARRAYS))) {
      if (other === type || (dtype === 'float16' && other === Float32Array)) continue;
      assert.throws(() => readInputs([tensor(dtype)], { x: new other(4) }), {
        code: 'WrongDtype',
        message: new RegExp(`${type.name}.*${other.name}`),
      });
    }
  }
});

/** @param {number} bits of a finite float16 */
const half = bits =>
  (bits & 0x8000 ? -1 : 1) *
  (bits & 0x7c00
    ? (1 + (bits & 0x3ff) / 1024) * 2 ** (((bits >> 10) & 31) - 15)
    : (bits & 0x3ff) * 2 ** -24);

test('every float16, the middle to the next one and its neighbours are rounded to even', () => {
  const ulp = 2 ** -52;
  for (let bits = 0; bits < 0x7c00; bits++) {
    const next = bits + 1;
    const above = next === 0x7c00 ? 65536 : half(next);
    const middle = (half(bits) + above) / 2;
    const even = bits % 2 ? next : bits;
    for (const [value, expected] of [
      [half(bits), bits],
      [middle, even],
      [middle * (1 - ulp), bits],
      [middle * (1 + ulp), next],
    ]) {
      assert.equal(halfBits(value), expected, `${value}`);
      assert.equal(halfBits(-value), expected | 0x8000, `${-value}`);
    }
  }
  for (const [value, expected] of [
    [0, 0],
    [-0, 0x8000],
    [5e-324, 0],
    [-1e-45, 0x8000],
    [1e300, 0x7c00],
    [-Infinity, 0xfc00],
    [NaN, 0x7e00],
  ])
    assert.equal(halfBits(Number(value)) & (Number.isNaN(value) ? 0x7fff : 0xffff), expected);
});

test('a float16 input accepts float32 values, bits and an array of numbers', () => {
  const { x: bits } = readInputs([tensor('float16')], { x: new Uint16Array([1, 2, 3, 0x3c00]) });
  assert.deepEqual(bits, new Uint16Array([1, 2, 3, 0x3c00]));
  const numbers = [1, 65520, 2 ** -25, -2049];
  for (const x of [numbers, new Float32Array(numbers)]) {
    const read = readInputs([tensor('float16')], { x }, {}, true).x;
    assert.deepEqual(read, new Uint16Array([0x3c00, 0x7c00, 0, 0xe800]));
  }
});

test('elements of plain arrays must be values of the dtype', () => {
  const valid = {
    float32: [1, 2.5, NaN, -Infinity],
    float64: [1e300, 2.5, NaN, -0],
    bool: [true, false, 1, 0],
    int8: [-128, 127, 0, 1],
    uint8: [0, 255, 1, 2],
    int16: [-32768, 32767, 0, 1],
    uint16: [0, 65535, 1, 2],
    int32: [-(2 ** 31), 2 ** 31 - 1, 0, 1],
    uint32: [0, 2 ** 32 - 1, 1, 2],
    int64: [-(2n ** 63n), 2n ** 63n - 1n, 0n, 1n],
    uint64: [0n, 2n ** 64n - 1n, 1n, 2n],
  };
  for (const [dtype, values] of Object.entries(valid)) {
    assert.deepEqual(
      readInputs([tensor(dtype)], { x: values }).x,
      ARRAYS[dtype].from(dtype === 'bool' ? values.map(Number) : values),
      dtype,
    );
  }
  const invalid = {
    bool: 2,
    int8: 128,
    uint8: -1,
    int16: 40000,
    uint16: 65536,
    int32: 0.5,
    uint32: -1,
    int64: 2n ** 63n,
    uint64: -1n,
  };
  for (const [dtype, value] of Object.entries(invalid)) {
    assert.throws(() => readInputs([tensor(dtype, [1])], { x: [value] }), {
      code: 'WrongValue',
      message: new RegExp(`element 0 is ${value}, not of ${dtype}`),
    });
  }
  for (const [dtype, value] of [
    ['int64', 0.5],
    ['int64', 2 ** 53],
    ['uint64', NaN],
    ['int64', '1'],
    ['int32', 1n],
    ['float32', '1'],
    ['uint8', true],
    ['bool', null],
  ]) {
    assert.throws(() => readInputs([tensor(dtype, [1])], { x: [value] }), { code: 'WrongDtype' });
  }
});

test('64-bit integers may be numbers that are exact', () => {
  const x = [1, -3, 5n, Number.MIN_SAFE_INTEGER];
  assert.deepEqual(readInputs([tensor('int64')], { x }).x, BigInt64Array.from(x, BigInt));
  assert.throws(() => readInputs([tensor('uint64', [1])], { x: [-1] }), {
    code: 'WrongValue',
    message: /element 0 is -1, not of uint64/,
  });
});

test('clamped arrays and Buffers are uint8, and bytes other than 0 are true', () => {
  const bytes = Uint8Array.of(0, 1, 2, 255);
  assert.deepEqual(readInputs([tensor('uint8')], { x: Uint8ClampedArray.from(bytes) }).x, bytes);
  assert.deepEqual(readInputs([tensor('uint8')], { x: Buffer.from(bytes) }).x, bytes);
  assert.deepEqual(readInputs([tensor('bool')], { x: bytes }).x, Uint8Array.of(0, 1, 1, 1));
});

test('the only input may be passed without its name', () => {
  assert.deepEqual(inputsByName([tensor('float32')], [1, 2]), { x: [1, 2] });
  assert.deepEqual(inputsByName([tensor('float32')], { x: 1 }), { x: 1 });
  assert.deepEqual(
    { ...inputsByName([tensor('float32')], Object.assign(Object.create(null), { x: 1 })) },
    { x: 1 },
  );
  const message =
    /^expected an object with the inputs, got Float32Array of 150528; pass \{ x: \.\.\., 'y z': \.\.\. \} to run$/;
  assert.throws(
    () => inputsByName([tensor('float32'), { name: 'y z' }], new Float32Array(150528)),
    {
      code: 'MissingInput',
      message,
    },
  );
});

test('no message prints data', () => {
  assert.equal(describe(new Float32Array(1e6)), 'Float32Array of 1000000');
  assert.equal(describe('a'.repeat(1000)).length, 65);
  const tensors = [tensor('float32'), { name: 'y' }];
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, 0]));
  for (const value of [
    new Float32Array(1e5),
    Array.from({ length: 1e5 }, () => 0),
    'x'.repeat(1e5),
    () => 0,
    new Map(),
  ]) {
    assert.throws(
      () => inputsByName(tensors, value),
      ({ message }) => message.length < 200,
    );
    assert.throws(
      () => readInputs([tensor('float64')], { x: value }),
      ({ message }) => message.length < 200,
    );
  }
  assert.throws(
    () => readInputs(tensors, many),
    ({ code, message }) => code === 'UnknownInput' && message.length < 300,
  );
});

test('messages name the input, the expected and the actual length', () => {
  const message = /input 'x': expected 4 elements for shape \[2,2\], got 3/;
  assert.throws(() => readInputs([tensor('float32')], { x: new Float32Array(3) }), {
    code: 'WrongLength',
    message,
  });
  assert.throws(() => readInputs([tensor('float32')], { y: [1] }), {
    code: 'UnknownInput',
    message: /there is no input 'y'; the inputs are 'x'/,
  });
});

test('a scalar has one element', () => {
  assert.equal(sizeOf([]), 1);
  assert.deepEqual(readInputs([tensor('float32', [])], { x: [7] }).x, Float32Array.of(7));
});

test('a borrowed input that needs no conversion is not copied', () => {
  const value = Float32Array.of(1, 2, 3, 4);
  assert.equal(readInputs([tensor('float32')], { x: value }, {}, true).x, value);
  assert.notEqual(readInputs([tensor('float32')], { x: value }, {}, false).x, value);
  assert.deepEqual(
    readInputs([tensor('bool')], { x: Uint8Array.of(0, 2, 1, 0) }, {}, true).x,
    Uint8Array.of(0, 1, 1, 0),
  );
});
