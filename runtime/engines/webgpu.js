import { narrowed, stagedWords, widened } from './narrowing.js';
import { awaitLoss, gpuError, lossOf } from './webgpu_device.js';
import { Recording, bytesOf } from './webgpu_recording.js';
import {
  checkExternal,
  explainRejection,
  gpuOutputs,
  isExternal,
} from './webgpu_external_buffers.js';
import { MoveBuffer, Staging } from './webgpu_staging.js';

/** @typedef {import('./webgpu_device.js').Gpu} Gpu */
/** @typedef {import('./webgpu_external_buffers.js').ExternalBuffer} ExternalBuffer */

/** @typedef {import('./webgpu_open.js').GeneratedCode} GeneratedCode */

/**
 * A program on a GPU. One buffer, the arena, contains all tensors. One command encoder records all
 * commands of a run, so that the next run can be recorded before the outputs arrive.
 * @implements {Engine}
 */
export class WebGpuEngine {
  /**
   * @param {Gpu} gpu
   * @param {Map<string, any>} pipelines
   * @param {GeneratedCode} code
   */
  constructor(gpu, pipelines, { program, stride, init, main, dynamic }) {
    this.gpu = gpu;
    this.pipelines = pipelines;
    this.program = program;
    this.stride = stride;
    this.main = main;
    this.dynamic = dynamic;
    /** @type {Recording[]} recordings of the last run of a dynamic program */
    this.spent = [];
    /** @type {Recording[]} recordings of the run before, whose buffers are reused */
    this.reusable = [];
    this.size = 0;
    /** @type {any} */
    this.arena = null;
    this.staging = new Staging(gpu);
    this.moves = new MoveBuffer(gpu);
    /** @type {any} the command encoder of commands that are not submitted yet */
    this.encoder = null;
    /** @type {ExternalBuffer[]} buffers of the caller that these commands use */
    this.external = [];
    /** @type {{ buffer: any, error: Promise<any> }[]} buffers allocated for outputs of this run */
    this.created = [];
    this.disposed = false;
    /** @type {Recording | null} */
    this.recording = null;
    this.inits = this.begin();
    for (const entry of init) entry(this.inits);
    this.inits.finish();
    /** @type {Promise<any>} resolves to the bytes of a buffer that could not be allocated */
    this.grown = Promise.resolve();
    /** @type {Promise<any>} settles when the last submitted run ends */
    this.delivered = Promise.resolve();
  }

  get device() {
    return this.gpu.device;
  }

  /** @returns {Recording} an empty one */
  begin() {
    return new Recording(this.gpu, this.pipelines, this.stride);
  }

  /** Resolves to a message when the device is lost. @returns {Promise<string>} */
  get lost() {
    return this.gpu.device.lost.then(() => lossOf(this.gpu).message);
  }

  /** The number of runs that may be in flight at once. */
  get overlap() {
    return this.dynamic ? 1 : 2;
  }

  check() {
    const { lost, failure } = this.gpu;
    if (lost) throw lossOf(this.gpu);
    if (failure) throw new Error(failure);
  }

  /**
   * @param {any} error an error of this engine
   * @returns {Promise<any>} the loss of the device if it caused the error, else the error itself
   */
  async causeOf(error) {
    if (!this.gpu.lost && !this.disposed) await awaitLoss(this.gpu);
    return this.gpu.lost ? lossOf(this.gpu) : error;
  }

  /** @param {number} bytes */
  grow(bytes) {
    const size = Math.ceil(Math.max(bytes, 16) / 16) * 16;
    if (size <= this.size) return;
    const arena = this.allocate('arena', size);
    if (this.arena) {
      const { device } = this.gpu;
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(this.arena, 0, arena, 0, this.size);
      device.queue.submit([encoder.finish()]);
      this.arena.destroy();
    }
    this.arena = arena;
    this.size = size;
    this.group = this.inits.bind(arena);
  }

