import { describeGpu } from '/backends/described_gpu.mjs';

/** Run another script of the harness in a page whose GPU tells what a request says. */
export async function runSets({ adapter, inner, ...request }, get, put) {
  describeGpu(adapter);
  const { runSets: run } = await import(new URL(inner, `${location.origin}/harness/`).href);
  await run(request, get, put);
}
