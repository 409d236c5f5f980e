import { decode, placeholdersOf } from './harness.js';

const WARM_RUNS = 3;
const WARM_MS = 300;
const PATIENCE_MS = 3000;

/** Runs a bundle on one input set until the engine has compiled it, then `runs` times, and hands its profile to `put`. */
export async function runSets({ bundle, backend, variant, threads, runs }, get, put) {
  const { load, manifest } = await import(bundle);
  const model = await load({ backends: [backend], profile: true, ...(variant ? { variant } : {}), ...(threads ? { threads } : {}) });
  const { values: inputs, shapes } = decode(await get(0));
  const options = { placeholders: placeholdersOf(manifest, shapes) };
  const begin = performance.now();
  for (let run = 0; run < WARM_RUNS || performance.now() - begin < WARM_MS; run++) {
    await model.run(inputs, options);
    if (performance.now() - begin > PATIENCE_MS) break;
  }
  await model.profile();
  for (let run = 0; run < runs; run++) await model.run(inputs, options);
  await put(0, new TextEncoder().encode(JSON.stringify(await model.profile())));
  model.dispose();
}
