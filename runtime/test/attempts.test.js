import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { faultyServer } from '../fixtures/faulty_server.js';
import { fileEntry } from '../fixtures/file_entry.js';
import { WebkilnError } from '../src/errors.js';
import { instantiate } from '../src/instantiate.js';
import { open } from '../src/open.js';

const HALF = 1 << 18;
const SHARDS = [Buffer.alloc(2 * HALF, 1), Buffer.alloc(2 * HALF, 2), Buffer.alloc(HALF, 3)];
/** The smallest WebAssembly module, as a variant of a backend. */
const MODULE = Buffer.from([0, 97, 115, 109, 1, 0, 0, 0]);
const INIT = [
  [0, 0, HALF],
  [0, HALF, HALF],
  [1, 0, HALF],
  [1, HALF, HALF],
  [2, 0, HALF],
];
let folder = '';
const shards = SHARDS.map((bytes, number) => fileEntry(`weights-${number}.bin`, bytes));
const variants = ['relaxed', 'simd'].map(name => ({ name, ...fileEntry(`${name}.wasm`, MODULE) }));

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'webkiln-'));
  for (const [number, bytes] of SHARDS.entries())
    await writeFile(join(folder, `weights-${number}.bin`), bytes);
  for (const { file } of variants) await writeFile(join(folder, file), MODULE);
});
after(() => rm(folder, { recursive: true }));

/** An engine that records its calls, and a function that loads it. */
function setUp({
  backends = ['js'],
  failing = {},
  urls = {},
  variant,
  signal,
  builds = {},
  absent = [],
} = {}) {
  const seen = { decoded: new Map(), disposed: 0, created: [], progress: [] };
  const buffer = new ArrayBuffer(64 + HALF);
  const program = {
    memory: buffer.byteLength,
    inputs: [],
    outputs: [],
    states: [],
    layers: [],
    staging: { offset: 64, bytes: HALF },
    init: INIT,
  };
  const engine = {
    buffer,
    base: 0,
    init(entry) {
      seen.decoded.set(entry, new Uint8Array(buffer, 64, HALF).slice(0, 10));
    },
    run() {},
  };
  const create = name => async compiled => {
    seen.created.push([name, compiled instanceof WebAssembly.Module]);
    if (failing[name]) throw failing[name];
    return engine;
  };
  const known = {
    js: { module: 'js.js', build: 'b' },
    webgl: { module: 'webgl.js', build: 'b' },
    wasm: { module: 'wasm.js', build: 'b', variants },
  };
  const modules = Object.fromEntries(
    Object.keys(known).map(name => [
      name,
      async () => ({ build: builds[name] ?? 'b', program, create: create(name) }),
    ]),
  );
  const manifest = {
    name: 'm',
    shards,
    backends: Object.fromEntries(Object.entries(known).filter(([name]) => !absent.includes(name))),
  };
  const locations = Object.fromEntries(
    [...shards, ...variants].map(({ file }) => [
      file,
      urls[file] ?? pathToFileURL(join(folder, file)).href,
    ]),
  );
  const request = {
    manifest,
    urls: locations,
    backends,
    variant,
    cacheStrategy: 'networkOnly',
    saveCache: false,
    ignoreCache: false,
    stallTimeout: 0,
    threads: 1,
  };
  return {
    seen,
    load: () => instantiate(request, modules, progress => seen.progress.push(progress), signal),
  };
}

const BYTES = new Map(INIT.map(([shard], entry) => [entry, shard + 1]));
const isRight = ({ decoded }) =>
  [...BYTES].every(([entry, byte]) => decoded.get(entry)?.every(value => value === byte));

test('the requested variant is fetched and included in the progress', async () => {
  for (const variant of ['relaxed', 'simd']) {
    const other = variant === 'simd' ? 'relaxed' : 'simd';
    const { seen, load } = setUp({
      backends: ['wasm'],
      variant,
      urls: { [`${other}.wasm`]: 'file:///nowhere/other.wasm' },
    });
    const reply = await load();
    assert.deepEqual(
      [reply.backend, reply.variant, seen.created],
      ['wasm', variant, [['wasm', true]]],
    );
    const total = 5 * HALF + MODULE.length;
    assert.deepEqual(seen.progress.at(-1), { loaded: total, total });
    assert.ok(isRight(seen));
  }
});

