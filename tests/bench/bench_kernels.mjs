const MILLISECONDS = 30;
const STEPS = 200000;

const bytes = async path => new Uint8Array(await (await fetch(path)).arrayBuffer());

/** The processor time of this thread in milliseconds. Other programs do not count. */
const clock = async () => Number(new TextDecoder().decode(await bytes('./clock')));

/** The processor time of `count` calls in milliseconds. */
async function time(step, count) {
  const start = await clock();
  for (let call = 0; call < count; call++) step();
  return (await clock()) - start;
}

/** The number of calls that take about MILLISECONDS. */
async function calls(step) {
  let count = 1,
    elapsed = await time(step, 1);
  while (elapsed < MILLISECONDS / 4) elapsed = await time(step, (count *= 2));
  return Math.max(1, Math.round((count * MILLISECONDS) / elapsed));
}

const jobs = [];
let peak;

export async function begin() {
  const env = { memory: new WebAssembly.Memory({ initial: 16, maximum: 65536, shared: true }) };
  const { instance } = await WebAssembly.instantiate(await bytes('./peak.wasm'), { env });
  const step = () => instance.exports.peak(STEPS);
  peak = { step, flops: STEPS * 10 * 4 * 2, count: await calls(step) };
}

/** Prepare the job in the folder with the next number. It has `flops` operations. */
export async function prepare(flops, compilers) {
  const folder = jobs.length;
  const steps = {};
  for (const compiler of compilers) {
    const engine = await start(folder, compiler);
    steps[compiler] = () => engine.run();
  }
  let count;
  for (const compiler of compilers) count = await calls(steps[compiler]);
  jobs.push({ steps, flops, count });
}

async function start(folder, compiler) {
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

/** GFLOP/s of the peak loop, and of every job by every compiler. */
export async function round(compilers) {
  const overhead = await time(() => {}, 0);
  const rate = async (step, flops, count) => {
    const elapsed = (await time(step, count)) - overhead;
    return (flops * count) / elapsed / 1e6;
  };
  const top = await rate(peak.step, peak.flops, peak.count);
  const rates = [];
  for (const { steps, flops, count } of jobs) {
    const jobRates = {};
    for (const name of compilers) jobRates[name] = await rate(steps[name], flops, count);
    rates.push(jobRates);
  }
  return { peak: top, rates };
}
