/**
 * @import {
 *   Host, LayerValue, LoadReply, LoadRequest, Profile, Progress, RunReply, RunRequest,
 * } from './types.ts'
 * @import { ThreadedProgram } from './engine.ts'
 */
import { WebkilnError, abortedError, messageOf } from './errors.js';
import { documentURL, isNode, nodeModule } from './platform.js';
import { withTimeout } from './transfer.js';

/**
 * Reject with Aborted as soon as the signal is aborted.
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export function withSignal(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(abortedError('the load'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * Wait for the start of Workers, for at most `limit` milliseconds.
 * @template T
 * @param {Promise<T>} promise
 * @param {number} limit
 */
export const started = (promise, limit) =>
  withTimeout(promise, limit, () => new Error(`its script did not start within ${limit / 1000} s`));

/**
 * @typedef {object} Call
 * @property {number} id
 * @property {'load' | 'run' | 'reset' | 'layers' | 'profile' | 'enlist' | 'assist' | 'dismiss'}
 *   method
 * @property {any} [argument]
 */
/** @typedef {{ id: number, result?: any, error?: { code: any, message: string } }} Answer */
/**
 * @typedef {{ progress: Progress } | { threads: ThreadedProgram } | { stored: true }
 *   | { lost: string } | Answer} Reply
 */

/** The id of the message by which a Worker reports that it has started. */
export const READY = -1;

/** A model in a Worker. @implements {Host} */
export class Remote {
  remote = true;
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  calls = new Map();
  /** @type {(progress: Progress) => void} */
  onProgress = () => {};
  /** @type {((program: ThreadedProgram) => void) | undefined} */
  onThreads;
  /** Receives the message of the loss of the GPU device. @type {(message: string) => void} */
  onLost = () => {};
  /** Whether the Worker is still writing to the cache. */
  storing = false;
  /** @type {WebkilnError | null} */
  lost = null;
  count = 0;

  /** @param {any} worker */
  constructor(worker) {
    this.worker = worker;
    /** @type {Promise<void>} */
    this.ready = new Promise((resolve, reject) => this.calls.set(READY, { resolve, reject }));
    const receive = (/** @type {any} */ message) => {
      if (message.progress) this.onProgress(message.progress);
      else if (message.threads) this.hasThreads(message.threads);
      else if (message.stored) this.hasStored();
      else if (message.lost) this.onLost(message.lost);
      else this.settle(message);
    };
    const fail = (/** @type {any} */ event) =>
      this.fail(messageOf(event?.error ?? event?.message ?? event));
    if (worker.on) {
      worker.on('message', receive);
      worker.on('error', fail);
      worker.on('exit', (/** @type {number} */ code) => this.fail(`it ended with status ${code}`));
    } else {
      worker.onmessage = (/** @type {MessageEvent} */ event) => receive(event.data);
      worker.onerror = (/** @type {ErrorEvent} */ event) => {
        event.preventDefault();
        fail(event.message || 'its script did not load');
      };
      worker.onmessageerror = () => fail('a message could not be deserialized');
    }
  }

  /** @param {Answer} message */
  settle({ id, result, error }) {
    const call = this.calls.get(id);
    this.calls.delete(id);
    if (this.calls.size === 0) this.worker.unref?.();
    if (error) call?.reject(new WebkilnError(error.code, error.message));
    else call?.resolve(result);
  }

  /** @param {string} reason */
  fail(reason) {
    this.lost ??= new WebkilnError(
      'Trapped',
      `the model's Worker failed (${reason}); dispose of the model and load it again`,
    );
    for (const { reject } of this.calls.values()) reject(this.lost);
    this.calls.clear();
    this.storing = false;
  }

  /**
   * @param {Call['method']} method
   * @param {any} [argument]
   * @param {Transferable[]} [transfer]
   * @returns {Promise<any>}
   */
  call(method, argument, transfer = []) {
    if (this.lost) return Promise.reject(this.lost);
    return new Promise((resolve, reject) => {
      const id = this.count++;
      this.calls.set(id, { resolve, reject });
      // A pending call must keep a Node process alive; an idle model must not.
      this.worker.ref?.();
      this.worker.postMessage({ id, method, argument }, transfer);
    });
  }

