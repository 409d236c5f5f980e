/** @import { FileEntry } from './types.ts' */
/** @import { ByteReader, Policy } from './transfer.js' */
import { WebkilnError, abortedError, messageOf } from './errors.js';
import { isNode, nodeModule } from './platform.js';
import { Transfer, readerOf } from './transfer.js';

/** @typedef {(bytes: Uint8Array, arrived: number) => void} Feed gets the file's whole buffer and how much of it has arrived */

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
      `${file} is not at ${url} (${messageOf(error)}); deploy the bundle's folder whole`,
    );
  }
}

/**
 * The bytes of a `data:` URL, as bundlers make of small files; fetching it would take `connect-src data:` of a security policy.
 * @param {string} url
 * @returns {Uint8Array}
 */
function inlined(url) {
  const comma = url.indexOf(',');
  const body = decodeURIComponent(url.slice(comma + 1));
  if (!url.slice(0, comma).endsWith(';base64')) return new TextEncoder().encode(body);
  return Uint8Array.from(atob(body), character => character.charCodeAt(0));
}

/** What files are digested by, so that it is done while the rest arrives. */
const PIECE_BYTES = 1 << 18;
const DIGEST_BYTES = 32;

/**
 * The digest of a file as the manifest has it: the SHA-256 of those of its pieces, taken while the bytes arrive. Pages that are not served securely
 * lack `crypto.subtle`; there the length must do.
 */
class Seal {
  /** @type {Promise<ArrayBuffer>[]} */
  pieces = [];

  /** @param {boolean} checked whether the file was checked before, and needs no digest */
  constructor(checked) {
    /** @type {SubtleCrypto | undefined} */
    this.subtle = checked ? undefined : globalThis.crypto?.subtle;
  }

  /**
   * @param {Uint8Array} bytes the whole buffer
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

  /** @param {string} digest @returns {Promise<boolean>} */
  async isOf(digest) {
    if (!this.subtle) return true;
    // Joined by hand: WebKitGTK reads no Blob on pages from a disk.
    const all = new Uint8Array(DIGEST_BYTES * this.pieces.length);
    (await Promise.all(this.pieces)).forEach((digest, index) =>
      all.set(new Uint8Array(digest), DIGEST_BYTES * index),
    );
    const found = new Uint8Array(await this.subtle.digest('SHA-256', all));
    return Array.from(found, byte => byte.toString(16).padStart(2, '0')).join('') === digest;
  }
}

/**
 * Collects a file in a buffer and checks its length, and its digest unless that was done before; `feed` sees the bytes as they arrive.
 * @param {FileEntry} entry
 * @param {string} place where the bytes come from
 * @param {ByteReader} reader
 * @param {{ signal: AbortSignal | undefined, feed: Feed, buffer?: Uint8Array | undefined, checked?: boolean }} context
 * @returns {Promise<Uint8Array>} a part of the buffer, where one is given that is as long, or of what has its memory now
 */
export async function collect(
  entry,
  place,
  reader,
  { signal, feed, buffer = new Uint8Array(), checked = false },
) {
  const { file, bytes: length } = entry;
  let bytes = buffer.length < length ? new Uint8Array(length) : buffer.subarray(0, length);
  const seal = new Seal(checked);
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
          `${file}: expected ${length} bytes from ${place}, got more; deploy the bundle's files unchanged`,
        );
      }
      // A buffer is empty whose memory was taken away.
      if (bytes.length) bytes.set(value, arrived);
      else bytes = new Uint8Array(value.buffer, 0, length);
      arrived += value.length;
      seal.advance(bytes, arrived);
      feed(bytes, arrived);
    }
  } catch (error) {
    if (signal?.aborted) throw abortedError('the load');
    if (error instanceof WebkilnError) throw error;
    throw new WebkilnError(
      'Truncated',
      `${file}: ${place} could be read up to ${arrived} of ${length} bytes only (${messageOf(error)}); try again`,
    );
  } finally {
    reader.cancel().catch(() => {});
  }
  if (arrived < length) {
    throw new WebkilnError(
      'Truncated',
      `${file}: expected ${length} bytes from ${place}, got ${arrived}; deploy the file again`,
    );
  }
  if (!(await seal.isOf(entry.digest))) {
    throw new WebkilnError(
      'Altered',
      `${file}: the bytes from ${place} are not those of the manifest; deploy all files of one build together`,
    );
  }
  return bytes;
}

/**
 * Reads one file of the bundle and checks its type, length and digest.
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
        ? readerOf(/** @type {any} */ (new Response(/** @type {any} */ (inlined(url))).body))
        : new Transfer(entry, url, policy);
  return collect(entry, policy.ignoreCache ? `${url}, past the HTTP cache,` : url, reader, {
    signal,
    feed,
    buffer,
  });
}
