const MILLISECONDS = 30;

const bytes = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Milliseconds of a processor that this thread has had: what else runs here does not count. */
const clock = async () => Number(new TextDecoder().decode(await bytes("./clock")));

/** Milliseconds of a number of calls. */
async function time(step, count) {
  const start = await clock();
  for (let call = 0; call < count; call++) step();
  return (await clock()) - start;
}

/** How many calls take about MILLISECONDS. */
async function calls(step) {
  let count = 1, taken = await time(step, 1);
  while (taken < MILLISECONDS / 4) taken = await time(step, (count *= 2));
  return Math.max(1, Math.round((count * MILLISECONDS) / taken));
}

async function prepare(folder, compiler) {
  const { program, create } = await import(`./${folder}/wasm.js`);
  const module = await bytes(`./${folder}/${compiler}.wasm`);
  const engine = await create(await WebAssembly.compile(module));
  const memory = new Uint8Array(engine.buffer, engine.base);
  const weights = await bytes(`./${folder}/weights.bin`);
  program.init.forEach(([, start, size], entry) => {
    memory.set(weights.subarray(start, start + size), program.staging.offset);
    engine.init(entry);
  });
  memory.set(await bytes(`./${folder}/x.bin`), program.layout().inputs[0].offset);
  return engine;
}

/** Rates of every job by every compiler; their turns in a round begin with another one each time. */
export async function run(jobs, compilers, rounds) {
  const { instance } = await WebAssembly.instantiate(await bytes("./peak.wasm"), { env: { memory: new WebAssembly.Memory({ initial: 16, maximum: 65536, shared: true }) } });
  const steps = 200000;
  const [first] = compilers;
  const peak = { flops: steps * 10 * 4 * 2, step: () => instance.exports.peak(steps) };
  peak.count = await calls(peak.step);
  const engines = [];
  const counts = [];
  for (let number = 0; number < jobs.length; number++) {
    engines.push({});
    for (const compiler of compilers) engines[number][compiler] = await prepare(number, compiler);
    for (const compiler of compilers) {
      counts[number] = await calls(() => engines[number][compiler].run());
    }
  }
  const peaks = [];
  const rates = jobs.map(() => []);
  for (let round = 0; round < rounds; round++) {
    const turn = round % compilers.length;
    const order = [...compilers.slice(turn), ...compilers.slice(0, turn)];
    const nothing = await time(() => {}, 0);
    const top = (peak.flops * peak.count) / ((await time(peak.step, peak.count)) - nothing) / 1e6;
    peaks.push(top);
    for (let number = 0; number < jobs.length; number++) {
      const gflops = {};
      for (const compiler of order) {
        const taken = await time(() => engines[number][compiler].run(), counts[number]);
        gflops[compiler] = (jobs[number].flops * counts[number]) / (taken - nothing) / 1e6;
      }
      rates[number].push({ gflops, top });
    }
  }
  const each = (make) => Object.fromEntries(compilers.map((name) => [name, make(name)]));
  const rows = jobs.map((job, number) => {
    const all = rates[number];
    return {
      ...job,
      gflops: median(all.map(({ gflops }) => gflops[first])),
      ratio: median(all.map(({ gflops, top }) => gflops[first] / top)),
      relative: each((name) => median(all.map(({ gflops }) => gflops[name] / gflops[first]))),
      best: each((name) => Math.max(...all.map(({ gflops }) => gflops[name]))),
    };
  });
  return { peak: median(peaks), rows };
}
