import { narrowed, stagedWords, widened } from './narrowing.js';
import { LOSS_MS, gpuError, lossOf, prepared, settled, usable } from './webgpu_device.js';
import { COPY, Recording, bytesOf } from './webgpu_recording.js';
import { Live } from './webgpu_immediate.js';
import { checkLent, isLent, keptOf, refusal } from './webgpu_external_buffers.js';
import { Staging } from './webgpu_staging.js';

/** @typedef {import('./webgpu_device.js').Gpu} Gpu */

/**
 * A program on a GPU: one buffer holds all tensors, one command encoder all that a run does, so that the next may be recorded before its outputs are here.
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
    /** @type {Recording[]} what the last run of a dynamic program launched, whose buffers the next takes */
    this.spent = [];
    /** @type {Recording[]} what the run before left to be used again */
    this.reusable = [];
    this.size = 0;
    /** @type {any} */
    this.arena = null;
    this.staging = new Staging(gpu);
    /** @type {any} what states go through from one run to the next */
    this.between = null;
    /** @type {any} what is recorded and not handed over */
    this.encoder = null;
    /** @type {import('./webgpu_external_buffers.js').Lent[]} buffers of the caller in it */
    this.lent = [];
    /** @type {{ buffer: any, lacking: Promise<any> }[]} buffers for the caller in it, and what is wrong with them */
    this.made = [];
    this.disposed = false;
    /** @type {Recording | null} */
    this.recording = null;
    this.inits = new Recording(gpu, pipelines, stride);
    for (const entry of init) entry(this.inits);
    this.inits.finish();
    /** @type {Promise<any>} */
    this.grown = Promise.resolve();
    /** @type {Promise<any>} the end of the last run that was handed over */
    this.delivered = Promise.resolve();
  }

  get device() {
    return this.gpu.device;
  }

  /** How many runs may be under way at once. */
  get overlap() {
    return this.dynamic ? 1 : 2;
  }

  check() {
    const { lost, failure } = this.gpu;
    if (lost) throw lossOf(this.gpu);
    if (failure) throw new Error(failure);
  }

  /**
   * @param {any} error of this engine
   * @returns {Promise<any>} the loss of the device, if that is what broke it, else the error itself
   */
  async causeOf(error) {
    if (!this.gpu.lost && !this.disposed) await settled(this.gpu, LOSS_MS);
    return this.gpu.lost ? lossOf(this.gpu) : error;
  }

  /** @param {number} bytes */
  grow(bytes) {
    const { device } = this.gpu;
    const size = Math.ceil(Math.max(bytes, 16) / 16) * 16;
    const limit = Math.min(device.limits.maxStorageBufferBindingSize, device.limits.maxBufferSize);
    if (size <= this.size) return;
    if (size > limit) {
      const advice = this.gpu.given
        ? '; request the device with the requiredLimits maxStorageBufferBindingSize and maxBufferSize of its adapter'
        : '';
      throw gpuError(
        'OutOfMemory',
        `the model needs ${size} bytes of GPU memory at once; this GPU binds at most ${limit}${advice}`,
      );
    }
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
    if (await this.grown)
      throw gpuError('OutOfMemory', `${this.size} bytes of GPU memory could not be had`);
  }

  /** @returns {any} the encoder of what comes next */
  open() {
    this.encoder ??= this.gpu.device.createCommandEncoder();
    return this.encoder;
  }

  /**
   * Hands over what is recorded.
   * @returns {Promise<any>} what the device refuses of it, if anything; nothing of it is done then
   */
  hand() {
    const { encoder } = this;
    const { device } = this.gpu;
    if (!encoder) return Promise.resolve(null);
    this.encoder = null;
    device.pushErrorScope('validation');
    device.queue.submit([encoder.finish()]);
    return device.popErrorScope().catch(() => null);
  }

  /** Hands over what no run waits for. */
  hasten() {
    this.hand().then(refused => {
      if (refused && !this.disposed) this.gpu.fail(refused.message);
    });
  }

  /** Forgets what is recorded. */
  drop() {
    for (const { buffer } of this.made.splice(0)) buffer.destroy();
    this.encoder = null;
    this.lent = [];
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
    this.hasten();
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
    const recording = new Recording(this.gpu, this.pipelines, this.stride);
    this.main(recording, ...placeholders);
    this.recording = recording.finish();
    this.bound = recording.bind(this.arena);
  }

  /**
   * @param {Placed} placed
   * @param {any} value
   */
  write(placed, value) {
    if (!isLent(value)) {
      if (value.length)
        this.gpu.device.queue.writeBuffer(this.arena, placed.offset, narrowed(placed, value));
      return;
    }
    const bytes = bytesOf(placed.shape);
    checkLent('input', placed, value, bytes);
    if (!bytes) return;
    this.open().copyBufferToBuffer(value, 0, this.arena, placed.offset, bytes);
    this.lent.push({ what: `input '${placed.name}'`, buffer: value, filled: false });
  }

  /**
   * Records a run; `read` hands it over.
   * @param {number[]} placeholders
   * @returns {Found | Promise<Found>}
   */
  run(...placeholders) {
    this.check();
    if (this.dynamic) return this.follow(placeholders);
    const recording = /** @type {Recording} */ (this.recording);
    recording.encode(this.open(), this.bound, recording.dispatches);
  }

  /**
   * Runs a program whose later steps depend on what earlier ones compute.
   * @param {number[]} placeholders
   */
  async follow(placeholders) {
    await this.hasGrown();
    for (const recording of this.reusable.splice(0)) recording.dispose();
    this.reusable = this.spent.splice(0);
    const live = new Live(this);
    const found = await this.main(live, ...placeholders);
    live.record();
    return found;
  }

  /**
   * Hands over what is recorded, and brings tensors as they are then.
   * @param {Omit<Placed, 'name'>[]} tensors
   * @param {Move[]} moves copies that are done afterwards
   * @returns {Promise<ArrayBuffer[]>}
   */
  async bring(tensors, moves = []) {
    const encoder = this.open();
    const sizes = tensors.map(({ shape }) => bytesOf(shape));
    const bytes = Math.max(
      sizes.reduce((sum, size) => sum + size, 0),
      4,
    );
    const slot = this.staging.take(bytes);
    let end = 0;
    const starts = tensors.map(({ offset }, index) => {
      const start = end,
        size = sizes[index] ?? 0;
      if (size) encoder.copyBufferToBuffer(this.arena, offset, slot.buffer, start, size);
      end += size;
      return start;
    });
    this.#move(encoder, moves);
    const { lent } = this;
    const handed = this.hand();
    const mapped = slot.buffer.mapAsync(1, 0, bytes);
    try {
      const [refused] = await Promise.all([handed, mapped]);
      await this.#passed(refused, lent);
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
   * @param {any} refused
   * @param {import('./webgpu_external_buffers.js').Lent[]} lent
   */
  async #passed(refused, lent) {
    await this.hasGrown();
    if (refused) throw await refusal(this.gpu, refused, lent);
    this.check();
  }

  /**
   * The values of tensors after what is recorded, which is handed over; copies to states follow them. Those that `into` names stay on the GPU, and are not waited for.
   * @param {Omit<Placed, 'name'>[]} tensors
   * @param {Move[]} moves
   * @param {any} [into] 'gpu', or by name buffers, or 'gpu' for fresh ones
   * @returns {Promise<any[]>}
   */
  read(tensors, moves, into) {
    const wanted = keptOf(tensors, into);
    const kept = tensors.map(placed =>
      this.#keep(/** @type {Placed} */ (placed), wanted.get(/** @type {Placed} */ (placed).name)),
    );
    const others = tensors.filter((_, index) => !kept[index]);
    const { lent, made, delivered } = this;
    if (others.length === 0) this.#move(this.open(), moves);
    const brought =
      others.length > 0
        ? this.bring(others, moves)
        : this.hand()
            .then(refused => this.#passed(refused, lent))
            .then(() => []);
    this.lent = [];
    this.made = [];
    const lacking = Promise.all(made.map(item => item.lacking));
    const values = Promise.all([brought, lacking, delivered]).then(([arrays, errors]) => {
      if (errors.some(Boolean))
        throw gpuError('OutOfMemory', 'GPU memory for the outputs could not be had');
      if (this.disposed) throw new Error('the model was disposed of');
      let next = 0;
      return tensors.map(
        (placed, index) =>
          kept[index] ?? widened(placed, /** @type {ArrayBuffer} */ (arrays[next++])),
      );
    });
    this.delivered = values.catch(() => {
      for (const { buffer } of made) buffer.destroy();
    });
    return values;
  }

  /**
   * Records the copy of an output to a buffer, where one is wanted.
   * @param {Placed} placed
   * @param {any} wanted
   */
  #keep(placed, wanted) {
    if (!wanted) return null;
    const bytes = bytesOf(placed.shape);
    let buffer = wanted;
    if (isLent(wanted)) {
      checkLent('output', placed, wanted, bytes);
      this.lent.push({ what: `output '${placed.name}'`, buffer, filled: true });
    } else {
      const { device } = this.gpu;
      device.pushErrorScope('out-of-memory');
      buffer = device.createBuffer({ label: placed.name, size: bytes, usage: 0x80 | 0x4 | 0x8 });
      this.made.push({ buffer, lacking: device.popErrorScope().catch(() => null) });
    }
    if (bytes) this.open().copyBufferToBuffer(this.arena, placed.offset, buffer, 0, bytes);
    return buffer;
  }

  /**
   * @param {any} encoder
   * @param {Move[]} moves
   */
  #move(encoder, moves) {
    const total = moves.reduce((sum, { bytes }) => sum + bytes, 0);
    if (!total) return;
    if (!(this.between?.size >= total)) {
      this.between?.destroy();
      this.between = this.gpu.device.createBuffer({
        label: 'moves',
        size: total,
        usage: 0x4 | 0x8,
      });
    }
    let at = 0;
    for (const { source, bytes } of moves) {
      encoder.copyBufferToBuffer(this.arena, source, this.between, at, bytes);
      at += bytes;
    }
    at = 0;
    for (const { target, bytes } of moves) {
      encoder.copyBufferToBuffer(this.between, at, this.arena, target, bytes);
      at += bytes;
    }
  }

  /** @param {Move[]} moves */
  copy(moves) {
    if (moves.length === 0) return;
    this.#move(this.open(), moves);
    this.hasten();
  }

  dispose() {
    this.disposed = true;
    this.drop();
    for (const buffer of [this.arena, this.between, this.staging]) buffer?.destroy();
    for (const recording of [this.recording, this.inits, ...this.spent, ...this.reusable])
      recording?.dispose();
  }
}

/**
 * @param {Record<string, string>} shaders
 * @param {Record<string, Record<string, string>>} variants by the feature that the device must have
 * @param {ConstructorParameters<typeof WebGpuEngine>[2]} code
 * @param {any} [device] the caller's own
 * @returns {Promise<WebGpuEngine>}
 */
export async function openEngine(shaders, variants, code, device) {
  const [gpu, pipelines] = await prepared(device, found =>
    Object.entries(
      Object.assign({}, shaders, ...usable(found.device).map(name => variants[name]), {
        copy: COPY,
      }),
    ),
  );
  const engine = new WebGpuEngine(gpu, pipelines, code);
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