  /**
   * @param {string} label
   * @param {number} size in bytes
   * @returns {any} a buffer; `hasGrown` throws if there is no memory for it
   */
  allocate(label, size) {
    const { device } = this.gpu;
    const limit = Math.min(device.limits.maxStorageBufferBindingSize, device.limits.maxBufferSize);
    if (size > limit) {
      const advice = this.gpu.external
        ? '; request the device with the requiredLimits maxStorageBufferBindingSize and' +
          ' maxBufferSize of its adapter'
        : '';
      throw gpuError(
        'OutOfMemory',
        `the model needs a buffer of ${size} bytes; this GPU binds at most ${limit}${advice}`,
      );
    }
    device.pushErrorScope('out-of-memory');
    const buffer = device.createBuffer({ label, size, usage: 0x80 | 0x4 | 0x8 });
    const { grown } = this;
    this.grown = device.popErrorScope().then((/** @type {any} */ error) => (error ? size : grown));
    return buffer;
  }

  async hasGrown() {
    const missing = await this.grown;
    if (missing)
      throw gpuError('OutOfMemory', `${missing} bytes of GPU memory could not be allocated`);
  }

  /** @returns {any} the current command encoder */
  open() {
    this.encoder ??= this.gpu.device.createCommandEncoder();
    return this.encoder;
  }

  /**
   * Submit the recorded commands.
   * @returns {Promise<any>} the validation error if the device rejects all of them, else null
   */
  submit() {
    const { encoder } = this;
    const { device } = this.gpu;
    if (!encoder) return Promise.resolve(null);
    this.encoder = null;
    device.pushErrorScope('validation');
    device.queue.submit([encoder.finish()]);
    return device.popErrorScope().catch(() => null);
  }

  /** Submit commands that no run waits for. An error fails all models of the device. */
  flush() {
    this.submit().then(rejection => {
      if (rejection && !this.disposed) this.gpu.fail(rejection.message);
    });
  }

  /** Discard the recorded commands. */
  drop() {
    for (const { buffer } of this.created.splice(0)) buffer.destroy();
    this.encoder = null;
    this.external = [];
  }

  /**
   * @param {number} entry
   * @param {Uint8Array} bytes
   */
  init(entry, bytes) {
    this.check();
    this.gpu.device.queue.writeBuffer(
      this.arena,
      this.program.staging.offset,
      stagedWords(bytes, this.program.init[entry]?.[3]),
    );
    this.inits.encode(this.open(), this.group, this.inits.dispatches.slice(entry, entry + 1));
    this.flush();
  }

  /**
   * @param {Layout} layout
   * @param {number[]} placeholders
   */
  arrange(layout, placeholders) {
    this.check();
    this.grow(layout.memory);
    this.recording?.dispose();
    if (this.dynamic) return;
    const recording = this.begin();
    this.main(recording, ...placeholders);
    this.recording = recording.finish();
    this.bound = recording.bind(this.arena);
  }

  /**
   * @param {PlacedTensor} placed
   * @param {any} value
   */
  write(placed, value) {
    if (!isExternal(value)) {
      if (value.length)
        this.gpu.device.queue.writeBuffer(this.arena, placed.offset, narrowed(placed, value));
      return;
    }
    const bytes = bytesOf(placed.shape);
    checkExternal('input', placed, value, bytes);
    if (!bytes) return;
    this.open().copyBufferToBuffer(value, 0, this.arena, placed.offset, bytes);
    this.external.push({ what: `input '${placed.name}'`, buffer: value, written: false });
  }

  /**
   * Record a run; `read` submits it.
   * @param {number[]} placeholders
   * @returns {RunSizes | Promise<RunSizes>}
   */
  run(...placeholders) {
    this.check();
    if (this.dynamic) return this.runLive(placeholders);
    const recording = /** @type {Recording} */ (this.recording);
    recording.encode(this.open(), this.bound, recording.dispatches);
  }

  /**
   * Run a program whose later steps depend on the results of earlier ones.
   * @param {number[]} placeholders
   */
  async runLive(placeholders) {
    await this.hasGrown();
    for (const recording of this.reusable.splice(0)) recording.dispose();
    this.reusable = this.spent.splice(0);
    const live = new /** @type {any} */ (this.dynamic)(this);
    const sizes = await this.main(live, ...placeholders);
    live.record();
    return sizes;
  }

