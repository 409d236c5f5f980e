/**
 * A device of models in this thread, with its pipelines by shader text; `given`: the caller made it. `fail` ends its models by what cannot be told to one.
 * @typedef {{ device: any, layout: any, pipelines: Map<string, Promise<any>>, given: boolean, lost: any, failure: string | null, fail: (message: string) => void }} Gpu
 */

/** What shaders use, and what times them in a profile. */
const FEATURES = ['subgroups', 'shader-f16', 'timestamp-query'];

/** How much later than an error the loss that caused it may be told of. */
export const LOSS_MS = 500;

const GPU_KEY = Symbol.for('webkiln.webgpu');
const GIVEN_KEY = Symbol.for('webkiln.webgpu.given');

/**
 * @param {string} code
 * @param {string} message
 */
export const gpuError = (code, message) => Object.assign(new Error(message), { code });

/** @param {Gpu} gpu whose device was lost */
export const lossOf = ({ lost, given }) =>
  gpuError(
    'DeviceLost',
    `the GPU device was lost (${lost.message || lost.reason}): dispose of the model and load it again${given ? ' with a new device' : ''}`,
  );

/**
 * Waits until a loss of the device that has happened is known: engines tell of it later than of what it breaks.
 * @param {Gpu} gpu
 * @param {number} [ms] for how long after the device has answered
 */
export async function settled({ device }, ms = 0) {
  const answer = device.queue
    .onSubmittedWorkDone()
    .catch(() => {})
    .then(
      () =>
        new Promise(resolve => {
          setTimeout(resolve, ms);
        }),
    );
  await Promise.race([device.lost, answer]);
}

/**
 * Which of the features of an adapter or device can be used.
 * @param {{ features: Set<string> }} of
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
 * @param {boolean} given
 * @param {() => void} forget has the next model take another
 * @returns {Gpu}
 */
function described(device, given, forget) {
  const layout = device.createBindGroupLayout({
    entries: [
      { binding: 0, visibility: 4, buffer: { type: 'storage' } },
      { binding: 1, visibility: 4, buffer: { type: 'uniform', hasDynamicOffset: true } },
    ],
  });
  /** @type {Gpu} */
  const gpu = { device, layout, pipelines: new Map(), given, lost: null, failure: null, fail };
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
      'there is no navigator.gpu: WebGPU needs a browser that has it and a page served by HTTPS or from localhost',
    );
  }
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter)
    throw gpuError(
      'NoBackend',
      'the browser has WebGPU but gives no adapter: there is no GPU, or it is blocked',
    );
  const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
  const device = await adapter.requestDevice({
    requiredLimits: { maxStorageBufferBindingSize, maxBufferSize },
    requiredFeatures: usable(adapter),
  });
  const home = /** @type {any} */ (globalThis);
  const own = home[GPU_KEY];
  const opened = described(device, false, () => {
    if (home[GPU_KEY] === own) delete home[GPU_KEY];
  });
  device.addEventListener('uncapturederror', (/** @type {any} */ { error }) =>
    opened.fail(error.message),
  );
  return opened;
}

/**
 * The device that the caller gives, or else the one that this thread's models share; a new one where that was lost, reported an error, or could not be had.
 * @param {any} [device]
 * @returns {Promise<Gpu>}
 */
export async function gpuOf(device) {
  const home = /** @type {any} */ (globalThis);
  if (device) {
    if (Object.prototype.toString.call(device) !== '[object GPUDevice]')
      throw gpuError('WrongOption', 'device: expected a GPUDevice');
    const given = (home[GIVEN_KEY] ??= new WeakMap());
    if (!given.has(device))
      given.set(
        device,
        described(device, true, () => given.delete(device)),
      );
    return given.get(device);
  }
  home[GPU_KEY] ??= openGpu().catch(error => {
    delete home[GPU_KEY];
    throw error;
  });
  return home[GPU_KEY];
}

/**
 * A device that was not lost, with its pipelines. A shared one that was lost meanwhile is replaced, once.
 * @param {any} given the caller's own, if there is one
 * @param {(gpu: Gpu) => [name: string, code: string][]} shadersOf
 * @returns {Promise<[gpu: Gpu, pipelines: Map<string, any>]>}
 */
export async function prepared(given, shadersOf) {
  for (let again = !given; ; again = false) {
    const gpu = await gpuOf(given);
    const shaders = shadersOf(gpu);
    const [made] = await Promise.allSettled([
      Promise.all(shaders.map(([name, code]) => pipelineOf(gpu, name, code))),
      settled(gpu),
    ]);
    if (made.status === 'fulfilled' && !gpu.lost)
      return [gpu, new Map(shaders.map(([name], index) => [name, made.value[index]]))];
    if (made.status === 'rejected') await settled(gpu, LOSS_MS);
    if (gpu.lost && again) continue;
    throw gpu.lost ? lossOf(gpu) : /** @type {PromiseRejectedResult} */ (made).reason;
  }
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
  const made = device
    .createComputePipelineAsync({
      label: name,
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
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
        `the shader ${name} does not compile here: ${reasons.join('; ') || error.message}`,
      );
    });
  pipelines.set(code, made);
  return made;
}
