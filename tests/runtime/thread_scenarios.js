import { codeOf } from './scenarios.js';

const helpers = () => globalThis[Symbol.for('webkiln.pool/2')]?.helpers.length ?? 0;

const noise = ({ manifest }) =>
  Object.fromEntries(
    manifest.inputs.map(({ name, shape }) => [
      name,
      Float32Array.from(
        { length: shape.reduce((product, size) => product * size, 1) },
        (_, index) => Math.sin(index * 1.7),
      ),
    ]),
  );

const bitsOf = outputs =>
  Object.values(outputs)
    .flatMap(({ buffer }) => Array.from(new Uint32Array(buffer)))
    .join();

/** Run `action`; return its result and the lines printed to the console. */
async function withConsole(action) {
  const lines = [];
  const before = { info: console.info, warn: console.warn };
  for (const kind of Object.keys(before)) console[kind] = line => lines.push(`${kind}: ${line}`);
  try {
    return [await action(), lines];
  } finally {
    Object.assign(console, before);
  }
}

/** Models with several numbers of threads that run concurrently. */
export async function threads({ load }, { counts, rounds, ...options }) {
  const [models, lines] = await withConsole(() =>
    Promise.all(counts.map(threads => load({ ...options, threads }))),
  );
  const inputs = noise(models[0]);
  const bits = new Set();
  for (let round = 0; round < rounds; round++) {
    for (const outputs of await Promise.all(models.map(model => model.run(inputs))))
      bits.add(bitsOf(outputs));
  }
  const result = {
    threads: models.map(model => model.threads),
    results: bits.size,
    pool: helpers(),
    lines,
  };
  models.forEach(model => model.dispose());
  return { ...result, remaining: helpers() };
}

/** Models that are disposed of while they run do not affect the pool for others. */
export async function threadsDisposed({ load }, options) {
  const survivor = await load(options);
  const inputs = noise(survivor);
  const expected = bitsOf(await survivor.run(inputs));
  const codes = [];
  for (let round = 0; round < 5; round++) {
    const model = await load(options);
    await model.run(inputs);
    const pending = codeOf(model.run(inputs));
    await new Promise(resolve => setTimeout(resolve, round));
    model.dispose();
    codes.push(await pending);
  }
  const same = bitsOf(await survivor.run(inputs)) === expected;
  const pool = helpers();
  survivor.dispose();
  return {
    same,
    pool,
    remaining: helpers(),
    codes: codes.filter(code => code !== 'Disposed' && code !== 'no error'),
  };
}

/** Abort loads after each kind of message from a Worker. Returns how many Workers remain. */
export async function workersAborted({ load }, options) {
  const Original = globalThis.Worker;
  const codes = [];
  const running = new Set();
  for (const phase of ['created', 'ready', 'progress', 'threads', 'help', 'helping']) {
    const controller = new AbortController();
    let created = 0;
    globalThis.Worker = class extends Original {
      constructor(...parameters) {
        super(...parameters);
        const number = created++;
        running.add(this);
        const at = name => {
          if (name === phase) controller.abort();
        };
        at(number === 0 ? 'created' : 'help');
        this.addEventListener('message', ({ data }) => {
          if (number > 0) at('helping');
          else at(data.id === -1 ? 'ready' : Object.keys(data)[0]);
        });
      }
      terminate() {
        running.delete(this);
        super.terminate();
      }
    };
    codes.push(await codeOf(load({ ...options, signal: controller.signal })));
  }
  globalThis.Worker = Original;
  return { codes: [...new Set(codes)], remaining: running.size, pool: helpers() };
}

/** Runs with sizes that grow the shared memory of the threads. */
export async function threadsGrown({ load, manifest }, options) {
  const models = [await load({ ...options, threads: 1 }), await load(options)];
  const results = [];
  for (const size of [16, 64, 40]) {
    const inputs = Object.fromEntries(
      manifest.inputs.map(({ name }) => [
        name,
        Float32Array.from({ length: size * size * 32 }, (_, index) => Math.sin(index)),
      ]),
    );
    const placeholders = { H: size, W: size };
    const [one, other] = await Promise.all(
      models.map(model => model.run(inputs, { placeholders })),
    );
    results.push(bitsOf(one) === bitsOf(other));
  }
  models.forEach(model => model.dispose());
  return results;
}
