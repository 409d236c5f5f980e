import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { faultyServer } from '../fixtures/faulty_server.js';
import { fileEntry } from '../fixtures/file_entry.js';
import { Reader, STRATEGIES } from '../src/cache.js';

const BYTES = Uint8Array.from({ length: 1000 }, (_, index) => index * 3);
/** The cached bytes differ in the first byte. Their digest is not checked again. */
const STORED = BYTES.map((byte, index) => (index ? byte : byte ^ 255));
const ENTRY = fileEntry('weights-1.bin', BYTES);
let cached = new Map();
let folder = '';

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'webkiln-'));
  await writeFile(join(folder, 'up.bin'), BYTES);
});
after(() => rm(folder, { recursive: true }));
beforeEach(() => {
  cached = new Map();
  globalThis.caches = {
    open: async () => ({
      match: async url => cached.get(url)?.clone(),
      put: async (url, response) => {
        cached.set(url, response);
      },
      keys: async () => [...cached.keys()].map(url => ({ url })),
      delete: async ({ url }) => cached.delete(url),
    }),
  };
});

const reader = (strategy, more = {}) =>
  new Reader('m', {
    strategy,
    save: false,
    ignoreCache: false,
    signal: undefined,
    stallTimeout: 0,
    ...more,
  });
const answer = body => new Response(body, { headers: { 'webkiln-digest': ENTRY.digest } });

/** The source of the bytes of a read, or the code of its error. */
async function from(strategy, url, more) {
  try {
    const bytes = await reader(strategy, more).read(ENTRY, url, () => () => {});
    return bytes[0] === BYTES[0] ? 'network' : 'cache';
  } catch ({ code }) {
    return code;
  }
}

/** Strategy -> sources with and without a cached copy, and with and without a network. */
const EXPECTED = {
  latest: { both: 'cache', stored: 'cache', up: 'network', none: 'MissingFile' },
  networkFirst: { both: 'network', stored: 'cache', up: 'network', none: 'MissingFile' },
  cacheFirst: { both: 'cache', stored: 'cache', up: 'network', none: 'MissingFile' },
  networkOnly: { both: 'network', stored: 'MissingFile', up: 'network', none: 'MissingFile' },
  cacheOnly: { both: 'cache', stored: 'cache', up: 'MissingFile', none: 'MissingFile' },
};

test('each strategy reads from the documented source', async () => {
  assert.deepEqual(Object.keys(EXPECTED).sort(), [...STRATEGIES].sort());
  for (const [strategy, table] of Object.entries(EXPECTED)) {
    const found = {};
    for (const [state, isStored, name] of [
      ['both', true, 'up.bin'],
      ['stored', true, 'down.bin'],
      ['up', false, 'up.bin'],
      ['none', false, 'down.bin'],
    ]) {
      cached.clear();
      const url = pathToFileURL(join(folder, name)).href;
      if (isStored) cached.set(url, answer(STORED));
      found[state] = await from(strategy, url);
    }
    assert.deepEqual(found, table, strategy);
  }
});

test('a cached copy of another build or of another length is not used', async () => {
  const url = pathToFileURL(join(folder, 'down.bin')).href;
  for (const stored of [
    new Response(STORED, { headers: { 'webkiln-digest': '0'.repeat(64) } }),
    answer(STORED.subarray(1)),
    new Response(STORED),
  ]) {
    for (const strategy of ['networkFirst', 'cacheFirst', 'latest']) {
      cached.set(url, stored.clone());
      assert.equal(await from(strategy, url), 'MissingFile');
    }
  }
});

test('every strategy that uses the network stores its response if `saveCache` is set', async () => {
  const url = pathToFileURL(join(folder, 'up.bin')).href;
  for (const strategy of ['latest', 'networkFirst', 'cacheFirst', 'networkOnly']) {
    for (const save of [false, true]) {
      cached.clear();
      const reading = reader(strategy, { save });
      await reading.read(ENTRY, url, () => () => {});
      await reading.settle([url]);
      assert.deepEqual([...cached.keys()], save ? [url] : [], strategy);
    }
    const again = reader('cacheOnly');
    assert.deepEqual(await again.read(ENTRY, url, () => () => {}), BYTES);
  }
});

test('files of earlier builds are kept without saveCache', async () => {
  cached.set('http://127.0.0.1:9/old.bin', answer(STORED));
  await reader('latest').settle([]);
  assert.equal(cached.size, 1);
});

test('a cache that cannot be opened is ignored', async () => {
  globalThis.caches = {
    open: async () => {
      throw new Error('refused');
    },
  };
  const url = pathToFileURL(join(folder, 'up.bin')).href;
  for (const strategy of ['latest', 'networkFirst', 'networkOnly'])
    assert.equal(await from(strategy, url, { save: true }), 'network');
  assert.equal(await from('cacheOnly', url), 'MissingFile');
  delete globalThis.caches;
  assert.equal(await from('latest', url, { save: true }), 'network');
});

test('requests are not retried with a cached copy, or twice without the HTTP cache', async () => {
  for (const [strategy, isStored, faults, more, found, count] of [
    ['networkFirst', true, [['status', [503]]], {}, 'cache', 1],
    [
      'networkFirst',
      true,
      [
        ['altered', 9],
        ['altered', 9],
      ],
      {},
      'cache',
      2,
    ],
    ['networkFirst', true, [['altered', 9]], {}, 'network', 2],
    ['networkOnly', false, [['altered', 9]], { ignoreCache: true }, 'Altered', 1],
    ['networkOnly', false, [['short', 10]], { ignoreCache: true }, 'Truncated', 1],
    ['networkOnly', false, [['status', [200, { 'Content-Type': 'text/html' }]]], {}, 'network', 2],
    [
      'networkOnly',
      false,
      [['status', [200, { 'Content-Type': 'text/html' }]]],
      { ignoreCache: true },
      'WrongType',
      1,
    ],
    ['networkOnly', false, [['status', [404]]], {}, 'MissingFile', 1],
  ]) {
    const server = await faultyServer(BYTES, faults);
    cached.clear();
    if (isStored) cached.set(server.url, answer(STORED));
    const got = await from(strategy, server.url, more).finally(server.close);
    assert.deepEqual(
      [got, server.requests.length],
      [found, count],
      `${strategy} ${JSON.stringify(faults)}`,
    );
  }
});

test('each attempt has a new feed, which receives all bytes', async () => {
  const server = await faultyServer(BYTES, [['altered', 9]]);
  const feeds = [];
  await reader('networkOnly')
    .read(ENTRY, server.url, () => {
      const seen = [];
      feeds.push(seen);
      return (bytes, arrived) => seen.push([arrived, bytes[9]]);
    })
    .finally(server.close);
  assert.equal(feeds.length, 2);
  assert.deepEqual(
    feeds.map(seen => seen.at(-1)),
    [
      [BYTES.length, BYTES[9] ^ 1],
      [BYTES.length, BYTES[9]],
    ],
  );
});

test('an aborted load does not fall back to a cached copy', async () => {
  const url = pathToFileURL(join(folder, 'down.bin')).href;
  cached.set(url, answer(STORED));
  const stop = new AbortController();
  stop.abort();
  assert.notEqual(await from('networkFirst', url, { signal: stop.signal }), 'cache');
});
