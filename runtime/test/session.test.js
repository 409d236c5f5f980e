import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Session } from '../src/session.js';

const EQUAL = { layer: 'sum', text: 'N', equals: { text: 'M' } };

/** A session of a program with sizes N and M, and the calls of its engine. */
function setUp({ guards = () => [], divisibility = [], dataSizes } = {}) {
  const calls = [];
  const tensor = name => ({ name, shape: [] });
  const program = {
    placeholders: ['N', 'M'],
    divisibility,
    states: [{ offset: 8, initial: 0, next: 4, bytes: 4 }],
    layout: (...sizes) => ({
      sizes,
      guards: guards(...sizes),
      inputs: [tensor('x')],
      outputs: [{ name: 'y', shape: sizes }],
      layers: [],
    }),
  };
  const engine = {
    copy: copies => calls.push(['copy', copies]),
    arrange: ({ sizes }) => calls.push(['arrange', sizes]),
    write: ({ name }, value) => calls.push(['write', name, value]),
    run: (...sizes) => {
      calls.push(['run', sizes]);
      return dataSizes;
    },
    read: async (outputs, copies) => {
      calls.push(['read', copies]);
      return outputs.map(({ shape }) => shape);
    },
    dispose: () => calls.push(['dispose']),
  };
  return { session: new Session(engine, program), calls };
}

const run = (session, placeholders) => session.run({ inputs: { x: 1 }, placeholders });
const kinds = calls => calls.map(([kind]) => kind);

test('memory is laid out only when a size changes', async () => {
  const { session, calls } = setUp();
  for (const sizes of [
    { N: 1, M: 2 },
    { N: 1, M: 2 },
    { N: 1, M: 3 },
    { N: 2, M: 3 },
    { N: 2, M: 3 },
  ]) {
    assert.deepEqual((await run(session, sizes)).shapes, { y: [sizes.N, sizes.M] });
  }
  assert.deepEqual(
    calls.filter(([kind]) => kind === 'arrange').map(([, sizes]) => sizes),
    [
      [1, 2],
      [1, 3],
      [2, 3],
    ],
  );
  assert.equal(kinds(calls).filter(kind => kind === 'run').length, 5);
});

test('violated guards are rejected before memory is laid out', async () => {
  const equal = setUp({
    guards: (n, m) => [{ ...EQUAL, size: n, equals: { text: 'M', size: m } }],
  });
  await run(equal.session, { N: 2, M: 2 });
  await assert.rejects(run(equal.session, { N: 2, M: 3 }), {
    code: 'WrongSize',
    message: /sum.*needs the sizes N and M to be equal; they are 2 and 3 for N = 2, M = 3/,
  });
  assert.equal(kinds(equal.calls).filter(kind => kind === 'arrange').length, 1);
  const least = setUp({ guards: n => [{ layer: 'cut', text: 'N - 3', size: n - 3 }] });
  await run(least.session, { N: 3, M: 0 });
  await assert.rejects(run(least.session, { N: 2, M: 0 }), {
    code: 'WrongSize',
    message: /cut.*N - 3, which is -1/,
  });
});

test('divisibility constraints of sizes are checked', async () => {
  const divisibility = [
    {
      name: 'N',
      modulus: 4,
      remainders: [1],
      text: '1 more than a multiple of 4',
      layer: 'down',
      placeholder: 'N',
      offset: 1,
    },
  ];
  const { session, calls } = setUp({ divisibility });
  await run(session, { N: 9, M: 5 });
  assert.deepEqual(calls.find(([kind]) => kind === 'arrange')[1], [2, 5]);
  for (const N of [1, 4, 8, 10])
    await assert.rejects(run(session, { N, M: 5 }), {
      code: 'WrongSize',
      message: /down.*1 more than a multiple of 4/,
    });
});

test('a reset restores initial states, and runs update them', async () => {
  const { session, calls } = setUp();
  assert.deepEqual(calls, [['copy', [{ source: 0, target: 8, bytes: 4 }]]]);
  await run(session, { N: 1, M: 1 });
  assert.deepEqual(calls.at(-1), ['read', [{ source: 4, target: 8, bytes: 4 }]]);
  session.reset();
  assert.deepEqual(calls.at(-1), calls[0]);
});

test('data-dependent sizes are the shapes of outputs', async () => {
  const { session } = setUp({ dataSizes: Promise.resolve([7]) });
  assert.deepEqual((await run(session, { N: 1, M: 2 })).shapes, { y: [1, 2, 7] });
});
