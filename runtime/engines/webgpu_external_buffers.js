import { gpuError } from './webgpu_device.js';

/**
 * A buffer of the caller that a run reads or writes.
 * @typedef {{ what: string, buffer: any, written: boolean }} ExternalBuffer
 */

/** @type {Record<string, [usage: number, name: string]>} */
const REQUIRED_USAGE = { input: [0x4, 'COPY_SRC'], output: [0x8, 'COPY_DST'] };

/**
 * @param {any} value
 * @returns {boolean}
 */
export const isExternal = value => Object.prototype.toString.call(value) === '[object GPUBuffer]';

/**
 * The outputs of a run that stay on the GPU, by name.
 * @param {Omit<PlacedTensor, 'name'>[]} tensors the outputs
 * @param {any} option 'gpu' for all, or name -> 'gpu' or a buffer
 * @returns {Map<string, any>}
 */
export function gpuOutputs(tensors, option) {
  const names = tensors.map(placed => /** @type {PlacedTensor} */ (placed).name);
  if (option === undefined || option === 'gpu')
    return new Map(option && names.map(name => [name, option]));
  const entries = Object.entries(Object(option));
  const invalid =
    Object(option) !== option ||
    entries.some(
      ([name, value]) => !names.includes(name) || (value !== 'gpu' && !isExternal(value)),
    );
  if (invalid)
    throw gpuError(
      'WrongOption',
      `outputs: expected 'gpu', or an object that maps names of outputs to 'gpu' or a GPUBuffer; ` +
        `the outputs are '${names.join("', '")}'`,
    );
  return new Map(entries);
}

/**
 * Reject a buffer whose size does not fit a tensor. The size of an input must match exactly, to
 * detect another dtype; the buffer of an output may be larger.
 * @param {'input' | 'output'} kind
 * @param {PlacedTensor} placed
 * @param {any} buffer
 * @param {number} bytes
 */
export function checkExternal(kind, { name, dtype, storage, shape }, buffer, bytes) {
  const [usage, usageName] = /** @type {[number, string]} */ (REQUIRED_USAGE[kind]);
  const fits = kind === 'input' ? buffer.size === bytes : buffer.size >= bytes;
  if (!fits) {
    const elements = bytes / 4;
    throw gpuError(
      'WrongBuffer',
      `${kind} '${name}': expected a GPUBuffer of ${kind === 'input' ? '' : 'at least '}${bytes} ` +
        `bytes for shape [${shape}] (${elements} elements of ${dtype}, stored as ${storage}), ` +
        `got ${buffer.size}`,
    );
  }
  if (!(buffer.usage & usage))
    throw gpuError(
      'WrongBuffer',
      `${kind} '${name}': the GPUBuffer lacks the usage GPUBufferUsage.${usageName}`,
    );
}

/**
 * Find the cause of a rejected submission: an invalid buffer of the caller, or the error itself.
 * @param {import('./webgpu_device.js').Gpu} gpu
 * @param {any} rejection
 * @param {ExternalBuffer[]} external
 * @returns {Promise<Error>}
 */
export async function explainRejection({ device }, rejection, external) {
  const probe = device.createBuffer({ label: 'probe', size: 4, usage: 0x4 | 0x8 });
  let cause = new Error(rejection.message);
  for (const { what, buffer, written } of external) {
    device.pushErrorScope('validation');
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(written ? probe : buffer, 0, written ? buffer : probe, 0, 4);
    device.queue.submit([encoder.finish()]);
    const error = await device.popErrorScope();
    if (error) {
      cause = gpuError(
        'WrongBuffer',
        `${what}: the GPUBuffer must belong to model.device, and must not be mapped or destroyed ` +
          `(${error.message})`,
      );
      break;
    }
  }
  probe.destroy();
  return cause;
}
