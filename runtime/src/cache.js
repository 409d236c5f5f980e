/** @import { CacheStrategy, FileEntry } from './types.ts' */
/** @import { Feed } from './download.js' */
/** @import { Policy } from './transfer.js' */
import { WebkilnError } from './errors.js';
import { collect, download } from './download.js';
import { readerOf } from './transfer.js';

/** @type {readonly CacheStrategy[]} */
export const STRATEGIES = ['latest', 'networkFirst', 'cacheFirst', 'networkOnly', 'cacheOnly'];

/** The header of a cached file that has the digest which was found when it was stored. */
const CHECKED = 'webkiln-digest';
/** Stores that a load does not wait for; each holds the bytes of its file. */
const MOST_STORES = 4;
/** What wrong bytes in the HTTP cache look like. @type {Set<string>} */
const STALE = new Set(['Altered', 'Truncated', 'WrongType']);

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
   * @param {() => Feed} begin makes the feed of one attempt: what those before it saw may have been wrong
   * @param {Uint8Array} [buffer] for the bytes, where it is as long; what is returned may have taken its memory
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
        `${entry.file} is not in the cache and the cache strategy is 'cacheOnly'`,
      );
    }
    // With a copy at hand, one failure of the network is enough.
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
   * The HTTP cache may hold wrong bytes for as long as a header lets it: then the server itself is asked, once.
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
   * @returns {Promise<Response | null>} what the cache has of the file, as this build has it
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
   * @returns {Promise<Uint8Array | null>} null where it is damaged
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
   * Begins to store a file, unless it waits for earlier ones.
   * @param {FileEntry} entry
   * @param {string} url
   * @param {Uint8Array} bytes
   */
  async store({ digest }, url, bytes) {
    if (!this.policy.save) return;
    const response = new Response(/** @type {Uint8Array<ArrayBuffer>} */ (bytes), {
      headers: { [CHECKED]: digest },
    });
    // A full or refused store only costs the next load time.
    const storing = this.cache
      .then(cache => cache?.put(url, response))
      .catch(() => {})
      .then(() => {
        this.stores.delete(storing);
      });
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
    for (const request of (await cache?.keys()) ?? []) {
      if (!urls.includes(request.url)) await cache?.delete(request);
    }
  }
}
