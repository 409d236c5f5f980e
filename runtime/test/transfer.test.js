import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { faultyServer } from '../fixtures/faulty_server.js';
import { fileEntry } from '../fixtures/file_entry.js';
import { Reader } from '../src/cache.js';
import { WebkilnError } from '../src/errors.js';
import { Transfer } from '../src/transfer.js';

const PIECE = 1 << 18;
const BYTES = createHash('shake256', { outputLength: 3 * PIECE + 77 }).digest();
const ROUNDS = Number(process.env.WEBKILN_TRANSFERS ?? 40);
const SPEEDUP = 40;
const { setTimeout: real } = globalThis;

/** Timers of the runtime run faster. */
before(() => {
  globalThis.setTimeout = (action, ms = 0, ...values) => real(action, ms / SPEEDUP, ...values);
});
after(() => {
  globalThis.setTimeout = real;
});

/** The result of a read from a faulty server, or its error, and the requests. */
async function got(faults, { bytes = BYTES, signal, policy = {} } = {}) {
  const server = await faultyServer(bytes, faults);
  const reader = new Reader('m', {
    strategy: 'networkOnly',
    save: false,
    ignoreCache: false,
    stallTimeout: 20_000,
    signal,
    ...policy,
  });
  try {
    const found = await reader.read(fileEntry('file.bin', bytes), server.url, () => () => {});
    return { same: Buffer.compare(found, bytes) === 0, requests: server.requests };
  } catch (error) {
    assert.ok(error instanceof WebkilnError, `${error.stack}`);
    return { code: error.code, message: error.message, requests: server.requests };
  } finally {
    await server.close();
  }
}

const ranges = ({ requests }) => requests.map(({ range }) => range);

test('a dropped connection is resumed at its offset', async () => {
  const found = await got([
    ['drop', PIECE + 10],
    ['drop', 5],
    ['drop', PIECE],
  ]);
  assert.deepEqual(
    [found.same, ranges(found)],
    [true, [null, `bytes=${PIECE + 10}-`, `bytes=${PIECE + 15}-`, `bytes=${2 * PIECE + 15}-`]],
  );
  assert.ok(found.requests.slice(1).every(({ condition }) => condition === '"1"'));
});

test('there are at most four attempts', async () => {
  const found = await got(Array(9).fill(['drop', 10]));
  assert.deepEqual([found.code, found.requests.length], ['Unavailable', 4]);
  assert.match(
    found.message,
    /file\.bin: the connection to .* broke after 40 of \d+ bytes .*\(attempt 4 of 4\)/,
  );
});

test('temporary server errors are retried, permanent ones are reported', async () => {
  for (const status of [429, 500, 502, 503, 504]) {
    assert.equal(
      (
        await got([
          ['status', [status]],
          ['status', [status]],
        ])
      ).same,
      true,
    );
    const found = await got(Array(9).fill(['status', [status]]));
    assert.deepEqual([found.code, found.requests.length], ['Unavailable', 4]);
    assert.match(
      found.message,
      new RegExp(
        `responded with ${status} for .*attempt 4 of 4.*${
          status === 429 ? 'limits requests' : 'it failed'
        }`,
      ),
    );
    assert.doesNotMatch(found.message, /deploy/);
  }
});

test('a range is requested again after a server error', async () => {
  const found = await got([
    ['drop', 99],
    ['status', [503]],
  ]);
  assert.deepEqual([found.same, ranges(found)], [true, [null, 'bytes=99-', 'bytes=99-']]);
});

test('permanent errors are not retried', async () => {
  for (const [status, code, part] of [
    [404, 'MissingFile', 'does not exist'],
    [410, 'MissingFile', 'does not exist'],
    [401, 'Refused', 'refused'],
    [403, 'Refused', 'refused'],
    [418, 'Refused', '418'],
  ]) {
    const found = await got([['status', [status]]]);
    assert.deepEqual([found.code, found.requests.length], [code, 1]);
    assert.ok(
      found.message.includes(part) && found.message.includes(String(status)),
      found.message,
    );
  }
});

