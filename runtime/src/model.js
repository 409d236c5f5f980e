/** @import { Failure, TextureImporter, Host, LayerValue, LoadReply, Manifest, Profile, RunReply, ConvertInputs, TypedArray } from './types.ts' */
import { FATAL, WebkilnError, abortedError } from './errors.js';
import { isBuffer, inputsByName, toInterface, readInputs } from './dtypes.js';
import { checkNames } from './options.js';
import { checkPlaceholders, placeholdersOf } from './placeholders.js';

/** @typedef {{ start: () => Promise<any>, finish: (value: any) => any, resolve: (value: any) => void, reject: (error: Error) => void, overlap: number }} Job `overlap`: with how many like it, it may be at work */

/** So many microtasks lie between the answer to a call and what awaited it, at most. */
const TICKS = 10;

/** A loaded model. Its calls are answered in the order in which they were made; runs on a GPU overlap. */
export class Model {
  /** @type {Host} */
  #host;
  /** @type {Job[]} */
  #queue = [];
  /** @type {Set<Job>} */
  #current = new Set();
  #overlap;
  /** That the last call was answered. @type {Promise<void>} */
  #told = Promise.resolve();
  /** @type {WebkilnError | null} */
  #lost = null;
  /** @type {ConvertInputs} */
  #take;
  /** @type {() => void} */
  #endHelp;
  /** @type {TextureImporter | null} */
  #importer;

  /**
   * @param {Host} host
   * @param {Manifest} manifest
   * @param {LoadReply} reply
   * @param {number} loadMs
   * @param {{ threads: number, end: () => void }} [help] what helps with its runs
   * @param {ConvertInputs} [take]
   * @param {(device: any) => TextureImporter} [makeTextureImporter]
   */
  constructor(
    host,
    manifest,
    { backend, variant, failures, overlap },
    loadMs,
    help = { threads: 1, end: () => {} },
    take = (_, inputs, placeholders) => [inputs, placeholders],
    makeTextureImporter,
  ) {
    this.#host = host;
    this.#endHelp = help.end;
    this.threads = help.threads;
    this.#take = take;
    this.#overlap = overlap;
    this.manifest = manifest;
    this.backend = backend;
    this.variant = variant;
    /** @type {Failure[]} the backends that were tried before and why they failed */
    this.failures = failures;
    this.worker = host.remote;
    /** What GPUBuffers must be of; null where the model takes none. @type {any} */
    this.device = host.device ?? null;
    this.#importer = this.device && makeTextureImporter ? makeTextureImporter(this.device) : null;
    /** @type {{ loadMs: number, lastRunMs: number | null }} */
    this.stats = { loadMs, lastRunMs: null };
    /** @type {Record<string, number[]>} the shapes of the outputs of the last run */
    this.shapes = {};
  }

  /**
   * @param {() => Promise<any>} start
   * @param {number} [overlap]
   * @param {AbortSignal} [signal]
   * @param {(value: any) => any} [finish] what `start` gives -> the answer
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
      this.#answer(job);
    }
  }

  /** @param {Job} job */
  async #answer(job) {
    this.#current.add(job);
    const tell = await job.start().then(
      (/** @type {any} */ value) => () => job.resolve(job.finish(value)),
      (/** @type {Error} */ error) => {
        if (error instanceof WebkilnError && FATAL.has(error.code)) this.#end(error);
        return () => job.reject(error);
      },
    );
    this.#current.delete(job);
    this.#work();
    this.#told = this.#tell(tell, this.#told);
  }

  /**
   * Answers a call when whoever awaited the one before has gone on, so that both see the shapes of their own run.
   * @param {() => void} tell
   * @param {Promise<void>} before
   */
  async #tell(tell, before) {
    await before;
    tell();
    for (let tick = 0; tick < TICKS; tick++) await null;
  }

  /** @param {WebkilnError} error what every call is answered with from now on */
  #end(error) {
    this.#lost = error;
    for (const { reject } of this.#queue.splice(0)) reject(error);
    for (const { reject } of this.#current) reject(error);
  }

  /**
   * Runs the model. Inputs go by name, the only one also without it. They are copied at once; outputs are fresh typed arrays. Placeholders
   * follow from the lengths of the inputs, except where one input has several. `signal` takes a run that waits out of the queue.
   * Where there is a `device`, inputs may be GPUBuffers of it, and `outputs` says which outputs are to be.
   * @param {Record<string, TypedArray | number[]> | TypedArray | number[]} inputs
   * @param {{ signal?: AbortSignal, placeholders?: Record<string, number>, outputs?: any }} [options]
   * @returns {Promise<Record<string, TypedArray>>}
   */
  async run(inputs, options = {}) {
    if (this.#lost) throw this.#lost;
    checkNames('run', ['signal', 'placeholders', 'outputs'], options);
    const { inputs: tensors } = this.manifest;
    checkPlaceholders(this.manifest.placeholders, options.placeholders ?? {});
    const [given, sizes, imported = []] = this.#take(
      tensors,
      inputsByName(tensors, inputs),
      options.placeholders ?? {},
      this.#importer,
    );
    if (!this.device && (options.outputs || Object.values(given).some(isBuffer))) {
      throw new WebkilnError(
        'WrongOption',
        `GPUBuffers need worker: false and the webgpu backend; this model runs on ${this.backend}${this.worker ? ' in a Worker' : ''}`,
      );
    }
    const values = placeholdersOf(this.manifest, given, sizes);
    // A model in this thread that is idle reads its inputs before this call returns.
    const taken = readInputs(
      tensors,
      given,
      values,
      !this.worker && this.#queue.length === 0 && this.#free(this.#overlap),
    );
    return this.#enqueue(
      async () => {
        const begin = performance.now();
        const reply = await this.#host.run({
          inputs: taken,
          placeholders: values,
          into: options.outputs,
        });
        this.#importer?.give(imported);
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
   * Sets the states back to their initial values, after the runs that wait.
   * @returns {Promise<void>}
   */
  reset() {
    return this.#enqueue(() => this.#host.reset());
  }

  /**
   * The intermediate values of the last run, in program order; empty unless the bundle was built to keep them.
   * @returns {Promise<LayerValue[]>}
   */
  layers() {
    return this.#enqueue(async () =>
      (await this.#host.layers()).map(layer => ({
        ...layer,
        data: toInterface(layer.dtype, layer.data),
      })),
    );
  }

  /**
   * The times of launches since the load or the last profile, of a model that was loaded with `profile: true`.
   * @returns {Promise<Profile>}
   */
  profile() {
    const { backend, variant } = this;
    return this.#enqueue(async () => ({
      backend,
      variant,
      ...(await this.#host.profile(this.threads)),
    }));
  }

  /** Frees the memory and the Worker; runs that have not ended are rejected. */
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
    this.#endHelp();
  }
}