test('progress never decreases and never exceeds the total', async () => {
  const server = await faultyServer(SHARDS[0], [['altered', 7]]);
  const { seen, load } = setUp({ urls: { 'weights-0.bin': server.url } });
  await load().finally(server.close);
  const loaded = seen.progress.map(progress => progress.loaded);
  assert.deepEqual(
    loaded,
    [...loaded].sort((a, b) => a - b),
  );
  assert.ok(
    seen.progress.every(
      progress => progress.loaded <= progress.total && progress.total === 5 * HALF,
    ),
  );
  assert.equal(loaded.at(-1), 5 * HALF);
});

test('entries decoded from wrong bytes are decoded again', async () => {
  for (const at of [3, HALF + 3]) {
    const server = await faultyServer(SHARDS[1], [['altered', at]]);
    const { seen, load } = setUp({ urls: { 'weights-1.bin': server.url } });
    await load().finally(server.close);
    assert.ok(isRight(seen));
  }
});

test('the first backend that starts is used, and earlier failures are reported', async () => {
  const failing = { wasm: new WebkilnError('NoBackend', 'no'), webgl: new Error('lost') };
  const { seen, load } = setUp({ backends: ['wasm', 'webgl', 'js'], variant: 'simd', failing });
  const reply = await load();
  assert.deepEqual(
    [reply.backend, reply.failures.map(({ backend, code, message }) => [backend, code, message])],
    [
      'js',
      [
        ['wasm', 'NoBackend', 'no'],
        ['webgl', 'NoBackend', 'lost'],
      ],
    ],
  );
  assert.deepEqual(
    seen.created.map(([name]) => name),
    ['wasm', 'webgl', 'js'],
  );
});

test('if no backend starts, the error lists the reasons', async () => {
  const rejects = (options, code, ...parts) =>
    assert.rejects(setUp(options).load(), error => {
      assert.equal(error.code, code, error.message);
      for (const part of parts) assert.ok(error.message.includes(part), error.message);
      return true;
    });
  await rejects({ failing: { js: new WebkilnError('Trapped', 'broken') } }, 'Trapped', 'broken');
  await rejects({ failing: { js: new Error('broken') } }, 'NoBackend', 'js: broken');
  await rejects(
    {
      backends: ['js', 'webgl'],
      failing: { js: new WebkilnError('Trapped', 'one'), webgl: new Error('two') },
    },
    'NoBackend',
    'js: one',
    'webgl: two',
  );
  await rejects({ absent: ['js'] }, 'NoBackend', 'was built without it');
  await rejects({ builds: { js: 'other' } }, 'Altered', 'js.js belongs to another build');
  await rejects({ backends: ['wasm'], variant: 'quantum' }, 'CompileFailed', 'relaxed, simd');
});

test('an aborted load tries no other backend', async () => {
  const stop = new AbortController();
  const { seen, load } = setUp({
    backends: ['webgl', 'js'],
    signal: stop.signal,
    failing: { webgl: new Error('lost') },
  });
  const loading = load();
  stop.abort();
  await assert.rejects(loading, { code: 'Aborted' });
  assert.deepEqual(
    seen.created.filter(([name]) => name === 'js'),
    [],
  );
});

test('the engine of a failed load is disposed of', async () => {
  let disposed = 0;
  const program = { init: [[0, 0, HALF]], states: [], placeholders: [] };
  const engine = {
    init: () => {},
    copy: () => {},
    dispose: () => {
      disposed++;
    },
  };
  const manifest = {
    name: 'm',
    shards: [shards[0]],
    backends: { js: { module: 'js.js', build: 'b' } },
  };
  const request = {
    manifest,
    urls: { 'weights-0.bin': 'file:///nowhere/weights-0.bin' },
    backends: ['js'],
    cacheStrategy: 'networkOnly',
    saveCache: false,
    ignoreCache: false,
    stallTimeout: 0,
    threads: 1,
  };
  await assert.rejects(
    instantiate(
      request,
      { js: async () => ({ build: 'b', program, create: async () => engine }) },
      () => {},
    ),
    { code: 'MissingFile' },
  );
  await new Promise(resolve => setTimeout(resolve, 10));
  assert.equal(disposed, 1);
});

