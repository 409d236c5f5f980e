import { encode, decode, placeholdersOf } from '/harness/harness.js';

/** Run by harness_page.js: run a bundle on each set in turn, without a reset, and the first one again
 * after a reset. `adapter`: what the page tells about its GPU. */
export async function runSets({ bundle, backend, variant, count, adapter }, get, put) {
  if (adapter) (await import('/backends/described_gpu.mjs')).describeGpu(adapter);
  const { load, manifest } = await import(bundle);
  const model = await load({ backends: [backend], ...(variant ? { variant } : {}) });
  const run = async (set, answer) => {
    const { values, shapes } = decode(await get(set));
    const outputs = await model.run(values, { placeholders: placeholdersOf(manifest, shapes) });
    const tensors = manifest.outputs.map(({ name, dtype }) => ({
      name,
      dtype,
      shape: model.shapes[name],
    }));
    const arrays = manifest.outputs.map(({ name }) => outputs[name]);
    await put(answer, encode({ ms: 0, loadMs: 0, variant: model.variant, tensors }, arrays));
  };
  for (let set = 0; set < count; set++) await run(set, set);
  await model.reset();
  await run(0, count);
  await model.dispose();
}
