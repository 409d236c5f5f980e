/**
 * @import {
 *   BackendImports, Failure, FileEntry, LoadReply, LoadRequest, ModuleEntry, ProfileModule,
 *   Progress,
 * } from './types.ts'
 * @import { BackendModule, Engine, ThreadedProgram } from './engine.ts'
 */
/** @import { Feed } from './download.js' */
import { WebkilnError, abortedError, messageOf, knownError } from './errors.js';
import { Reader } from './cache.js';
import { NONE, decodeShard, decodeShared } from './decoding.js';
import { isNode, isServiceWorker } from './platform.js';
import { supportsVariant } from './probe.js';
import { Meter } from './progress.js';
import { Session, causeOf, engineOf } from './session.js';
import { BACKOFF_MS, Transfer, sleep, withTimeout } from './transfer.js';

const PARALLEL_SHARDS = 4;

/**
 * A backend that has started, and the failures of those before it.
 * @typedef {object} Started
 * @property {Engine} engine
 * @property {BackendModule['program']} program
 * @property {string} backend
 * @property {string | null} variant
 * @property {Failure[]} failures
 */

/**
 * @param {LoadRequest} request
 * @param {string} backend
 * @returns {(FileEntry & { name: string }) | null}
 */
function chooseVariant(request, backend) {
  const variants = request.manifest.backends[backend]?.variants;
  if (!variants) return null;
  const chosen = variants.find(({ name }) =>
    request.variant === undefined ? supportsVariant(name) : name === request.variant,
  );
  if (chosen) return chosen;
  const names = variants.map(variant => variant.name).join(', ');
  throw new WebkilnError(
    'CompileFailed',
    `this engine supports none of the variants ${names} of the ${backend} backend`,
  );
}

/**
 * @param {string} file
 * @param {Uint8Array} bytes
 * @returns {Promise<WebAssembly.Module>}
 */
async function compile(file, bytes) {
  try {
    return await WebAssembly.compile(/** @type {Uint8Array<ArrayBuffer>} */ (bytes));
  } catch (error) {
    throw compileError(file, error);
  }
}

/**
 * @param {string} file
 * @param {unknown} error
 */
const compileError = (file, error) =>
  new WebkilnError(
    'CompileFailed',
    `${file} does not compile (${messageOf(error)}); ` +
      "a Content-Security-Policy must allow 'wasm-unsafe-eval'; Cloudflare Workers need sync.js",
  );

/** A load of one bundle, which tries its backends in order. */
class Attempt {
  /**
   * @param {LoadRequest} request
   * @param {BackendImports} modules
   * @param {(progress: Progress) => void} report
   * @param {AbortSignal | undefined} signal
   * @param {(program: ThreadedProgram) => void} onThreads
   */
  constructor(request, modules, report, signal, onThreads) {
    const { cacheStrategy: strategy, saveCache: save, ignoreCache, stallTimeout } = request;
    this.request = request;
    this.modules = modules;
    this.meter = new Meter(report);
    /** @type {Engine | undefined} */
    this.engine = undefined;
    this.onThreads = onThreads;
    this.stop = new AbortController();
    if (signal?.aborted) this.stop.abort();
    signal?.addEventListener('abort', () => this.stop.abort(), { once: true });
    this.policy = { strategy, save, ignoreCache, stallTimeout, signal: this.stop.signal };
    this.reader = new Reader(request.manifest.name, this.policy);
  }

  /**
   * @param {FileEntry} entry
   * @param {() => Feed} [begin] creates the feed of one attempt
   * @param {Uint8Array} [buffer]
   */
  read(entry, begin, buffer) {
    return this.reader.read(
      entry,
      this.request.urls[entry.file] ?? '',
      () => {
        const feed = begin?.();
        return (bytes, arrived) => {
          this.meter.advance(entry.file, arrived);
          feed?.(bytes, arrived);
        };
      },
      buffer,
    );
  }

