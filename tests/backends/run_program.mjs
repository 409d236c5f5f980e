import { stop } from '../../runtime/src/worker_pool.js';
import { arrayOf } from '../../runtime/src/dtypes.js';
import { Remote, startWorker } from '../../runtime/src/remote.js';
import { Session, engineOf } from '../../runtime/src/session.js';

/** The thread that helps with each program. */
let helper;

/** Let another thread execute chunks of every launch. It starts before the first launch. */
async function help(engine) {
  if (!engine.threads) return;
  helper ??= new Remote(
    startWorker(() => new Worker(new URL('./helper.mjs', import.meta.url), { type: 'module' })),
  );
  const { port1, port2 } = new MessageChannel();
  const started = new Int32Array(new SharedArrayBuffer(4));
  await helper.call('assist', { ...engine.threads, started, port: port1 }, [port1]);
  engine.enlist([port2]);
  engine.linear.threads.exports.begin();
  port2.postMessage(0);
  while (Atomics.load(started, 0) === 0);
}

/**
 * Check that every launch executed in one chunk gives the same bits as in chunks of two threads.
 */
async function checkAlone(engine, session, { states }, request, outputs) {
  if (!engine.threads || states.length > 0) return;
  engine.enlist([]);
  const repeated = await session.run(request);
  for (const [name, value] of Object.entries(outputs)) {
    const [one, other] = [value, repeated.outputs[name]].map(
      ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
    );
    const at = one.findIndex((byte, index) => byte !== other[index]);
    if (at >= 0 || one.length !== other.length)
      throw new Error(`${name}: with two threads its byte ${at} is another`);
  }
}

/**
 * Run a program once on the contents of a frame (harness.py); return the header and the arrays of
 * the answer.
 */
export async function runProgram({ program, create }, compiled, { values }) {
  const engine = engineOf(await create(compiled), program);
  try {
    program.init.forEach(([shard, start, bytes], entry) =>
      engine.init(
        entry,
        (values[`shard.${shard}`] ?? new Uint8Array()).subarray(start, start + bytes),
      ),
    );
    const session = new Session(engine, program);
    await help(engine);
    const sizes = program.placeholders.map((placeholder, index) => {
      const {
        name = placeholder,
        modulus = 1,
        offset = 0,
      } = program.divisibility?.find(item => item.placeholder === placeholder) ?? {};
      return [name, values.placeholders[index] * modulus + offset];
    });
    const placeholders = Object.fromEntries(sizes);
    const inputs = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name.replace('input.', ''), value]),
    );
    const { outputs, shapes } = await session.run({ inputs, placeholders });
    await checkAlone(engine, session, program, { inputs, placeholders }, outputs);
    const described = program.layout(...values.placeholders).outputs;
    for (const { name, dtype } of described) {
      if (outputs[name].constructor !== arrayOf(dtype))
        throw new Error(`${name} is ${dtype}, read as ${outputs[name].constructor.name}`);
    }
    const tensors = described.map(({ name, dtype }) => ({ name, dtype, shape: shapes[name] }));
    return [
      { ms: 0, loadMs: 0, variant: null, tensors },
      described.map(({ name }) => outputs[name]),
    ];
  } finally {
    if (engine.threads) stop(engine.threads);
    engine.dispose();
  }
}