test('Retry-After is respected, unless it is too long', async () => {
  const begin = performance.now();
  assert.equal((await got([['status', [503, { 'Retry-After': '8' }]]])).same, true);
  assert.ok(performance.now() - begin >= 8000 / SPEEDUP);
  const date = new Date(Date.now() + 3_600_000).toUTCString();
  for (const header of ['3600', date]) {
    const found = await got([['status', [429, { 'Retry-After': header }]]]);
    assert.deepEqual([found.code, found.requests.length], ['Unavailable', 1]);
    assert.match(found.message, /with Retry-After: (3600|3599) /);
  }
  for (const header of ['soon', '-5', new Date(0).toUTCString()])
    assert.equal((await got([['status', [503, { 'Retry-After': header }]]])).same, true);
});

test('stalled requests are retried, before and after the first byte', async () => {
  const found = await got([['silence'], ['stall', 5000], ['stall', 0]]);
  assert.deepEqual([found.same, ranges(found)], [true, [null, null, 'bytes=5000-', 'bytes=5000-']]);
});

test('a permanent stall is reported', async () => {
  const found = await got(Array(9).fill(['stall', 100]));
  assert.deepEqual([found.code, found.requests.length], ['Stalled', 4]);
  assert.match(
    found.message,
    /100 bytes arrived from .* in 20 s, after 400 of .*attempt 4 of 4.*stallTimeout/,
  );
});

test('single bytes count as a stall, a slow server does not', async () => {
  const signal = AbortSignal.timeout(30_000);
  const policy = { stallTimeout: 400 };
  const found = await got(Array(9).fill(['drip', [1, SPEEDUP * 2]]), { signal, policy });
  assert.deepEqual([found.code, found.requests.length], ['Stalled', 4]);
  const slow = await got([['drip', [3000, SPEEDUP * 2]]], {
    bytes: BYTES.subarray(0, 99_000),
    policy: { stallTimeout: 8000 },
  });
  assert.deepEqual([slow.same, slow.requests.length], [true, 1]);
});

test('without a limit, only the signal ends a stall', async () => {
  for (const stallTimeout of [0, Infinity, 2 ** 40]) {
    const signal = AbortSignal.timeout(200);
    const found = await got([['stall', 100]], { signal, policy: { stallTimeout } });
    assert.deepEqual([found.code, found.requests.length], ['Aborted', 1]);
  }
});

test('a signal ends a pause immediately', async () => {
  const begin = performance.now();
  const found = await got([['status', [503, { 'Retry-After': '29' }]]], {
    signal: AbortSignal.timeout(100),
  });
  assert.equal(found.code, 'Aborted');
  assert.ok(performance.now() - begin < 29_000 / SPEEDUP);
});

test('a range is requested after a response that broke while bytes were skipped', async () => {
  const found = await got([['drop', PIECE], ['reset'], ['drop', 100]]);
  assert.deepEqual([found.same, ranges(found).at(-1)], [true, `bytes=${PIECE}-`]);
});

test('a server that ignores Range is read from the start', async () => {
  const found = await got([['drop', PIECE + 1], ['full']]);
  assert.deepEqual([found.same, ranges(found)], [true, [null, `bytes=${PIECE + 1}-`]]);
  const again = await got([['drop', PIECE + 1], ['chunked', PIECE + 9], ['full']]);
  assert.deepEqual([again.same, ranges(again)], [true, [null, `bytes=${PIECE + 1}-`, null]]);
});

