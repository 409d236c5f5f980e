const MILLISECONDS = 30;
const SHORT = 2; // milliseconds in which other programs rarely get the processor

const bytes = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Operations per nanosecond of `step`, called for about MILLISECONDS: `all` of them, and the `best` that took SHORT. */
function rate(step, operations) {
  let count = 0, best = 0, counted = 0;
  const start = performance.now();
  let now = start, since = start;
  while (now - start < MILLISECONDS) {
    step();
    count++;
    now = performance.now();
    if (now - since >= SHORT) {
      best = Math.max(best, (operations * (count - counted)) / (now - since) / 1e6);
      [since, counted] = [now, count];
    }
  }
  return { all: (operations * count) / (now - start) / 1e6, best };
}

async function prepare(folder, compiler) {
  const { program, create } = await import(`./${folder}/wasm.js`);
  const engine = await create(await WebAssembly.compile(await bytes(`./${folder}/${compiler}.wasm`)));
  const memory = new Uint8Array(engine.buffer, engine.base);
  const weights = await bytes(`./${folder}/weights.bin`);
  program.init.forEach(([, start, size], entry) => {
    memory.set(weights.subarray(start, start + size), program.staging.offset);
    engine.init(entry);
  });
  memory.set(await bytes(`./${folder}/x.bin`), program.layout().inputs[0].offset);
  return engine;
}

/** Rates of every job by every compiler, whose turns in a round begin with another one each time. */
export async function run(jobs, compilers, rounds) {
  const { instance } = await WebAssembly.instantiate(await bytes("./peak.wasm"), { env: { memory: new WebAssembly.Memory({ initial: 16, maximum: 65536, shared: true }) } });
  const steps = 200000;
  const [first] = compilers;
  const engines = [];
  for (let number = 0; number < jobs.length; number++) {
    engines.push({});
    for (const compiler of compilers) engines[number][compiler] = await prepare(number, compiler);
  }
  const peaks = [];
  const rates = jobs.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    const turn = round % compilers.length;
    const order = [...compilers.slice(turn), ...compilers.slice(0, turn)];
    const { all: peak } = rate(() => instance.exports.peak(steps), steps * 10 * 4 * 2);
    if (round > 0) peaks.push(peak);
    engines.forEach((engine, number) => {
      const rated = Object.fromEntries(order.map((compiler) => [compiler, rate(() => engine[compiler].run(), jobs[number].flops)]));
      if (round > 0) rates[number].push({ rated, peak });
    });
  }
  const each = (make) => Object.fromEntries(compilers.map((compiler) => [compiler, make(compiler)]));
  const rows = jobs.map((job, number) => ({
    ...job,
    gflops: median(rates[number].map((r) => r.rated[first].all)),
    ratio: median(rates[number].map((r) => r.rated[first].all / r.peak)),
    best: each((compiler) => Math.max(...rates[number].map((r) => r.rated[compiler].best))),
    relative: each((compiler) => median(rates[number].map((r) => r.rated[compiler].all / r.rated[first].all))),
  }));
  return { peak: median(peaks), rows };
}
