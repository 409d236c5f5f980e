import assert from 'node:assert/strict';
import test from 'node:test';
import { FEATURES } from '../engines/webgpu_device.js';
import { matrixFeatures } from '../engines/webgpu_matrices.js';

const MATRIX = 'chromium-experimental-subgroup-matrix';
const ALL = ['subgroups', 'shader-f16', MATRIX];
const config = (size, resultComponentType = 'f32', componentType = 'f16') => ({
  componentType,
  resultComponentType,
  M: size,
  N: size,
  K: size,
});

/** A device that compiles matrices of some sizes; `trials` counts the shaders. */
function fake({
  features = ALL,
  own = [],
  listed = [config(16)],
  largest = 32,
  compiled = [8, 16],
  rejected = false,
}) {
  const gpu = {
    wgslLanguageFeatures: new Set(['subgroup_id']),
    requestAdapter: async () => ({ info: { subgroupMatrixConfigs: listed } }),
  };
  Object.defineProperty(globalThis, 'navigator', { value: { gpu }, configurable: true });
  const state = { trials: 0, scopes: 0 };
  const sizeOf = code => Number(/subgroup_matrix_result<f32, (\d+)/.exec(code)[1]);
  const device = {
    features: new Set(features),
    adapterInfo: { subgroupMatrixConfigs: own, subgroupMaxSize: largest },
    pushErrorScope: () => state.scopes++,
    popErrorScope: async () => (state.scopes--, rejected ? { message: 'syntax' } : null),
    createShaderModule: ({ code }) => (state.trials++, { code }),
    createComputePipelineAsync: async ({ compute: { module } }) => {
      if (!compiled.includes(sizeOf(module.code))) throw new Error('unknown configuration');
      return {};
    },
  };
  return { opened: { device }, state };
}

const sizesOf = names => names.filter(name => !ALL.includes(name));

test('devices that the engine opens have the feature', () => assert.ok(FEATURES.includes(MATRIX)));

for (const [what, described, expected] of [
  ['16 x 16', {}, [`${MATRIX} 16`]],
  ['8 x 8', { listed: [config(8)] }, [`${MATRIX} 8`]],
  ['the larger one of both', { listed: [config(8), config(16)] }, [`${MATRIX} 16`]],
  ['what the device itself tells', { own: [config(8)], listed: [] }, [`${MATRIX} 8`]],
  ['subgroups of 8', { listed: [config(8)], largest: 8 }, [`${MATRIX} 8`]],
  ['no subgroups of more than 32', { largest: 64 }, []],
  ['no unknown size of subgroups', { largest: NaN }, []],
  ['no other sizes', { listed: [config(32), { ...config(16), K: 8 }] }, []],
  ['no sums in float16', { listed: [config(16, 'f16'), config(16, 'i32', 'i8')] }, []],
  ['none without configurations', { own: null, listed: [] }, []],
  ['none without float16', { features: [MATRIX, 'subgroups'] }, []],
  ['none without the feature', { features: ['shader-f16', 'subgroups'] }, []],
  ['none that the device rejects', { compiled: [8] }, []],
  ['none whose syntax is another', { rejected: true }, []],
]) {
  test(`matrices: ${what}`, async () => {
    const { opened, state } = fake(described);
    const names = await matrixFeatures(opened);
    assert.deepEqual(sizesOf(names), expected);
    assert.deepEqual(
      names.filter(name => ALL.includes(name)).sort(),
      [...opened.device.features].sort(),
    );
    assert.equal(state.scopes, 0);
  });
}

test('a device compiles one trial, for all its models', async () => {
  const { opened, state } = fake({});
  const [first, second] = await Promise.all([matrixFeatures(opened), matrixFeatures(opened)]);
  assert.equal(first, second);
  assert.equal(state.trials, 1);
});
