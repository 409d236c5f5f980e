/** @import { Failure, Host, LayerValue, LoadReply, Manifest, Profile, TakeInputs, TypedArray } from './types.ts' */
import { FATAL, WebkilnError, abortedError } from './errors.js';
import { named, shown, takeInputs } from './dtypes.js';
import { checkNames } from './options.js';
import { checkPlaceholders, placeholdersOf } from './placeholders.js';

/** @typedef {{ start: () => Promise<any>, resolve: (value: any) => void, reject: (error: Error) => void }} Job */

/** A loaded model. Its calls are answered one after another, in the order in which they were made. */
export class Model {
  /** @type {Host} */
  #host;
  /** @type {Job[]} */
  #queue = [];
  /** @type {Job | null} */
  #current = null;
  /** @type {WebkilnError | null} */
  #lost = null;
  /** @type {TakeInputs} */
  #take;
  /** @type {() => void} */
  #endHelp;

  /**
   * @param {Host} host
   * @param {Manifest} manifest
   * @param {LoadReply} reply
   * @param {number} loadMs
   * @param {{ threads: number, end: () => void }} [help] what helps with its runs
   * @param {TakeInputs} [take]
   */
  constructor(host, manifest, { backend, variant, failures }, loadMs, help = { threads: 1, end: () => {} }, take = (_, inputs, placeholders) => [inputs, placeholders]) {
    this.#host = host;
    this.#endHelp = help.end;
    this.threads = help.threads;
    this.#take = take;
    this.manifest = manifest;
    this.backend = backend;
    this.variant = variant;
    /** @type {Failure[]} the backends that were tried before and why they failed */
    this.failures = failures;
    this.worker = host.remote;
    /** @type {{ loadMs: number, lastRunMs: number | null }} */
    this.stats = { loadMs, lastRunMs: null };
    /** @type {Record<string, number[]>} the shapes of the outputs of the last run */
    this.shapes = {};
  }

  /**
   * @param {() => Promise<any>} start
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  async #enqueue(start, signal) {
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
        resolve,
        reject,
      };
      this.#queue.push(job);
      signal?.addEventListener('abort', abort);
      this.#work();
    });
  }

  async #work() {
    if (this.#current) return;
    for (let job = this.#queue.shift(); job; job = this.#queue.shift()) {
      this.#current = job;
      try {
        job.resolve(await job.start());
      } catch (error) {
        if (error instanceof WebkilnError && FATAL.has(error.code)) this.#end(error);
        job.reject(/** @type {Error} */ (error));
      }
    }
    this.#current = null;
  }

  /** @param {WebkilnError} error what every call is answered with from now on */
  #end(error) {
    this.#lost = error;
    for (const { reject } of this.#queue.splice(0)) reject(error);
    this.#current?.reject(error);
  }

  /**
   * Runs the model. Inputs go by name, the only one also without it. They are copied at once; outputs are fresh typed arrays. Placeholders
   * follow from the lengths of the inputs, except where one input has several. `signal` takes a run that waits out of the queue.
   * @param {Record<string, TypedArray | number[]> | TypedArray | number[]} inputs
   * @param {{ signal?: AbortSignal, placeholders?: Record<string, number> }} [options]
   * @returns {Promise<Record<string, TypedArray>>}
   */
  async run(inputs, options = {}) {
    if (this.#lost) throw this.#lost;
    checkNames('run', ['signal', 'placeholders'], options);
    const { inputs: tensors } = this.manifest;
    checkPlaceholders(this.manifest.placeholders, options.placeholders ?? {});
    const [given, sizes] = this.#take(tensors, named(tensors, inputs), options.placeholders ?? {});
    const values = placeholdersOf(this.manifest, given, sizes);
    // A model in this thread that is idle reads its inputs before this call returns.
    const taken = takeInputs(tensors, given, values, !this.worker && !this.#current);
    return this.#enqueue(async () => {
      const begin = performance.now();
      const { outputs, shapes } = await this.#host.run({ inputs: taken, placeholders: values });
      this.stats.lastRunMs = performance.now() - begin;
      this.shapes = shapes;
      for (const { name, dtype } of this.manifest.outputs) {
        if (outputs[name]) outputs[name] = shown(dtype, outputs[name]);
      }
      return outputs;
    }, options.signal);
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
    return this.#enqueue(async () => (await this.#host.layers()).map(layer => ({ ...layer, data: shown(layer.dtype, layer.data) })));
  }

  /**
   * The times of launches since the load or the last profile, of a model that was loaded with `profile: true`.
   * @returns {Promise<Profile>}
   */
  profile() {
    const { backend, variant } = this;
    return this.#enqueue(async () => ({ backend, variant, ...await this.#host.profile(this.threads) }));
  }

  /** Frees the memory and the Worker; runs that have not ended are rejected. */
  dispose() {
    if (this.#lost?.code === 'Disposed') return;
    this.#end(new WebkilnError('Disposed', `the model '${this.manifest.name}' was disposed of; load it again`));
    this.#host.dispose();
    this.#endHelp();
  }
}
