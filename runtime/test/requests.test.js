import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Transfer } from '../src/transfer.js';

const BYTES = Uint8Array.from({ length: 100 }, (_, index) => index);
const { fetch: realFetch, setTimeout: real } = globalThis;

before(() => {
  globalThis.setTimeout = (action, ms = 0, ...values) => real(action, ms / 100, ...values);
});
after(() => Object.assign(globalThis, { fetch: realFetch, setTimeout: real }));

/** A response with these headers, whose body fails after `breaks` bytes. */
function respond(headers, { from = 0, breaks, status = 200 } = {}) {
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

/** The bytes of a transfer with these responses, and its requests. */
async function got(responses, { file = 'weights.bin', ...policy } = {}) {
  const requests = [];
  globalThis.fetch = async (_, { cache, headers }) => {
    requests.push({ cache, ...headers });
    return responses.shift();
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
    return { parts, requests };
  } catch ({ code }) {
    return { code, requests };
  }
}

const rest = headers =>
  respond({ 'Content-Range': 'bytes 40-99/100', ...headers }, { from: 40, status: 206 });

test('a resumed request sends If-Range with a strong ETag or Last-Modified', async () => {
  const day = 'Wed, 21 Oct 2026 07:28:00 GMT';
  for (const [headers, condition] of [
    [{ ETag: '"1"' }, '"1"'],
    [{ ETag: '"1"', 'Last-Modified': day }, '"1"'],
    [{ ETag: 'W/"1"', 'Last-Modified': day }, day],
    [{ 'Last-Modified': day }, day],
    [{ ETag: 'W/"1"' }, undefined],
    [{}, undefined],
  ]) {
    const { parts, requests } = await got([respond(headers, { breaks: 40 }), rest(headers)]);
    assert.deepEqual(parts, [...BYTES]);
    const expected = {
      cache: 'no-store',
      Range: 'bytes=40-',
      ...(condition ? { 'If-Range': condition } : {}),
    };
    assert.deepEqual(requests, [{ cache: 'default' }, expected]);
  }
});

test('bodies without range support, compressed or of unknown length are not resumed', async () => {
  for (const headers of [
    { 'Accept-Ranges': 'none' },
    { 'Content-Encoding': 'br' },
    { 'Content-Length': 'none' },
  ]) {
    const { parts, requests } = await got([respond(headers, { breaks: 40 }), respond(headers)]);
    assert.deepEqual(parts, [...BYTES]);
    assert.deepEqual(requests, [{ cache: 'default' }, { cache: 'default' }]);
  }
});

test('a compressed response can be shorter than the file', async () => {
  const { parts } = await got([respond({ 'Content-Encoding': 'br', 'Content-Length': '60' })]);
  assert.deepEqual(parts, [...BYTES]);
});

test('ignoreCache reloads the file, and resumed requests use no-store', async () => {
  const { requests } = await got([respond({}, { breaks: 40 }), rest({})], { ignoreCache: true });
  assert.deepEqual(
    requests.map(({ cache }) => cache),
    ['reload', 'no-store'],
  );
});

test('a response of another version is not joined with earlier bytes', async () => {
  for (const [first, then] of [
    [{ ETag: '"1"' }, { ETag: '"2"' }],
    [{ ETag: '"1"' }, { ETag: '"1x"' }],
  ]) {
    assert.equal((await got([respond(first, { breaks: 40 }), rest(then)])).code, 'Altered');
    assert.equal((await got([respond(first, { breaks: 40 }), respond(then)])).code, 'Altered');
  }
  assert.equal(
    (await got([respond({ ETag: '"1"' }, { breaks: 40 }), respond({})])).code,
    'Altered',
  );
});

test('text types are rejected, except for modules', async () => {
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
      (await got([respond({ 'Content-Type': type })], { file })).code,
      code,
      `${file} ${type}`,
    );
  }
});
