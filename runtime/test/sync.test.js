import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeholdersOf } from '../src/open_sizes.js';
import { SyncModel } from '../src/sync.js';

const SHARDS = [
  { file: 'weights-0.bin', bytes: 8, digest: '' },
  { file: 'weights-1.bin', bytes: 4, digest: '' },
];
const WEIGHTS = [new Float32Array([2, 3]).buffer, new Float32Array([5])];

/** y = x * w + total, where w has two elements and total is the sum of all previous inputs. */
const program = {
  placeholders: ['rows'],
  loaded: 512,
  states: [{ name: 'total', offset: 128, initial: 192, next: 256, bytes: 4 }],
  staging: { offset: 64, bytes: 8 },
  init: [
    [0, 0, 8],
    [1, 0, 4],
  ],
  layout: rows => ({
    memory: 512 + 16 * rows,
    flops: 0,
    inputs: [{ name: 'x', dtype: 'float32', storage: 'float32', shape: [rows, 2], offset: 512 }],
    outputs: [
      { name: 'y', dtype: 'float32', storage: 'float32', shape: [rows, 2], offset: 512 + 8 * rows },
    ],
    layers: [],
    guards: [],
  }),
};

function create() {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const numbers = (offset, length) => new Float32Array(memory.buffer, offset, length);
  const linear = () => ({
    buffer: memory.buffer,
    base: 0,
    init: entry =>
      entry ? numbers(192, 1).set(numbers(64, 1)) : numbers(0, 2).set(numbers(64, 2)),
    run: rows => {
      const x = numbers(512, 2 * rows);
      if (x[0] > 1e9) throw new RangeError('trap');
      const [total] = numbers(128, 1);
      numbers(512 + 8 * rows, 2 * rows).set(x.map((v, i) => v * numbers(0, 2)[i % 2] + total));
      numbers(256, 1)[0] = total + x.reduce((sum, value) => sum + value, 0);
    },
    watch() {},
    grow: bytes => {
      memory.grow(Math.ceil(bytes / 65536));
      return linear();
    },
  });
  return linear();
}

const manifest = {
  name: 'm',
  inputs: [{ name: 'x', dtype: 'float32', shape: ['rows', 2] }],
  outputs: [{ name: 'y', dtype: 'float32', shape: ['rows', 2] }],
  placeholders: ['rows'],
  shards: SHARDS,
  backends: { js: { module: 'js.js', build: 'b' } },
};
const bundle = /** @type {any} */ ({
  manifest,
  backend: 'js',
  code: { build: 'b', program, create },
  placeholdersOf,
});

test('a model runs without promises, and keeps its states', () => {
  const model = new SyncModel(bundle, { weights: WEIGHTS });
  assert.deepEqual(model.run({ x: new Float32Array([1, 1]) }), { y: new Float32Array([7, 8]) });
  assert.deepEqual(model.run([[1, 1]]).y, new Float32Array([9, 10]));
  assert.deepEqual(
    model.run([
      [0, 0],
      [1, 2],
    ]).y,
    new Float32Array([9, 9, 11, 15]),
  );
  assert.deepEqual(model.shapes, { y: [2, 2] });
  model.reset();
  assert.deepEqual(model.run([1, 1]).y, new Float32Array([7, 8]));
  const large = model.run(new Float32Array(200_000)).y;
  assert.deepEqual([large.length, large[0]], [200_000, 7], 'the memory grew, the state is kept');
});

test('two models of one bundle are independent', () => {
  const [one, other] = [1, 2].map(() => new SyncModel(bundle, { build: 'b', weights: WEIGHTS }));
  one.run([1, 1]);
  assert.deepEqual(other.run([1, 1]).y, new Float32Array([7, 8]));
});

test('wrong inputs do not end the model, a trap does', () => {
  const model = new SyncModel(bundle, { weights: WEIGHTS });
  assert.throws(() => model.run({ z: [1, 1] }), { code: 'UnknownInput' });
  assert.throws(() => model.run([1, 1, 1]), { code: 'WrongLength' });
  assert.throws(() => model.run([1, 1], /** @type {any} */ ({ signal: null })), {
    code: 'WrongOption',
  });
  assert.deepEqual(model.run([1, 1]).y, new Float32Array([7, 8]));
  assert.throws(() => model.run([2e9, 1]), { code: 'Trapped' });
  assert.throws(() => model.run([1, 1]), { code: 'Trapped' });
  assert.throws(() => model.reset(), { code: 'Trapped' });
});

test('wrong parts are errors that name the files', () => {
  const load = parts => () => new SyncModel(bundle, parts);
  const [first, second] = WEIGHTS;
  assert.throws(load(undefined), { code: 'WrongOption' });
  assert.throws(load({ weights: [first] }), { code: 'WrongOption', message: /weights-1\.bin/ });
  assert.throws(load({ weights: [second, first] }), {
    code: 'Altered',
    message: /of weights-0\.bin 8 bytes, got 4/,
  });
  assert.throws(load({ weights: [first, 'x'] }), { code: 'WrongOption', message: /got 'x'/ });
  assert.throws(load({ build: 'c', weights: WEIGHTS }), { code: 'Altered' });
  assert.throws(load({ weights: WEIGHTS, modul: 1 }), { message: /did you mean 'module'/ });
});

test('the WebAssembly is a module or its bytes', () => {
  const backends = { wasm: { module: 'w.js', build: 'b', variants: [{ file: 'simd.wasm' }] } };
  const seen = [];
  const wasm = {
    ...bundle,
    backend: 'wasm',
    manifest: { ...manifest, backends },
    code: { build: 'b', program, createSync: module => (seen.push(module), create()) },
  };
  const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  for (const module of [empty, empty.buffer, new WebAssembly.Module(empty)])
    assert.deepEqual(
      new SyncModel(wasm, { module, weights: WEIGHTS }).run([1, 1]).y,
      new Float32Array([7, 8]),
    );
  assert.ok(seen.every(module => module instanceof WebAssembly.Module));
  const load = module => () => new SyncModel(wasm, { module, weights: WEIGHTS });
  assert.throws(load(undefined), { code: 'WrongOption', message: /simd\.wasm, got undefined/ });
  assert.throws(load(new Uint8Array(8)), { code: 'CompileFailed' });
});
