import { gpuError } from './webgpu_device.js';

/**
 * A buffer of the caller that a run reads or fills.
 * @typedef {{ what: string, buffer: any, filled: boolean }} Lent
 */

/** @type {Record<string, [usage: number, name: string]>} */
const NEEDED = { input: [0x4, 'COPY_SRC'], output: [0x8, 'COPY_DST'] };

/**
 * @param {any} value
 * @returns {boolean}
 */
export const isLent = value => Object.prototype.toString.call(value) === '[object GPUBuffer]';

/**
 * Which outputs of a run stay on the GPU, by name.
 * @param {Omit<Placed, 'name'>[]} tensors the outputs
 * @param {any} asked 'gpu' for all, or by name 'gpu' or a buffer
 * @returns {Map<string, any>}
 */
export function keptOf(tensors, asked) {
  const names = tensors.map(placed => /** @type {Placed} */ (placed).name);
  if (asked === undefined || asked === 'gpu')
    return new Map(asked && names.map(name => [name, asked]));
  const kept = Object.entries(Object(asked));
  const wrong =
    Object(asked) !== asked ||
    kept.some(([name, value]) => !names.includes(name) || (value !== 'gpu' && !isLent(value)));
  if (wrong)
    throw gpuError(
      'WrongOption',
      `outputs: expected 'gpu', or 'gpu' or a GPUBuffer by the name of an output; the outputs are '${names.join("', '")}'`,
    );
  return new Map(kept);
}

/**
 * Refuses a buffer that cannot hold a tensor: an input has its size, so that what is of another dtype is seen; an output may have more.
 * @param {'input' | 'output'} kind
 * @param {Placed} placed
 * @param {any} buffer
 * @param {number} bytes
 */
export function checkLent(kind, { name, dtype, storage, shape }, buffer, bytes) {
  const [usage, named] = /** @type {[number, string]} */ (NEEDED[kind]);
  const fits = kind === 'input' ? buffer.size === bytes : buffer.size >= bytes;
  if (!fits) {
    const elements = bytes / 4;
    throw gpuError(
      'WrongBuffer',
      `${kind} '${name}': expected a GPUBuffer of ${kind === 'input' ? '' : 'at least '}${bytes} bytes for shape [${shape}] ` +
        `(${elements} elements of ${dtype}, each a word of ${storage}), got ${buffer.size}`,
    );
  }
  if (!(buffer.usage & usage))
    throw gpuError(
      'WrongBuffer',
      `${kind} '${name}': the GPUBuffer lacks the usage GPUBufferUsage.${named}`,
    );
}

/**
 * Why the device refused a run: the buffer that it does not take, if it is one.
 * @param {import('./webgpu_device.js').Gpu} gpu
 * @param {any} refused
 * @param {Lent[]} lent
 * @returns {Promise<Error>}
 */
export async function refusal({ device }, refused, lent) {
  const other = device.createBuffer({ label: 'probe', size: 4, usage: 0x4 | 0x8 });
  let found = new Error(refused.message);
  for (const { what, buffer, filled } of lent) {
    device.pushErrorScope('validation');
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(filled ? other : buffer, 0, filled ? buffer : other, 0, 4);
    device.queue.submit([encoder.finish()]);
    const error = await device.popErrorScope();
    if (error) {
      found = gpuError(
        'WrongBuffer',
        `${what}: the GPUBuffer must be of model.device, and neither mapped nor destroyed (${error.message})`,
      );
      break;
    }
  }
  other.destroy();
  return found;
}
