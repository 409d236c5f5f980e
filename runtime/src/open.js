/** @import { Bundle, Host, LoadOptions, LoadReply, LoadRequest, ThreadedProgram } from './types.ts' */
import { WebkilnError, abortedError, messageOf } from './errors.js';
import { STRATEGIES } from './cache.js';
import { listOf, describe } from './dtypes.js';
import { MOST_HELPERS, cores, isolated, recruit } from './worker_pool.js';
import { Local, startHost } from './host.js';
import { Model } from './model.js';
import { checkNames } from './options.js';
import { documentURL, isNode } from './platform.js';
import { started, withSignal } from './remote.js';

/** The default of `stallTimeout`. */
const STALL_MS = 30_000;
/** How long a Worker may take to start, where `stallTimeout` is less. */
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
  'signal',
  'profile',
  'device',
];

/**
 * @param {Bundle} bundle
 * @param {LoadOptions} options
 * @returns {string[]} the backends to try: those asked for that the bundle has
 */
function orderOf({ manifest }, { backends = BACKENDS }) {
  const asked = [backends].flat();
  const unknown = asked.filter(backend => !BACKENDS.includes(backend));
  if (unknown.length > 0) {
    throw new WebkilnError(
      'UnknownBackend',
      `there is no backend ${listOf(unknown)}; the backends are ${listOf(BACKENDS)}`,
    );
  }
  const order = asked.filter(backend => backend in manifest.backends);
  if (order.length === 0) {
    throw new WebkilnError(
      'NoBackend',
      `the bundle '${manifest.name}' has none of the backends ${listOf(asked)}; it has ${listOf(Object.keys(manifest.backends))}`,
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
    `there is no variant ${describe(variant)} of ${listOf(order)}; the variants are ${listOf(known)}`,
  );
}

/**
 * @param {Bundle} bundle
 * @param {LoadOptions} options
 * @returns {Record<string, string>}
 */
function locate({ urls }, { baseURL, transformURL = url => url }) {
  // Whole, because a Worker would take a relative URL to start from its own script.
  const whole = (/** @type {string} */ url, base = documentURL()) => new URL(url, base).href;
  const root = baseURL === undefined ? baseURL : whole(String(baseURL).replace(/\/*$/, '/'));
  return Object.fromEntries(
    Object.entries(urls).map(([file, url]) => [
      file,
      whole(transformURL(root ? whole(file, root) : url, file)),
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
      `stallTimeout: expected milliseconds from 0, which is no limit, got ${describe(stallTimeout)}`,
    );
  }
  if (device && (worker !== false || !order.includes('webgpu')))
    throw new WebkilnError('WrongOption', 'device: needs worker: false and the webgpu backend');
}

const HEADERS =
  "serve it with the headers 'Cross-Origin-Opener-Policy: same-origin' and 'Cross-Origin-Embedder-Policy: require-corp' for more";

/**
 * How many threads may run the model: those asked for, where memory can be shared with a Worker.
 * @param {LoadOptions} options
 * @param {Host} host
 */
function threadsOf({ threads = 'auto' }, host) {
  // A page must not wait for others.
  if (!isolated() || (!host.remote && !isNode)) return 1;
  return Math.min(threads === 'auto' ? cores() : threads, MOST_HELPERS + 1);
}

/** What helps a model, which is called together while its weights are loaded. */
class Help {
  /** @type {ReturnType<typeof recruit> | null} */
  #pool = null;

  /** @param {ThreadedProgram} program @param {Bundle['worker']} make @param {number} threads */
  call(program, make, threads) {
    try {
      this.#pool = recruit(make, program, threads - 1);
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * Lets it take part in the runs of the model.
   * @param {Host} host
   * @param {LoadReply} reply
   * @param {number} threads
   * @param {number} limit how long it may take to come, in milliseconds
   * @param {AbortSignal} [signal]
   */
  async enlist(host, reply, threads, limit, signal) {
    if (reply.shareable && !isolated() && host.remote)
      console.info(
        `webkiln: one thread runs the model, because the page is not cross-origin isolated; ${HEADERS}`,
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
      `webkiln: one thread runs the model, because others could not be started (${messageOf(error)})`,
    );
  }

  end() {
    this.#pool?.end();
    this.#pool = null;
  }
}

/**
 * Loads a bundle: its `index.js` passes itself in and forwards the caller's options.
 * @param {Bundle} bundle
 * @param {LoadOptions} [options]
 * @returns {Promise<Model>}
 */
export async function open(bundle, options = {}) {
  const begin = performance.now();
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
  const backends = orderOf(bundle, options);
  checkValues(options, backends);
  checkVariant(bundle, backends, options.variant);
  if (profile && !bundle.manifest.profile)
    throw new WebkilnError(
      'WrongOption',
      `profile: '${bundle.manifest.name}' has no data for it; build a folder`,
    );
  /** @type {LoadRequest} */
  const request = {
    manifest: bundle.manifest,
    urls: locate(bundle, options),
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
  // Scripts of Workers cannot be watched; in Node they are on the disk.
  const limit = isNode || !stallTimeout ? 0 : Math.max(stallTimeout, START_MS);
  let host =
    options.worker === false
      ? new Local(bundle.modules)
      : await startHost(bundle.worker, bundle.modules, limit, signal);
  request.threads = threadsOf(options, host);
  const help = new Help();
  const call = (/** @type {ThreadedProgram} */ program) =>
    help.call(program, bundle.worker, request.threads);
  try {
    const reply = await host.load(request, onProgress, signal, call).catch(async error => {
      // WebKitGTK has WebGL in pages only, not in Workers.
      if (!host.remote || error.code !== 'NoBackend' || !backends.includes('webgl')) throw error;
      host.dispose();
      host = new Local(bundle.modules);
      request.threads = threadsOf(options, host);
      const found = await host.load(request, onProgress, signal, call);
      console.warn(
        `webkiln: the model runs in the main thread, because no Worker runs a backend (${messageOf(error)})`,
      );
      return found;
    });
    for (const { backend, message } of reply.failures) {
      console.warn(`webkiln: the ${backend} backend failed (${message}); ${reply.backend} is used`);
    }
    const take = bundle.loadTexts
      ? await bundle.loadTexts(bundle, request, signal)
      : bundle.takeImages;
    return new Model(
      host,
      bundle.manifest,
      reply,
      performance.now() - begin,
      await help.enlist(host, reply, request.threads, limit, signal),
      take,
      bundle.makeTextureImporter,
    );
  } catch (error) {
    help.end();
    host.dispose();
    throw error;
  }
}
