import { text } from './scenarios.mjs';

const FEATURE = 'shader-f16';
const LAPTOP = { vendor: 'amd', architecture: 'rdna-3' };
const EMULATED = { vendor: 'google', architecture: 'swiftshader' };

/** Replace properties of objects until the test ends. */
function replacing(changes) {
  const before = changes.map(([object, name]) => Object.getOwnPropertyDescriptor(object, name));
  for (const [object, name, change] of changes)
    Object.defineProperty(object, name, { configurable: true, ...change });
  return () =>
    changes.forEach(([object, name], index) =>
      before[index] ? Object.defineProperty(object, name, before[index]) : delete object[name],
    );
}

/**
 * Let devices have `features`, which compile float16 as float32, and belong to a GPU. A run of the
 * probe's shaders takes `times` milliseconds at 1000 steps; both clocks are rounded to `rounded`.
 * The GPU executes one step of one workgroup, and compiles each shader once for each device.
 * Returns what happened: the types in which the product was `compiled`, the number of `probes`, the
 * milliseconds `spent`, and how to `stop`.
 */
function pretend({ times, features = [FEATURE], info = LAPTOP, rounded = 1e-6, broken = false }) {
  const seen = { compiled: [], probes: 0, spent: 0 };
  const { createShaderModule, createComputePipelineAsync } = GPUDevice.prototype;
  const { setPipeline, dispatchWorkgroups } = GPUComputePassEncoder.prototype;
  const { getMappedRange } = GPUBuffer.prototype;
  const { writeBuffer } = GPUQueue.prototype;
  const labels = new WeakMap();
  const codes = new WeakMap();
  let steps = 0;
  let stamps = [];
  const now = () => Math.floor(seen.spent / rounded) * rounded;
  const method = value => ({ value, writable: true });
  seen.stop = replacing([
    [GPUDevice.prototype, 'features', { get: () => new Set(features) }],
    [GPUDevice.prototype, 'adapterInfo', { get: () => info }],
    [performance, 'now', method(now)],
    [
      GPUDevice.prototype,
      'createShaderModule',
      method(function ({ label, code }) {
        const half = code.includes('enable f16;');
        if (label?.startsWith('k_')) seen.compiled.push(half ? 'f16' : 'f32');
        const changed = code.replace('enable f16;', '').replaceAll('f16', 'f32');
        const module = createShaderModule.call(this, { code: half && broken ? '?' : changed });
        codes.set(module, code);
        return module;
      }),
    ],
    [
      GPUDevice.prototype,
      'createComputePipelineAsync',
      method(async function (descriptor) {
        const half = descriptor.label === 'float16 probe f16';
        seen.probes += half;
        const known = (this.known ??= new Map());
        const code = codes.get(descriptor.compute.module);
        const pipeline =
          known.get(code) ?? (await createComputePipelineAsync.call(this, descriptor));
        labels.set(pipeline, descriptor.label);
        known.set(code, pipeline);
        return pipeline;
      }),
    ],
    [
      GPUQueue.prototype,
      'writeBuffer',
      method(function (buffer, offset, data) {
        if (buffer.label !== 'float16 probe') return writeBuffer.call(this, buffer, offset, data);
        [steps, stamps] = [data[0], []];
        return writeBuffer.call(this, buffer, offset, new Uint32Array([1]));
      }),
    ],
    [
      GPUComputePassEncoder.prototype,
      'setPipeline',
      method(function (pipeline) {
        const time = times?.[labels.get(pipeline)?.split('probe ')[1]] ?? 0;
        stamps.push(now());
        seen.spent += (time * steps) / 1000;
        stamps.push(now());
        return setPipeline.call(this, pipeline);
      }),
    ],
    [
      GPUComputePassEncoder.prototype,
      'dispatchWorkgroups',
      method(function () {
        return dispatchWorkgroups.call(this, 1);
      }),
    ],
    [
      GPUBuffer.prototype,
      'getMappedRange',
      method(function (...range) {
        return this.label === 'float16 probe'
          ? BigInt64Array.from(stamps, time => BigInt(Math.round(time * 1e6))).buffer
          : getMappedRange.call(this, ...range);
      }),
    ],
  ]);
  return seen;
}

const newDevice = async (features = []) =>
  (await navigator.gpu.requestAdapter()).requestDevice({ requiredFeatures: features });

