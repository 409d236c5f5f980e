/** Time programs of one thread in rounds: FOLDER ROUNDS. Prints the least milliseconds of each. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Session, engineOf } from '../../runtime/src/session.js';

const [folder, rounds] = process.argv.slice(2);
const { decode } = await import(pathToFileURL(join(folder, 'harness.js')).href);
const names = JSON.parse(readFileSync(join(folder, 'modules.json'), 'utf8'));
const LEAST_MS = 20;

async function opened(name, number) {
  const home = join(folder, String(number));
  const { program, create } = await import(pathToFileURL(join(home, 'code', 'wasm.js')).href);
  const compiled = new WebAssembly.Module(readFileSync(join(folder, name)));
  const bytes = readFileSync(join(home, 'in'));
  const { values } = decode(
    bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength),
  );
  const engine = engineOf(await create(compiled), program);
  program.init.forEach(([shard, start, size], entry) =>
    engine.init(entry, values[`shard.${shard}`].subarray(start, start + size)),
  );
  const inputs = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key.replace('input.', ''), value]),
  );
  const session = new Session(engine, program);
  return () => session.run({ inputs, placeholders: {} });
}

const runs = await Promise.all(names.map(opened));
const least = runs.map(() => Infinity);
for (let round = 0; round < Number(rounds); round++) {
  for (const [number, run] of runs.entries()) {
    let count = 0;
    const start = performance.now();
    do {
      await run();
      count++;
    } while (performance.now() - start < LEAST_MS);
    least[number] = Math.min(least[number], (performance.now() - start) / count);
  }
}
console.log(JSON.stringify(least));
