/** @import { BackendImports, BackendModule, Engine, Failure, FileEntry, LoadReply, LoadRequest, ModuleEntry, ProfileModule, Progress, ThreadedProgram } from './types.ts' */
/** @import { Feed } from './download.js' */
import { WebkilnError, abortedError, messageOf, toldBy } from './errors.js';
import { Reader } from './cache.js';
import { isNode } from './platform.js';
import { supportsVariant } from './probe.js';
import { Session, causeOf, engineOf, failed } from './session.js';
import { BACKOFF_MS, Transfer, sleep, within } from './transfer.js';

const PARALLEL_SHARDS = 4;

/** @typedef {{ engine: Engine, program: BackendModule['program'], backend: string, variant: string | null, failures: Failure[] }} Started */

/** Counts the bytes of the shards and of the code of one backend. */
class Meter {
  total = 0;
  /** When bytes arrived last. */
  heard = performance.now();
  /** @type {Map<string, number>} */
  arrived = new Map();

  /** @param {(progress: Progress) => void} report */
  constructor(report) {
    this.report = report;
  }

  /** @param {FileEntry[]} files those that are read from now on; others do not count */
  expect(files) {
    this.total = files.reduce((sum, file) => sum + file.bytes, 0);
    this.arrived = new Map(files.map(({ file }) => [file, this.arrived.get(file) ?? 0]));
  }

  /**
   * @param {string} file
   * @param {number} arrived
   */
  advance(file, arrived) {
    this.heard = performance.now();
    // A file that is read again does not take back what was reported of it.
    this.arrived.set(file, Math.max(arrived, this.arrived.get(file) ?? 0));
    this.report({
      loaded: [...this.arrived.values()].reduce((sum, bytes) => sum + bytes, 0),
      total: this.total,
    });
  }
}

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
    `this engine runs none of the variants ${names} of the ${backend} backend`,
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
    throw refused(file, error);
  }
}

/**
 * @param {string} file
 * @param {unknown} error
 */
const refused = (file, error) =>
  new WebkilnError(
    'CompileFailed',
    `${file} does not compile here (${messageOf(error)}); a Content-Security-Policy must allow 'wasm-unsafe-eval'`,
  );

/**
 * @param {Engine} engine
 * @param {number} entry of the init program
 * @param {Uint8Array} bytes
 */
function initialise(engine, entry, bytes) {
  try {
    engine.init(entry, bytes);
  } catch (error) {
    throw failed(`decoding weight ${entry}`, error);
  }
}

/**
 * Runs the init entries of one shard as their ranges arrive. An entry may be run again with other bytes, until one that follows it was run.
 * @param {Engine} engine
 * @param {BackendModule['program']} program
 * @param {number} shard
 * @returns {Feed}
 */
function decoder(engine, { init }, shard) {
  let next = init.findIndex(([owner]) => owner === shard);
  return (bytes, arrived) => {
    for (
      let item;
      (item = init[next]) && item[0] === shard && item[1] + item[2] <= arrived;
      next++
    ) {
      initialise(engine, next, bytes.subarray(item[1], item[1] + item[2]));
    }
  };
}

/**
 * What runs the entries of no shard, in their order, each when those that it follows are done: what it reads may lie where a later one writes.
 * @param {Engine} engine
 * @param {BackendModule['program']} program
 * @returns {(shard: number) => void} takes the number of a shard that is decoded from bytes known to be right
 */
