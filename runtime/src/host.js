/**
 * @import {
 *   BackendImports, Host, LoadReply, LoadRequest, Progress, RunReply, RunRequest,
 * } from './types.ts'
 * @import { ThreadedProgram } from './engine.ts'
 */
/** @import { Call } from './remote.js' */
import { WebkilnError, abortedError, messageOf } from './errors.js';
import { assist, dismiss } from './worker_pool.js';
import { instantiate } from './instantiate.js';
import { isNode, nodeModule } from './platform.js';
import { READY, Remote, startWorker, started, withSignal } from './remote.js';
import { Session } from './session.js';

/** A model in this thread. @implements {Host} */
export class Local {
  remote = false;
  /** @type {Session | null} */
  session = null;
  /** Settles when all files are written to the cache. @type {Promise<void>} */
  stored = Promise.resolve();
  /** Receives the message of the loss of the GPU device. @type {(message: string) => void} */
  onLost = () => {};
  #disposed = false;

  /** @param {BackendImports} modules */
  constructor(modules) {
    this.modules = modules;
  }

  /** @returns {Session} */
  get loaded() {
    if (!this.session) throw new WebkilnError('Disposed', 'the model is not loaded');
    return this.session;
  }

  get device() {
    return this.session?.engine.device;
  }

  /**
   * Load the model, in place of one that was loaded before.
   * @param {LoadRequest} request
   * @param {(progress: Progress) => void} onProgress
   * @param {AbortSignal} [signal]
   * @param {(program: ThreadedProgram) => void} [onThreads]
   * @returns {Promise<LoadReply>}
   */
  async load(request, onProgress, signal, onThreads) {
    const { session, stored, ...reply } = await withSignal(
      instantiate(request, this.modules, onProgress, signal, onThreads),
      signal,
    );
    if (this.#disposed) {
      session.dispose();
      throw new WebkilnError('Disposed', 'the model was disposed of while it was loaded');
    }
    this.session?.dispose();
    this.session = session;
    this.stored = stored;
    session.engine.lost?.then(message => {
      if (this.session === session) this.onLost(message);
    });
    return reply;
  }

  /** @param {RunRequest} request */
  async run(request) {
    return this.loaded.run(request);
  }

  async reset() {
    this.loaded.reset();
  }

  async layers() {
    return this.loaded.layers();
  }

  /** @param {number} threads */
  async profile(threads) {
    const { profiler } = this.loaded;
    if (!profiler) throw new WebkilnError('WrongOption', 'profile() needs load({ profile: true })');
    return profiler.report(threads);
  }

  /** @param {MessagePort[]} ports of Workers that help with later runs */
  async enlist(ports) {
    this.loaded.engine.enlist?.(ports);
  }

  dispose() {
    this.#disposed = true;
    this.session?.dispose();
    this.session = null;
  }
}

/**
 * Serve one model to the thread that created this Worker, or help with other models.
 * @param {BackendImports} modules
 */
export function serve(modules) {
  /** @type {any} */
  const port = (isNode && nodeModule('worker_threads').parentPort) || globalThis;
  const local = new Local(modules);
  local.onLost = lost => port.postMessage({ lost });
  /** @type {Record<Call['method'], (argument: any) => any>} */
  const methods = {
    load: request =>
      local.load(
        request,
        progress => port.postMessage({ progress }),
        undefined,
        threads => port.postMessage({ threads }),
      ),
    run: request => local.run(request),
    reset: () => local.reset(),
    layers: () => local.layers(),
    profile: threads => local.profile(threads),
    enlist: ports => local.enlist(ports),
    assist,
    dismiss,
  };
  /** @param {Call} call */
  const answer = async ({ id, method, argument }) => {
    try {
      const result = await methods[method](argument);
      const values =
        method === 'run' ? Object.values(/** @type {RunReply} */ (result).outputs) : [];
      port.postMessage(
        { id, result },
        values.map(value => value.buffer),
      );
      if (method === 'load') local.stored.then(() => port.postMessage({ stored: true }));
    } catch (error) {
      const code = error instanceof WebkilnError ? error.code : 'Trapped';
      port.postMessage({ id, error: { code, message: messageOf(error) } });
    }
  };
  if (port.on) port.on('message', answer);
  else port.onmessage = (/** @type {MessageEvent} */ event) => answer(event.data);
  port.postMessage({ id: READY });
}

/**
 * Start the Worker of a model. If that fails, print a warning and use this thread.
 * @param {() => any} make
 * @param {BackendImports} modules
 * @param {number} limit time limit for the start of the Worker, in milliseconds
 * @param {AbortSignal} [signal]
 * @returns {Promise<Host>}
 */
export async function startHost(make, modules, limit, signal) {
  /** @type {Remote | undefined} */
  let remote;
  try {
    remote = new Remote(startWorker(make));
    await withSignal(started(remote.ready, limit), signal);
    return remote;
  } catch (error) {
    remote?.dispose();
    if (signal?.aborted) throw abortedError('the load');
    console.warn(
      `webkiln: the model runs in the main thread, because no Worker started (${messageOf(error)})`,
    );
    return new Local(modules);
  }
}