test('a range other than the requested one is not used', async () => {
  for (const by of [-1, 1]) {
    const found = await got([
      ['drop', 1000],
      ['wrong', by],
    ]);
    assert.deepEqual([found.same, ranges(found)], [true, [null, 'bytes=1000-', null]]);
  }
  const unrequested = await got(Array(9).fill(['wrong', 0]));
  assert.deepEqual([unrequested.code, unrequested.requests.length], ['Unavailable', 4]);
  assert.match(unrequested.message, /got 206 with Content-Range 'bytes 0-/);
  const beyond = await got([
    ['drop', 1000],
    ['status', [416]],
  ]);
  assert.deepEqual([beyond.same, ranges(beyond)], [true, [null, 'bytes=1000-', null]]);
});

test('a compressed response is not resumed with a range', async () => {
  const found = await got([['gzip', PIECE], ['gzip', 2 * PIECE], ['gzip']]);
  assert.deepEqual([found.same, ranges(found)], [true, [null, null, null]]);
});

test('a file that changes during the download is read again', async () => {
  const found = await got([
    ['drop', PIECE + 1],
    ['changed', '"2"'],
  ]);
  assert.deepEqual([found.same, found.requests.length], [true, 3]);
  const gone = await got([['drop', PIECE + 1], ...Array(9).fill(['changed', '"2"'])]);
  assert.equal(gone.code, 'Altered');
  assert.match(
    gone.message,
    /digest of the bytes from .*, bypassing the HTTP cache, differs from the manifest/,
  );
});

test('wrong bytes are requested once more', async () => {
  assert.equal((await got([['altered', PIECE + 3]])).same, true);
  const found = await got([
    ['altered', PIECE + 3],
    ['altered', 0],
  ]);
  assert.deepEqual([found.code, found.requests.length], ['Altered', 2]);
});

test('a shorter file is distinguished from a broken connection', async () => {
  const found = await got([
    ['short', 500],
    ['short', 500],
  ]);
  assert.deepEqual([found.code, found.requests.length], ['Truncated', 2]);
  assert.match(found.message, /expected \d+ bytes from .*, got 500/);
});

test('a complete file does not wait for the end of the response', async () => {
  const found = await got([['stall', BYTES.length]]);
  assert.deepEqual([found.same, found.requests.length], [true, 1]);
});

test('a busy thread does not report a stall for bytes that have arrived', async () => {
  const server = await faultyServer(BYTES, []);
  const policy = { signal: undefined, ignoreCache: false, stallTimeout: 500 * SPEEDUP, retries: 0 };
  const transfer = new Transfer({ file: 'file.bin', bytes: BYTES.length }, server.url, policy);
  try {
    let arrived = 0;
    for (let next; !(next = await transfer.read()).done;) {
      // Only once: the timer of the next read must expire while the thread is busy.
      if (!arrived)
        Promise.resolve().then(() => {
          for (const until = performance.now() + 700; performance.now() < until;);
        });
      arrived += next.value.length;
    }
    assert.equal(arrived, BYTES.length);
  } finally {
    await server.close();
  }
});

const draw = (() => {
  let state = Number(process.env.WEBKILN_SEED ?? 1);
  return limit => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
})();

test('under random faults the result is the file or a documented error', async () => {
  const CODES = ['Unavailable', 'Stalled', 'Altered', 'Truncated', 'MissingFile', 'Refused'];
  for (let round = 0; round < ROUNDS; round++) {
    const bytes = BYTES.subarray(0, 1 + draw(BYTES.length));
    const cut = () => draw(bytes.length + 1);
    const kinds = [
      () => ['drop', cut()],
      () => ['drop', cut()],
      () => ['status', [[429, 500, 502, 503, 504][draw(5)]]],
      () => ['reset'],
      () => ['full'],
      () => ['stall', cut()],
      () => ['wrong', draw(2000) - 1000],
      () => ['gzip', cut()],
      () => ['chunked', cut()],
      () => ['altered', draw(bytes.length)],
      () => ['changed', ['"1"', '"2"'][draw(2)]],
      () => ['status', [[403, 404, 416][draw(3)]]],
      () => ['short', cut()],
    ];
    const faults = Array.from({ length: draw(6) }, () => kinds[draw(kinds.length)]());
    const found = await got(faults, { bytes });
    const report = JSON.stringify({ faults, length: bytes.length, found });
    if (found.code)
      assert.ok(CODES.includes(found.code) && found.message.includes('file.bin'), report);
    else assert.ok(found.same, report);
    const passing =
      faults.length <= 3 &&
      faults.every(
        ([kind, of]) =>
          ['drop', 'reset', 'stall'].includes(kind) ||
          (kind === 'status' && (of[0] === 429 || of[0] >= 500)),
      );
    if (passing) assert.ok(found.same, report);
    assert.ok(found.requests.length <= 8, report);
  }
});
