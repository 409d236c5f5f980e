/** @import { CacheStrategy, FileEntry } from './types.ts' */
/** @import { Feed } from './download.js' */
/** @import { Policy } from './transfer.js' */
import { WebkilnError } from './errors.js';
import { collect, download } from './download.js';
import { readerOf } from './transfer.js';

/** @type {readonly CacheStrategy[]} */
export const STRATEGIES = ['latest', 'networkFirst', 'cacheFirst', 'networkOnly', 'cacheOnly'];

/** The header of a cached file with the digest that was verified before it was stored. */
const CHECKED = 'webkiln-digest';
/** The limit of concurrent writes to the cache; each retains the bytes of its file. */
const MAX_STORES = 4;
/** Codes of errors that outdated bytes in the HTTP cache cause. @type {Set<string>} */
const STALE = new Set(['Altered', 'Truncated', 'WrongType']);

/**
 * Open the cache of a bundle in the browser's Cache Storage, which only secure contexts have.
 * @param {string} bundle
 * @returns {Promise<Cache | null>}
 */
async function openCache(bundle) {
  try {
    return await caches.open(`webkiln:${bundle}`);
  } catch {
    return null;
  }
}

/**
 * Reads files of one bundle with a cache strategy. A file is stored after its digest was verified,
 * together with the digest. A cached file is used only if the manifest has the same digest, so that
 * builds are never mixed; therefore `latest` and `cacheFirst` are equivalent.
 */
export class Reader {
  /**
   * @param {string} bundle
   * @param {Policy & { strategy: CacheStrategy, save: boolean }} policy
   */
  constructor(bundle, policy) {
    this.policy = policy;
    /** @type {Set<Promise<void>>} */
    this.stores = new Set();
    /** @type {Promise<Cache | null>} */
    this.cache =
      policy.strategy === 'networkOnly' && !policy.save ? Promise.resolve(null) : openCache(bundle);
  }

  /**
   * @param {FileEntry} entry
   * @param {string} url
   * @param {() => Feed} begin creates the feed of one attempt; earlier ones may have seen wrong
   *   bytes
   * @param {Uint8Array} [buffer] memory for the bytes, if large enough; the result may reuse it
   * @returns {Promise<Uint8Array>}
   */
  async read(entry, url, begin, buffer) {
    const { strategy, signal } = this.policy;
    const stored = strategy === 'networkOnly' ? null : await this.find(entry, url);
    const cached =
      stored && strategy !== 'networkFirst'
        ? await this.restore(stored, entry, begin, buffer)
        : null;
    if (cached) return cached;
    if (strategy === 'cacheOnly') {
      throw new WebkilnError(
        'MissingFile',
        `${entry.file} is not in the cache, and the cache strategy is 'cacheOnly'`,
      );
    }
    // With a cached copy, a failed request is not retried.
    const fallback = strategy === 'networkFirst' ? stored : null;
    try {
      const bytes = await this.fetch(
        entry,
        url,
        begin,
        buffer,
        fallback ? { ...this.policy, retries: 0 } : this.policy,
      );
      await this.store(entry, url, bytes);
      return bytes;
    } catch (error) {
      const bytes =
        fallback && !signal?.aborted ? await this.restore(fallback, entry, begin, buffer) : null;
      if (bytes) return bytes;
      throw error;
    }
  }

  /**
   * Download a file. If the bytes are wrong, bypass the HTTP cache once: it may be outdated.
   * @param {FileEntry} entry
   * @param {string} url
   * @param {() => Feed} begin
   * @param {Uint8Array | undefined} buffer
   * @param {Policy} policy
   * @returns {Promise<Uint8Array>}
   */
  async fetch(entry, url, begin, buffer, policy) {
    try {
      return await download(entry, url, { policy, feed: begin(), buffer });
    } catch (error) {
      if (policy.ignoreCache || !(error instanceof WebkilnError && STALE.has(error.code)))
        throw error;
      return download(entry, url, {
        policy: { ...policy, ignoreCache: true },
        feed: begin(),
        buffer,
      });
    }
  }

  /**
   * @param {FileEntry} entry
   * @param {string} url
   * @returns {Promise<Response | null>} the cached file if its digest is that of this build
   */
  async find({ digest }, url) {
    const response = await (await this.cache)?.match(url);
    return response?.body && response.headers.get(CHECKED) === digest ? response : null;
  }

  /**
   * @param {Response} stored
   * @param {FileEntry} entry
   * @param {() => Feed} begin
   * @param {Uint8Array | undefined} buffer
   * @returns {Promise<Uint8Array | null>} null if it is damaged
   */
  async restore(stored, entry, begin, buffer) {
    const { signal } = this.policy;
    try {
      return await collect(entry, 'the cache', readerOf(/** @type {any} */ (stored.body)), {
        signal,
        feed: begin(),
        buffer,
        checked: true,
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      return null;
    }
  }

  /**
   * Start to store a file. Waits for earlier files if there are too many.
   * @param {FileEntry} entry
   * @param {string} url
   * @param {Uint8Array} bytes
   */
  async store({ digest }, url, bytes) {
    if (!this.policy.save) return;
    const response = new Response(/** @type {Uint8Array<ArrayBuffer>} */ (bytes), {
      headers: { [CHECKED]: digest },
    });
    // A failure to store only makes the next load slower.
    const storing = this.cache
      .then(cache => cache?.put(url, response))
      .catch(() => {})
      .then(() => {
        this.stores.delete(storing);
      });
    this.stores.add(storing);
    if (this.stores.size >= MAX_STORES) await Promise.race(this.stores);
  }

  /**
   * Wait for pending writes, and delete the files of earlier builds.
   * @param {string[]} urls the files of this build
   */
  async settle(urls) {
    await Promise.all(this.stores);
    const cache = this.policy.save ? await this.cache : null;
    for (const request of (await cache?.keys()) ?? []) {
      if (!urls.includes(request.url)) await cache?.delete(request);
    }
  }
}
