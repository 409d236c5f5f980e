/**
 * Loads weights through the runtime into a recording engine, with a simulated network and cache.
 * Prints the initialised entries, each with its first byte and its length, and the arrival of the
 * rest of each shard.
 */
import { createHash } from 'node:crypto';

import { instantiate } from '../../runtime/src/instantiate.js';

const { init, shards, order, cached, broken, wrong, strategy } = JSON.parse(process.argv[2]);
const digest = bytes => createHash('sha256').update(bytes).digest();
const files = shards.map(([byte, length], index) => {
  const bytes = new Uint8Array(length).fill(byte);
  return {
    file: `weights-${index}.bin`,
    bytes,
    url: `https://models.test/weights-${index}.bin`,
    digest: digest(digest(bytes)).toString('hex'),
  };
});
const find = url => files.findIndex(item => item.url === url);
const later = ms =>
  new Promise(resolve => {
    setTimeout(resolve, ms);
  });

const log = [];

// Node loads its fetch implementation at the first use, which takes longer than the delays below.
await new Response('').arrayBuffer();

/** Pending requests. Files arrive one by one; `order` decides among the pending ones. */
const waiting = [];
let arriving = false;
const next = async () => {
  if (arriving || !waiting.length) return;
  arriving = true;
  await later(30);
  waiting.sort((one, other) => order.indexOf(one.index) - order.indexOf(other.index));
  waiting.shift().begin();
};
const over = () => {
  arriving = false;
  next();
};

/**
 * The bytes of a file in two chunks. The arrival of the second one is recorded; with `half` it
 * fails instead. With `other`, the bytes
 * differ from the manifest. `ended` is called afterwards.
 */
const body = (index, half, other, ended) =>
  new ReadableStream({
    type: 'bytes',
    async start(controller) {
      const bytes = other ? files[index].bytes.map(byte => byte ^ 255) : files[index].bytes;
      const middle = bytes.length >> 1;
      try {
        controller.enqueue(bytes.slice(0, middle));
        await later(20);
        log.push(['rest', index]);
        if (half) return controller.error(new Error('reset'));
        controller.enqueue(bytes.slice(middle));
        controller.close();
      } finally {
        setTimeout(ended, 20);
      }
    },
  });
const response = (index, half, other, ended = () => {}) =>
  new Response(body(index, half, other, ended), {
    headers: { 'content-type': 'application/octet-stream', 'webkiln-digest': files[index].digest },
  });

globalThis.fetch = async (url, { cache }) => {
  const index = find(String(url));
  await new Promise(begin => {
    waiting.push({ index, begin });
    next();
  });
  return response(index, broken.includes(index), wrong.includes(index) && cache !== 'reload', over);
};
globalThis.caches = {
  open: async () => ({
    match: async url =>
      find(url) in cached ? response(find(url), cached[find(url)] === 'half') : undefined,
    put: async () => {},
    keys: async () => [],
  }),
};

const engine = {
  init: (entry, bytes) => log.push([entry, bytes[0] ?? null, bytes.length]),
  copy() {},
  dispose() {},
};
const program = { placeholders: [], states: [], init };
const request = {
  manifest: {
    name: 'net',
    shards: files.map(({ file, bytes, digest }) => ({ file, bytes: bytes.length, digest })),
    backends: { js: { module: 'js.js', build: 'b' } },
  },
  urls: Object.fromEntries(files.map(({ file, url }) => [file, url])),
  backends: ['js'],
  variant: undefined,
  cacheStrategy: strategy,
  saveCache: false,
  ignoreCache: false,
  stallTimeout: 0,
  threads: 1,
  profile: false,
};
await instantiate(
  request,
  { js: async () => ({ build: 'b', program, create: () => engine }) },
  () => {},
);
console.log(JSON.stringify(log));
