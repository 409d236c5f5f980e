import { FEATURES, usable } from './webgpu_device.js';

/** @typedef {import('./webgpu_device.js').Gpu} Gpu */

/** An experimental feature of Chromium. Devices that this engine opens have it if they can. */
const MATRIX_FEATURE = 'chromium-experimental-subgroup-matrix';
FEATURES.push(MATRIX_FEATURE);

/** What the shaders need beside it. */
const NEEDED = [MATRIX_FEATURE, 'shader-f16', 'subgroups'];
/** The rows and columns of the matrices for which there are variants of shaders, best first. */
const MATRIX_SIZES = [16, 8];
/** The invocations of the largest subgroups for which the shaders have enough subgroups. */
const LARGEST_SUBGROUP = 32;

/**
 * What matrices a device multiplies. Dawn tells it of adapters only.
 * @param {any} device
 * @returns {Promise<any[]>}
 */
async function configsOf({ adapterInfo }) {
  const own = adapterInfo.subgroupMatrixConfigs ?? [];
  if (own.length) return [...own];
  const { gpu } = /** @type {any} */ (globalThis.navigator);
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  return [...(adapter?.info.subgroupMatrixConfigs ?? [])];
}

/**
 * The rows and columns of matrices of float16 that a device multiplies with float32 sums; 0: none.
 * @param {any} device
 * @returns {Promise<number>}
 */
async function matrixSize(device) {
  if (!(device.adapterInfo.subgroupMaxSize <= LARGEST_SUBGROUP)) return 0;
  const configs = await configsOf(device);
  const offered = (/** @type {number} */ size) =>
    configs.some(
      ({ componentType, resultComponentType, M, N, K }) =>
        componentType === 'f16' &&
        resultComponentType === 'f32' &&
        [M, N, K].every(side => side === size),
    );
  return MATRIX_SIZES.find(offered) ?? 0;
}

/**
 * A shader with the syntax of the variants, which browsers still change. A device that does not
 * have matrices of this size rejects it.
 * @param {number} size
 */
const trialOf = size => `enable f16; enable subgroups;
enable chromium_experimental_subgroup_matrix; requires subgroup_id;
var<workgroup> factors: array<f16, 256>; var<workgroup> sums: array<f32, 256>;
@compute @workgroup_size(256) fn main(@builtin(subgroup_id) subgroup: u32) {
  var sum: subgroup_matrix_result<f32, ${size}, ${size}>;
  let a = subgroupMatrixLoad<subgroup_matrix_left<f16, ${size}, ${size}>, row_major>(&factors, 0, ${size});
  let b = subgroupMatrixLoad<subgroup_matrix_right<f16, ${size}, ${size}>, row_major>(&factors, 0, ${size});
  sum = subgroupMatrixMultiplyAccumulate(a, b, sum);
  if (subgroup < 1) { subgroupMatrixStore<row_major>(&sums, 0, sum, ${size}); }
}`;

/**
 * @param {any} device
 * @param {number} size
 * @returns {Promise<boolean>} whether the browser compiles shaders with matrices of a size
 */
async function compiles(device, size) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ label: 'matrix trial', code: trialOf(size) });
  const compiled = device
    .createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint: 'main' } })
    .then(
      () => true,
      () => false,
    );
  const error = device.popErrorScope().catch(() => 'lost');
  return (await compiled) && !(await error);
}

/**
 * The features of a device, and `FEATURE SIZE` for the variants of shaders that multiply subgroup
 * matrices, if there are any that it can run. Determined once for each device.
 * @param {Gpu & { matrices?: Promise<string[]> }} gpu
 * @returns {Promise<string[]>}
 */
export const matrixFeatures = gpu =>
  (gpu.matrices ??= (async () => {
    const { device } = gpu;
    const names = usable(device);
    const size = NEEDED.every(name => names.includes(name)) && (await matrixSize(device));
    const works = size && (await compiles(device, size));
    return works ? [...names, `${MATRIX_FEATURE} ${size}`] : names;
  })());
