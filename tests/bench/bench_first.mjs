import { ENGINES, mapEntries } from '/bench_networks.mjs';

/** Record the spans of calls of an async function, in milliseconds since the navigation. */
function spans(owner, name) {
  const calls = [];
  const call = owner[name].bind(owner);
  owner[name] = async (...parameters) => {
    const begin = performance.now();
    try {
      return await call(...parameters);
    } finally {
      calls.push([begin, performance.now()]);
    }
  };
  return calls;
}

/** The total time that is covered by at least one of the spans. */
function coveredMs(spans) {
  let [sum, last] = [0, 0];
  for (const [begin, end] of spans.toSorted((a, b) => a[0] - b[0])) {
    sum += Math.max(0, end - Math.max(begin, last));
    last = Math.max(last, end);
  }
  return sum;
}

const end = spans => Math.max(0, ...spans.map(([, end]) => end));

/** Record the spans in which weights are decoded. Programs get a copy of the frozen exports. */
function recordDecoding() {
  const calls = [];
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = async (...parameters) => {
    const { exports } = await instantiate(...parameters);
    const init = entry => {
      const begin = performance.now();
      exports.init(entry);
      calls.push([begin, performance.now()]);
    };
    return { exports: { ...exports, init } };
  };
  return calls;
}

const RUN = '... in the run';

/** The end of each step until the first result, and the time for digests and decoding. */
async function waterfall(options) {
  performance.setResourceTimingBufferSize(1000);
  const [digests, compiled, inits] = [
    spans(crypto.subtle, 'digest'),
    spans(WebAssembly, 'compile'),
    recordDecoding(),
  ];
  const run = await ENGINES.webkiln(options);
  const loaded = performance.now();
  await run();
  const first = performance.now();
  const arrived = suffix =>
    performance
      .getEntriesByType('resource')
      .filter(({ name }) => new URL(name).pathname.startsWith('/bundle/') && name.endsWith(suffix))
      .map(({ startTime, responseEnd }) => [startTime, responseEnd]);
  const weights = arrived('.bin');
  await run();
  const second = performance.now();
  const steps = [
    ['code arrived', end(arrived('.js'))],
    ['wasm compiled', end(compiled)],
    ['weights requested', Math.min(...weights.map(([begin]) => begin))],
    ['weights arrived', end(weights)],
    ['digests computed', end(digests)],
    ['weights decoded', end(inits)],
    ['loaded', loaded],
    ['first output', first],
    ['... in digests', coveredMs(digests)],
    ['... in decoding', coveredMs(inits)],
    [RUN, first - loaded],
    ['a second run', second - first],
  ];
  return { ms: first, steps };
}

/** The time to download only the weights. */
async function bytes() {
  const { shards } = await (await fetch('/bundle/manifest.json')).json();
  let next = 0;
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      while (next < shards.length)
        for await (const _ of (await fetch(`/bundle/${shards[next++].file}`)).body);
    }),
  );
  return { ms: performance.now() };
}

/** The time from the navigation of this page to the first output of an engine. */
export async function visit(name, options) {
  if (name === 'bytes') return bytes();
  if (name === 'waterfall') return waterfall(options);
  const outputs = await (await ENGINES[name](options))();
  const ms = performance.now();
  return { ms, outputs: mapEntries(Object.entries(outputs), values => Array.from(values)) };
}
