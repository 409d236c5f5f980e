/** @import { FileEntry } from './types.ts' */
import { WebkilnError, abortedError, messageOf } from './errors.js';
import { isNode, nodeModule } from './platform.js';

/** @typedef {{ read: (room: Uint8Array) => Promise<{ done?: boolean | undefined, value?: any }>, cancel: () => Promise<unknown> }} ByteReader gives what arrives next, in the memory of the room or in other */
/** @typedef {{ reader: ByteReader, type?: string | null }} Source */
/** @typedef {(bytes: Uint8Array, arrived: number) => void} Feed gets the file's whole buffer and how much of it has arrived */

/**
 * Where engines can, a stream writes into the room that it is given, and no memory is made for chunks.
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
 * @param {string} file
 * @param {string} url
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Source>}
 */
async function openFile(file, url, signal) {
  try {
    const handle = await nodeModule('fs').promises.open(new URL(url));
    return {
      reader: {
        async read(room) {
          signal?.throwIfAborted();
          const { bytesRead } = await handle.read(room.subarray(0, 1 << 20));
          return { done: !bytesRead, value: room.subarray(0, bytesRead) };
        },
        cancel: () => handle.close(),
      },
    };
  } catch (error) {
    throw new WebkilnError('MissingFile', `${file} is not at ${url} (${messageOf(error)}); deploy the bundle's folder whole`);
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

/**
 * @param {string} file
 * @param {string} url
 * @param {boolean} ignoreCache
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Source>}
 */
async function openURL(file, url, ignoreCache, signal) {
  if (isNode && url.startsWith('file:')) return openFile(file, url, signal);
  if (url.startsWith('data:')) return { reader: readerOf(/** @type {any} */ (new Response(/** @type {any} */ (inlined(url))).body)) };
  /** @type {Response} */
  let response;
  try {
    response = await fetch(url, { cache: ignoreCache ? 'reload' : 'default', ...(signal ? { signal } : {}) });
  } catch (error) {
    if (signal?.aborted) throw abortedError('the load');
    throw new WebkilnError('MissingFile', `${file} could not be fetched from ${url} (${messageOf(error)})`);
  }
  if (!response.ok || !response.body) {
    throw new WebkilnError('MissingFile', `${file}: the server answered ${response.status} for ${url}; deploy the bundle's folder whole`);
  }
  return { reader: readerOf(response.body), type: response.headers.get('content-type') };
}

/**
 * @param {string} file
 * @param {string} url
 * @param {string | null} [type]
 */
function checkType(file, url, type) {
  const essence = type?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (!essence.startsWith('text/')) return;
  const expected = file.endsWith('.wasm') ? 'application/wasm' : 'application/octet-stream';
  const hint = essence === 'text/html' ? 'this looks like a page that the server sends for missing files' : 'set the type on the server';
  throw new WebkilnError('WrongType', `${file}: expected ${expected} from ${url}, got ${essence}; ${hint}`);
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
      this.pieces.push(this.subtle.digest('SHA-256', /** @type {Uint8Array<ArrayBuffer>} */ (bytes).subarray(start, end)));
    }
  }

  /** @param {string} digest @returns {Promise<boolean>} */
  async isOf(digest) {
    if (!this.subtle) return true;
    // Joined by hand: WebKitGTK reads no Blob on pages from a disk.
    const all = new Uint8Array(DIGEST_BYTES * this.pieces.length);
    (await Promise.all(this.pieces)).forEach((digest, index) => all.set(new Uint8Array(digest), DIGEST_BYTES * index));
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
export async function collect(entry, place, reader, { signal, feed, buffer = new Uint8Array(), checked = false }) {
  const { file, bytes: length } = entry;
  let bytes = buffer.length < length ? new Uint8Array(length) : buffer.subarray(0, length);
  const seal = new Seal(checked);
  let arrived = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read(arrived < length ? bytes.subarray(arrived) : new Uint8Array(1));
      if (done) break;
      if (arrived + value.length > length) {
        throw new WebkilnError('Altered', `${file}: expected ${length} bytes from ${place}, got more; deploy the bundle's files unchanged`);
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
    throw new WebkilnError('Truncated',
      `${file}: the connection broke after ${arrived} of ${length} bytes (${messageOf(error)}); try again`);
  } finally {
    reader.cancel().catch(() => {});
  }
  if (arrived < length) {
    throw new WebkilnError('Truncated', `${file}: expected ${length} bytes from ${place}, got ${arrived}; deploy the file again`);
  }
  if (!await seal.isOf(entry.digest)) {
    throw new WebkilnError('Altered', `${file}: the bytes from ${place} are not those of the manifest; deploy all files of one build together`);
  }
  return bytes;
}

/**
 * Reads one file of the bundle and checks its type, length and digest.
 * @param {FileEntry} entry
 * @param {string} url
 * @param {{ ignoreCache: boolean, signal: AbortSignal | undefined, feed: Feed, buffer?: Uint8Array | undefined }} context
 * @returns {Promise<Uint8Array>}
 */
export async function download(entry, url, { ignoreCache, ...context }) {
  const { reader, type } = await openURL(entry.file, url, ignoreCache, context.signal);
  checkType(entry.file, url, type);
  return collect(entry, url, reader, context);
}
