import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { fileEntry } from '../fixtures/file_entry.js';
import { Reader } from '../src/cache.js';

const BYTES = Uint8Array.from({ length: 1000 }, (_, index) => index);
const ENTRY = fileEntry('weights-1.bin', BYTES);
const URLS = [
  'data:;base64,' + Buffer.from(BYTES).toString('base64'),
  'http://127.0.0.1:9/weights-1.bin',
];
const CACHED_URL = 'http://127.0.0.1:9/weights-1.bin';
let cached = new Map();
/** The result of a store. */
let put = async (url, response) => {
  cached.set(url, response);
};

beforeEach(() => {
  cached = new Map();
  put = async (url, response) => {
    cached.set(url, response);
  };
  globalThis.caches = {
    open: async () => ({
      match: async url => cached.get(url)?.clone(),
      put: (url, response) => put(url, response),
      keys: async () => [...cached.keys()].map(url => ({ url })),
      delete: async ({ url }) => cached.delete(url),
    }),
  };
});

const reader = strategy =>
  new Reader('m', { strategy, save: true, ignoreCache: false, signal: undefined });

/** Store the file under another URL, which does not respond. */
async function store() {
  const storing = reader('networkOnly');
  await storing.read(ENTRY, URLS[0], () => () => {});
  await storing.settle(URLS);
  cached.set(CACHED_URL, cached.get(URLS[0]));
}

/** Read only from the cache, and count the calls of `digest`. */
async function restored(entry = ENTRY) {
  let digests = 0;
  const { digest } = crypto.subtle;
  crypto.subtle.digest = (...values) => {
    digests++;
    return digest.apply(crypto.subtle, values);
  };
  try {
    const seen = [];
    const bytes = await reader('cacheOnly').read(
      entry,
      CACHED_URL,
      () => (_, arrived) => seen.push(arrived),
    );
    return { bytes, digests, last: seen.at(-1) };
  } catch ({ code }) {
    return { code, digests };
  } finally {
    crypto.subtle.digest = digest;
  }
}

test('stored files are not hashed again', async () => {
  await store();
  assert.deepEqual(await restored(), { bytes: BYTES, digests: 0, last: BYTES.length });
});

test('cached files of another length or digest are not used', async () => {
  await store();
  const headers = cached.get(CACHED_URL).headers;
  for (const body of [BYTES.subarray(1), Uint8Array.of(...BYTES, 0), new Uint8Array()]) {
    cached.set(CACHED_URL, new Response(body, { headers }));
    assert.equal((await restored()).code, 'MissingFile');
  }
  cached.set(CACHED_URL, new Response(BYTES));
  assert.equal((await restored()).code, 'MissingFile');
  cached.set(CACHED_URL, new Response(BYTES, { headers }));
  assert.equal(
    (
      await restored({
        ...ENTRY,
        digest: ENTRY.digest.replace(/./, digit => (digit === '0' ? '1' : '0')),
      })
    ).code,
    'MissingFile',
  );
  assert.deepEqual((await restored()).bytes, BYTES);
});

test('bytes with a wrong digest are not stored', async () => {
  await assert.rejects(
    reader('latest').read({ ...ENTRY, digest: '0'.repeat(64) }, URLS[0], () => () => {}),
    { code: 'Altered' },
  );
  assert.equal(cached.size, 0);
});

test('a load waits if there are too many pending stores, and ignores failed ones', async () => {
  const writing = reader('networkOnly');
  const ends = [];
  put = () => new Promise((resolve, reject) => ends.push(reject));
  for (let file = 0; file < 3; file++) await writing.read(ENTRY, URLS[0], () => () => {});
  let over = false;
  const fourth = writing
    .read(ENTRY, URLS[0], () => () => {})
    .then(() => {
      over = true;
    });
  await new Promise(resolve => setTimeout(resolve, 50));
  assert.deepEqual([ends.length, over], [4, false]);
  ends[0](new Error('full'));
  await fourth;
  const settled = writing.settle(URLS);
  for (const end of ends) end(new Error('full'));
  await settled;
});

test('cached files of earlier builds are deleted', async () => {
  cached.set('http://127.0.0.1:9/weights-0.bin', new Response('old'));
  await store();
  await reader('latest').settle([CACHED_URL]);
  assert.deepEqual([...cached.keys()], [CACHED_URL]);
});
