import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Transfer } from '../src/transfer.js';

const BYTES = Uint8Array.from({ length: 100 }, (_, index) => index);
const { fetch: ask, setTimeout: real } = globalThis;

before(() => {
  globalThis.setTimeout = (action, ms = 0, ...given) => real(action, ms / 100, ...given);
});
after(() => Object.assign(globalThis, { fetch: ask, setTimeout: real }));

/** A response with these headers, whose body fails after `breaks` bytes. */
function answer(headers, { from = 0, breaks, status = 200 } = {}) {
  const body = new ReadableStream({
    start(stream) {
      stream.enqueue(BYTES.slice(from, breaks));
      if (breaks === undefined) stream.close();
    },
    pull(stream) {
      stream.error(new Error('broken'));
    },
  });
  return new Response(body, {
    status,
    headers: { 'Content-Length': BYTES.length - from, ...headers },
  });
}

/** What a transfer gives of these answers, and the requests that it made. */
async function got(answers, { file = 'weights.bin', ...policy } = {}) {
  const asked = [];
  globalThis.fetch = async (_, { cache, headers }) => {
    asked.push({ cache, ...headers });
    return answers.shift();
  };
  const transfer = new Transfer({ file, bytes: BYTES.length }, 'http://there/file', {
    signal: undefined,
    ignoreCache: false,
    stallTimeout: 0,
    ...policy,
  });
  const parts = [];
  try {
    for (let next; !(next = await transfer.read()).done;) parts.push(...next.value);
    return { parts, asked };
  } catch ({ code }) {
    return { code, asked };
  }
}

const rest = headers =>
  answer({ 'Content-Range': 'bytes 40-99/100', ...headers }, { from: 40, status: 206 });

test('a request that goes on names the version that it began with, if its tag is a strong one', async () => {
  const day = 'Wed, 21 Oct 2026 07:28:00 GMT';
  for (const [headers, condition] of [
    [{ ETag: '"1"' }, '"1"'],
    [{ ETag: '"1"', 'Last-Modified': day }, '"1"'],
    [{ ETag: 'W/"1"', 'Last-Modified': day }, day],
    [{ 'Last-Modified': day }, day],
    [{ ETag: 'W/"1"' }, undefined],
    [{}, undefined],
  ]) {
    const { parts, asked } = await got([answer(headers, { breaks: 40 }), rest(headers)]);
    assert.deepEqual(parts, [...BYTES]);
    const expected = {
      cache: 'no-store',
      Range: 'bytes=40-',
      ...(condition ? { 'If-Range': condition } : {}),
    };
    assert.deepEqual(asked, [{ cache: 'default' }, expected]);
  }
});

test('no range is requested from a server without ranges, nor of a compressed body or one of unknown length', async () => {
  for (const headers of [
    { 'Accept-Ranges': 'none' },
    { 'Content-Encoding': 'br' },
    { 'Content-Length': 'none' },
  ]) {
    const { parts, asked } = await got([answer(headers, { breaks: 40 }), answer(headers)]);
    assert.deepEqual(parts, [...BYTES]);
    assert.deepEqual(asked, [{ cache: 'default' }, { cache: 'default' }]);
  }
});

test('a compressed answer may be shorter than the file', async () => {
  const { parts } = await got([answer({ 'Content-Encoding': 'br', 'Content-Length': '60' })]);
  assert.deepEqual(parts, [...BYTES]);
});

test('past the HTTP cache all is read anew, but for the rest of it', async () => {
  const { asked } = await got([answer({}, { breaks: 40 }), rest({})], { ignoreCache: true });
  assert.deepEqual(
    asked.map(({ cache }) => cache),
    ['reload', 'no-store'],
  );
});

test('an answer that changed meanwhile is not put together with what came before', async () => {
  for (const [first, then] of [
    [{ ETag: '"1"' }, { ETag: '"2"' }],
    [{ ETag: '"1"' }, { ETag: '"1x"' }],
  ]) {
    assert.equal((await got([answer(first, { breaks: 40 }), rest(then)])).code, 'Altered');
    assert.equal((await got([answer(first, { breaks: 40 }), answer(then)])).code, 'Altered');
  }
  assert.equal((await got([answer({ ETag: '"1"' }, { breaks: 40 }), answer({})])).code, 'Altered');
});

test('text is no weights and no code, but for modules', async () => {
  for (const [file, type, code] of [
    ['weights.bin', 'text/html; charset=utf-8', 'WrongType'],
    ['weights.bin', 'TEXT/plain', 'WrongType'],
    ['simd.wasm', 'text/plain', 'WrongType'],
    ['js.js', 'text/javascript', undefined],
    ['weights.bin', 'application/octet-stream', undefined],
    ['simd.wasm', 'application/wasm', undefined],
    ['weights.bin', '', undefined],
  ]) {
    assert.equal(
      (await got([answer({ 'Content-Type': type })], { file })).code,
      code,
      `${file} ${type}`,
    );
  }
});
