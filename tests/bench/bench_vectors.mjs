import { Session, engineOf } from '/repository/runtime/src/session.js';

const bytes = async path => new Uint8Array(await (await fetch(path)).arrayBuffer());

/** The processor time of the GPU process in milliseconds. */
const clock = async () => Number(new TextDecoder().decode(await bytes('./clock')));

const LEAST_MS = 100;
const runs = [];

/** Load a program, of whose weights there is one file for each shard. */
export async function prepare(number) {
  const { program, create } = await import(`./${number}/webgpu.js`);
  const engine = engineOf(await create(), program);
  for (const [entry, [shard, start, size]] of program.init.entries()) {
    const weights = shard < 0 ? new Uint8Array() : await bytes(`./${number}/${shard}.bin`);
    engine.init(entry, weights.subarray(start, start + size));
  }
  const session = new Session(engine, program);
  const x = new Float32Array((await bytes(`./${number}/x.bin`)).buffer);
  const run = () => session.run({ inputs: { x }, placeholders: {} });
  await run();
  runs.push(run);
}

/** Milliseconds of a run of each program. */
export async function round() {
  const times = [];
  for (const run of runs) {
    let [count, elapsed] = [0, 0];
    for (const start = await clock(); elapsed < LEAST_MS; elapsed = (await clock()) - start) {
      await run();
      count++;
    }
    times.push(elapsed / count);
  }
  return times;
}
