/** @import { CacheStrategy, FileEntry } from './types.ts' */
/** @import { Feed } from './download.js' */
import { WebkilnError } from './errors.js';
import { download, isIntact } from './download.js';

/** @type {readonly CacheStrategy[]} */
export const STRATEGIES = ['latest', 'networkFirst', 'cacheFirst', 'networkOnly', 'cacheOnly'];

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
 * Reads files of one bundle by a cache strategy. A cached file counts only while it has the digest that the manifest names, so a
 * new build is never mixed with an old one, and `latest` and `cacheFirst` agree.
 */
export class Reader {
  /**
   * @param {string} bundle
   * @param {{ strategy: CacheStrategy, save: boolean, ignoreCache: boolean, signal: AbortSignal | undefined }} policy
   */
  constructor(bundle, policy) {
    this.policy = policy;
    /** @type {Promise<Cache | null>} */
    this.cache = policy.strategy === 'networkOnly' && !policy.save ? Promise.resolve(null) : openCache(bundle);
  }

  /**
   * @param {FileEntry} entry
   * @param {string} url
   * @param {() => Feed} begin makes the feed of one attempt
   * @returns {Promise<Uint8Array>}
   */
  async read(entry, url, begin) {
    const { strategy } = this.policy;
    const cacheFirst = strategy === 'latest' || strategy === 'cacheFirst' || strategy === 'cacheOnly';
    const cached = cacheFirst ? await this.restore(entry, url, begin) : null;
    if (cached) return cached;
    if (strategy === 'cacheOnly') {
      throw new WebkilnError('MissingFile', `${entry.file} is not in the cache and the cache strategy is 'cacheOnly'`);
    }
    try {
      const bytes = await this.fetch(entry, url, begin);
      await this.store(url, bytes);
      return bytes;
    } catch (error) {
      const fallback = strategy === 'networkFirst' && !this.policy.signal?.aborted ? await this.restore(entry, url, begin) : null;
      if (fallback) return fallback;
      throw error;
    }
  }

  /**
   * Code keeps its name from build to build, so the HTTP cache may hold that of an earlier one: then the server is asked once more.
   * @param {FileEntry} entry
   * @param {string} url
   * @param {() => Feed} begin
   * @returns {Promise<Uint8Array>}
   */
  async fetch(entry, url, begin) {
    const { ignoreCache, signal } = this.policy;
    try {
      return await download(entry, url, { ignoreCache, signal, feed: begin() });
    } catch (error) {
      const stale = error instanceof WebkilnError && (error.code === 'Altered' || error.code === 'Truncated');
      if (!stale || ignoreCache || entry.file.endsWith('.bin')) throw error;
      return download(entry, url, { ignoreCache: true, signal, feed: begin() });
    }
  }

  /**
   * @param {FileEntry} entry
   * @param {string} url
   * @param {() => Feed} begin
   */
  async restore(entry, url, begin) {
    const response = await (await this.cache)?.match(url);
    if (!response) return null;
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (!await isIntact(entry, bytes)) return null;
    begin()(bytes, bytes.length);
    return bytes;
  }

  /**
   * @param {string} url
   * @param {Uint8Array} bytes
   */
  async store(url, bytes) {
    const cache = this.policy.save ? await this.cache : null;
    // A full or refused store only costs the next load time.
    await cache?.put(url, new Response(/** @type {Uint8Array<ArrayBuffer>} */ (bytes))).catch(() => {});
  }

  /**
   * Forgets the files of earlier builds.
   * @param {string[]} urls the files of this build
   */
  async prune(urls) {
    const cache = this.policy.save ? await this.cache : null;
    for (const request of await cache?.keys() ?? []) {
      if (!urls.includes(request.url)) await cache?.delete(request);
    }
  }
}
