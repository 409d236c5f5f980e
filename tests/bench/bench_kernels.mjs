const MILLISECONDS = 30;

const bytes = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Operations per nanosecond of `step`, called for about MILLISECONDS. */
function rate(step, operations) {
  let count = 0;
  const start = performance.now();
  let now = start;
  while (now - start < MILLISECONDS) {
    step();
    count++;
    now = performance.now();
  }
  return (operations * count) / (now - start) / 1e6;
}

async function prepare(folder) {
  const { program, create } = await import(`./${folder}/wasm.js`);
  const engine = await create(await WebAssembly.compile(await bytes(`./${folder}/model.wasm`)));
  const memory = new Uint8Array(engine.buffer, engine.base);
  const weights = await bytes(`./${folder}/weights.bin`);
  program.init.forEach(([, start, size], entry) => {
    memory.set(weights.subarray(start, start + size), program.staging.offset);
    engine.init(entry);
  });
  memory.set(await bytes(`./${folder}/x.bin`), program.layout().inputs[0].offset);
  return engine;
}

export async function run(jobs, rounds) {
  const { instance } = await WebAssembly.instantiate(await bytes("./peak.wasm"), { env: { memory: new WebAssembly.Memory({ initial: 16, maximum: 65536, shared: true }) } });
  const steps = 200000;
  const engines = [];
  for (let number = 0; number < jobs.length; number++) engines.push(await prepare(number));
  const peaks = [];
  const rates = jobs.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    const peak = rate(() => instance.exports.peak(steps), steps * 10 * 4 * 2);
    if (round > 0) peaks.push(peak);
    engines.forEach((engine, number) => {
      const gflops = rate(() => engine.run(), jobs[number].flops);
      if (round > 0) rates[number].push({ gflops, ratio: gflops / peak });
    });
  }
  const rows = jobs.map(({ name, kernel }, number) => ({
    name, kernel, gflops: median(rates[number].map((r) => r.gflops)), ratio: median(rates[number].map((r) => r.ratio)),
  }));
  return { peak: median(peaks), rows };
}
