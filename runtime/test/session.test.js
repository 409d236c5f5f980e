import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Session } from '../src/session.js';

const EQUAL = { layer: 'sum', text: 'N', equals: { text: 'M' } };

/** A program of sizes N and M, and the calls that its engine receives. */
function made({ guards = () => [], divisibility = [], found } = {}) {
  const asked = [];
  const place = name => ({ name, shape: [] });
  const program = {
    placeholders: ['N', 'M'],
    divisibility,
    states: [{ offset: 8, initial: 0, next: 4, bytes: 4 }],
    layout: (...sizes) => ({
      sizes,
      guards: guards(...sizes),
      inputs: [place('x')],
      outputs: [{ name: 'y', shape: sizes }],
      layers: [],
    }),
  };
  const engine = {
    copy: copies => asked.push(['copy', copies]),
    arrange: ({ sizes }) => asked.push(['arrange', sizes]),
    write: ({ name }, value) => asked.push(['write', name, value]),
    run: (...sizes) => {
      asked.push(['run', sizes]);
      return found;
    },
    read: async (outputs, copies) => {
      asked.push(['read', copies]);
      return outputs.map(({ shape }) => shape);
    },
    dispose: () => asked.push(['dispose']),
  };
  return { session: new Session(engine, program), asked };
}

const run = (session, placeholders) => session.run({ inputs: { x: 1 }, placeholders });
const kinds = asked => asked.map(([kind]) => kind);

test('memory is laid out when any size changes, and only then', async () => {
  const { session, asked } = made();
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
    asked.filter(([kind]) => kind === 'arrange').map(([, sizes]) => sizes),
    [
      [1, 2],
      [1, 3],
      [2, 3],
    ],
  );
  assert.equal(kinds(asked).filter(kind => kind === 'run').length, 5);
});

test('sizes that must be equal, or not negative, are refused before memory is laid out', async () => {
  const equal = made({ guards: (n, m) => [{ ...EQUAL, size: n, equals: { text: 'M', size: m } }] });
  await run(equal.session, { N: 2, M: 2 });
  await assert.rejects(run(equal.session, { N: 2, M: 3 }), {
    code: 'WrongSize',
    message: /sum.*needs the sizes N and M to be equal; they are 2 and 3 for N = 2, M = 3/,
  });
  assert.equal(kinds(equal.asked).filter(kind => kind === 'arrange').length, 1);
  const least = made({ guards: n => [{ layer: 'cut', text: 'N - 3', size: n - 3 }] });
  await run(least.session, { N: 3, M: 0 });
  await assert.rejects(run(least.session, { N: 2, M: 0 }), {
    code: 'WrongSize',
    message: /cut.*N - 3, which is -1/,
  });
});

test('a size of which the program takes a part must leave the rest that it needs', async () => {
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
  const { session, asked } = made({ divisibility });
  await run(session, { N: 9, M: 5 });
  assert.deepEqual(asked.find(([kind]) => kind === 'arrange')[1], [2, 5]);
  for (const N of [1, 4, 8, 10])
    await assert.rejects(run(session, { N, M: 5 }), {
      code: 'WrongSize',
      message: /down.*1 more than a multiple of 4/,
    });
});

test('states begin anew on a reset, and go on with each run', async () => {
  const { session, asked } = made();
  assert.deepEqual(asked, [['copy', [{ source: 0, target: 8, bytes: 4 }]]]);
  await run(session, { N: 1, M: 1 });
  assert.deepEqual(asked.at(-1), ['read', [{ source: 4, target: 8, bytes: 4 }]]);
  session.reset();
  assert.deepEqual(asked.at(-1), asked[0]);
});

test('sizes that a run finds out are those of its outputs', async () => {
  const { session } = made({ found: Promise.resolve([7]) });
  assert.deepEqual((await run(session, { N: 1, M: 2 })).shapes, { y: [1, 2, 7] });
});
