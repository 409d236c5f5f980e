/**
 * @import {
 *   ConvertInputs, Failure, Host, LayerValue, LoadReply, Manifest, PlaceholdersOf, Profile,
 *   RunReply, TextureImporter, TypedArray,
 * } from './types.ts'
 */
import { FATAL, WebkilnError, abortedError } from './errors.js';
import { isBuffer, inputsByName, toInterface, readInputs } from './dtypes.js';
import { flattenInputs } from './nested.js';
import { checkNames } from './options.js';
import { checkPlaceholders } from './placeholders.js';
import { Recovery } from './recovery.js';

/**
 * A queued call. `overlap` is the number of such calls that may be in flight at once.
 * @typedef {object} Job
 * @property {() => Promise<any>} start
 * @property {(value: any) => any} finish
 * @property {(value: any) => void} resolve
 * @property {(error: Error) => void} reject
 * @property {number} overlap
 */

/** The maximum number of microtasks between resolving a call and resuming its caller. */
const TICKS = 10;

/**
 * A loaded model. Calls are resolved in the order in which they were made. Runs on a GPU overlap.
 */
export class Model {
  /** @type {Host} */
  #host;
  /** @type {Job[]} */
  #queue = [];
  /** @type {Set<Job>} */
  #current = new Set();
  #overlap;
  /** Settles when the last call is resolved. @type {Promise<void>} */
  #resolved = Promise.resolve();
  /** @type {WebkilnError | null} */
  #lost = null;
  /** @type {ConvertInputs} */
  #convertInputs;
  #placeholdersOf;
  /** @type {() => void} */
  #stopHelpers;
  /** @type {TextureImporter | null} */
  #importer = null;
  #makeTextureImporter;
  #recovery;

  /**
   * @param {Host} host
   * @param {Manifest} manifest
   * @param {LoadReply} reply
   * @param {number} loadMs
   * @param {{ threads: number, end: () => void }} [helpers] the helper threads
   * @param {ConvertInputs} [convertInputs]
   * @param {(device: any) => TextureImporter} [makeTextureImporter]
   * @param {PlaceholdersOf} [placeholdersOf]
   * @param {Recovery} [recovery]
   */
  constructor(
    host,
    manifest,
    { backend, variant, failures, overlap },
    loadMs,
    helpers = { threads: 1, end: () => {} },
    convertInputs = (_, inputs, placeholders) => [inputs, placeholders],
    makeTextureImporter,
    placeholdersOf = () => ({}),
    recovery = new Recovery(),
  ) {
    this.#host = host;
    this.#stopHelpers = helpers.end;
    this.threads = helpers.threads;
    this.#convertInputs = convertInputs;
    this.#placeholdersOf = placeholdersOf;
    this.#overlap = overlap;
    this.manifest = manifest;
    this.backend = backend;
    this.variant = variant;
    /** @type {Failure[]} the backends that failed before this one */
    this.failures = failures;
    this.worker = host.remote;
    /** The GPUDevice of GPUBuffers; null if the model does not accept any. @type {any} */
    this.device = host.device ?? null;
    this.#makeTextureImporter = makeTextureImporter;
    this.#makeImporter();
    this.#recovery = recovery;
    host.onLost = message => this.#lose(new WebkilnError('DeviceLost', message));
    /** @type {{ loadMs: number, lastRunMs: number | null }} */
    this.stats = { loadMs, lastRunMs: null };
    /** @type {Record<string, number[]>} the shapes of the outputs of the last run */
    this.shapes = {};
  }

