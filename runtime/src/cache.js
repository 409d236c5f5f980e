/** @import { CacheStrategy, FileEntry } from './types.ts' */
/** @import { Feed } from './download.js' */
import { WebkilnError } from './errors.js';
import { collect, download, readerOf } from './download.js';

/** @type {readonly CacheStrategy[]} */
export const STRATEGIES = ['latest', 'networkFirst', 'cacheFirst', 'networkOnly', 'cacheOnly'];

/** The header of a cached file that has the digest which was found when it was stored. */
const CHECKED = 'webkiln-digest';
/** Stores that a load does not wait for; each holds the bytes of its file. */
const MOST_STORES = 4;

/**
 * The cache of one bundle in the browser's Cache Storage, which exists on secure pages only.
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
 * Reads files of one bundle by a cache strategy. Files are stored once their digest was checked, with that digest: a cached file counts only while
 * the manifest names the same one, so a new build is never mixed with an old one, and `latest` and `cacheFirst` agree.
 */
export class Reader {
  /**
   * @param {string} bundle
   * @param {{ strategy: CacheStrategy, save: boolean, ignoreCache: boolean, signal: AbortSignal | undefined }} policy
   */
  constructor(bundle, policy) {
    this.policy = policy;
    /** @type {Set<Promise<void>>} */
    this.stores = new Set();
    /** @type {Promise<Cache | null>} */
    this.cache = policy.strategy === 'networkOnly' && !policy.save ? Promise.resolve(null) : openCache(bundle);
  }

  /**
   * @param {FileEntry} entry
   * @param {string} url
   * @param {(last: boolean) => Feed} begin makes the feed of one attempt, after the last of which there is no other
   * @param {Uint8Array} [buffer] for the bytes, where it is as long; what is returned may have taken its memory
   * @returns {Promise<Uint8Array>}
   */
  async read(entry, url, begin, buffer) {
    const { strategy, signal } = this.policy;
    const cacheFirst = strategy === 'latest' || strategy === 'cacheFirst' || strategy === 'cacheOnly';
    const cached = cacheFirst ? await this.restore(entry, url, begin, buffer) : null;
    if (cached) return cached;
    if (strategy === 'cacheOnly') {
      throw new WebkilnError('MissingFile', `${entry.file} is not in the cache and the cache strategy is 'cacheOnly'`);
    }
    try {
      const bytes = await this.fetch(entry, url, begin, buffer);
      await this.store(entry, url, bytes);
      return bytes;
    } catch (error) {
      const fallback = strategy === 'networkFirst' && !signal?.aborted ? await this.restore(entry, url, begin, buffer) : null;
      if (fallback) return fallback;
      throw error;
    }
  }

  /**
   * Code keeps its name from build to build, so the HTTP cache may hold that of an earlier one: then the server is asked once more.
   * @param {FileEntry} entry
   * @param {string} url
   * @param {(last: boolean) => Feed} begin
   * @param {Uint8Array | undefined} buffer
   * @returns {Promise<Uint8Array>}
   */
  async fetch(entry, url, begin, buffer) {
    const { strategy, ignoreCache, signal } = this.policy;
    try {
      return await download(entry, url, { ignoreCache, signal, feed: begin(strategy !== 'networkFirst'), buffer });
    } catch (error) {
      const stale = error instanceof WebkilnError && (error.code === 'Altered' || error.code === 'Truncated');
      if (!stale || ignoreCache || entry.file.endsWith('.bin')) throw error;
      return download(entry, url, { ignoreCache: true, signal, feed: begin(false), buffer });
    }
  }

  /**
   * @param {FileEntry} entry
   * @param {string} url
   * @param {(last: boolean) => Feed} begin
   * @param {Uint8Array | undefined} buffer
   * @returns {Promise<Uint8Array | null>} null where the cache has nothing of use
   */
  async restore(entry, url, begin, buffer) {
    const { signal } = this.policy;
    const response = await (await this.cache)?.match(url);
    if (!response?.body || response.headers.get(CHECKED) !== entry.digest) return null;
    try {
      return await collect(entry, 'the cache', readerOf(response.body), { signal, feed: begin(false), buffer, checked: true });
    } catch (error) {
      if (signal?.aborted) throw error;
      return null;
    }
  }

  /**
   * Begins to store a file, unless it waits for earlier ones.
   * @param {FileEntry} entry
   * @param {string} url
   * @param {Uint8Array} bytes
   */
  async store({ digest }, url, bytes) {
    if (!this.policy.save) return;
    const response = new Response(/** @type {Uint8Array<ArrayBuffer>} */ (bytes), { headers: { [CHECKED]: digest } });
    // A full or refused store only costs the next load time.
    const storing = this.cache.then(cache => cache?.put(url, response)).catch(() => {}).then(() => { this.stores.delete(storing); });
    this.stores.add(storing);
    if (this.stores.size >= MOST_STORES) await Promise.race(this.stores);
  }

  /**
   * Waits for what is being stored, and forgets the files of earlier builds.
   * @param {string[]} urls the files of this build
   */
  async settle(urls) {
    await Promise.all(this.stores);
    const cache = this.policy.save ? await this.cache : null;
    for (const request of await cache?.keys() ?? []) {
      if (!urls.includes(request.url)) await cache?.delete(request);
    }
  }
}
