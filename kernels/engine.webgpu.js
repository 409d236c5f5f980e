import { narrowed, stagedWords, widened } from './narrowing.js';
import { gpuError, pipelineOf, sharedGpu } from './gpu_device.js';
import { COPY, Recording, bytesOf } from './gpu_recording.js';
import { Live } from './gpu_live.js';

/** @typedef {import('./gpu_device.js').Gpu} Gpu */

/**
 * A program on a GPU: one buffer holds all tensors, one command encoder all launches of a run.
 * @implements {Engine}
 */
export class WebGpuEngine {
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
    if (found?.byteLength === bytes) {
      // The caller owns what it is given: an output that lies at the same place is read again.
      this.results.delete(placed.offset);
      return widened(placed, found);
    }
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
 * @param {Record<string, string>} shaders
 * @param {Record<string, string>} subgroups
 * @param {ConstructorParameters<typeof WebGpuEngine>[2]} code
 * @returns {Promise<WebGpuEngine>}
 */
export async function openEngine(shaders, subgroups, code) {
  const gpu = await sharedGpu();
  const entries = Object.entries({ ...shaders, ...(gpu.subgroups ? subgroups : {}), copy: COPY });
  const pipelines = await Promise.all(entries.map(([name, text]) => pipelineOf(gpu, name, text)));
  const engine = new WebGpuEngine(gpu, new Map(entries.map(([name], index) => [name, pipelines[index]])), code);
  try {
    engine.grow(code.program.loaded);
    await engine.hasGrown();
  } catch (error) {
    engine.dispose();
    throw error;
  }
  return engine;
}
