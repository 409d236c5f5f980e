import assert from 'node:assert/strict';
import { test } from 'node:test';
import { download } from '../src/download.js';
import { fileEntry } from '../fixtures/file_entry.js';

const entry = bytes => fileEntry('small.bin', bytes);
const context = {
  policy: { ignoreCache: false, signal: undefined, stallTimeout: 0 },
  feed: () => {},
};

test('data URLs of bundlers are decoded', async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
  const base64 = Buffer.from(bytes).toString('base64');
  for (const head of [
    'data:application/octet-stream;base64,',
    'data:;base64,',
    'data:application/wasm;charset=utf-8;base64,',
  ]) {
    assert.deepEqual(await download(entry(bytes), head + base64, context), bytes);
    assert.deepEqual(
      await download(entry(bytes), head + encodeURIComponent(base64), context),
      bytes,
    );
  }
  const text = new TextEncoder().encode('a\0 \u00e9%,;');
  assert.deepEqual(
    await download(entry(text), 'data:text/plain,a%00%20%C3%A9%25,;', context),
    text,
  );
});

test('length and digest of data URLs are checked', async () => {
  const bytes = Uint8Array.of(1, 2, 3);
  const url = data => `data:;base64,${Buffer.from(data).toString('base64')}`;
  await assert.rejects(download(entry(bytes), url([1, 2, 4]), context), { code: 'Altered' });
  await assert.rejects(download(entry(bytes), url([1, 2, 3, 4]), context), { code: 'Altered' });
  await assert.rejects(download(entry(bytes), url([1, 2]), context), { code: 'Truncated' });
});

test('changed pieces and swapped pieces are detected', async () => {
  const piece = 1 << 18;
  const bytes = Uint8Array.from({ length: 3 * piece + 5 }, (_, index) => index * 7 + (index >> 18));
  const url = data => `data:;base64,${Buffer.from(data).toString('base64')}`;
  assert.deepEqual(await download(entry(bytes), url(bytes), context), bytes);
  for (const at of [0, piece - 1, piece, 2 * piece + 9, 3 * piece, bytes.length - 1]) {
    await assert.rejects(
      download(
        entry(bytes),
        url(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte))),
        context,
      ),
      { code: 'Altered', message: /small\.bin/ },
    );
  }
  const swapped = Buffer.concat([
    bytes.subarray(piece, 2 * piece),
    bytes.subarray(0, piece),
    bytes.subarray(2 * piece),
  ]);
  await assert.rejects(download(entry(bytes), url(swapped), context), { code: 'Altered' });
});

test('the result is a view of the passed buffer', async () => {
  const bytes = Uint8Array.of(1, 2, 3);
  const buffer = new Uint8Array(8).fill(9);
  const url = `data:;base64,${Buffer.from(bytes).toString('base64')}`;
  const got = await download(entry(bytes), url, { ...context, buffer });
  assert.deepEqual(got, bytes);
  assert.deepEqual([...new Uint8Array(got.buffer)], [1, 2, 3, 9, 9, 9, 9, 9]);
});
