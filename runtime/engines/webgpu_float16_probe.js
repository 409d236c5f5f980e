import { usable } from './webgpu_device.js';

/** @typedef {import('./webgpu_device.js').Gpu} Gpu */

const HALF_FEATURE = 'shader-f16';
const TIMESTAMPS = 'timestamp-query';

/** A function of the global object that chooses instead of measurements. */
const CHOICE_KEY = Symbol.for('webkiln.webgpu.float16');

/** What the sum of all measured times should not exceed. */
const BUDGET_MS = 4;
/** The time of a run that shows how many steps others should have. */
const TRIAL_MS = 0.25;
/** The time of a run that is compared, and the least one. */
const RUN_MS = 0.9;
const LEAST_RUN_MS = 0.3;
/** The largest time of float16, relative to that of float32, at which it is used. */
const MARGIN = 0.95;
/** Differences up to this may come from timestamps and clocks that a browser rounds to 0.1 ms. */
const RESOLUTION_MS = 0.11;
/** The same, for clocks that are rounded to whole milliseconds. */
const COARSE_MS = 1.1;

const SINGLE = 'f32';
const HALF = 'f16';
const TYPES = [SINGLE, HALF];
/** The runs that are compared. */
const RUNS = [SINGLE, HALF, HALF, SINGLE];

/** Steps of the shortest and the longest trial, and workgroups for each multiprocessor. */
const FIRST_STEPS = 16;
const LAST_STEPS = 1024;
const WORKGROUPS = 8;
/** The vectors of four elements that the shaders read. */
const VECTORS = 4096;

/**
 * A shader with the loop of a staged product: blocks of 32 rows, 32 columns and 16 elements of
 * depth are multiplied in a type, and the sums of a block are added in float32.
 * @param {string} type
 */
function shaderOf(type) {
  const half = type === HALF;
  const each = (/** @type {(at: number) => string} */ text) => [0, 1, 2, 3].map(text).join('\n');
  const sum = half ? 'part' : 'sum';
  const places = ['rows[at + at / 4]', 'rows[at + 64 + (at + 64) / 4]'];
  places.push('columns[at]', 'columns[at + 64]');
  return `${half ? 'enable f16;' : ''}
@group(0) @binding(0) var<storage, read_write> values: array<vec4f>;
@group(0) @binding(1) var<uniform> steps: u32;
var<workgroup> rows: array<vec4<${type}>, 160>;
var<workgroup> columns: array<vec4<${type}>, 128>;
fn staged(x: vec4f) -> vec4<${type}> {
  ${half ? 'let low = select(vec4f(-65504), x, (x > vec4f(-65504)) | (x != x));' : 'let kept = x;'}
  ${half ? 'let kept = select(vec4f(65504), low, (low < vec4f(65504)) | (low != low));' : ''}
  return vec4<${type}>(kept);
}
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) at: u32) {
  ${each(n => `var sum${n} = vec4f(); var next${n} = values[at + ${64 * n}];`)}
  for (var step = 0u; step < steps; step++) {
    ${each(n => `${places[n]} = staged(next${n});`)}
    workgroupBarrier();
    ${each(n => `next${n} = values[(step * 256 + at + ${64 * n}) % ${VECTORS}];`)}
    ${half ? each(n => `var part${n} = vec4<f16>();`) : ''}
    for (var depth = 0u; depth < 4; depth++) {
      ${each(n => `let row${n} = rows[at / 8 * 20 + ${5 * n} + depth];`)}
      ${each(n => `let column${n} = columns[(depth * 4 + ${n}) * 8 + at % 8];`)}
      ${each(lane => each(n => `${sum}${n} += row${n}[${lane}] * column${lane};`))}
    }
    ${half ? each(n => `sum${n} += vec4f(part${n});`) : ''}
    workgroupBarrier();
  }
  values[${VECTORS} + at] = sum0 + sum1 + sum2 + sum3;
}`;
}

/**
 * @template T
 * @param {any} device
 * @param {() => T | Promise<T>} issue calls the device
 * @returns {Promise<T>} what `issue` returns; rejects if the device reports an error
 */
async function checked(device, issue) {
  device.pushErrorScope('out-of-memory');
  device.pushErrorScope('validation');
  const [result, ...errors] = await Promise.all([
    (async () => issue())(),
    device.popErrorScope(),
    device.popErrorScope(),
  ]);
  for (const error of errors) if (error) throw new Error(error.message);
  return result;
}

/** The shaders on one device, with what they are bound to. */
class Bench {
  /**
   * @param {Gpu} gpu
   * @param {any[]} owned receives what must be destroyed
   */
  constructor({ device, multiprocessors }, owned) {
    this.device = device;
    this.groups = WORKGROUPS * multiprocessors;
    this.owned = owned;
    /** @type {any} */
    this.steps = null;
    /** @type {any} */
    this.group = null;
    /** @type {Record<string, any>} */
    this.pipelines = {};
  }

  /**
   * @param {number} size
   * @param {number} usage
   */
  buffer(size, usage) {
    const made = this.device.createBuffer({ label: 'float16 probe', size, usage });
    this.owned.push(made);
    return made;
  }

  /** Allocate the buffer and compile the shaders. */
  async prepare() {
    const { device } = this;
    const visible = device.createBindGroupLayout({
      entries: ['storage', 'uniform'].map((type, binding) => ({
        binding,
        visibility: 4,
        buffer: { type },
      })),
    });
    this.steps = this.buffer(16, 0x40 | 0x8);
    const buffers = [this.buffer(16 * (VECTORS + 64), 0x80), this.steps];
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    this.group = device.createBindGroup({ layout: visible, entries });
    const layout = device.createPipelineLayout({ bindGroupLayouts: [visible] });
    const made = TYPES.map(type =>
      device.createComputePipelineAsync({
        label: `float16 probe ${type}`,
        layout,
        compute: {
          module: device.createShaderModule({ code: shaderOf(type) }),
          entryPoint: 'main',
        },
      }),
    );
    const pipelines = await Promise.all(made);
    TYPES.forEach((type, index) => (this.pipelines[type] = pipelines[index]));
  }

