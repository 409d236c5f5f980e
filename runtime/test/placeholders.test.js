import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shapeAt } from '../src/dtypes.js';
import { placeholdersOf } from '../src/placeholders.js';

test('placeholders may have the names of what every object has', () => {
  const manifest = {
    inputs: [{ name: 'x', dtype: 'float32', shape: [1, 'constructor', 2] }],
    placeholders: ['constructor'],
  };
  assert.deepEqual(placeholdersOf(/** @type {any} */ (manifest), { x: new Float32Array(8) }, {}), {
    constructor: 4,
  });
  assert.deepEqual(shapeAt([2, 'constructor'], {}), [2, NaN]);
});

test('an input that is no own property is none', () => {
  const manifest = {
    inputs: [{ name: 'toString', dtype: 'float32', shape: ['H', 'W'] }],
    placeholders: ['H', 'W'],
  };
  assert.deepEqual(placeholdersOf(/** @type {any} */ (manifest), {}, {}), {});
});
