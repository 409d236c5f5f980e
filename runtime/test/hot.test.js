import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withUpdates } from '../unplugin/src/hot.js';

const tick = () => new Promise(resolve => setTimeout(resolve, 1));
let count = 0;

/** Evaluates a served `index.js` whose models are made by `make`; `hot` stays from one build to the next. */
async function served(hot, make) {
  globalThis.made = make;
  const code = `export const manifest = { inputs: [], outputs: [], placeholders: [], states: [] };
const make = globalThis.made;
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

test('new weights take the place of the old ones, though the signal of the load has told of its end', async () => {
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

test('the old weights stay until each call has ended, whichever ends first', async () => {
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
