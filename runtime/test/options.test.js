import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from '../src/open.js';

const manifest = {
  name: 'm',
  inputs: [],
  outputs: [],
  placeholders: [],
  backends: { wasm: { module: 'wasm.js', variants: [{ name: 'simd' }] }, js: { module: 'js.js' } },
};
const refused = (options, code, message) =>
  assert.rejects(open({ manifest, urls: {} }, options), { code, message });

test('unknown options name the known ones and the nearest', async () => {
  await refused(
    { backend: 'wasm' },
    'WrongOption',
    /^load: there is no option 'backend'; the options are 'backends', .*; did you mean 'backends'\?$/,
  );
  await refused({ baseurl: '/' }, 'WrongOption', /did you mean 'baseURL'\?$/);
  await refused(
    { colour: 1 },
    'WrongOption',
    /there is no option 'colour'; the options are [^;]*$/,
  );
  for (const options of [null, 'wasm', ['wasm'], 3])
    await refused(options, 'WrongOption', /^load: expected an object of options, got /);
});

test('options of the wrong kind print no data', async () => {
  const data = new Float32Array(1e5);
  for (const options of [
    { threads: data },
    { cacheStrategy: data },
    { variant: data },
    { backends: ['a'.repeat(1e5)] },
  ]) {
    await assert.rejects(
      open({ manifest, urls: {} }, options),
      ({ message }) => message.length < 300,
    );
  }
});

test('a variant that no backend of the bundle has is no reason to take another backend', async () => {
  await refused(
    { variant: 'foo' },
    'UnknownVariant',
    "there is no variant 'foo' of 'wasm', 'js'; the variants are 'simd'",
  );
  await refused(
    { variant: 'simd', backends: 'js' },
    'UnknownVariant',
    "there is no variant 'simd' of 'js'; the variants are none",
  );
});
