/**
 * @import { Bundle, Host, LoadOptions, LoadReply, LoadRequest } from './types.ts'
 * @import { ThreadedProgram } from './engine.ts'
 */
import { WebkilnError, abortedError, messageOf } from './errors.js';
import { STRATEGIES } from './cache.js';
import { listOf, describe } from './dtypes.js';
import { MOST_HELPERS, cores, isolated, recruit } from './worker_pool.js';
import { Local, startHost } from './host.js';
import { Model } from './model.js';
import { checkNames } from './options.js';
import { documentURL, isNode, isServiceWorker } from './platform.js';
import { Recovery } from './recovery.js';
import { started, withSignal } from './remote.js';

/** The default of `stallTimeout`. */
const STALL_MS = 30_000;
/** The minimum time limit for the start of a Worker. */
const START_MS = 10_000;
const BACKENDS = ['webgpu', 'wasm', 'webgl', 'js'];
const OPTIONS = [
  'backends',
  'threads',
  'variant',
  'worker',
  'baseURL',
  'transformURL',
  'cacheStrategy',
  'saveCache',
  'ignoreCache',
  'stallTimeout',
  'onProgress',
  'onlost',
  'signal',
  'profile',
  'device',
];

/**
 * @param {Bundle} bundle
 * @param {LoadOptions} options
 * @returns {string[]} the backends to try: those requested that the bundle has
 */
function chooseBackends({ manifest }, { backends = BACKENDS }) {
  const requested = [backends].flat();
  const unknown = requested.filter(backend => !BACKENDS.includes(backend));
  if (unknown.length > 0) {
    throw new WebkilnError(
      'UnknownBackend',
      `there is no backend ${listOf(unknown)}; the backends are ${listOf(BACKENDS)}`,
    );
  }
  const order = requested.filter(backend => backend in manifest.backends);
  if (order.length === 0) {
    throw new WebkilnError(
      'NoBackend',
      `the bundle '${manifest.name}' has none of the backends ${listOf(requested)}; ` +
        `it has ${listOf(Object.keys(manifest.backends))}`,
    );
  }
  return order;
}

/**
 * @param {Bundle} bundle
 * @param {string[]} order
 * @param {string} [variant]
 */
function checkVariant({ manifest }, order, variant) {
  const known = order
    .flatMap(backend => manifest.backends[backend]?.variants ?? [])
    .map(({ name }) => name);
  if (variant === undefined || known.includes(variant)) return;
  throw new WebkilnError(
    'UnknownVariant',
    `there is no variant ${describe(variant)} of ${listOf(order)}; ` +
      `the variants are ${listOf(known)}`,
  );
}

/**
 * @param {Bundle} bundle
 * @param {LoadOptions} options
 * @returns {Record<string, string>}
 */