/** Load the program on a device of its own, or on `device`. */
async function load(program, options, device) {
  const own = device ?? (await newDevice());
  const seen = pretend(options);
  try {
    (await program.create(undefined, own)).dispose();
  } finally {
    seen.stop();
  }
  return { ...seen };
}

const SCENARIOS = {
  async choices(program) {
    const { features } = await navigator.gpu.requestAdapter();
    const answers = [];
    for (const clock of ['timestamp-query', null]) {
      if (clock && !features.has(clock)) continue;
      const device = await newDevice(clock ? [clock] : []);
      for (const rounded of clock ? [1e-6, 0.065536, 0.1] : [1e-6, 0.1, 1])
        for (const single of clock ? [1, 4, 40] : [4])
          for (const ratio of [0.5, 0.8, 1, 1.1]) {
            delete globalThis[Symbol.for('webkiln.webgpu.2.external')];
            const times = { f32: single, f16: single * ratio };
            const options = { times, rounded, features: [FEATURE, ...(clock ? [clock] : [])] };
            const seen = await load(program, options, device);
            answers.push({ clock, rounded, single, ratio, ...seen });
          }
    }
    return answers;
  },

  async cached(program) {
    const device = await newDevice();
    const times = { f32: 4, f16: 2 };
    const first = await load(program, { times }, device);
    const second = await load(program, { times: { f32: 4, f16: 8 } }, device);
    return { first, second, other: await load(program, { times }) };
  },

  async together(program) {
    const device = await newDevice();
    const seen = pretend({ times: { f32: 4, f16: 2 } });
    const engines = await Promise.all([1, 2, 3].map(() => program.create(undefined, device)));
    for (const engine of engines) engine.dispose();
    seen.stop();
    return { ...seen };
  },

  async lost(program) {
    const seen = pretend({ times: { f32: 4, f16: 2 } });
    const devices = [];
    const { requestDevice } = GPUAdapter.prototype;
    GPUAdapter.prototype.requestDevice = async function () {
      const device = await requestDevice.call(this);
      devices.push(device);
      return device;
    };
    try {
      const first = await program.create();
      first.dispose();
      const { probes } = seen;
      devices[0].destroy();
      await devices[0].lost;
      (await program.create()).dispose();
      return { ...seen, first: probes, devices: devices.length };
    } finally {
      Object.assign(GPUAdapter.prototype, { requestDevice });
      seen.stop();
    }
  },

  /** The device is lost when the probe submits its first run. */
  async lostMeanwhile(program) {
    const seen = pretend({ times: { f32: 4, f16: 2 } });
    const { requestDevice } = GPUAdapter.prototype;
    const { submit } = GPUQueue.prototype;
    let devices = 0;
    GPUAdapter.prototype.requestDevice = async function () {
      const device = await requestDevice.call(this);
      devices += 1;
      if (devices === 1)
        device.queue.submit = function (commands) {
          device.destroy();
          return submit.call(this, commands);
        };
      return device;
    };
    try {
      (await program.create()).dispose();
      return { ...seen, devices };
    } finally {
      Object.assign(GPUAdapter.prototype, { requestDevice });
      seen.stop();
    }
  },

  /** The shader in float16 is rejected, and the device is used afterwards. */
  async rejected(program) {
    const device = await newDevice();
    let uncaptured = 0;
    device.addEventListener('uncapturederror', () => (uncaptured += 1));
    const times = { f32: 4, f16: 2 };
    const first = await load(program, { times, broken: true }, device);
    const second = await load(program, { times }, device);
    return { first, second, uncaptured };
  },

  async others(program) {
    const times = { f32: 4, f16: 2 };
    const emulated = await load(program, { times, info: EMULATED });
    const without = await load(program, { times, features: [] });
    const key = Symbol.for('webkiln.webgpu.float16');
    globalThis[key] = () => true;
    const chosen = await load(program, { times: { f32: 4, f16: 8 } });
    delete globalThis[key];
    return { emulated, without, chosen };
  },
};

/** Run by harness_page.js: one scenario per set. */
export async function runSets({ scenarios, code }, get, put) {
  const program = await import(code);
  for (const [number, scenario] of scenarios.entries()) {
    delete globalThis[Symbol.for('webkiln.webgpu.2')];
    const answer = JSON.stringify(await SCENARIOS[scenario](program));
    await put(number, text(new TextEncoder().encode(answer)));
  }
}
