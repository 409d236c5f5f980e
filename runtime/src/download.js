/** @import { FileEntry } from './types.ts' */
import { WebkilnError, abortedError, messageOf } from './errors.js';
import { isNode, nodeModule } from './platform.js';

/** @typedef {(bytes: Uint8Array) => AsyncIterable<{ bytes: Uint8Array, arrived: number }>} Fill puts what arrives into the buffer, or into another in its place; more than its length says that there is more */
/** @typedef {{ fill: Fill, type: string | null }} Source */
/** @typedef {(bytes: Uint8Array, arrived: number) => void} Feed gets the file's whole buffer and how much of it has arrived */

/**
 * @param {AsyncIterable<Uint8Array> | Iterable<Uint8Array>} chunks
 * @returns {Fill}
 */
const copied = chunks => async function* (bytes) {
  let arrived = 0;
  for await (const chunk of chunks) {
    if (arrived + chunk.length <= bytes.length) bytes.set(chunk, arrived);
    arrived += chunk.length;
    yield { bytes, arrived };
  }
};

/**
 * Where engines can, the stream writes into the buffer, and no memory is made for chunks: each read takes the buffer away and gives it back as another
 * object. WebKitGTK has no such readers of what it fetches.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} stream
 * @returns {Fill}
 */
export const streamed = stream => async function* (bytes) {
  const { byteOffset, length } = bytes;
  /** @type {any} */
  let reader, lent = true;
  try {
    reader = stream.getReader({ mode: 'byob' });
  } catch {
    [reader, lent] = [stream.getReader(), false];
  }
  try {
    for (let arrived = 0;;) {
      const room = arrived < length ? bytes.subarray(arrived) : new Uint8Array(1);
      const { done, value } = await reader.read(room);
      if (done) return;
      if (!lent) room.set(value.subarray(0, room.length));
      else if (arrived < length) bytes = new Uint8Array(value.buffer, byteOffset, length);
      arrived += value.length;
      yield { bytes, arrived };
    }
  } finally {
    reader.cancel().catch(() => {});
  }
};

/**
 * @param {string} file
 * @param {string} url
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Source>}
 */
async function openFile(file, url, signal) {
  const { createReadStream, promises } = nodeModule('fs');
  try {
    if (!(await promises.stat(new URL(url))).isFile()) throw new Error('it is not a file');
  } catch (error) {
    throw new WebkilnError('MissingFile', `${file} is not at ${url} (${messageOf(error)}); deploy the bundle's folder whole`);
  }
  return { fill: copied(createReadStream(new URL(url), { signal, highWaterMark: 1 << 20 })), type: null };
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
  if (url.startsWith('data:')) return { fill: copied([inlined(url)]), type: null };
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
  return { fill: streamed(response.body), type: response.headers.get('content-type') };
}

/**
 * @param {string} file
 * @param {string} url
 * @param {string | null} type
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

  constructor() {
    /** @type {SubtleCrypto | undefined} */
    this.subtle = globalThis.crypto?.subtle;
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
 * @param {Fill} fill
 * @param {{ signal: AbortSignal | undefined, feed: Feed, buffer?: Uint8Array | undefined, checked?: boolean }} context
 * @returns {Promise<Uint8Array>} a part of the buffer, where one is given that is as long, or of what has its memory now
 */
export async function collect(entry, place, fill, { signal, feed, buffer, checked = false }) {
  const { file } = entry;
  let bytes = buffer && buffer.length >= entry.bytes ? buffer.subarray(0, entry.bytes) : new Uint8Array(entry.bytes);
  const seal = checked ? null : new Seal();
  let arrived = 0;
  try {
    for await (const filled of fill(bytes)) {
      ({ bytes, arrived } = filled);
      if (arrived > entry.bytes) {
        throw new WebkilnError('Altered', `${file}: expected ${entry.bytes} bytes from ${place}, got more; deploy the bundle's files unchanged`);
      }
      seal?.advance(bytes, arrived);
      feed(bytes, arrived);
    }
  } catch (error) {
    if (signal?.aborted) throw abortedError('the load');
    if (error instanceof WebkilnError) throw error;
    throw new WebkilnError('Truncated',
      `${file}: the connection broke after ${arrived} of ${entry.bytes} bytes (${messageOf(error)}); try again`);
  }
  if (arrived < entry.bytes) {
    throw new WebkilnError('Truncated', `${file}: expected ${entry.bytes} bytes from ${place}, got ${arrived}; deploy the file again`);
  }
  if (seal && !await seal.isOf(entry.digest)) {
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
  const { fill, type } = await openURL(entry.file, url, ignoreCache, context.signal);
  checkType(entry.file, url, type);
  return collect(entry, url, fill, context);
}
