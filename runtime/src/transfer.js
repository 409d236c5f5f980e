/** @import { FileEntry } from './types.ts' */
import { WebkilnError, abortedError, messageOf } from './errors.js';

/**
 * Reads the next bytes, into the passed buffer or into new memory.
 * @typedef {object} ByteReader
 * @property {(buffer: Uint8Array) => Promise<{ done?: boolean | undefined, value?: any }>} read
 * @property {() => Promise<unknown>} cancel
 */
/**
 * @typedef {object} Policy
 * @property {AbortSignal | undefined} signal
 * @property {boolean} ignoreCache
 * @property {number} stallTimeout milliseconds
 * @property {number} [retries] the number of retries of a failed request
 */

const RETRIES = 3;
export const BACKOFF_MS = 500;
/** A request is not retried if Retry-After is longer. */
const MAX_PAUSE_MS = 30_000;
/** The maximum delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const CHUNK_BYTES = 1 << 18;
/** Fewer bytes in `stallTimeout` count as a stall, so that single bytes do not reset the timer. */
const MIN_BYTES = 1 << 10;

/** A failure that a retry may avoid. `pause` is Retry-After in milliseconds. */
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
 * A BYOB reader, which reads into existing memory, if the engine supports it.
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
 * Reject with the result of `expire` if the promise is not settled after `ms` milliseconds. If the
 * result is a number, wait for that time again. 0 and Infinity never expire.
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
      const result = expire();
      if (typeof result === 'number') start(result);
      else reject(result);
    };
    // The second timer lets a busy thread process bytes that arrived meanwhile.
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
const retryDelay = header =>
  Math.max(0, header ? 1000 * Number(header) || Date.parse(header) - Date.now() : 0) || 0;

/**
 * The error of a response that a retry would not change.
 * @param {string} file
 * @param {string} url
 * @param {number} status
 */
