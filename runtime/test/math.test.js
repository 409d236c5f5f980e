import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argmax, argmin } from '../src/math.js';

test('argmax and argmin give indices, best first, ties in order', () => {
  assert.deepEqual(argmax([1, 5, 5, 3]), [1]);
  assert.deepEqual(argmax([1, 5, 5, 3], 3), [1, 2, 3]);
  assert.deepEqual(argmin(Float32Array.of(1, 5, 0, 0), 3), [2, 3, 0]);
  assert.deepEqual(argmax([2], 5), [0]);
  assert.deepEqual(argmax([]), []);
});

test('argmax agrees with sorting', () => {
  const values = Array.from({ length: 1000 }, (_, index) => (index * 7919) % 1009);
  const sorted = values.map((value, index) => ({ value, index })).sort((a, b) => b.value - a.value).map(({ index }) => index);
  assert.deepEqual(argmax(values, 1000), sorted);
  assert.deepEqual(argmin(values, 10), sorted.reverse().slice(0, 10));
});
