/** @import { FileEntry } from './types.ts' */
import { WebkilnError, abortedError, messageOf } from './errors.js';

/**
 * Gives what arrives next, in the memory of the room or in other.
 * @typedef {object} ByteReader
 * @property {(room: Uint8Array) => Promise<{ done?: boolean | undefined, value?: any }>} read
 * @property {() => Promise<unknown>} cancel
 */
/**
 * @typedef {object} Policy
 * @property {AbortSignal | undefined} signal
 * @property {boolean} ignoreCache
 * @property {number} stallTimeout milliseconds
 * @property {number} [retries] how often a request that fails is repeated
 */

const RETRIES = 3;
export const BACKOFF_MS = 500;
/** A server that asks for a longer pause gets no further request. */
const MAX_PAUSE_MS = 30_000;
/** Timers take no longer delays. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const CHUNK_BYTES = 1 << 18;
/** Fewer bytes in `stallTimeout` are a stall: a server that sends one now and then is not working. */
const LEAST_BYTES = 1 << 10;

/** A failure that another attempt may not meet; `pause`: the milliseconds of Retry-After. */
class RetryableError extends WebkilnError {
  /**
   * @param {'Unavailable' | 'Stalled'} code
   * @param {string} what
   * @param {string} advice
   * @param {number} [pause]
   */
  constructor(code, what, advice, pause = 0) {
    super(code, what);
    this.advice = advice;
    this.pause = pause;
  }
}

/**
 * A byte reader where the engine has one, which fills the memory that it is given.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} stream
 * @returns {ByteReader}
 */
export function readerOf(stream) {
  try {
    return stream.getReader({ mode: 'byob' });
  } catch {
    return stream.getReader();
  }
}

/**
 * Rejects with what `expire` returns if the promise is not settled after `ms` milliseconds; if
 * that is a number, it waits for so long again. 0 and Infinity never expire.
 * @template T
 * @param {Promise<T>} promise
 * @param {number} ms
 * @param {() => unknown} expire
 * @returns {Promise<T>}
 */
export async function withTimeout(promise, ms, expire) {
  if (!(ms > 0 && ms <= MAX_TIMER_MS)) return promise;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const expiry = new Promise((_, reject) => {
    const end = () => {
      const found = expire();
      if (typeof found === 'number') start(found);
      else reject(found);
    };
    // The second timer lets a thread that was busy see what arrived meanwhile.
    const start = (/** @type {number} */ delay) => {
      timer = setTimeout(() => {
        timer = setTimeout(end);
      }, delay);
    };
    start(ms);
  });
  try {
    return /** @type {T} */ (await Promise.race([promise, expiry]));
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {number} ms
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<void>}
 */
export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(abortedError('the load'));
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
}

/**
 * @param {string | null} header Retry-After: seconds, or a date
 * @returns {number} milliseconds
 */
const pauseOf = header =>
  Math.max(0, header ? 1000 * Number(header) || Date.parse(header) - Date.now() : 0) || 0;

/**
 * The error of an answer that no other attempt would change.
 * @param {string} file
 * @param {string} url
 * @param {number} status
 */
function refusal(file, url, status) {
  if (status === 404 || status === 410) {
    return new WebkilnError(
      'MissingFile',
      `${file}: the server has nothing at ${url} (${status}); deploy the bundle's folder whole`,
    );
  }
  return new WebkilnError(
    'Refused',
    `${file}: the server refused ${url} (${status}); let this page read the file`,
  );
}

/**
 * @param {string} file
 * @param {string} url
 * @param {string | null} type
 */
function checkType(file, url, type) {
  const essence = type?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (!essence.startsWith('text/') || file.endsWith('.js')) return;
  const expected = file.endsWith('.wasm') ? 'application/wasm' : 'application/octet-stream';
  const hint =
    essence === 'text/html'
      ? 'this looks like a page that the server sends for missing files'
      : 'set the type on the server';
  throw new WebkilnError(
    'WrongType',
    `${file}: expected ${expected} from ${url}, got ${essence}; ${hint}`,
  );
}

