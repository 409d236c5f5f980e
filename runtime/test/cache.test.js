import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { sealed } from '../fixtures/sealed.js';
import { Reader } from '../src/cache.js';

const BYTES = Uint8Array.from({ length: 1000 }, (_, index) => index);
const ENTRY = sealed('weights-1.bin', BYTES);
const URLS = [
  'data:;base64,' + Buffer.from(BYTES).toString('base64'),
  'http://127.0.0.1:9/weights-1.bin',
];
const KEPT = 'http://127.0.0.1:9/weights-1.bin';
let held = new Map();
/** How a store ends. */
let put = async (url, response) => {
  held.set(url, response);
};

beforeEach(() => {
  held = new Map();
  put = async (url, response) => {
    held.set(url, response);
  };
  globalThis.caches = {
    open: async () => ({
      match: async url => held.get(url)?.clone(),
      put: (url, response) => put(url, response),
      keys: async () => [...held.keys()].map(url => ({ url })),
      delete: async ({ url }) => held.delete(url),
    }),
  };
});

const reader = strategy =>
  new Reader('m', { strategy, save: true, ignoreCache: false, signal: undefined });

/** Stores the file under another URL, which answers nothing. */
async function store() {
  const storing = reader('networkOnly');
  await storing.read(ENTRY, URLS[0], () => () => {});
  await storing.settle(URLS);
  held.set(KEPT, held.get(URLS[0]));
}

/** What reading from the cache alone gives, and how often a digest was taken. */
async function restored(entry = ENTRY) {
  let digests = 0;
  const { digest } = crypto.subtle;
  crypto.subtle.digest = (...given) => {
    digests++;
    return digest.apply(crypto.subtle, given);
  };
  try {
    const seen = [];
    const bytes = await reader('cacheOnly').read(
      entry,
      KEPT,
      () => (_, arrived) => seen.push(arrived),
    );
    return { bytes, digests, last: seen.at(-1) };
  } catch ({ code }) {
    return { code, digests };
  } finally {
    crypto.subtle.digest = digest;
  }
}

test('what was checked when it was stored is not digested again', async () => {
  await store();
  assert.deepEqual(await restored(), { bytes: BYTES, digests: 0, last: BYTES.length });
});

test('cached files of another length, of another digest, or without one are not used', async () => {
  await store();
  const headers = held.get(KEPT).headers;
  for (const body of [BYTES.subarray(1), Uint8Array.of(...BYTES, 0), new Uint8Array()]) {
    held.set(KEPT, new Response(body, { headers }));
    assert.equal((await restored()).code, 'MissingFile');
  }
  held.set(KEPT, new Response(BYTES));
  assert.equal((await restored()).code, 'MissingFile');
  held.set(KEPT, new Response(BYTES, { headers }));
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

test('what the network alters is not stored', async () => {
  await assert.rejects(
    reader('latest').read({ ...ENTRY, digest: '0'.repeat(64) }, URLS[0], () => () => {}),
    { code: 'Altered' },
  );
  assert.equal(held.size, 0);
});

test('a load waits for few stores, and for none that fails', async () => {
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

test('files of earlier builds are forgotten', async () => {
  held.set('http://127.0.0.1:9/weights-0.bin', new Response('old'));
  await store();
  await reader('latest').settle([KEPT]);
  assert.deepEqual([...held.keys()], [KEPT]);
});
