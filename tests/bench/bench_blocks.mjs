const MILLISECONDS = 40;

const bytes = async path => new Uint8Array(await (await fetch(path)).arrayBuffer());

/** The processor time of this thread in milliseconds. Other programs do not count. */
const clock = async () => Number(new TextDecoder().decode(await bytes('./clock')));

const engines = [];

export async function prepare(number) {
  const { program, create } = await import(`./${number}/wasm.js`);
  const engine = await create(await WebAssembly.compile(await bytes(`./${number}/model.wasm`)));
  const memory = new Uint8Array(engine.buffer, engine.base);
  for (const [entry, [shard, start, size]] of program.init.entries()) {
    const weights = await bytes(`./${number}/${shard}.bin`);
    memory.set(weights.subarray(start, start + size), program.staging.offset);
    engine.init(entry);
  }
  memory.set(await bytes(`./${number}/x.bin`), program.layout().inputs[0].offset);
  engines.push(engine);
}

/** Milliseconds of a run of each program. */
export async function round() {
  const times = [];
  for (const engine of engines) {
    let count = 1;
    for (;;) {
      const start = await clock();
      for (let call = 0; call < count; call++) engine.run();
      const elapsed = (await clock()) - start;
      if (elapsed > MILLISECONDS) {
        times.push(elapsed / count);
        break;
      }
      count *= elapsed < MILLISECONDS / 8 ? 4 : 2;
    }
  }
  return times;
}
