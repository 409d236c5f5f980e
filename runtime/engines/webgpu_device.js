import { multiprocessorsOf } from './webgpu_classes.js';

/**
 * A device that models of this thread share. `pipelines` are cached by shader text. `external` is
 * true for a device of the caller. `fail` ends all models of the device, for errors that cannot be
 * attributed to one model. `multiprocessors`: the number that schedules assume.
 * @typedef {object} Gpu
 * @property {any} device
 * @property {any} layout
 * @property {Map<string, Promise<any>>} pipelines
 * @property {boolean} external
 * @property {number} multiprocessors
 * @property {any} lost
 * @property {string | null} failure
 * @property {(message: string) => void} fail
 */

/** @typedef {[name: string, code: string, layouts?: any[]]} Shader */

/** Features that shaders use, and the one that profiles use. Other modules of an engine add more. */
export const FEATURES = ['subgroups', 'shader-f16', 'timestamp-query'];

/** The maximum delay between an error and the report of the device loss that caused it. */
const LOSS_MS = 500;

/** GPUBufferUsage */
const MAP_READ = 1;

/** A page may load bundles of several versions: keys change whenever `Gpu` does. */
const GPU_KEY = Symbol.for('webkiln.webgpu.2');
const EXTERNAL_KEY = Symbol.for('webkiln.webgpu.2.external');

/**
 * @param {string} code
 * @param {string} message
 */
export const gpuError = (code, message) => Object.assign(new Error(message), { code });

/** @param {Gpu} gpu its device is lost */
export const lossOf = ({ lost, external }) =>
  gpuError(
    'DeviceLost',
    `the GPU device was lost (${lost.message || lost.reason}): ` +
      (external
        ? 'dispose of the model and load it again with a new device'
        : 'run the model again, which loads it again'),
  );

/**
 * Wait until a device loss is reported, at most `LOSS_MS` after the queue is empty. Browsers report
 * it after the errors that it causes.
 * @param {Gpu} gpu
 */
export async function awaitLoss({ device }) {
  const idle = device.queue
    .onSubmittedWorkDone()
    .catch(() => {})
    .then(
      () =>
        new Promise(resolve => {
          setTimeout(resolve, LOSS_MS);
        }),
    );
  await Promise.race([device.lost, idle]);
}

/**
 * Wait for the report if a device is lost. Mapping a buffer of a lost device is the call that fails
 * in every browser.
 * @param {Gpu} gpu
 */
async function checkLoss(gpu) {
  const buffer = gpu.device.createBuffer({ size: 4, usage: MAP_READ });
  try {
    await buffer.mapAsync(1);
  } catch {
    await awaitLoss(gpu);
  } finally {
    buffer.destroy();
  }
}

/**
 * The features of an adapter or device that the engine uses.
 * @param {{ features: Set<string> }} source
 * @returns {string[]}
 */
export const usable = ({ features }) =>
  FEATURES.filter(
    name =>
      features.has(name) &&
      (name !== 'subgroups' ||
        /** @type {any} */ (navigator).gpu.wgslLanguageFeatures.has('subgroup_id')),
  );

/**
 * @param {any} device
 * @param {boolean} external
 * @param {() => void} forget called when later models must use another device
 * @returns {Gpu}
 */
function gpuFor(device, external, forget) {
  const layout = device.createBindGroupLayout({
    entries: [
      { binding: 0, visibility: 4, buffer: { type: 'storage' } },
      { binding: 1, visibility: 4, buffer: { type: 'uniform', hasDynamicOffset: true } },
    ],
  });
  /** @type {Gpu} */
  const gpu = {
    device,
    layout,
    pipelines: new Map(),
    external,
    multiprocessors: multiprocessorsOf(device.adapterInfo),
    lost: null,
    failure: null,
    fail,
  };
  function fail(/** @type {string} */ message) {
    gpu.failure ??= message;
    forget();
  }
  device.lost.then((/** @type {any} */ info) => {
    gpu.lost = info;
    forget();
  });
  return gpu;
}