  /**
   * Import a module of the bundle and check its `build` export. Its bytes have no fixed digest,
   * since bundlers rewrite modules.
   * @template {{ build: string }} T
   * @param {ModuleEntry} entry
   * @param {(device: any) => Promise<T>} load
   * @returns {Promise<T>}
   */
  async import({ module, build }, load) {
    const imported = await this.importOnce(module, load)
      .catch(async error => {
        if (isServiceWorker && !(error instanceof WebkilnError)) {
          throw new WebkilnError(
            'NoImport',
            `${module} needs import(), which service workers forbid; ` +
              "build with '--format single' and load that file with importScripts()",
          );
        }
        if (isNode || !(error instanceof TypeError)) throw error;
        await this.waitForServer(module, /https?:\/\/\S+/.exec(error.message)?.[0]);
        return this.importOnce(module, load);
      })
      .catch(error => {
        if (error instanceof WebkilnError) throw error;
        throw new WebkilnError(
          'MissingFile',
          `${module} could not be imported (${messageOf(error)}); open its URL: ` +
            'it must exist with the type text/javascript; then reload the page',
        );
      });
    if (imported.build === build) return imported;
    throw new WebkilnError(
      'Altered',
      `${module} belongs to another build; deploy all files of one build together`,
    );
  }

  /**
   * An import cannot be observed or cancelled: it counts as stalled when no other file of the load
   * receives bytes either.
   * @template T
   * @param {string} module
   * @param {(device: any) => Promise<T>} load
   */
  importOnce(module, load) {
    const { stallTimeout } = this.policy;
    return withTimeout(load(this.request.device), isNode ? 0 : stallTimeout, () => {
      const rest = this.meter.lastArrival + stallTimeout - performance.now();
      return rest > 0
        ? rest
        : new WebkilnError(
            'Stalled',
            `${module}: nothing has arrived for ${stallTimeout / 1000} s; reload the page`,
          );
    });
  }

  /**
   * Wait until the server responds for a module whose import failed, or throw the reason.
   * @param {string} module
   * @param {string | undefined} url from the error message of some engines
   */
  async waitForServer(module, url) {
    if (!url) return sleep(BACKOFF_MS, this.policy.signal);
    const probe = new Transfer({ file: module, bytes: 0 }, url, this.policy);
    await probe.open();
    probe.stop.abort();
  }

  /** @param {string} backend */
  async start(backend) {
    const { manifest } = this.request;
    const entry = manifest.backends[backend];
    const load = this.modules[backend];
    if (!entry || !load)
      throw new WebkilnError(
        'UnknownBackend',
        `the bundle '${manifest.name}' was built without it`,
      );
    const variant = chooseVariant(this.request, backend);
    this.meter.expect([...(variant ? [variant] : []), ...manifest.shards]);
    const [compiled, { program, create }] = await Promise.all([
      variant ? this.read(variant).then(bytes => compile(variant.file, bytes)) : undefined,
      this.import(entry, load),
    ]);
    try {
      return {
        engine: engineOf(await create(compiled, this.request.device), program),
        program,
        backend,
        variant: variant?.name ?? null,
      };
    } catch (error) {
      // WebKit applies the Content-Security-Policy when it instantiates, not when it compiles.
      throw variant && error instanceof WebAssembly.CompileError
        ? compileError(variant.file, error)
        : error;
    }
  }

  /**
   * The first backend that starts.
   * @returns {Promise<Started>}
   */
  async first() {
    /** @type {Failure[]} */
    const failures = [];
    /** @type {WebkilnError | null} */
    let last = null;
    for (const backend of this.request.backends) {
      try {
        return { ...(await this.start(backend)), failures };
      } catch (error) {
        if (this.stop.signal.aborted) throw abortedError('the load');
        last = knownError(error);
        // Other backends are modules as well.
        if (last?.code === 'NoImport') throw last;
        failures.push({ backend, code: last?.code ?? 'NoBackend', message: messageOf(error) });
      }
    }
    if (failures.length === 1 && last && last.code !== 'UnknownBackend') throw last;
    const reasons = failures.map(({ backend, message }) => `${backend}: ${message}`).join('; ');
    throw new WebkilnError('NoBackend', `no backend could be loaded: ${reasons}`);
  }