/**
 * One file by HTTP. A request that fails is repeated after a pause, and goes on where the bytes
 * ended: by Range where the server takes it, else by passing over what was read before.
 * @implements {ByteReader}
 */
export class Transfer {
  /** @type {ByteReader | null} the body of the current answer */
  body = null;
  stop = new AbortController();
  room = new Uint8Array();
  arrived = 0;
  /** How many of the bytes that come next were read before. */
  passed = 0;
  failures = 0;
  /** What has come since the clock was set back. */
  fresh = 0;
  clock = 0;
  /** Whether the rest may be asked for by its offset. */
  ranged = false;
  /** Whether the answer is a whole file that is shorter than that of the manifest. */
  short = false;
  /** What tells a version of the file. @type {string | null} */
  mark = null;
  /** What If-Range takes. @type {string | null} */
  validator = null;

  /**
   * @param {Pick<FileEntry, 'file' | 'bytes'>} entry
   * @param {string} url
   * @param {Policy} policy
   */
  constructor({ file, bytes }, url, policy) {
    this.file = file;
    this.bytes = bytes;
    this.url = url;
    this.policy = policy;
    policy.signal?.addEventListener('abort', () => this.stop.abort(), { once: true });
  }

  /** What comes next, in memory that the next call may take. */
  async read() {
    for (;;) {
      await this.open();
      try {
        const { done, value } = await this.#watch(
          /** @type {ByteReader} */ (this.body).read(this.room),
        );
        if (done) {
          if (this.arrived >= this.bytes || this.short) return { done };
          throw new RetryableError(
            'Unavailable',
            `the answer of ${this.url} ended after ${this.#progress}`,
            'try again, or see what cuts it short',
          );
        }
        if (!this.room.length) this.room = new Uint8Array(value.buffer);
        this.fresh += value.length;
        if (this.fresh >= LEAST_BYTES) this.#restartClock();
        const fresh = value.subarray(this.passed);
        this.passed -= value.length - fresh.length;
        this.arrived += fresh.length;
        if (fresh.length) return { value: fresh };
      } catch (error) {
        if (this.arrived >= this.bytes && !this.policy.signal?.aborted) return { done: true };
        await this.#recover(error, `the connection to ${this.url} broke after ${this.#progress}`);
      }
    }
  }

  /** Waits for an answer with the bytes that come next. */
  async open() {
    while (!this.body) {
      try {
        this.body = await this.#request();
      } catch (error) {
        await this.#recover(error, `${this.url} could not be fetched`);
      }
    }
  }

  async cancel() {
    await this.body?.cancel();
  }

  get #progress() {
    return `${this.arrived} of ${this.bytes} bytes`;
  }

  #restartClock() {
    this.fresh = 0;
    this.clock = performance.now();
  }

  /**
   * @template T
   * @param {Promise<T>} promise
   */
  #watch(promise) {
    const { stallTimeout } = this.policy;
    return withTimeout(
      promise,
      stallTimeout && Math.max(1, stallTimeout - (performance.now() - this.clock)),
      () =>
        new RetryableError(
          'Stalled',
          `${this.fresh || 'no'} bytes came from ${this.url} in ${stallTimeout / 1000} s, after ${this.#progress}`,
          'try again, or allow longer pauses by stallTimeout',
        ),
    );
  }

  /**
   * Waits for the next attempt, or throws what has ended the last one.
   * @param {unknown} error
   * @param {string} what was tried
   */
  async #recover(error, what) {
    const { signal, retries = RETRIES } = this.policy;
    this.stop.abort();
    this.body?.cancel().catch(() => {});
    this.body = null;
    if (signal?.aborted) throw abortedError('the load');
    const met =
      error instanceof WebkilnError
        ? error
        : new RetryableError(
            'Unavailable',
            `${what} (${messageOf(error)})`,
            'check the connection, and CORS where the file is of another origin',
          );
    if (!(met instanceof RetryableError)) throw met;
    if (++this.failures > retries || met.pause > MAX_PAUSE_MS) {
      const asked =
        met.pause > MAX_PAUSE_MS ? `, and asks to wait ${Math.ceil(met.pause / 1000)} s` : '';
      throw new WebkilnError(
        met.code,
        `${this.file}: ${met.message}${asked} (attempt ${this.failures} of ${retries + 1}); ${
          met.advice
        }`,
      );
    }
    await sleep(
      Math.max(met.pause, BACKOFF_MS * 2 ** (this.failures - 1) * (0.5 + Math.random())),
      signal,
    );
  }

  /** @returns {Promise<ByteReader>} */
  async #request() {
    const { file, bytes, url, arrived, policy } = this;
    const resumed = arrived > 0 && this.ranged;
    /** @type {Record<string, string>} */
    const headers = {};
    if (resumed) headers.Range = `bytes=${arrived}-`;
    if (resumed && this.validator) headers['If-Range'] = this.validator;
    // A server of another origin may refuse the header: if this fails, the next goes without.
    this.ranged = false;
    this.stop = new AbortController();
    if (policy.signal?.aborted) this.stop.abort();
    const cache = resumed ? 'no-store' : policy.ignoreCache ? 'reload' : 'default';
    this.#restartClock();
    const response = await this.#watch(fetch(url, { cache, headers, signal: this.stop.signal }));
    const { status, body, type } = response;
    const get = (/** @type {string} */ name) => response.headers.get(name);
    const [length, range] = [Number(get('content-length') ?? NaN), get('content-range')];
    if (status === 429 || status >= 500) {
      this.ranged = resumed;
      throw new RetryableError(
        'Unavailable',
        `the server answered ${status} for ${url}`,
        status === 429 ? 'it limits requests: try again later' : 'it failed: try again later',
        pauseOf(get('retry-after')),
      );
    }
    if (status === 206 || (resumed && status === 416)) {
      // Other origins show Content-Range only if they expose it.
      const [, from, whole = ''] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(range ?? '') ?? [];
      const right = range
        ? Number(from) === arrived && (whole === '*' || Number(whole) === bytes)
        : type === 'cors' && length === bytes - arrived;
      if (!resumed || status === 416 || !right || get('content-encoding')) {
        throw new RetryableError(
          'Unavailable',
          `expected bytes from ${arrived} of ${url}, got ${status} with the range '${range}'`,
          'correct how it answers Range',
        );
      }
    } else if (!response.ok || !body) {
      throw refusal(file, url, status);
    }
    checkType(file, url, get('content-type'));
    const mark = get('etag') ?? get('last-modified');
    if (arrived > 0 && mark !== this.mark && (mark || status !== 206)) {
      throw new WebkilnError(
        'Altered',
        `${file}: ${url} changed while it was downloaded; deploy all files of one build together`,
      );
    }
    this.passed = status === 206 ? 0 : arrived;
    this.short = false;
    if (status === 206) {
      this.ranged = true;
    } else {
      // Offsets of a compressed answer are those of other bytes.
      const plain = !get('content-encoding');
      this.ranged = !resumed && plain && length === bytes && get('accept-ranges') !== 'none';
      this.short = plain && type !== 'cors' && length < bytes;
      this.mark = mark;
      // If-Range takes no weak tag, and needs a preflight at another origin.
      this.validator =
        type === 'cors'
          ? null
          : ([get('etag'), get('last-modified')].find(value => value && !value.startsWith('W/')) ??
            null);
    }
    this.#restartClock();
    if (!this.room.length) this.room = new Uint8Array(CHUNK_BYTES);
    return readerOf(/** @type {any} */ (body));
  }
}