/** @returns {Promise<Gpu>} */
async function openGpu() {
  const { gpu } = /** @type {any} */ (globalThis.navigator ?? {});
  if (!gpu) {
    throw gpuError(
      'NoBackend',
      'navigator.gpu is undefined: WebGPU needs a browser that supports it, and a page served by' +
        ' HTTPS or from localhost',
    );
  }
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter)
    throw gpuError(
      'NoBackend',
      'the browser supports WebGPU but returns no adapter: there is no GPU, or it is blocked',
    );
  const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
  const device = await adapter.requestDevice({
    requiredLimits: { maxStorageBufferBindingSize, maxBufferSize },
    requiredFeatures: usable(adapter),
  });
  const scope = /** @type {any} */ (globalThis);
  const own = scope[GPU_KEY];
  const opened = gpuFor(device, false, () => {
    if (scope[GPU_KEY] === own) delete scope[GPU_KEY];
  });
  device.addEventListener('uncapturederror', (/** @type {any} */ { error }) =>
    opened.fail(error.message),
  );
  return opened;
}

/**
 * The device of the caller, or the shared device of this thread. The shared device is replaced
 * after it is lost, reports an error or fails to open.
 * @param {any} [device]
 * @returns {Promise<Gpu>}
 */
export async function gpuOf(device) {
  const scope = /** @type {any} */ (globalThis);
  if (device) {
    if (Object.prototype.toString.call(device) !== '[object GPUDevice]')
      throw gpuError('WrongOption', 'device: expected a GPUDevice');
    const external = (scope[EXTERNAL_KEY] ??= new WeakMap());
    if (!external.has(device))
      external.set(
        device,
        gpuFor(device, true, () => external.delete(device)),
      );
    return external.get(device);
  }
  scope[GPU_KEY] ??= openGpu().catch(error => {
    delete scope[GPU_KEY];
    throw error;
  });
  return scope[GPU_KEY];
}

/**
 * Open a device and compile its pipelines. If the shared device is lost meanwhile, try once more.
 * @param {any} own a device of the caller, if any
 * @param {(gpu: Gpu) => Promise<Shader[]>} shadersOf
 * @returns {Promise<[gpu: Gpu, pipelines: Map<string, any>]>}
 */
export async function prepare(own, shadersOf) {
  for (let retry = !own; ; retry = false) {
    const gpu = await gpuOf(own);
    const shaders = await shadersOf(gpu);
    const [compiled] = await Promise.allSettled([
      Promise.all(shaders.map(shader => pipelineOf(gpu, ...shader))),
      checkLoss(gpu),
    ]);
    if (compiled.status === 'fulfilled' && !gpu.lost)
      return [gpu, new Map(shaders.map(([name], index) => [name, compiled.value[index]]))];
    if (compiled.status === 'rejected') await awaitLoss(gpu);
    if (gpu.lost && retry) continue;
    throw gpu.lost ? lossOf(gpu) : /** @type {PromiseRejectedResult} */ (compiled).reason;
  }
}

/**
 * @param {Gpu} gpu
 * @param {string} name
 * @param {string} code
 * @param {any[]} layouts of the bind groups after the first one
 * @returns {Promise<any>}
 */
export function pipelineOf({ device, layout, pipelines }, name, code, layouts = []) {
  const cached = pipelines.get(code);
  if (cached) return cached;
  const module = device.createShaderModule({ label: name, code });
  const pipeline = device
    .createComputePipelineAsync({
      label: name,
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout, ...layouts] }),
      compute: { module, entryPoint: 'main' },
    })
    .catch(async (/** @type {Error} */ error) => {
      pipelines.delete(code);
      const { messages } = await module.getCompilationInfo();
      const reasons = messages.map(
        (/** @type {any} */ { lineNum, message }) => `line ${lineNum}: ${message}`,
      );
      throw gpuError(
        'CompileFailed',
        `the shader ${name} does not compile: ${reasons.join('; ') || error.message}`,
      );
    });
  pipelines.set(code, pipeline);
  return pipeline;
}