/** Open a bundle with two backends and record its use. */
async function opened(options, backends = ['js', 'webgl']) {
  const used = {};
  const engine = { init: () => {}, copy: () => {}, dispose: () => {} };
  const program = { init: [], states: [], placeholders: [] };
  const module = name => async () => {
    used.backends = [...(used.backends ?? []), name];
    return {
      build: 'b',
      program,
      create: async () => {
        if (name !== options.works) throw new Error(name);
        return engine;
      },
    };
  };
  const manifest = {
    name: 'm',
    inputs: [],
    outputs: [],
    placeholders: [],
    states: [],
    shards: [shards[2]],
    backends: Object.fromEntries(
      backends.map(name => [name, { module: `${name}.js`, build: 'b' }]),
    ),
  };
  const { works, ...loadOptions } = options;
  const transformURL =
    loadOptions.transformURL &&
    ((...values) => {
      used.transformed = values;
      return loadOptions.transformURL(...values);
    });
  const urls = () => ({ [shards[2].file]: pathToFileURL(join(folder, shards[2].file)).href });
  const modules = Object.fromEntries(backends.map(name => [name, module(name)]));
  const { warn } = console;
  console.warn = () => {};
  try {
    const model = await open(
      { manifest, urls, modules, worker: () => {} },
      { worker: false, ...loadOptions, ...(transformURL ? { transformURL } : {}) },
    );
    used.backend = model.backend;
    used.threads = model.threads;
    model.dispose();
  } finally {
    console.warn = warn;
  }
  return used;
}

test('backends are tried in the requested order, or in the default order', async () => {
  assert.deepEqual((await opened({ works: 'js' })).backends, ['webgl', 'js']);
  assert.deepEqual((await opened({ works: 'webgl', backends: ['js', 'webgl'] })).backends, [
    'js',
    'webgl',
  ]);
  assert.deepEqual((await opened({ works: 'js', backends: 'js' })).backends, ['js']);
  assert.deepEqual((await opened({ works: 'js', backends: ['wasm', 'js'] })).backends, ['js']);
});

test('baseURL is applied before transformURL', async () => {
  const used = await opened({
    works: 'js',
    baseURL: folder,
    transformURL: (url, file) => `${url}?v=${file}`.replace(/\?.*/, ''),
  });
  const url = pathToFileURL(join(folder, shards[2].file)).href;
  assert.deepEqual(used.transformed, [url, shards[2].file]);
});

test('invalid options are rejected', async () => {
  for (const threads of [0, 1.5, '2', NaN, Infinity, -1, null])
    await assert.rejects(opened({ works: 'js', threads }), {
      code: 'WrongOption',
      message: /^threads/,
    });
  for (const stallTimeout of [-1, '30', NaN, null])
    await assert.rejects(opened({ works: 'js', stallTimeout }), {
      code: 'WrongOption',
      message: /^stallTimeout/,
    });
  await assert.rejects(opened({ works: 'js', device: {} }), {
    code: 'WrongOption',
    message: /^device/,
  });
  await assert.rejects(opened({ works: 'js', device: {}, worker: true }, ['js', 'webgpu']), {
    code: 'WrongOption',
    message: /^device/,
  });
  await assert.rejects(opened({ works: 'js', profile: true }), {
    code: 'WrongOption',
    message: /^profile/,
  });
  await assert.rejects(opened({ works: 'js', backends: ['wasm'] }), { code: 'NoBackend' });
  const stop = new AbortController();
  stop.abort();
  await assert.rejects(opened({ works: 'js', signal: stop.signal }), { code: 'Aborted' });
});
