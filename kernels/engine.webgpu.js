import { WORDS, narrowed, stagedWords, widened } from './narrowing.js';

/**
 * A dispatch of one kernel; `block` is the number of its argument block.
 * @typedef {{ pipeline: any, block: number, x: number, y: number }} Dispatch
 */
/**
 * The device of all models in this thread, with its pipelines by shader text.
 * @typedef {{ device: any, layout: any, pipelines: Map<string, Promise<any>>, lost: any, failure: string | null }} Gpu
 */

const WORKGROUP = 64;
const GROUPS = 65535;
const FEATURES = ['shader-f16', 'subgroups'];
const GPU_KEY = Symbol.for('webkiln.webgpu');

/** Copies words within the arena; WebGPU copies between different buffers only. */
const COPY = `struct Arguments { infinity: u32, nan: u32, source: i32, destination: i32, count: i32 }
@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<uniform> arguments: Arguments;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) local: u32) {
  let at = i32((group.y * groups.x + group.x) * 64 + local);
  if (at < arguments.count) { arena[arguments.destination + at] = arena[arguments.source + at]; }
}`;

/**
 * @param {string} code
 * @param {string} message
 */
const gpuError = (code, message) => Object.assign(new Error(message), { code });

/** @returns {Promise<Gpu>} */
async function openGpu() {
  const { gpu } = /** @type {any} */ (globalThis.navigator ?? {});
  if (!gpu) {
    throw gpuError('NoBackend', 'there is no navigator.gpu: WebGPU needs a browser that has it and a page served by HTTPS or from localhost');
  }
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw gpuError('NoBackend', 'the browser has WebGPU but gives no adapter: there is no GPU, or it is blocked');
  const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
  const device = await adapter.requestDevice({
    requiredLimits: { maxStorageBufferBindingSize, maxBufferSize },
    requiredFeatures: FEATURES.filter(feature => adapter.features.has(feature)),
  });
  const layout = device.createBindGroupLayout({
    entries: [
      { binding: 0, visibility: 4, buffer: { type: 'storage' } },
      { binding: 1, visibility: 4, buffer: { type: 'uniform', hasDynamicOffset: true } },
    ],
  });
  /** @type {Gpu} */
  const opened = { device, layout, pipelines: new Map(), lost: null, failure: null };
  device.addEventListener('uncapturederror', (/** @type {any} */ { error }) => { opened.failure ??= error.message; });
  device.lost.then((/** @type {any} */ info) => {
    opened.lost = info;
    delete /** @type {any} */ (globalThis)[GPU_KEY];
  });
  return opened;
}

/**
 * The device that this thread's models share; a new one where it was lost or could not be had.
 * @returns {Promise<Gpu>}
 */
