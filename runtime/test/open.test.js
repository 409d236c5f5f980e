import assert from 'node:assert/strict';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { open } from '../src/open.js';
import { fileEntry } from '../fixtures/file_entry.js';

const BYTES = Uint8Array.of(1, 2, 3, 4);
const shard = fileEntry('weights-1.bin', BYTES);
const home = process.cwd();
let folder = '';

before(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'webkiln-')), 'ä #1 50%20?');
  await mkdir(join(folder, 'data'), { recursive: true });
  await writeFile(join(folder, 'data', shard.file), BYTES);
  process.chdir(folder);
});
after(() => {
  process.chdir(home);
  return rm(join(folder, '..'), { recursive: true });
});

/** The bytes that a model receives if `urls` point to another folder. */
async function loaded(options) {
  const seen = [];
  const engine = { init: (_, bytes) => seen.push(...bytes), copy: () => {}, dispose: () => {} };
  const program = { init: [[0, 0, 4]], states: [], placeholders: [] };
  const manifest = {
    name: 'm',
    inputs: [],
    outputs: [],
    placeholders: [],
    states: [],
    shards: [shard],
    backends: { js: { module: 'js.js', build: 'b' } },
  };
  const modules = { js: async () => ({ build: 'b', program, create: () => engine }) };
  const urls = () => ({ [shard.file]: 'file:///nowhere/weights-1.bin' });
  await open({ manifest, urls, modules, worker: () => {} }, { worker: false, ...options });
  return seen;
}

test('relative URLs are resolved against the working directory, with any characters', async () => {
  assert.deepEqual(await loaded({ baseURL: 'data' }), [...BYTES]);
  assert.deepEqual(await loaded({ transformURL: (_, file) => `./data/${file}` }), [...BYTES]);
});
