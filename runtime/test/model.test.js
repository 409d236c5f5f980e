import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { WebkilnError } from '../src/errors.js';
import { Model } from '../src/model.js';

const manifest = {
  name: 'm',
  inputs: [{ name: 'x', dtype: 'float32', shape: [1] }],
  outputs: [],
  placeholders: [],
};
const reply = { backend: 'js', variant: null, failures: [] };
const tick = () => new Promise(resolve => setTimeout(resolve, 1));

function make() {
  const log = [];
  const host = {
    remote: false,
    async run({ inputs: { x } }) {
      log.push(`begin ${x[0]}`);
      await tick();
      if (x[0] < 0) throw new WebkilnError('Trapped', 'trap');
      log.push(`end ${x[0]}`);
      return { outputs: { y: x }, shapes: { y: [1] } };
    },
    reset: async () => log.push('reset'),
    layers: async () => [],
    dispose: () => log.push('dispose'),
  };
  return { log, model: new Model(host, manifest, reply, 1) };
}

test('calls do not overlap and keep their order', async () => {
  const { log, model } = make();
  await Promise.all([model.run({ x: [1] }), model.reset(), model.run({ x: [2] })]);
  assert.deepEqual(log, ['begin 1', 'end 1', 'reset', 'begin 2', 'end 2']);
});

test('callers of runs that end together read the shapes of their own run', async () => {
  let end;
  const ended = new Promise(resolve => {
    end = resolve;
  });
  const host = {
    remote: false,
    run: async ({ inputs: { x } }) => {
      await ended;
      return { outputs: {}, shapes: { y: [x[0]] } };
    },
    dispose() {},
  };
  const model = new Model(host, manifest, { ...reply, overlap: 3 }, 1);
  const seen = [];
  const runs = [1, 2, 3].map(async number => {
    await model.run({ x: [number] });
    seen.push(model.shapes.y[0]);
  });
  await tick();
  end();
  await Promise.all(runs);
  assert.deepEqual(seen, [1, 2, 3]);
});

test('an aborted run does not start, and the current run continues', async () => {
  const { log, model } = make();
  const controller = new AbortController();
  const runs = [model.run({ x: [1] }, controller), model.run({ x: [2] }, controller)];
  await null;
  controller.abort();
  const [first, second] = await Promise.allSettled(runs);
  assert.equal(first.status, 'fulfilled');
  assert.equal(second.reason.code, 'Aborted');
  assert.deepEqual(log, ['begin 1', 'end 1']);
});

test('a trap ends the model', async () => {
  const { model } = make();
  const outcomes = await Promise.allSettled([model.run({ x: [-1] }), model.run({ x: [1] })]);
  assert.deepEqual(
    outcomes.map(({ reason }) => reason.code),
    ['Trapped', 'Trapped'],
  );
  await assert.rejects(model.layers(), { code: 'Trapped' });
});

test('dispose rejects pending calls, once', async () => {
  const { log, model } = make();
  const outcomes = Promise.allSettled([model.run({ x: [1] }), model.run({ x: [2] })]);
  await null;
  model.dispose();
  model.dispose();
  assert.deepEqual(
    (await outcomes).map(({ reason }) => reason.code),
    ['Disposed', 'Disposed'],
  );
  await tick();
  assert.equal(log.filter(line => line === 'dispose').length, 1);
  await assert.rejects(model.run({ x: [1] }), { code: 'Disposed', message: /load it again/ });
});

test('a signal retains no listeners of finished runs', async () => {
  const { model } = make();
  const { signal } = new AbortController();
  for (const x of [1, 2, 3]) await model.run({ x: [x] }, { signal });
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});