function resolveURLs(bundle, { baseURL, transformURL = url => url }) {
  let urls;
  try {
    urls = URL && performance && bundle.urls();
  } catch (error) {
    throw new WebkilnError(
      'NoImport',
      `modules have no URL here (${messageOf(error)}); use loadSync() of sync.js in a folder, ` +
        "or '--format single' outside AudioWorklets",
    );
  }
  // Absolute: a Worker would resolve relative URLs against its own script.
  const absolute = (/** @type {string} */ url, base = documentURL()) => new URL(url, base).href;
  const root = baseURL === undefined ? baseURL : absolute(String(baseURL).replace(/\/*$/, '/'));
  return Object.fromEntries(
    Object.entries(urls).map(([file, url]) => [
      file,
      absolute(transformURL(root ? absolute(file, root) : url, file)),
    ]),
  );
}

/**
 * @param {LoadOptions} options
 * @param {string[]} order
 */
function checkValues(options, order) {
  const {
    threads = 'auto',
    cacheStrategy = 'networkOnly',
    stallTimeout = STALL_MS,
    device,
    worker,
    onlost,
  } = options;
  if (threads !== 'auto' && !(Number.isInteger(threads) && threads >= 1)) {
    throw new WebkilnError(
      'WrongOption',
      `threads: expected 'auto' or an integer of at least 1, got ${describe(threads)}`,
    );
  }
  if (!STRATEGIES.includes(cacheStrategy)) {
    throw new WebkilnError(
      'WrongOption',
      `cacheStrategy: expected one of ${listOf([...STRATEGIES])}, got ${describe(cacheStrategy)}`,
    );
  }
  if (!(typeof stallTimeout === 'number' && stallTimeout >= 0)) {
    throw new WebkilnError(
      'WrongOption',
      `stallTimeout: expected milliseconds, or 0 for no limit, got ${describe(stallTimeout)}`,
    );
  }
  if (onlost !== undefined && typeof onlost !== 'function')
    throw new WebkilnError('WrongOption', `onlost: expected a function, got ${describe(onlost)}`);
  if (device && (worker !== false || !order.includes('webgpu')))
    throw new WebkilnError('WrongOption', 'device: needs worker: false and the webgpu backend');
}

const HEADERS =
  "for more, serve it with the headers 'Cross-Origin-Opener-Policy: same-origin' and " +
  "'Cross-Origin-Embedder-Policy: require-corp'";

/**
 * The number of threads for the model: more than one needs memory that is shared with Workers.
 * @param {LoadOptions} options
 * @param {Host} host
 */
function threadsOf({ threads = 'auto' }, host) {
  // The main thread of a page must not block.
  if (!isolated() || (!host.remote && !isNode)) return 1;
  return Math.min(threads === 'auto' ? cores() : threads, MOST_HELPERS + 1);
}

/** The helper threads of a model. They start while its weights are loaded. */
class Helpers {
  /** @type {ReturnType<typeof recruit> | null} */
  #pool = null;

  /**
   * @param {ThreadedProgram} program
   * @param {Bundle['worker']} make
   * @param {number} threads
   */
  start(program, make, threads) {
    try {
      this.#pool = recruit(make, program, threads - 1);
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * Wait for the helpers and let them take part in runs. If they fail, one thread runs the model.
   * @param {Host} host
   * @param {LoadReply} reply
   * @param {number} threads
   * @param {number} limit time limit, in milliseconds
   * @param {AbortSignal} [signal]
   */
  async enlist(host, reply, threads, limit, signal) {
    if (reply.shareable && !isolated() && host.remote)
      console.info(
        'webkiln: one thread runs the model, because the page is not cross-origin isolated; ' +
          HEADERS,
      );
    try {
      if (this.#pool) await host.enlist(await withSignal(started(this.#pool.ports, limit), signal));
    } catch (error) {
      this.end();
      if (signal?.aborted) throw error;
      this.#fail(error);
    }
    return { threads: this.#pool ? threads : 1, end: () => this.end() };
  }

  /** @param {unknown} error */
  #fail(error) {
    console.warn(
      `webkiln: one thread runs the model, because other threads failed (${messageOf(error)})`,
    );
  }

  end() {
    this.#pool?.end();
    this.#pool = null;
  }
}

/**
 * How the model is loaded again after a loss of its device: with the same backend, and from caches
 * if the load may use them. A device of the page cannot be opened again.
 * @param {Host} host
 * @param {LoadRequest} request
 * @param {LoadReply} reply
 * @param {LoadOptions['onlost']} onlost
 */
function recoveryOf(host, request, { backend }, onlost) {
  const { cacheStrategy: strategy, saveCache, manifest, device } = request;
  const kept = strategy === 'cacheOnly' || (strategy === 'networkOnly' && !saveCache);
  /** @type {LoadRequest} */
  const again = {
    ...request,
    backends: [backend],
    cacheStrategy: kept ? strategy : 'cacheFirst',
    ignoreCache: false,
  };
  const load = device ? null : () => host.load(again, () => {});
  return new Recovery(load, onlost, manifest.states.length > 0);
}

/**
 * Load a bundle. Its `index.js` passes the bundle and the caller's options.
 * @param {Bundle} bundle
 * @param {LoadOptions} [options]
 * @returns {Promise<Model>}
 */
export async function open(bundle, options = {}) {
  const begin = globalThis.performance?.now();
  checkNames('load', OPTIONS, options);
  const {
    signal,
    onProgress = () => {},
    cacheStrategy = 'networkOnly',
    saveCache = false,
    ignoreCache = false,
    stallTimeout = STALL_MS,
    profile = false,
  } = options;
  const backends = chooseBackends(bundle, options);
  checkValues(options, backends);
  checkVariant(bundle, backends, options.variant);
  if (profile && !bundle.manifest.profile)
    throw new WebkilnError(
      'WrongOption',
      `profile: '${bundle.manifest.name}' has no profile data; build a folder`,
    );
  /** @type {LoadRequest} */
  const request = {
    manifest: bundle.manifest,
    urls: resolveURLs(bundle, options),
    backends,
    variant: options.variant,
    cacheStrategy,
    saveCache,
    ignoreCache,
    stallTimeout,
    threads: 1,
    profile,
    device: options.device,
  };
  if (signal?.aborted) throw abortedError('the load');
  // The download of a Worker's script cannot be observed. In Node it is a local file.
  const limit = isNode || !stallTimeout ? 0 : Math.max(stallTimeout, START_MS);
  let host =
    options.worker === false || isServiceWorker
      ? new Local(bundle.modules)
      : await startHost(bundle.worker, bundle.modules, limit, signal);
  request.threads = threadsOf(options, host);
  const helpers = new Helpers();
  const startHelpers = (/** @type {ThreadedProgram} */ program) =>
    helpers.start(program, bundle.worker, request.threads);
  try {
    const reply = await host.load(request, onProgress, signal, startHelpers).catch(async error => {
      // WebKitGTK supports WebGL in pages, not in Workers.
      if (!host.remote || error.code !== 'NoBackend' || !backends.includes('webgl')) throw error;
      host.dispose();
      host = new Local(bundle.modules);
      request.threads = threadsOf(options, host);
      const fallback = await host.load(request, onProgress, signal, startHelpers);
      console.warn(
        'webkiln: the model runs in the main thread, because no backend runs in a Worker ' +
          `(${messageOf(error)})`,
      );
      return fallback;
    });
    for (const { backend, message } of reply.failures) {
      console.warn(`webkiln: the ${backend} backend failed (${message}); ${reply.backend} is used`);
    }
    const convertInputs = bundle.loadTexts
      ? await bundle.loadTexts(bundle, request, signal)
      : bundle.takeImages;
    return new Model(
      host,
      bundle.manifest,
      reply,
      performance.now() - begin,
      await helpers.enlist(host, reply, request.threads, limit, signal),
      convertInputs,
      bundle.makeTextureImporter,
      bundle.placeholdersOf,
      recoveryOf(host, request, reply, options.onlost),
    );
  } catch (error) {
    helpers.end();
    host.dispose();
    throw error;
  }
}
