import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argmax, argmin, top } from '../src/math.js';

test('argmax and argmin return indices, best first, with ties in order', () => {
  assert.deepEqual(argmax([1, 5, 5, 3]), [1]);
  assert.deepEqual(argmax([1, 5, 5, 3], 3), [1, 2, 3]);
  assert.deepEqual(argmin(Float32Array.of(1, 5, 0, 0), 3), [2, 3, 0]);
  assert.deepEqual(argmax([2], 5), [0]);
  assert.deepEqual(argmax([]), []);
});

test('argmax agrees with sorting', () => {
  const values = Array.from({ length: 1000 }, (_, index) => (index * 7919) % 1009);
  const sorted = values
    .map((value, index) => ({ value, index }))
    .sort((a, b) => b.value - a.value)
    .map(({ index }) => index);
  assert.deepEqual(argmax(values, 1000), sorted);
  assert.deepEqual(argmin(values, 10), sorted.reverse().slice(0, 10));
});

test('top uses the labels of the output with the same number of elements', () => {
  const outputs = [{ name: 'a', labels: ['x', 'y', 'z'] }, { name: 'b' }];
  assert.deepEqual(top({ outputs }, Float32Array.of(0.25, 0.5, 0.125), 2), [
    { index: 1, label: 'y', score: 0.5 },
    { index: 0, label: 'x', score: 0.25 },
  ]);
  assert.deepEqual(top({ outputs: [{ name: 'b' }] }, [1, 3]), [{ index: 1, label: '1', score: 3 }]);
  assert.throws(() => top({ outputs }, new Float32Array(6)), {
    code: 'WrongLength',
    message: /expected one row.*got 6 scores/,
  });
  const others = [...outputs, { name: 'c', labels: ['p', 'q', 'r'] }];
  assert.throws(() => top({ outputs: others }, [1, 2, 3]), { code: 'WrongLength' });
});