  /**
   * Submit the recorded commands and read tensors back.
   * @param {Omit<PlacedTensor, 'name'>[]} tensors
   * @param {Move[]} moves copies that follow
   * @returns {Promise<ArrayBuffer[]>}
   */
  async readBack(tensors, moves = []) {
    const encoder = this.open();
    const sizes = tensors.map(({ shape }) => bytesOf(shape));
    const bytes = Math.max(
      sizes.reduce((sum, size) => sum + size, 0),
      4,
    );
    const slot = this.staging.acquire(bytes);
    let end = 0;
    const starts = tensors.map(({ offset }, index) => {
      const start = end,
        size = sizes[index] ?? 0;
      if (size) encoder.copyBufferToBuffer(this.arena, offset, slot.buffer, start, size);
      end += size;
      return start;
    });
    this.moves.encode(encoder, this.arena, moves);
    const { external } = this;
    const submitted = this.submit();
    const mapped = slot.buffer.mapAsync(1, 0, bytes);
    try {
      const [rejection] = await Promise.all([submitted, mapped]);
      await this.#checkSubmission(rejection, external);
      const range = slot.buffer.getMappedRange(0, bytes);
      return starts.map((start, index) => range.slice(start, start + (sizes[index] ?? 0)));
    } catch (error) {
      await mapped.catch(() => {});
      this.check();
      throw error;
    } finally {
      slot.buffer.unmap();
      slot.busy = false;
    }
  }

  /**
   * @param {any} rejection
   * @param {ExternalBuffer[]} external
   */
  async #checkSubmission(rejection, external) {
    await this.hasGrown();
    if (rejection) throw await explainRejection(this.gpu, rejection, external);
    this.check();
  }

  /**
   * Submit the recorded commands and return the values of tensors; the copies of `moves` follow.
   * Tensors named by `into` stay on the GPU, and the call does not wait for them.
   * @param {Omit<PlacedTensor, 'name'>[]} tensors
   * @param {Move[]} moves
   * @param {any} [into] 'gpu', or name -> buffer, or name -> 'gpu' for a new buffer
   * @returns {Promise<any[]>}
   */
  read(tensors, moves, into) {
    const targets = gpuOutputs(tensors, into);
    const buffers = /** @type {PlacedTensor[]} */ (tensors).map(placed =>
      this.#copyOutput(placed, targets.get(placed.name)),
    );
    const others = tensors.filter((_, index) => !buffers[index]);
    const { external, created, delivered } = this;
    if (others.length === 0) this.moves.encode(this.open(), this.arena, moves);
    const copied =
      others.length > 0
        ? this.readBack(others, moves)
        : this.submit()
            .then(rejection => this.#checkSubmission(rejection, external))
            .then(() => []);
    this.external = [];
    this.created = [];
    const allocations = Promise.all(created.map(({ error }) => error));
    const values = Promise.all([copied, allocations, delivered]).then(([arrays, errors]) => {
      if (errors.some(Boolean))
        throw gpuError('OutOfMemory', 'GPU memory for the outputs could not be allocated');
      if (this.disposed) throw new Error('the model was disposed of');
      let next = 0;
      return tensors.map(
        (placed, index) =>
          buffers[index] ?? widened(placed, /** @type {ArrayBuffer} */ (arrays[next++])),
      );
    });
    this.delivered = values.catch(() => {
      for (const { buffer } of created) buffer.destroy();
    });
    return values;
  }

  /**
   * Record the copy of an output to a buffer.
   * @param {PlacedTensor} placed
   * @param {any} target a buffer, 'gpu' for a new one, or undefined for none
   */
  #copyOutput(placed, target) {
    if (!target) return null;
    const bytes = bytesOf(placed.shape);
    let buffer = target;
    if (isExternal(target)) {
      checkExternal('output', placed, target, bytes);
      this.external.push({ what: `output '${placed.name}'`, buffer, written: true });
    } else {
      const { device } = this.gpu;
      device.pushErrorScope('out-of-memory');
      buffer = device.createBuffer({ label: placed.name, size: bytes, usage: 0x80 | 0x4 | 0x8 });
      this.created.push({ buffer, error: device.popErrorScope().catch(() => null) });
    }
    if (bytes) this.open().copyBufferToBuffer(this.arena, placed.offset, buffer, 0, bytes);
    return buffer;
  }

  /** @param {Move[]} moves */
  copy(moves) {
    if (moves.length === 0) return;
    this.moves.encode(this.open(), this.arena, moves);
    this.flush();
  }

  dispose() {
    this.disposed = true;
    this.drop();
    for (const buffer of [this.arena, this.moves, this.staging]) buffer?.destroy();
    for (const recording of [this.recording, this.inits, ...this.spent, ...this.reusable])
      recording?.dispose();
  }
}