function sharedGpu() {
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
function pipelineOf({ device, layout, pipelines }, name, code) {
  const found = pipelines.get(code);
  if (found) return found;
  const made = device.createComputePipelineAsync({
    label: name,
    layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    compute: { module: device.createShaderModule({ label: name, code }), entryPoint: 'main' },
  }).catch((/** @type {Error} */ error) => {
    pipelines.delete(code);
    throw gpuError('CompileFailed', `the shader ${name} does not compile here: ${error.message}`);
  });
  pipelines.set(code, made);
  return made;
}

/** Launches in order, with their argument blocks in one buffer. */
class Recording {
  /**
   * @param {Gpu} gpu
   * @param {Map<string, any>} pipelines
   * @param {number} stride bytes between argument blocks
   */
  constructor(gpu, pipelines, stride) {
    this.gpu = gpu;
    this.pipelines = pipelines;
    this.stride = stride;
    /** @type {number[][]} */
    this.blocks = [];
    /** @type {Dispatch[]} */
    this.dispatches = [];
    /** @type {any} */
    this.buffer = null;
  }

  /**
   * @param {string} kernel
   * @param {number} invocations
   * @param {number[]} words
   */
  launch(kernel, invocations, words) {
    const groups = Math.ceil(invocations / WORKGROUP);
    const x = Math.min(groups, GROUPS);
    this.dispatches.push({ pipeline: this.pipelines.get(kernel), block: this.blocks.length, x, y: Math.ceil(groups / GROUPS) });
    this.blocks.push(words);
  }

  /**
   * @param {number} target
   * @param {number} source
   * @param {number} bytes
   */
  copy(target, source, bytes) {
    this.launch('copy', bytes / 4, [source / 4, target / 4, bytes / 4]);
  }

  /** Hands the argument blocks to the device; each begins with the bits of infinity and NaN. */
  finish() {
    const { device } = this.gpu;
    const words = new Int32Array(Math.max(this.blocks.length, 1) * this.stride / 4);
    this.blocks.forEach((block, index) => words.set([0x7f800000, 0x7fc00000, ...block], index * this.stride / 4));
    this.buffer = device.createBuffer({ label: 'arguments', size: words.byteLength, usage: 0x40 | 0x8 });
    device.queue.writeBuffer(this.buffer, 0, words);
    return this;
  }

  /**
   * @param {any} arena
   * @returns {any}
   */
  bind(arena) {
    const entries = [
      { binding: 0, resource: { buffer: arena } },
      { binding: 1, resource: { buffer: this.buffer, size: this.stride } },
    ];
    return this.gpu.device.createBindGroup({ layout: this.gpu.layout, entries });
  }

  /**
   * @param {any} encoder
   * @param {any} group
   * @param {Dispatch[]} dispatches
   */
  encode(encoder, group, dispatches) {
    const pass = encoder.beginComputePass();
    let current = null;
    for (const { pipeline, block, x, y } of dispatches) {
      if (x === 0) continue;
      if (pipeline !== current) pass.setPipeline(current = pipeline);
      pass.setBindGroup(0, group, [block * this.stride]);
      pass.dispatchWorkgroups(x, y);
    }
    pass.end();
  }

  dispose() {
    this.buffer?.destroy();
  }
}

/** The steps of a program that looks at what it computed: launches wait until the next look. */
class Live {
  /** @param {WebGpuEngine} engine */
  constructor(engine) {
    this.engine = engine;
    this.recording = this.begin();
  }

  begin() {
    return new Recording(this.engine.gpu, this.engine.pipelines, this.engine.stride);
  }

  /**
   * @param {string} kernel
   * @param {number} invocations
   * @param {number[]} words
   */
  launch(kernel, invocations, words) {
    this.recording.launch(kernel, invocations, words);
  }

  /**
   * @param {number} target
   * @param {number} source
   * @param {number} bytes
   */
  copy(target, source, bytes) {
    this.recording.copy(target, source, bytes);
  }

  /** @returns {any} an encoder with all launches since the last look */
  encoded() {
    const { engine } = this;
    const recording = this.recording.finish();
    const encoder = engine.gpu.device.createCommandEncoder();
    recording.encode(encoder, recording.bind(engine.arena), recording.dispatches);
    engine.spent.push(recording);
    this.recording = this.begin();
    return encoder;
  }

  /**
   * Brings some words to the CPU.
   * @param {[place: number, elements: number, storage: string][]} operands
   * @returns {Promise<any[]>} typed arrays
   */
  async look(operands) {
    const tensors = operands.map(([offset, elements]) => /** @type {any} */ ({ offset, shape: [elements] }));
    const bytes = tensors.reduce((sum, { shape }) => sum + bytesOf(shape), 4);
    const buffer = this.engine.gpu.device.createBuffer({ label: 'look', size: bytes, usage: 0x1 | 0x8 });
    const found = await this.engine.fetch(this.encoded(), tensors, buffer);
    buffer.destroy();
    return operands.map(([offset, elements, storage]) =>
      new WORDS[storage](/** @type {ArrayBuffer} */ (found.get(offset)).slice(0, 4 * elements)));
  }

  /**
   * @param {(...operands: any[]) => number | void} procedure
   * @param {[place: number, elements: number, storage: string][]} operands the inputs first
   * @param {number} inputs how many there are
   * @param {number[]} args
   */
  async host(procedure, operands, inputs, args) {
    const given = await this.look(operands.slice(0, inputs));
    const results = operands.slice(inputs).map(([, elements, storage]) => new WORDS[storage](elements));
    const found = procedure(...given, ...results, ...args);
    const { device } = this.engine.gpu;
    operands.slice(inputs).forEach(([offset], index) => {
      if (results[index].length) device.queue.writeBuffer(this.engine.arena, offset, results[index]);
    });
    return found;
  }

  /** @param {number} place */
  async flag(place) {
    const [[value]] = /** @type {any} */ (await this.look([[place, 1, 'uint32']]));
    return value !== 0;
  }
}

/**
 * A program on a GPU: one buffer holds all tensors, one command encoder all launches of a run.
 * @implements {Engine}
 */
class WebGpuEngine {
  /**
   * @param {Gpu} gpu
   * @param {Map<string, any>} pipelines
   * @param {{ program: Program, stride: number, init: ((recording: Recording) => void)[], main: (steps: any, ...placeholders: number[]) => Found | Promise<Found>, dynamic: boolean }} code
   */
  constructor(gpu, pipelines, { program, stride, init, main, dynamic }) {
    this.gpu = gpu;
    this.pipelines = pipelines;
    this.program = program;
    this.stride = stride;
    this.main = main;
    this.dynamic = dynamic;
    /** @type {Recording[]} what the last run of a dynamic program launched */
    this.spent = [];
    this.size = 0;
    /** @type {any} */
    this.arena = null;
    /** @type {any} */
    this.readback = null;
    /** @type {Layout | null} */
    this.layout = null;
    /** @type {Recording | null} */
    this.recording = null;
    /** @type {Map<number, ArrayBuffer>} */
    this.results = new Map();
    this.inits = new Recording(gpu, pipelines, stride);
    for (const entry of init) entry(this.inits);
    this.inits.finish();
    /** @type {Promise<any>} */
    this.grown = Promise.resolve();
    this.grow(program.loaded);
  }

  check() {
    const { lost, failure } = this.gpu;
    if (lost) throw gpuError('DeviceLost', `the GPU device was lost (${lost.message || lost.reason}): dispose of the model and load it again`);
    if (failure) throw new Error(failure);
  }

  /** @param {number} bytes */
  grow(bytes) {
    const { device } = this.gpu;
    const size = Math.ceil(Math.max(bytes, 16) / 16) * 16;
    const limit = Math.min(device.limits.maxStorageBufferBindingSize, device.limits.maxBufferSize);
    if (size <= this.size) return;
    if (size > limit) throw gpuError('OutOfMemory', `the model needs ${size} bytes of GPU memory at once; this GPU binds at most ${limit}`);
    device.pushErrorScope('out-of-memory');
    const arena = device.createBuffer({ label: 'arena', size, usage: 0x80 | 0x4 | 0x8 });
    this.grown = device.popErrorScope();
    if (this.arena) {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(this.arena, 0, arena, 0, this.size);
      device.queue.submit([encoder.finish()]);
      this.arena.destroy();
    }
    this.arena = arena;
    this.size = size;
    this.group = this.inits.bind(arena);
  }

  async hasGrown() {
    if (await this.grown) throw gpuError('OutOfMemory', `${this.size} bytes of GPU memory could not be had`);
  }

  /**
   * @param {number} entry
   * @param {Uint8Array} bytes
   */
  init(entry, bytes) {
    this.check();
    const { device } = this.gpu;
    device.queue.writeBuffer(this.arena, this.program.staging.offset, stagedWords(bytes, this.program.init[entry]?.[3]));
    const encoder = device.createCommandEncoder();
    this.inits.encode(encoder, this.group, this.inits.dispatches.slice(entry, entry + 1));
    device.queue.submit([encoder.finish()]);
  }

  /**
   * @param {Layout} layout
   * @param {number[]} placeholders
   */
  arrange(layout, placeholders) {
    this.check();
    this.grow(layout.memory);
    this.layout = layout;
    this.recording?.dispose();
    this.readback?.destroy();
    if (!this.dynamic) {
      const recording = new Recording(this.gpu, this.pipelines, this.stride);
      this.main(recording, ...placeholders);
      this.recording = recording.finish();
      this.bound = recording.bind(this.arena);
    }
    const bytes = this.dynamic ? 0 : layout.outputs.reduce((sum, { shape }) => sum + bytesOf(shape), 0);
    this.readback = this.gpu.device.createBuffer({ label: 'outputs', size: Math.max(bytes, 4), usage: 0x1 | 0x8 });
  }

  /**
   * @param {Placed} placed
   * @param {TypedArray} value
   */
  write(placed, value) {
    if (value.length) this.gpu.device.queue.writeBuffer(this.arena, placed.offset, narrowed(placed, value));
  }

  /** @param {number[]} placeholders */
  async run(...placeholders) {
    this.check();
    if (this.dynamic) return this.follow(placeholders);
    const { device } = this.gpu;
    const { recording } = this;
    if (!recording || !this.layout) return;
    await this.hasGrown();
    const encoder = device.createCommandEncoder();
    recording.encode(encoder, this.bound, recording.dispatches);
    this.results = await this.fetch(encoder, this.layout.outputs, this.readback);
  }

  /**
   * Runs a program whose later steps depend on what earlier ones compute.
   * @param {number[]} placeholders
   */
  async follow(placeholders) {
    await this.hasGrown();
    for (const recording of this.spent.splice(0)) recording.dispose();
    this.results = new Map();
    const live = new Live(this);
    const found = await this.main(live, ...placeholders);
    this.gpu.device.queue.submit([live.encoded().finish()]);
    return found;
  }

  /**
   * Ends a command encoder with copies of tensors, and brings all of them in one go.
   * @param {any} encoder
   * @param {Omit<Placed, 'name'>[]} tensors
   * @param {any} buffer
   * @returns {Promise<Map<number, ArrayBuffer>>} the bytes of each by its offset
   */
  async fetch(encoder, tensors, buffer) {
    let end = 0;
    const parts = tensors.map(({ offset, shape }) => {
      const part = { offset, start: end, bytes: bytesOf(shape) };
      if (part.bytes) encoder.copyBufferToBuffer(this.arena, offset, buffer, end, part.bytes);
      end += part.bytes;
      return part;
    });
    this.gpu.device.queue.submit([encoder.finish()]);
    try {
      await buffer.mapAsync(1);
    } catch (error) {
      await Promise.race([this.gpu.device.lost, new Promise(resolve => setTimeout(resolve, 100))]);
      this.check();
      throw error;
    }
    const bytes = buffer.getMappedRange();
    const results = new Map(parts.map(part => [part.offset, bytes.slice(part.start, part.start + part.bytes)]));
    buffer.unmap();
    this.check();
    return results;
  }

  /**
   * @param {Omit<Placed, 'name'>} placed
   * @returns {Promise<TypedArray>}
   */
  async read(placed) {
    const bytes = bytesOf(placed.shape);
    const found = this.results.get(placed.offset);
    if (found?.byteLength === bytes) return widened(placed, found);
    const { device } = this.gpu;
    const buffer = device.createBuffer({ label: 'tensor', size: Math.max(bytes, 4), usage: 0x1 | 0x8 });
    const results = await this.fetch(device.createCommandEncoder(), [placed], buffer);
    buffer.destroy();
    return widened(placed, /** @type {ArrayBuffer} */ (results.get(placed.offset)));
  }

  /** @param {Move[]} moves */
  copy(moves) {
    const total = moves.reduce((sum, { bytes }) => sum + bytes, 0);
    if (!total) return;
    const { device } = this.gpu;
    const between = device.createBuffer({ label: 'moves', size: total, usage: 0x4 | 0x8 });
    const encoder = device.createCommandEncoder();
    let at = 0;
    for (const { source, bytes } of moves) {
      encoder.copyBufferToBuffer(this.arena, source, between, at, bytes);
      at += bytes;
    }
    at = 0;
    for (const { target, bytes } of moves) {
      encoder.copyBufferToBuffer(between, at, this.arena, target, bytes);
      at += bytes;
    }
    device.queue.submit([encoder.finish()]);
    between.destroy();
  }

  dispose() {
    for (const buffer of [this.arena, this.readback, this.recording, this.inits, ...this.spent]) (buffer?.destroy ?? buffer?.dispose)?.call(buffer);
  }
}

/**
 * @param {number[]} shape
 * @returns {number} the bytes of that many words
 */
const bytesOf = shape => shape.reduce((product, length) => product * length, 4);

/**
 * @param {Record<string, string>} shaders
 * @param {ConstructorParameters<typeof WebGpuEngine>[2]} code
 * @returns {Promise<WebGpuEngine>}
 */
export async function openEngine(shaders, code) {
  const gpu = await sharedGpu();
  const entries = Object.entries({ ...shaders, copy: COPY });
  const pipelines = await Promise.all(entries.map(([name, text]) => pipelineOf(gpu, name, text)));
  const engine = new WebGpuEngine(gpu, new Map(entries.map(([name], index) => [name, pipelines[index]])), code);
  await engine.hasGrown();
  return engine;
}
