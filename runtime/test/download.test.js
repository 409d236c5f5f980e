import assert from 'node:assert/strict';
import { test } from 'node:test';
import { download } from '../src/download.js';
import { sealed } from '../fixtures/sealed.js';

const entry = bytes => sealed('small.bin', bytes);
const context = { ignoreCache: false, signal: undefined, feed: () => {} };

test('files inside their URLs, as bundlers write them', async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
  const base64 = Buffer.from(bytes).toString('base64');
  for (const head of ['data:application/octet-stream;base64,', 'data:;base64,', 'data:application/wasm;charset=utf-8;base64,']) {
    assert.deepEqual(await download(entry(bytes), head + base64, context), bytes);
    assert.deepEqual(await download(entry(bytes), head + encodeURIComponent(base64), context), bytes);
  }
  const text = new TextEncoder().encode('a\0 \u00e9%,;');
  assert.deepEqual(await download(entry(text), 'data:text/plain,a%00%20%C3%A9%25,;', context), text);
});

test('files inside their URLs are checked as others are', async () => {
  const bytes = Uint8Array.of(1, 2, 3);
  const url = data => `data:;base64,${Buffer.from(data).toString('base64')}`;
  await assert.rejects(download(entry(bytes), url([1, 2, 4]), context), { code: 'Altered' });
  await assert.rejects(download(entry(bytes), url([1, 2, 3, 4]), context), { code: 'Altered' });
  await assert.rejects(download(entry(bytes), url([1, 2]), context), { code: 'Truncated' });
});