  /**
   * @param {LoadRequest} request
   * @param {(progress: Progress) => void} onProgress
   * @param {AbortSignal} [signal]
   * @param {(program: ThreadedProgram) => void} [onThreads]
   * @returns {Promise<LoadReply>}
   */
  async load(request, onProgress, signal, onThreads) {
    this.onProgress = onProgress;
    this.onThreads = onThreads;
    const reply = await withSignal(this.call('load', request), signal);
    this.storing = request.saveCache;
    return reply;
  }

  /** @param {ThreadedProgram} program */
  hasThreads(program) {
    if (!this.lost) this.onThreads?.(program);
  }

  hasStored() {
    this.storing = false;
    if (this.lost) this.worker.terminate();
  }

  /**
   * @param {RunRequest} request
   * @returns {Promise<RunReply>}
   */
  run(request) {
    return this.call(
      'run',
      request,
      Object.values(request.inputs).map(value => /** @type {ArrayBuffer} */ (value.buffer)),
    );
  }

  /** @returns {Promise<void>} */
  reset() {
    return this.call('reset');
  }

  /** @returns {Promise<LayerValue[]>} */
  layers() {
    return this.call('layers');
  }

  /**
   * @param {number} threads
   * @returns {Promise<Omit<Profile, 'backend' | 'variant'>>}
   */
  profile(threads) {
    return this.call('profile', threads);
  }

  /**
   * @param {MessagePort[]} ports
   * @returns {Promise<void>}
   */
  enlist(ports) {
    return this.call('enlist', ports, ports);
  }

  /** Terminate the Worker, after it has written its files to the cache. */
  dispose() {
    this.lost ??= new WebkilnError('Disposed', 'the model was disposed of');
    if (!this.storing) this.worker.terminate();
  }
}

/**
 * Call `make` with a temporary global `Worker`.
 * @template T
 * @param {any} constructor
 * @param {() => T} make
 * @returns {T}
 */
function withWorker(constructor, make) {
  const before = globalThis.Worker;
  globalThis.Worker = constructor;
  try {
    return make();
  } finally {
    globalThis.Worker = before;
  }
}

/**
 * Node's Worker class. Workers inherit the flags of the process, but Node rejects `--input-type`
 * for files. Flags of V8 must not be passed; they apply to Workers anyway.
 */
const nodeWorker = () => {
  const { Worker } = nodeModule('worker_threads');
  const typed = nodeModule('process').execArgv.some((/** @type {string} */ flag) =>
    flag.startsWith('--input-type'),
  );
  return function (/** @type {any} */ url, /** @type {object} */ options) {
    return new Worker(url, typed ? { ...options, execArgv: [] } : options);
  };
};

/**
 * Start the bundle's Worker. Bundlers only recognise `new Worker(new URL(...))`, so the class is
 * replaced and the URL is intercepted: Node has no global Worker, and browsers do not start Workers
 * from another origin, but a local Worker can import such a script.
 * @param {() => any} make
 * @returns {any}
 */
export function startWorker(make) {
  const { Worker: constructor, Deno, Bun } = /** @type {any} */ (globalThis);
  // A global Worker of Deno keeps an idle process alive, and those of Deno and Bun run no script of
  // a single file.
  if (isNode && (!constructor || Deno || Bun)) return withWorker(nodeWorker(), make);
  const { href, origin } = withWorker(
    function (/** @type {any} */ url) {
      return { url };
    },
    () => new URL(make().url, documentURL()),
  );
  if (isNode || origin === 'null' || origin === globalThis.origin) return make();
  const script = URL.createObjectURL(
    new Blob([`import ${JSON.stringify(href)};`], { type: 'text/javascript' }),
  );
  return new Worker(script, { type: 'module' });
}
