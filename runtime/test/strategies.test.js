import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { faulty } from '../fixtures/faulty.js';
import { sealed } from '../fixtures/sealed.js';
import { Reader, STRATEGIES } from '../src/cache.js';

const BYTES = Uint8Array.from({ length: 1000 }, (_, index) => index * 3);
/** The first byte tells what the cache holds: its digest was checked when it was stored. */
const STORED = BYTES.map((byte, index) => (index ? byte : byte ^ 255));
const ENTRY = sealed('weights-1.bin', BYTES);
let held = new Map();
let folder = '';

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'webkiln-'));
  await writeFile(join(folder, 'up.bin'), BYTES);
});
after(() => rm(folder, { recursive: true }));
beforeEach(() => {
  held = new Map();
  globalThis.caches = {
    open: async () => ({
      match: async url => held.get(url)?.clone(),
      put: async (url, response) => {
        held.set(url, response);
      },
      keys: async () => [...held.keys()].map(url => ({ url })),
      delete: async ({ url }) => held.delete(url),
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

/** Where the bytes of a read come from, or the code of its error. */
async function from(strategy, url, more) {
  try {
    const bytes = await reader(strategy, more).read(ENTRY, url, () => () => {});
    return bytes[0] === BYTES[0] ? 'network' : 'cache';
  } catch ({ code }) {
    return code;
  }
}

/** By strategy: with a stored copy or none, and a network that works or does not. */
const EXPECTED = {
  latest: { both: 'cache', stored: 'cache', up: 'network', none: 'MissingFile' },
  networkFirst: { both: 'network', stored: 'cache', up: 'network', none: 'MissingFile' },
  cacheFirst: { both: 'cache', stored: 'cache', up: 'network', none: 'MissingFile' },
  networkOnly: { both: 'network', stored: 'MissingFile', up: 'network', none: 'MissingFile' },
  cacheOnly: { both: 'cache', stored: 'cache', up: 'MissingFile', none: 'MissingFile' },
};

test('where each strategy takes a file from', async () => {
  assert.deepEqual(Object.keys(EXPECTED).sort(), [...STRATEGIES].sort());
  for (const [strategy, table] of Object.entries(EXPECTED)) {
    const found = {};
    for (const [state, isStored, name] of [
      ['both', true, 'up.bin'],
      ['stored', true, 'down.bin'],
      ['up', false, 'up.bin'],
      ['none', false, 'down.bin'],
    ]) {
      held.clear();
      const url = pathToFileURL(join(folder, name)).href;
      if (isStored) held.set(url, answer(STORED));
      found[state] = await from(strategy, url);
    }
    assert.deepEqual(found, table, strategy);
  }
});

test('a copy of another build, or of another length, stands in for nothing', async () => {
  const url = pathToFileURL(join(folder, 'down.bin')).href;
  for (const stored of [
    new Response(STORED, { headers: { 'webkiln-digest': '0'.repeat(64) } }),
    answer(STORED.subarray(1)),
    new Response(STORED),
  ]) {
    for (const strategy of ['networkFirst', 'cacheFirst', 'latest']) {
      held.set(url, stored.clone());
      assert.equal(await from(strategy, url), 'MissingFile');
    }
  }
});

test('every strategy that uses the network stores its response if `saveCache` is set', async () => {
  const url = pathToFileURL(join(folder, 'up.bin')).href;
  for (const strategy of ['latest', 'networkFirst', 'cacheFirst', 'networkOnly']) {
    for (const save of [false, true]) {
      held.clear();
      const reading = reader(strategy, { save });
      await reading.read(ENTRY, url, () => () => {});
      await reading.settle([url]);
      assert.deepEqual([...held.keys()], save ? [url] : [], strategy);
    }
    const again = reader('cacheOnly');
    assert.deepEqual(await again.read(ENTRY, url, () => () => {}), BYTES);
  }
});

test('files of earlier builds stay where nothing is stored', async () => {
  held.set('http://127.0.0.1:9/old.bin', answer(STORED));
  await reader('latest').settle([]);
  assert.equal(held.size, 1);
});

test('a cache that cannot be opened is done without', async () => {
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

test('with a cached copy one failure is enough, and nothing is requested twice past the HTTP cache', async () => {
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
    const server = await faulty(BYTES, faults);
    held.clear();
    if (isStored) held.set(server.url, answer(STORED));
    const got = await from(strategy, server.url, more).finally(server.close);
    assert.deepEqual(
      [got, server.asked.length],
      [found, count],
      `${strategy} ${JSON.stringify(faults)}`,
    );
  }
});

test('a feed is made anew for each attempt, which sees the bytes from the first', async () => {
  const server = await faulty(BYTES, [['altered', 9]]);
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

test('an aborted load takes no copy instead', async () => {
  const url = pathToFileURL(join(folder, 'down.bin')).href;
  held.set(url, answer(STORED));
  const stop = new AbortController();
  stop.abort();
  assert.notEqual(await from('networkFirst', url, { signal: stop.signal }), 'cache');
});