function follower(engine, { init }) {
  /** @type {number[]} */
  const done = [];
  let next = init.findIndex(([owner]) => owner < 0);
  return shard => {
    init.forEach(([owner], entry) => {
      if (owner === shard) done[entry] = 1;
    });
    for (
      let item;
      (item = init[next]) &&
      done.slice(item[1], item[1] + item[2]).filter(Boolean).length === item[2];
      next++
    ) {
      initialise(engine, next, new Uint8Array());
    }
  };
}

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
   * @param {() => Feed} [begin] makes the feed of one attempt
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
   * Imports a module of the bundle. Bundlers rewrite modules, so that it is known by what it exports, not by its bytes.
   * @template {{ build: string }} T
   * @param {ModuleEntry} entry
   * @param {() => Promise<T>} load
   * @returns {Promise<T>}
   */
  async import({ module, build }, load) {
    const imported = await this.importOnce(module, load)
      .catch(async error => {
        if (isNode || !(error instanceof TypeError)) throw error;
        await this.reach(module, /https?:\/\/\S+/.exec(error.message)?.[0]);
        return this.importOnce(module, load);
      })
      .catch(error => {
        if (error instanceof WebkilnError) throw error;
        throw new WebkilnError(
          'MissingFile',
          `${module} could not be imported (${messageOf(error)}); open its URL: it must be there and of type text/javascript; then load the page again`,
        );
      });
    if (imported.build === build) return imported;
    throw new WebkilnError(
      'Altered',
      `${module} is of another build; deploy all files of one build together`,
    );
  }

  /**
   * An import cannot be watched or cancelled: it counts as stalled while no other file of the load gets bytes either.
   * @template T
   * @param {string} module
   * @param {() => Promise<T>} load
   */
  importOnce(module, load) {
    const { stallTimeout } = this.policy;
    return within(load(), isNode ? 0 : stallTimeout, () => {
      const rest = this.meter.heard + stallTimeout - performance.now();
      return rest > 0
        ? rest
        : new WebkilnError(
            'Stalled',
            `${module}: nothing has arrived for ${stallTimeout / 1000} s; load the page again`,
          );
    });
  }

  /**
   * Waits until the server answers for a module that was not imported, or throws why it does not.
   * @param {string} module
   * @param {string | undefined} url as some engines tell it
   */
  async reach(module, url) {
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
      // WebKit compiles what a Content-Security-Policy forbids, and refuses it here.
      throw variant && error instanceof WebAssembly.CompileError
        ? refused(variant.file, error)
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
        last = toldBy(error);
        failures.push({ backend, code: last?.code ?? 'NoBackend', message: messageOf(error) });
      }
    }
    if (failures.length === 1 && last && last.code !== 'UnknownBackend') throw last;
    const reasons = failures.map(({ backend, message }) => `${backend}: ${message}`).join('; ');
    throw new WebkilnError('NoBackend', `no backend could be loaded: ${reasons}`);
  }

  /**
   * Reads all shards, and decodes what has arrived as soon as there is an engine.
   * @param {Promise<Started>} starting
   */
  async fill(starting) {
    const { shards } = this.request.manifest;
    /** @type {Started | undefined} */
    let started;
    /** @type {(shard: number) => void} */
    let follow = () => {};
    starting.then(
      found => {
        started = found;
        follow = follower(found.engine, found.program);
      },
      () => {},
    );
    let next = 0;
    const worker = async () => {
      // Fresh memory costs more than what is written to it.
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
              decode ??= decoder(started.engine, started.program, index);
              try {
                decode(all, arrived);
              } catch {
                // Bytes that are not known to be right: what fails with them is tried again.
              }
            };
          },
          buffer,
        );
        buffer = new Uint8Array(bytes.buffer);
        const { engine, program } = await starting;
        (decode ?? decoder(engine, program, index))(bytes, bytes.length);
        follow(index);
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
      const [{ engine, program, ...found }, profile] = await Promise.all([
        starting,
        this.profiler(),
        this.fill(starting),
      ]);
      if (this.stop.signal.aborted) throw abortedError('the load');
      const session = new Session(engine, program);
      session.profiler = profile?.watch(session, found) ?? null;
      return {
        ...found,
        session,
        shareable: Boolean(engine.threads),
        overlap: profile ? 1 : (engine.overlap ?? 1),
        stored: this.reader.settle(Object.values(this.request.urls)),
      };
    } catch (error) {
      const cause =
        error instanceof WebkilnError && error.code === 'Trapped'
          ? toldBy(await causeOf(this.engine, error))
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
 * Loads the first backend of the request that works, and the weights at the same time. A damaged weight shard ends the load, since every backend reads
 * the same ones.
 * @param {LoadRequest} request
 * @param {BackendImports} modules
 * @param {(progress: Progress) => void} report
 * @param {AbortSignal} [signal]
 * @param {(program: ThreadedProgram) => void} [onThreads]
 */
export const instantiate = (request, modules, report, signal, onThreads = () => {}) =>
  new Attempt(request, modules, report, signal, onThreads).load();
