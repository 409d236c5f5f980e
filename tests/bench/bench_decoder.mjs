// Run in a page: generate words by webkiln and by wllama (llama.cpp).

/** @param {number[]} times */
function summary(times) {
  const sorted = [...times].sort((a, b) => a - b);
  return { least: sorted[0], median: sorted[sorted.length >> 1] };
}

/** One step of `count` after the other, from an empty cache, after a prompt. */
export async function webkiln(name, words, count) {
  const [step, prompt] = await Promise.all(
    ['step', 'prompt'].map(async part => {
      const { load } = await import(`/data/${name}/${part}/index.js`);
      return load({ backends: ['wasm'], threads: 1 });
    }),
  );
  const numbers = Array.from({ length: words }, (_, i) => i);
  let start = performance.now();
  await prompt.run({ words: numbers, positions: numbers });
  const read = performance.now() - start;
  const times = [];
  const told = [];
  let word = 5;
  for (let position = 0; position < count; position++) {
    start = performance.now();
    const [output] = Object.values(await step.run({ words: [word], positions: [position] }));
    times.push(performance.now() - start);
    word = Number(output[0]);
    told.push(word);
  }
  return { read, ...summary(times), told };
}

/** A completion of `count` words, after a prompt of `words`. */
export async function wllama(words, count) {
  const { Wllama } = await import('/npm/@wllama/wllama/esm/index.js');
  const engine = new Wllama(
    { default: '/npm/@wllama/wllama/esm/wasm/wllama.wasm' },
    { suppressNativeLog: true },
  );
  const file = await (await fetch('/data/model.gguf')).blob();
  await engine.loadModel([file], { n_ctx: 512, n_threads: 1, n_gpu_layers: 0 });
  const prompt = Array.from({ length: words }, (_, i) => `<${i}>`).join('');
  const arrived = [];
  const start = performance.now();
  await engine.createCompletion({
    prompt,
    max_tokens: count,
    temperature: 0,
    stream: true,
    onData: () => arrived.push(performance.now()),
  });
  await engine.exit();
  // The last message has no word.
  const times = arrived.slice(1, -1).map((time, i) => time - arrived[i]);
  return { read: arrived[0] - start, ...summary(times) };
}