  /**
   * @param {any} encoder
   * @param {string} type
   * @param {any} [descriptor] of the pass
   */
  encode(encoder, type, descriptor) {
    const pass = encoder.beginComputePass(descriptor);
    pass.setPipeline(this.pipelines[type]);
    pass.setBindGroup(0, this.group);
    pass.dispatchWorkgroups(this.groups);
    pass.end();
  }

  /**
   * @param {string[]} types of the runs
   * @param {number} steps
   * @returns {Promise<number[]>} the time of each run, in milliseconds
   */
  time(types, steps) {
    this.device.queue.writeBuffer(this.steps, 0, new Uint32Array([steps]));
    return usable(this.device).includes(TIMESTAMPS)
      ? this.timeByGpu(types)
      : this.timeByClock(types);
  }

  /** @param {string[]} types */
  async timeByGpu(types) {
    const { device } = this;
    const count = 2 * types.length;
    const read = await checked(device, () => {
      const querySet = device.createQuerySet({ type: 'timestamp', count });
      this.owned.push(querySet);
      const resolved = this.buffer(8 * count, 0x200 | 0x4);
      const mapped = this.buffer(8 * count, 0x1 | 0x8);
      const encoder = device.createCommandEncoder();
      types.forEach((type, run) => {
        const [beginningOfPassWriteIndex, endOfPassWriteIndex] = [2 * run, 2 * run + 1];
        this.encode(encoder, type, {
          timestampWrites: { querySet, beginningOfPassWriteIndex, endOfPassWriteIndex },
        });
      });
      encoder.resolveQuerySet(querySet, 0, count, resolved, 0);
      encoder.copyBufferToBuffer(resolved, 0, mapped, 0, 8 * count);
      device.queue.submit([encoder.finish()]);
      return mapped;
    });
    await read.mapAsync(1);
    const stamps = new BigInt64Array(read.getMappedRange());
    const stamp = (/** @type {number} */ at) => /** @type {bigint} */ (stamps[at]);
    return types.map((_, run) => Number(stamp(2 * run + 1) - stamp(2 * run)) / 1e6);
  }

  /** @param {string[]} types */
  async timeByClock(types) {
    const { device } = this;
    const times = [];
    await device.queue.onSubmittedWorkDone();
    for (const type of types) {
      const begin = performance.now();
      await checked(device, () => {
        const encoder = device.createCommandEncoder();
        this.encode(encoder, type);
        device.queue.submit([encoder.finish()]);
        return device.queue.onSubmittedWorkDone();
      });
      times.push(performance.now() - begin);
    }
    return times;
  }
}

/**
 * @param {string[]} types
 * @param {number[]} times
 * @returns {boolean} whether float16 is faster than float32, by the least time of each
 */
function isFaster(types, times) {
  const least = (/** @type {string} */ type) =>
    Math.min(...times.filter((_, run) => types[run] === type));
  const [single, half] = [least(SINGLE), least(HALF)];
  const rounding = times.every(Number.isInteger) ? COARSE_MS : RESOLUTION_MS;
  return half > 0 && half <= MARGIN * single && single - half > rounding;
}

/**
 * Compare the types. Trials have more and more steps until one takes long enough to show how many
 * fit the time of a run. The time of a run without steps, which is that of a submission, does not
 * count there.
 * @param {Bench} bench
 */
async function compare(bench) {
  const idle = Math.min(...(await bench.time(TYPES, 0)));
  for (let steps = FIRST_STEPS, left = BUDGET_MS; ; steps *= 4) {
    const times = await bench.time(TYPES, steps);
    const busy = times.map(time => Math.max(time - idle, 0));
    left = busy.reduce((left, time) => left - time, left);
    const longest = Math.max(...busy);
    if (longest < TRIAL_MS && steps < LAST_STEPS) continue;
    const target = Math.min(RUN_MS, left / RUNS.length);
    if (longest < TRIAL_MS || target < LEAST_RUN_MS) return isFaster(TYPES, times);
    return isFaster(RUNS, await bench.time(RUNS, Math.ceil((steps * target) / longest)));
  }
}

/**
 * Whether float16 products are faster than float32 ones on a GPU with `shader-f16`. Errors, and
 * emulated GPUs, mean no.
 * @param {Gpu} gpu
 */
async function probe(gpu) {
  if (gpu.multiprocessors === 1) return false;
  /** @type {any[]} */
  const owned = [];
  try {
    const bench = new Bench(gpu, owned);
    await checked(gpu.device, () => bench.prepare());
    return await compare(bench);
  } catch {
    return false;
  } finally {
    for (const made of owned) made.destroy();
  }
}

/**
 * The features of a device whose shaders are used: all that it has, but `shader-f16` only if
 * float16 is faster. Measured once for each device.
 * @param {Gpu & { float16?: Promise<boolean> }} gpu
 * @returns {Promise<string[]>}
 */
export async function fastFeatures(gpu) {
  const names = usable(gpu.device);
  if (!names.includes(HALF_FEATURE)) return names;
  const choose = /** @type {any} */ (globalThis)[CHOICE_KEY];
  const faster = await (choose ? choose() : (gpu.float16 ??= probe(gpu)));
  return faster ? names : names.filter(name => name !== HALF_FEATURE);
}
