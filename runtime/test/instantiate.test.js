import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { instantiate } from '../src/instantiate.js';
import { fileEntry } from '../fixtures/file_entry.js';

const SHARDS = 6;
const BYTES = 3 << 20;
const ENTRY = 1 << 18;
let folder = '';
let files = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'webkiln-'));
  files = await Promise.all(
    Array.from({ length: SHARDS }, async (_, shard) => {
      const bytes = Buffer.alloc(BYTES, shard + 1);
      const file = `weights-${shard}.bin`;
      await writeFile(join(folder, file), bytes);
      return fileEntry(file, bytes);
    }),
  );
  await writeFile(join(folder, 'js.js'), '');
});
after(() => rm(folder, { recursive: true }));

test('entries are decoded once, as their ranges arrive, from the correct bytes', async () => {
  const init = [];
  for (let shard = 0; shard < SHARDS; shard++) {
    for (let start = 0; start < BYTES; start += ENTRY) init.push([shard, start, ENTRY]);
  }
  const buffer = new ArrayBuffer(64 + ENTRY);
  const seen = new Map();
  const arrived = [];
  const program = {
    memory: buffer.byteLength,
    inputs: [],
    outputs: [],
    states: [],
    layers: [],
    staging: { offset: 64, bytes: ENTRY },
    init,
  };
  let loaded = 0;
  const engine = {
    buffer,
    base: 0,
    init(entry) {
      seen.set(entry, (seen.get(entry) ?? 0) + 1);
      assert.ok(new Uint8Array(buffer, 64, ENTRY).every(byte => byte === init[entry][0] + 1));
      arrived.push(loaded);
    },
    run() {},
  };
  const manifest = { name: 'm', shards: files, backends: { js: { module: 'js.js' } } };
  const urls = Object.fromEntries(
    ['js.js', ...files.map(({ file }) => file)].map(file => [
      file,
      pathToFileURL(join(folder, file)).href,
    ]),
  );
  const request = {
    manifest,
    urls,
    backends: ['js'],
    variant: undefined,
    cacheStrategy: 'networkOnly',
    saveCache: false,
    ignoreCache: false,
  };
  const reply = await instantiate(
    request,
    { js: async () => ({ program, create: () => engine }) },
    progress => {
      loaded = progress.loaded;
    },
  );
  assert.equal(reply.backend, 'js');
  assert.equal(seen.size, init.length);
  assert.ok([...seen.values()].every(times => times === 1));
  assert.equal(loaded, SHARDS * BYTES);
  assert.ok(arrived[0] < BYTES * 4, 'the first entry waits for whole shards');
});

test('entries without a shard run in order, after all entries that they depend on', async () => {
  const init = [];
  for (let shard = 0; shard < SHARDS; shard++) {
    for (let start = 0; start < BYTES; start += ENTRY) init.push([shard, start, ENTRY]);
  }
  const each = BYTES / ENTRY;
  const ranges = [
    [0, 1],
    [each - 1, 2],
    [2 * each, each],
    [0, SHARDS * each],
  ];
  const transforms = ranges.map((range, index) => ({ range, index: init.length + index }));
  init.push(...ranges.map(range => [-1, ...range]));
  const buffer = new ArrayBuffer(64 + ENTRY);
  const order = [];
  const program = {
    memory: buffer.byteLength,
    inputs: [],
    outputs: [],
    states: [],
    layers: [],
    staging: { offset: 64, bytes: ENTRY },
    init,
  };
  const engine = {
    buffer,
    base: 0,
    init(entry) {
      order.push(entry);
    },
    run() {},
  };
  const manifest = { name: 'm', shards: files, backends: { js: { module: 'js.js' } } };
  const urls = Object.fromEntries(
    ['js.js', ...files.map(({ file }) => file)].map(file => [
      file,
      pathToFileURL(join(folder, file)).href,
    ]),
  );
  const request = {
    manifest,
    urls,
    backends: ['js'],
    variant: undefined,
    cacheStrategy: 'networkOnly',
    saveCache: false,
    ignoreCache: false,
  };
  await instantiate(request, { js: async () => ({ program, create: () => engine }) }, () => {});
  assert.equal(order.length, init.length, 'each once');
  for (const {
    range: [first, count],
    index,
  } of transforms) {
    const last = Math.max(...Array.from({ length: count }, (_, n) => order.indexOf(first + n)));
    assert.ok(order.indexOf(index) > last);
  }
  assert.deepEqual(
    order.filter(entry => entry >= SHARDS * each),
    transforms.map(({ index }) => index),
  );
});