function responseError(file, url, status) {
  if (status === 404 || status === 410) {
    return new WebkilnError(
      'MissingFile',
      `${file}: ${url} does not exist (${status}); deploy the complete folder of the bundle`,
    );
  }
  return new WebkilnError(
    'Refused',
    `${file}: the server refused ${url} (${status}); allow this page to read the file`,
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
      ? 'this looks like the error page of a missing file'
      : 'set the type on the server';
  throw new WebkilnError(
    'WrongType',
    `${file}: expected ${expected} from ${url}, got ${essence}; ${hint}`,
  );
}

/**
 * The download of one file by HTTP. A failed request is retried after a pause and resumes at the
 * current offset: with a Range request if the server supports it, else by skipping bytes.
 * @implements {ByteReader}
 */
export class Transfer {
  /** @type {ByteReader | null} the body of the current response */
  body = null;
  stop = new AbortController();
  /** Reused by `read`. */
  buffer = new Uint8Array();
  arrived = 0;
  /** The number of bytes to skip, because they were read before. */
  skip = 0;
  failures = 0;
  /** The number of bytes since the stall timer was restarted. */
  fresh = 0;
  clock = 0;
  /** Whether the rest can be requested with Range. */
  ranged = false;
  /** Whether the response is a complete file that is shorter than the manifest states. */
  short = false;
  /** The ETag or Last-Modified header, to detect another version. @type {string | null} */
  version = null;
  /** The value of If-Range. @type {string | null} */
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

  /** Read the next bytes. The next call may reuse their memory. */
  async read() {
    for (;;) {
      await this.open();
      try {
        const { done, value } = await this.#watch(
          /** @type {ByteReader} */ (this.body).read(this.buffer),
        );
        if (done) {
          if (this.arrived >= this.bytes || this.short) return { done };
          throw new RetryableError(
            'Unavailable',
            `the response of ${this.url} ended after ${this.#progress}`,
            'try again, or find out what truncates it',
          );
        }
        if (!this.buffer.length) this.buffer = new Uint8Array(value.buffer);
        this.fresh += value.length;
        if (this.fresh >= MIN_BYTES) this.#restartClock();
        const fresh = value.subarray(this.skip);
        this.skip -= value.length - fresh.length;
        this.arrived += fresh.length;
        if (fresh.length) return { value: fresh };
      } catch (error) {
        if (this.arrived >= this.bytes && !this.policy.signal?.aborted) return { done: true };
        await this.#recover(error, `the connection to ${this.url} broke after ${this.#progress}`);
      }
    }
  }

  /** Wait for a response with the next bytes. */
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
          `${this.fresh || 'no'} bytes arrived from ${this.url} in ${stallTimeout / 1000} s, ` +
            `after ${this.#progress}`,
          'try again, or increase stallTimeout',
        ),
    );
  }

  /**
   * Wait before the next attempt, or throw the error of the last one.
   * @param {unknown} error
   * @param {string} what describes an error that is not a WebkilnError
   */
  async #recover(error, what) {
    const { signal, retries = RETRIES } = this.policy;
    this.stop.abort();
    this.body?.cancel().catch(() => {});
    this.body = null;
    if (signal?.aborted) throw abortedError('the load');
    const failure =
      error instanceof WebkilnError
        ? error
        : new RetryableError(
            'Unavailable',
            `${what} (${messageOf(error)})`,
            'check the connection, and CORS if the file is from another origin',
          );
    if (!(failure instanceof RetryableError)) throw failure;
    if (++this.failures > retries || failure.pause > MAX_PAUSE_MS) {
      const wait =
        failure.pause > MAX_PAUSE_MS
          ? `, with Retry-After: ${Math.ceil(failure.pause / 1000)}`
          : '';
      throw new WebkilnError(
        failure.code,
        `${this.file}: ${failure.message}${wait} ` +
          `(attempt ${this.failures} of ${retries + 1}); ${failure.advice}`,
      );
    }
    await sleep(
      Math.max(failure.pause, BACKOFF_MS * 2 ** (this.failures - 1) * (0.5 + Math.random())),
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
    // CORS may reject the Range header: if this request fails, the next one omits it.
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
        `the server responded with ${status} for ${url}`,
        status === 429 ? 'it limits requests: try again later' : 'it failed: try again later',
        retryDelay(get('retry-after')),
      );
    }
    if (status === 206 || (resumed && status === 416)) {
      // Other origins must expose Content-Range explicitly.
      const [, from, total = ''] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(range ?? '') ?? [];
      const right = range
        ? Number(from) === arrived && (total === '*' || Number(total) === bytes)
        : type === 'cors' && length === bytes - arrived;
      if (!resumed || status === 416 || !right || get('content-encoding')) {
        throw new RetryableError(
          'Unavailable',
          `expected bytes from ${arrived} of ${url}, got ${status} with Content-Range '${range}'`,
          'fix its handling of Range requests',
        );
      }
    } else if (!response.ok || !body) {
      throw responseError(file, url, status);
    }
    checkType(file, url, get('content-type'));
    const version = get('etag') ?? get('last-modified');
    if (arrived > 0 && version !== this.version && (version || status !== 206)) {
      throw new WebkilnError(
        'Altered',
        `${file}: ${url} changed during the download; deploy all files of one build together`,
      );
    }
    this.skip = status === 206 ? 0 : arrived;
    this.short = false;
    if (status === 206) {
      this.ranged = true;
    } else {
      // Ranges of a compressed response are offsets in the compressed bytes.
      const plain = !get('content-encoding');
      this.ranged = !resumed && plain && length === bytes && get('accept-ranges') !== 'none';
      this.short = plain && type !== 'cors' && length < bytes;
      this.version = version;
      // If-Range does not allow weak ETags, and needs a preflight request for other origins.
      this.validator =
        type === 'cors'
          ? null
          : ([get('etag'), get('last-modified')].find(value => value && !value.startsWith('W/')) ??
            null);
    }
    this.#restartClock();
    if (!this.buffer.length) this.buffer = new Uint8Array(CHUNK_BYTES);
    return readerOf(/** @type {any} */ (body));
  }
}