  #makeImporter() {
    const make = this.#makeTextureImporter;
    this.#importer = this.device && make ? make(this.device) : null;
  }

  /**
   * @param {() => Promise<any>} start
   * @param {number} [overlap]
   * @param {AbortSignal} [signal]
   * @param {(value: any) => any} [finish] converts the result of `start`
   * @returns {Promise<any>}
   */
  async #enqueue(start, overlap = 1, signal, finish = value => value) {
    if (this.#lost) throw this.#lost;
    if (signal?.aborted) throw abortedError('the run');
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#queue = this.#queue.filter(other => other !== job);
        reject(abortedError('the run'));
      };
      /** @type {Job} */
      const job = {
        start: () => {
          signal?.removeEventListener('abort', abort);
          return start();
        },
        finish,
        resolve,
        reject,
        overlap,
      };
      this.#queue.push(job);
      signal?.addEventListener('abort', abort);
      this.#work();
    });
  }

  /** @param {number} overlap */
  #free(overlap) {
    return (
      this.#current.size <
      [...this.#current].reduce((least, job) => Math.min(least, job.overlap), overlap)
    );
  }

  #work() {
    for (let job = this.#queue[0]; job && this.#free(job.overlap); job = this.#queue[0]) {
      this.#queue.shift();
      this.#process(job);
    }
  }

  /** @param {Job} job */
  async #process(job) {
    this.#current.add(job);
    const { count } = this.#recovery;
    const settle = await job.start().then(
      (/** @type {any} */ value) => () => job.resolve(job.finish(value)),
      (/** @type {Error} */ error) => {
        if (count === this.#recovery.count && error instanceof WebkilnError) this.#fail(error);
        return () => job.reject(error);
      },
    );
    this.#current.delete(job);
    this.#work();
    this.#resolved = this.#settle(settle, this.#resolved);
  }

  /**
   * Settle a call after the caller of the previous one has resumed, so that both read the shapes of
   * their own run.
   * @param {() => void} settle
   * @param {Promise<void>} before
   */
  async #settle(settle, before) {
    await before;
    settle();
    for (let tick = 0; tick < TICKS; tick++) await null;
  }

  /** @param {WebkilnError} error of a call */
  #fail(error) {
    if (error.code === 'DeviceLost') this.#lose(error);
    else if (FATAL.has(error.code)) this.#end(error);
  }

  /** @param {WebkilnError} error the loss of the GPU device; all pending calls are rejected */
  #lose(error) {
    if (this.#lost || this.#recovery.loss) return;
    const loss = this.#recovery.lose(error, this.#current.size + this.#queue.length > 0);
    if (!this.#recovery.possible) return this.#end(loss);
    this.#rejectPending(loss);
    this.#importer?.dispose();
    this.#importer = null;
  }

  /** Load the model again if its device was lost. */
  async #recover() {
    await this.#recovery.restore();
    if (this.device === (this.#host.device ?? null)) return;
    this.device = this.#host.device;
    this.#makeImporter();
  }

  /** @param {WebkilnError} error the error of all pending and later calls */
  #end(error) {
    this.#lost = error;
    this.#rejectPending(error);
  }

  /** @param {WebkilnError} error */
  #rejectPending(error) {
    for (const { reject } of this.#queue.splice(0)) reject(error);
    for (const { reject } of this.#current) reject(error);
  }

  /**
   * Run the model. Inputs are passed by name; a model's only input can be passed without it. They
   * are copied immediately. Outputs are new typed arrays. Placeholders are derived from the lengths
   * of the inputs and the rows of nested arrays. `signal` removes a waiting run from the queue. If
   * the model has a `device`, inputs can be GPUBuffers, and `outputs` selects outputs as
   * GPUBuffers.
   * @param {Record<string, TypedArray | number[]> | TypedArray | number[]} inputs
   * @param {object} [options]
   * @param {AbortSignal} [options.signal]
   * @param {Record<string, number>} [options.placeholders]
   * @param {any} [options.outputs]
   * @returns {Promise<Record<string, TypedArray>>}
   */
  async run(inputs, options = {}) {
    if (this.#lost) throw this.#lost;
    this.#recovery.check();
    checkNames('run', ['signal', 'placeholders', 'outputs'], options);
    const { inputs: tensors } = this.manifest;
    checkPlaceholders(this.manifest, options.placeholders ?? {});
    const [converted, sizes, imported = []] = this.#convertInputs(
      tensors,
      inputsByName(tensors, inputs),
      options.placeholders ?? {},
      this.#importer,
    );
    const [arrays, shapes] = flattenInputs(tensors, converted);
    const values = this.#placeholdersOf(this.manifest, arrays, sizes, shapes);
    if (!this.device && (options.outputs || Object.values(arrays).some(isBuffer))) {
      throw new WebkilnError(
        'WrongOption',
        'GPUBuffers need worker: false and the webgpu backend; ' +
          `this model runs on ${this.backend}${this.worker ? ' in a Worker' : ''}`,
      );
    }
    // An idle model in this thread reads its inputs before this call returns.
    const stored = readInputs(
      tensors,
      arrays,
      values,
      !this.worker && !this.#recovery.loss && this.#queue.length === 0 && this.#free(this.#overlap),
    );
    return this.#enqueue(
      async () => {
        const begin = performance.now();
        if (this.#recovery.loss) await this.#recover();
        const reply = await this.#host.run({
          inputs: stored,
          placeholders: values,
          into: options.outputs,
        });
        this.#importer?.release(imported);
        return { ...reply, ms: performance.now() - begin };
      },
      this.#overlap,
      options.signal,
      (/** @type {RunReply & { ms: number }} */ { outputs, shapes, ms }) => {
        this.stats.lastRunMs = ms;
        this.shapes = shapes;
        for (const { name, dtype } of this.manifest.outputs) {
          if (ArrayBuffer.isView(outputs[name])) outputs[name] = toInterface(dtype, outputs[name]);
        }
        return outputs;
      },
    );
  }

  /**
   * Reset the states to their initial values, after all queued runs.
   * @returns {Promise<void>}
   */
  reset() {
    this.#recovery.acknowledge();
    return this.#enqueue(() => (this.#recovery.loss ? this.#recover() : this.#host.reset()));
  }

  /**
   * Queue a call that reports on earlier runs, which a lost device has forgotten.
   * @param {() => Promise<any>} start
   */
  async #enqueueOfLast(start) {
    if (this.#recovery.loss) throw this.#recovery.loss;
    return this.#enqueue(start);
  }

  /**
   * The intermediate values of the last run, in program order. Empty unless the bundle was built to
   * keep them.
   * @returns {Promise<LayerValue[]>}
   */
  layers() {
    return this.#enqueueOfLast(async () =>
      (await this.#host.layers()).map(layer => ({
        ...layer,
        data: toInterface(layer.dtype, layer.data),
      })),
    );
  }

  /**
   * The times of launches since the load or the last call. Needs a model that was loaded with
   * `profile: true`.
   * @returns {Promise<Profile>}
   */
  profile() {
    const { backend, variant } = this;
    return this.#enqueueOfLast(async () => ({
      backend,
      variant,
      ...(await this.#host.profile(this.threads)),
    }));
  }

  /** Free the memory and the Worker. Pending runs are rejected. */
  dispose() {
    if (this.#lost?.code === 'Disposed') return;
    this.#end(
      new WebkilnError(
        'Disposed',
        `the model '${this.manifest.name}' was disposed of; load it again`,
      ),
    );
    this.#importer?.dispose();
    this.#host.dispose();
    this.#stopHelpers();
  }
}
