import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withUpdates } from '../unplugin/src/hot.js';

const tick = () => new Promise(resolve => setTimeout(resolve, 1));
let count = 0;

/** Evaluate a served `index.js` whose `load` is `make`. `hot` is shared by all builds. */
async function served(hot, make) {
  globalThis.make = make;
  const code = `export const manifest = { inputs: [], outputs: [], placeholders: [], states: [] };
const make = globalThis.make;
export const load = options => make(options);
`;
  const text = withUpdates(code)
    .replaceAll('import.meta.hot', 'hot')
    .replace(/^/, `const hot = globalThis.hot;\n// ${count++}\n`);
  globalThis.hot = hot;
  return import(`data:text/javascript,${encodeURIComponent(text)}`);
}

function page() {
  const hot = {
    data: {},
    reloads: 0,
    accept() {},
    invalidate() {
      hot.reloads += 1;
    },
  };
  return hot;
}

test('new weights replace the old ones, even if the signal was aborted', async () => {
  const hot = page();
  const make =
    name =>
    async ({ signal } = {}) => {
      if (signal?.aborted) throw new Error('aborted');
      return { name, run: async () => name, dispose() {} };
    };
  const { load } = await served(hot, make('first'));
  const controller = new AbortController();
  const model = await load({ signal: controller.signal });
  controller.abort();
  await served(hot, make('second'));
  await tick();
  assert.equal(await model.run(), 'second');
  assert.equal(hot.reloads, 0);
});

test('the old weights are kept until all calls have ended', async () => {
  const hot = page();
  const ends = [];
  const first = {
    disposed: false,
    run: () => new Promise((resolve, reject) => ends.push(resolve, reject)),
    dispose() {
      first.disposed = true;
    },
  };
  const { load } = await served(hot, async () => first);
  const model = await load();
  const long = model.run();
  const refused = model.run();
  ends[3](new Error('refused'));
  await assert.rejects(refused);
  await served(hot, async () => ({ run: async () => 'second', dispose() {} }));
  await tick();
  assert.equal(await model.run(), 'second');
  assert.equal(first.disposed, false);
  ends[0]('first');
  assert.equal(await long, 'first');
  await tick();
  assert.equal(first.disposed, true);
});
