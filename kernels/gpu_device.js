/**
 * The device of all models in this thread, with its pipelines by shader text.
 * @typedef {{ device: any, layout: any, pipelines: Map<string, Promise<any>>, subgroups: boolean, lost: any, failure: string | null }} Gpu
 */

/** What shaders use, and what times them in a profile. */
const FEATURES = ['subgroups', 'timestamp-query'];

const GPU_KEY = Symbol.for('webkiln.webgpu');

/**
 * @param {string} code
 * @param {string} message
 */
export const gpuError = (code, message) => Object.assign(new Error(message), { code });

/** @returns {Promise<Gpu>} */
async function openGpu() {
  const { gpu } = /** @type {any} */ (globalThis.navigator ?? {});
  if (!gpu) {
    throw gpuError('NoBackend', 'there is no navigator.gpu: WebGPU needs a browser that has it and a page served by HTTPS or from localhost');
  }
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw gpuError('NoBackend', 'the browser has WebGPU but gives no adapter: there is no GPU, or it is blocked');
  const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
  const subgroups = adapter.features.has('subgroups') && gpu.wgslLanguageFeatures.has('subgroup_id');
  const device = await adapter.requestDevice({
    requiredLimits: { maxStorageBufferBindingSize, maxBufferSize },
    requiredFeatures: FEATURES.filter(name => adapter.features.has(name) && (subgroups || name !== 'subgroups')),
  });
  const layout = device.createBindGroupLayout({
    entries: [
      { binding: 0, visibility: 4, buffer: { type: 'storage' } },
      { binding: 1, visibility: 4, buffer: { type: 'uniform', hasDynamicOffset: true } },
    ],
  });
  /** @type {Gpu} */
  const opened = { device, layout, pipelines: new Map(), subgroups, lost: null, failure: null };
  const home = /** @type {any} */ (globalThis);
  const own = home[GPU_KEY];
  const forget = () => { if (home[GPU_KEY] === own) delete home[GPU_KEY]; };
  device.addEventListener('uncapturederror', (/** @type {any} */ { error }) => {
    opened.failure ??= error.message;
    forget();
  });
  device.lost.then((/** @type {any} */ info) => {
    opened.lost = info;
    forget();
  });
  return opened;
}

/**
 * The device that this thread's models share; a new one where it was lost, reported an error, or could not be had.
 * @returns {Promise<Gpu>}
 */
export function sharedGpu() {
  const home = /** @type {any} */ (globalThis);
  home[GPU_KEY] ??= openGpu().catch(error => {
    delete home[GPU_KEY];
    throw error;
  });
  return home[GPU_KEY];
}

/**
 * @param {Gpu} gpu
 * @param {string} name
 * @param {string} code
 * @returns {Promise<any>}
 */
export function pipelineOf({ device, layout, pipelines }, name, code) {
  const found = pipelines.get(code);
  if (found) return found;
  const module = device.createShaderModule({ label: name, code });
  const made = device.createComputePipelineAsync({
    label: name,
    layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    compute: { module, entryPoint: 'main' },
  }).catch(async (/** @type {Error} */ error) => {
    pipelines.delete(code);
    const { messages } = await module.getCompilationInfo();
    const reasons = messages.map((/** @type {any} */ { lineNum, message }) => `line ${lineNum}: ${message}`);
    throw gpuError('CompileFailed', `the shader ${name} does not compile here: ${reasons.join('; ') || error.message}`);
  });
  pipelines.set(code, made);
  return made;
}