  /**
   * Read all shards. Decode their bytes as they arrive, as soon as an engine has started.
   * @param {Promise<Started>} starting
   */
  async fill(starting) {
    const { shards } = this.request.manifest;
    /** @type {Started | undefined} */
    let started;
    /** @type {(shard: number) => void} */
    let decodeOthers = () => {};
    starting.then(
      result => {
        started = result;
        decodeOthers = decodeShared(result.engine, result.program);
        decodeOthers(NONE);
      },
      () => {},
    );
    let next = 0;
    const worker = async () => {
      // Each reader reuses its buffer: allocating memory costs more than writing to it.
      let buffer = /** @type {Uint8Array} */ (new Uint8Array());
      for (let index = next++; index < shards.length; index = next++) {
        const shard = /** @type {FileEntry} */ (shards[index]);
        /** @type {Feed | undefined} */
        let decode;
        const bytes = await this.read(
          shard,
          () => {
            decode = undefined;
            return (all, arrived) => {
              if (!started) return;
              decode ??= decodeShard(started.engine, started.program, index);
              try {
                decode(all, arrived);
              } catch {
                // These bytes are not verified yet: entries that fail are decoded again.
              }
            };
          },
          buffer,
        );
        buffer = new Uint8Array(bytes.buffer);
        const { engine, program } = await starting;
        (decode ?? decodeShard(engine, program, index))(bytes, bytes.length);
        decodeOthers(index);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_SHARDS }, worker));
    await starting;
  }

  /** @returns {Promise<ProfileModule | null>} */
  async profiler() {
    if (!this.request.profile) return null;
    const load = /** @type {() => Promise<ProfileModule>} */ (this.modules.profile);
    return this.import(/** @type {ModuleEntry} */ (this.request.manifest.profile), load);
  }

  /** @returns {Promise<LoadReply & { session: Session, stored: Promise<void> }>} */
  async load() {
    const starting = this.first();
    starting.then(
      ({ engine }) => {
        this.engine = engine;
        const { threads } = engine;
        if (threads && this.request.threads > 1 && !this.stop.signal.aborted)
          this.onThreads(threads);
      },
      () => {},
    );
    try {
      const [{ engine, program, ...choice }, profile] = await Promise.all([
        starting,
        this.profiler(),
        this.fill(starting),
      ]);
      if (this.stop.signal.aborted) throw abortedError('the load');
      const session = new Session(engine, program);
      session.profiler = profile?.watch(session, choice) ?? null;
      return {
        ...choice,
        session,
        shareable: Boolean(engine.threads),
        overlap: profile ? 1 : (engine.overlap ?? 1),
        stored: this.reader.settle(Object.values(this.request.urls)),
      };
    } catch (error) {
      const cause =
        error instanceof WebkilnError && error.code === 'Trapped'
          ? knownError(await causeOf(this.engine, error))
          : error;
      this.stop.abort();
      starting.then(
        ({ engine }) => engine.dispose(),
        () => {},
      );
      throw cause;
    }
  }
}

/**
 * Load the first backend of the request that works, and the weights at the same time. A damaged
 * shard ends the load, since all backends read the same shards.
 * @param {LoadRequest} request
 * @param {BackendImports} modules
 * @param {(progress: Progress) => void} report
 * @param {AbortSignal} [signal]
 * @param {(program: ThreadedProgram) => void} [onThreads]
 */
export const instantiate = (request, modules, report, signal, onThreads = () => {}) =>
  new Attempt(request, modules, report, signal, onThreads).load();
