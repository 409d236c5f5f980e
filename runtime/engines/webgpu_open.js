import { textOf } from './shader_text.js';
import { WebGpuEngine } from './webgpu.js';
import { prepare, usable } from './webgpu_device.js';
import { COPY } from './webgpu_recording.js';

/** @typedef {import('./webgpu_device.js').Gpu} Gpu */
/** @typedef {import('./webgpu_recording.js').Recording} Recording */

/**
 * The generated part of a program. `init` and `main` record launches; a dynamic `main` reads
 * intermediate results back and is asynchronous.
 * @typedef {object} GeneratedCode
 * @property {Program} program
 * @property {number} stride bytes between argument blocks
 * @property {((recording: Recording) => void)[]} init
 * @property {(steps: any, ...placeholders: number[]) => RunSizes | Promise<RunSizes>} main
 * @property {typeof import('./webgpu_immediate.js').LiveSteps} [dynamic] the steps of a program
 *   whose later steps depend on the results of earlier ones
 * @property {[from: number, below: number, kernels: string][]} devices kernels that only GPUs with
 *   a number of multiprocessors in a range launch
 * @property {(shader: string) => string} [rewrite] changes shaders to what the browser supports
 * @property {(gpu: Gpu) => Promise<string[]>} [featuresOf] chooses features whose variants of
 *   shaders are used; default: all that the device has
 * @property {typeof WebGpuEngine & { layouts?: Layouts }} [Engine] default: WebGpuEngine
 */

/**
 * Returns the layouts of the bind groups of a shader after the first one.
 * @typedef {(gpu: Gpu, shader: string) => any[]} Layouts
 */

/**
 * Functions that return shaders (`shader_text.js`), by the names of their kernels.
 * @typedef {Record<string, () => string>} Shaders
 */

/**
 * @param {Shaders} shaders
 * @param {Record<string, Shaders>} variants feature of the device -> shaders
 * @param {GeneratedCode} code
 * @param {any} [device] a GPUDevice of the caller
 * @returns {Promise<WebGpuEngine>}
 */
export async function openEngine(shaders, variants, code, device) {
  const { rewrite, featuresOf, Engine = WebGpuEngine } = code;
  const [gpu, pipelines] = await prepare(device, async opened => {
    const features = (await featuresOf?.(opened)) ?? usable(opened.device);
    const chosen = features.map(name => variants[name]);
    /** @type {Shaders} */
    const all = Object.assign({}, shaders, ...chosen, { copy: () => COPY });
    for (const [from, below, kernels] of code.devices)
      if (opened.multiprocessors < from || opened.multiprocessors >= below)
        for (const name of kernels.split(' ')) delete all[name];
    return Object.entries(all).map(([name, shader]) => {
      const text = textOf(shader);
      return [name, rewrite?.(text) ?? text, /** @type {any} */ (Engine).layouts?.(opened, text)];
    });
  });
  const engine = new Engine(gpu, pipelines, code);
  try {
    engine.grow(code.program.loaded);
    await engine.hasGrown();
    engine.check();
  } catch (error) {
    const cause = await engine.causeOf(error);
    engine.dispose();
    throw cause;
  }
  return engine;
}
