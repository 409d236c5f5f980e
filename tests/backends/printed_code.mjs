import { isEmulated } from '/repository/runtime/src/adapter.js';

/**
 * Import the code of a printed program, on webgpu that for the GPU of this page. `emulated`: the
 * programs that have a module for emulated GPUs.
 */
export async function importCode(number, backend, emulated) {
  const suffix = emulated.includes(number) && (await isEmulated()) ? '_emulated' : '';
  return import(`/programs/${number}/code/${backend}${suffix}.js`);
}
