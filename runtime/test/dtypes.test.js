import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ARRAYS, copyInputs, sizeOf } from '../src/dtypes.js';

const tensor = (dtype, shape = [2, 2]) => ({ name: 'x', dtype, shape });

test('each dtype takes its own typed array and copies it', () => {
  for (const [dtype, type] of Object.entries(ARRAYS)) {
    const given = new type(4);
    const { x } = copyInputs([tensor(dtype)], { x: given });
    assert.equal(x.constructor, type, dtype);
    assert.notEqual(x.buffer, given.buffer);
  }
});

test('no dtype takes the array of another', () => {
  for (const [dtype, type] of Object.entries(ARRAYS)) {
    for (const other of new Set(Object.values(ARRAYS))) {
      if (other === type) continue;
      assert.throws(() => copyInputs([tensor(dtype)], { x: new other(4) }), { code: 'WrongDtype', message: new RegExp(`${type.name}.*${other.name}`) });
    }
  }
});

test('plain arrays of numbers are for float32 only', () => {
  assert.deepEqual(copyInputs([tensor('float32')], { x: [1, 2.5, NaN, -Infinity] }).x, Float32Array.of(1, 2.5, NaN, -Infinity));
  assert.throws(() => copyInputs([tensor('int32')], { x: [1, 2, 3, 4] }), { code: 'WrongDtype' });
});

test('messages name the input, what was expected and what came', () => {
  const message = /input 'x': expected 4 elements for shape \[2,2\], got 3/;
  assert.throws(() => copyInputs([tensor('float32')], { x: new Float32Array(3) }), { code: 'WrongLength', message });
  assert.throws(() => copyInputs([tensor('float32')], { y: [1] }), { code: 'UnknownInput', message: /there is no input 'y'; the inputs are 'x'/ });
});

test('a scalar has one element', () => {
  assert.equal(sizeOf([]), 1);
  assert.deepEqual(copyInputs([tensor('float32', [])], { x: [7] }).x, Float32Array.of(7));
});
