import { decode, placeholdersOf } from './harness.js';

const WARM_RUNS = 3;
const WARM_MS = 300;
const MAX_WARM_MS = 3000;

/** Profile `runs` runs of a bundle on one input set, after warm-up runs. */
export async function profileBundle({ bundle, backend, variant, threads, runs }, frame) {
  const { load, manifest } = await import(bundle);
  const model = await load({
    backends: [backend],
    profile: true,
    ...(variant ? { variant } : {}),
    ...(threads ? { threads } : {}),
  });
  const { values: inputs, shapes } = decode(frame);
  const options = { placeholders: placeholdersOf(manifest, shapes) };
  const begin = performance.now();
  for (let run = 0; run < WARM_RUNS || performance.now() - begin < WARM_MS; run++) {
    await model.run(inputs, options);
    if (performance.now() - begin > MAX_WARM_MS) break;
  }
  await model.profile();
  for (let run = 0; run < runs; run++) await model.run(inputs, options);
  const profile = await model.profile();
  model.dispose();
  return profile;
}

export async function runSets(request, get, put) {
  await put(
    0,
    new TextEncoder().encode(JSON.stringify(await profileBundle(request, await get(0)))),
  );
}
