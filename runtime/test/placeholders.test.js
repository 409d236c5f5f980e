import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shapeAt } from '../src/dtypes.js';
import { placeholdersOf } from '../src/placeholders.js';

test('placeholders can have names of properties of Object.prototype', () => {
  const manifest = {
    inputs: [{ name: 'x', dtype: 'float32', shape: [1, 'constructor', 2] }],
    placeholders: ['constructor'],
  };
  assert.deepEqual(placeholdersOf(/** @type {any} */ (manifest), { x: new Float32Array(8) }, {}), {
    constructor: 4,
  });
  assert.deepEqual(shapeAt([2, 'constructor'], {}), [2, NaN]);
});

test('inherited properties are not inputs', () => {
  const manifest = {
    inputs: [{ name: 'toString', dtype: 'float32', shape: ['H', 'W'] }],
    placeholders: ['H', 'W'],
  };
  assert.deepEqual(placeholdersOf(/** @type {any} */ (manifest), {}, {}), {});
});
