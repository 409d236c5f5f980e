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
const rejects = (options, code, message) =>
  assert.rejects(open({ manifest, urls: () => ({}) }, options), { code, message });

test('the error of an unknown option lists the options and suggests a similar one', async () => {
  await rejects(
    { backend: 'wasm' },
    'WrongOption',
    /^load: there is no option 'backend'; the options are 'backends', .*did you mean 'backends'\?$/,
  );
  await rejects({ baseurl: '/' }, 'WrongOption', /did you mean 'baseURL'\?$/);
  await rejects(
    { colour: 1 },
    'WrongOption',
    /there is no option 'colour'; the options are [^;]*$/,
  );
  for (const options of [null, 'wasm', ['wasm'], 3])
    await rejects(options, 'WrongOption', /^load: expected an object of options, got /);
});

test('errors of invalid options print no data', async () => {
  const data = new Float32Array(1e5);
  for (const options of [
    { threads: data },
    { cacheStrategy: data },
    { variant: data },
    { backends: ['a'.repeat(1e5)] },
  ]) {
    await assert.rejects(
      open({ manifest, urls: () => ({}) }, options),
      ({ message }) => message.length < 300,
    );
  }
});

test('an unknown variant is an error, not a reason to use another backend', async () => {
  await rejects(
    { variant: 'foo' },
    'UnknownVariant',
    "there is no variant 'foo' of 'wasm', 'js'; the variants are 'simd'",
  );
  await rejects(
    { variant: 'simd', backends: 'js' },
    'UnknownVariant',
    "there is no variant 'simd' of 'js'; the variants are none",
  );
});
