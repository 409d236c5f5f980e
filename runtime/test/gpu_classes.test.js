import assert from 'node:assert/strict';
import test from 'node:test';
import { multiprocessorsOf } from '../engines/webgpu_classes.js';

for (const [vendor, architecture, expected] of [
  ['google', 'swiftshader', 1],
  ['mesa', 'llvmpipe', 1],
  ['nvidia', 'hopper', 132],
  ['nvidia', 'blackwell', 64],
  ['nvidia', '', 64],
  ['nvidia', 'maxwell', 24],
  ['amd', 'rdna-3', 24],
  ['amd', 'gcn-5', 8],
  ['apple', 'metal-3', 24],
  ['intel', 'gen-12lp', 8],
  ['intel', 'xe-2hpg', 24],
  ['qualcomm', 'adreno-7xx', 8],
  ['', '', 8],
]) {
  test(`${vendor} ${architecture} counts as ${expected} multiprocessors`, () => {
    assert.equal(multiprocessorsOf({ vendor, architecture }), expected);
  });
}

test('fallback adapters, and devices without information', () => {
  assert.equal(multiprocessorsOf({ vendor: 'amd', architecture: '', isFallbackAdapter: true }), 1);
  assert.equal(multiprocessorsOf(undefined), 8);
});
