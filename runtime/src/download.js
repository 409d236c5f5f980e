/** @import { FileEntry } from './types.ts' */
/** @import { ByteReader, Policy } from './transfer.js' */
import { WebkilnError, abortedError, messageOf } from './errors.js';
import { isNode, nodeModule } from './platform.js';
import { Transfer, readerOf } from './transfer.js';

/**
 * Receives the buffer of a file and the number of bytes that have arrived.
 * @typedef {(bytes: Uint8Array, arrived: number) => void} Feed
 */

/**
 * @param {string} file
 * @param {string} url
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<ByteReader>}
 */
async function openFile(file, url, signal) {
  try {
    const handle = await nodeModule('fs').promises.open(new URL(url));
    return {
      async read(room) {
        signal?.throwIfAborted();
        const { bytesRead } = await handle.read(room.subarray(0, 1 << 20));
        return { done: !bytesRead, value: room.subarray(0, bytesRead) };
      },
      cancel: () => handle.close(),
    };
  } catch (error) {
    throw new WebkilnError(
      'MissingFile',
      `${file} is not at ${url} (${messageOf(error)}); deploy the complete folder of the bundle`,
    );
  }
}

/**
 * The bytes of a `data:` URL, which bundlers create for small files. Fetching it would need
 * `connect-src data:` in a Content-Security-Policy.
 * @param {string} url
 * @returns {Uint8Array}
 */
function decodeDataURL(url) {
  const comma = url.indexOf(',');
  const body = decodeURIComponent(url.slice(comma + 1));
  if (!url.slice(0, comma).endsWith(';base64')) return new TextEncoder().encode(body);
  return Uint8Array.from(atob(body), character => character.charCodeAt(0));
}

/** Files are hashed in pieces of this size, while the rest arrives. */
const PIECE_BYTES = 1 << 18;
const DIGEST_BYTES = 32;

/**
 * The digest of a file: the SHA-256 of the SHA-256 digests of its pieces, computed while the bytes
 * arrive. `crypto.subtle` exists only in secure contexts; elsewhere only the length is checked.
 */
class Digest {
  /** @type {Promise<ArrayBuffer>[]} */
  pieces = [];

  /** @param {boolean} checked whether the digest was verified before */
  constructor(checked) {
    /** @type {SubtleCrypto | undefined} */
    this.subtle = checked ? undefined : globalThis.crypto?.subtle;
  }

  /**
   * @param {Uint8Array} bytes the buffer of the file
   * @param {number} arrived
   */
  advance(bytes, arrived) {
    if (!this.subtle) return;
    for (;;) {
      const start = this.pieces.length * PIECE_BYTES;
      const end = Math.min(start + PIECE_BYTES, bytes.length);
      if (start >= end || end > arrived) return;
      this.pieces.push(
        this.subtle.digest(
          'SHA-256',
          /** @type {Uint8Array<ArrayBuffer>} */ (bytes).subarray(start, end),
        ),
      );
    }
  }

  /** @param {string} expected @returns {Promise<boolean>} */
  async matches(expected) {
    if (!this.subtle) return true;
    // Not joined by a Blob: WebKitGTK cannot read Blobs on pages from file URLs.
    const all = new Uint8Array(DIGEST_BYTES * this.pieces.length);
    (await Promise.all(this.pieces)).forEach((digest, index) =>
      all.set(new Uint8Array(digest), DIGEST_BYTES * index),
    );
    const bytes = new Uint8Array(await this.subtle.digest('SHA-256', all));
    return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('') === expected;
  }
}

/**
 * Read a file into a buffer. Checks its length and, unless `checked` is set, its digest. `feed`
 * receives the bytes as they arrive.
 * @param {FileEntry} entry
 * @param {string} source the origin of the bytes, for messages
 * @param {ByteReader} reader
 * @param {object} context
 * @param {AbortSignal | undefined} context.signal
 * @param {Feed} context.feed
 * @param {Uint8Array | undefined} [context.buffer]
 * @param {boolean} [context.checked]
 * @returns {Promise<Uint8Array>} a view of the buffer if that is large enough, or of its memory
 */
export async function collect(
  entry,
  source,
  reader,
  { signal, feed, buffer = new Uint8Array(), checked = false },
) {
  const { file, bytes: length } = entry;
  let bytes = buffer.length < length ? new Uint8Array(length) : buffer.subarray(0, length);
  const hash = new Digest(checked);
  let arrived = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read(
        arrived < length ? bytes.subarray(arrived) : new Uint8Array(1),
      );
      if (done) break;
      if (arrived + value.length > length) {
        throw new WebkilnError(
          'Altered',
          `${file}: expected ${length} bytes from ${source}, got more; ` +
            "deploy the bundle's files unchanged",
        );
      }
      // A buffer whose memory was transferred has length 0.
      if (bytes.length) bytes.set(value, arrived);
      else bytes = new Uint8Array(value.buffer, 0, length);
      arrived += value.length;
      hash.advance(bytes, arrived);
      feed(bytes, arrived);
    }
  } catch (error) {
    if (signal?.aborted) throw abortedError('the load');
    if (error instanceof WebkilnError) throw error;
    throw new WebkilnError(
      'Truncated',
      `${file}: reading ${source} failed after ${arrived} of ${length} bytes ` +
        `(${messageOf(error)}); try again`,
    );
  } finally {
    reader.cancel().catch(() => {});
  }
  if (arrived < length) {
    throw new WebkilnError(
      'Truncated',
      `${file}: expected ${length} bytes from ${source}, got ${arrived}; deploy the file again`,
    );
  }
  if (!(await hash.matches(entry.digest))) {
    throw new WebkilnError(
      'Altered',
      `${file}: the digest of the bytes from ${source} differs from the manifest; ` +
        'deploy all files of one build together',
    );
  }
  return bytes;
}

/**
 * Read one file of the bundle and check its type, length and digest.
 * @param {FileEntry} entry
 * @param {string} url
 * @param {{ policy: Policy, feed: Feed, buffer?: Uint8Array | undefined }} context
 * @returns {Promise<Uint8Array>}
 */
export async function download(entry, url, { policy, feed, buffer }) {
  const { signal } = policy;
  const reader =
    isNode && url.startsWith('file:')
      ? await openFile(entry.file, url, signal)
      : url.startsWith('data:')
        ? readerOf(/** @type {any} */ (new Response(/** @type {any} */ (decodeDataURL(url))).body))
        : new Transfer(entry, url, policy);
  return collect(entry, policy.ignoreCache ? `${url}, bypassing the HTTP cache,` : url, reader, {
    signal,
    feed,
    buffer,
  });
}
