/** The plugin while files change, with a fake command that takes 0.3 s. */

import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createServer } from '../../examples/node_modules/vite/dist/node/index.js';
import { Builder, findCommand } from '../../runtime/unplugin/src/builder.js';
import { Types } from '../../runtime/unplugin/src/types.js';
import webkiln from '../../runtime/unplugin/src/vite.js';

const command = [process.execPath, fileURLToPath(new URL('./fake_webkiln.js', import.meta.url))];
const folders = [];
let root = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'webkiln ä '));
  folders.push(root);
});
after(() => folders.forEach(folder => rmSync(folder, { recursive: true })));

const wait = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));
const put = (path, text) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  return join(root, path);
};
const builds = () =>
  existsSync(join(root, 'builds.txt'))
    ? readFileSync(join(root, 'builds.txt'), 'utf8').trim().split('\n')
    : [];
const serve = (options = {}, server = {}, folder = root) =>
  createServer({
    root: folder,
    configFile: false,
    logLevel: 'silent',
    plugins: [webkiln({ command, root, types: false, ...options })],
    server: { ws: false, ...server },
  });
/** Let a module of the project import a model. Returns the entry file of its bundle. */
async function importModel(server, id, path = 'main.js') {
  put(path, `export * from ${JSON.stringify(id)};\n`);
  const { code } = await server.environments.client.transformRequest(`/@fs${join(root, path)}`);
  return { id: join(root, /\.webkiln\/bundles\/[^"/]+\/index\.js/.exec(code)[0]) };
}

async function until(condition) {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (condition()) return;
    await wait(50);
  }
  assert.ok(condition(), JSON.stringify(builds()));
}

test('a build that started before a change is not reused after it', async () => {
  const source = put('a.keras', 'one');
  const builder = new Builder(root, command, () => {});
  const request = { source, recipe: false, options: [] };
  const first = builder.build(request);
  const second = builder.build(request);
  await until(() => builds().length === 1);
  put('a.keras', 'two');
  const { folder } = await builder.build(request, true);
  assert.equal(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')), 'two');
  assert.equal(await first, await second);
  assert.deepEqual(builds(), ['one', 'two']);
});

test('an error is recognised after output without a line end', async () => {
  const source = put('a.keras', 'broken model');
  await assert.rejects(
    new Builder(root, command, () => {}).build({ source, recipe: false, options: [] }),
    error => error.message.startsWith(`${source}: broken model`),
  );
});

test('a folder on PATH with the name webkiln is not the command', () => {
  const before = process.env.PATH;
  mkdirSync(join(root, 'one', 'webkiln'), { recursive: true });
  const program = put('two/webkiln', '#!/bin/sh\n');
  chmodSync(program, 0o755);
  process.env.PATH = `${join(root, 'one')}:${join(root, 'two')}`;
  delete process.env.VIRTUAL_ENV;
  try {
    assert.deepEqual(findCommand(root, undefined), [program]);
  } finally {
    process.env.PATH = before;
  }
});

test('a model that changes during its first build is built again', async () => {
  const source = put('a.keras', 'one');
  const server = await serve();
  const first = importModel(server, `${source}?webkiln`);
  await until(() => builds().length === 1);
  put('a.keras', 'two');
  await first;
  await until(() => builds().at(-1) === 'two');
  await server.close();
});

test('a model that changes twice is built in its last state', async () => {
  const source = put('a.keras', 'one');
  const server = await serve();
  await importModel(server, `${source}?webkiln`);
  put('a.keras', 'two');
  await until(() => builds().at(-1) === 'two');
  put('a.keras', 'three');
  await until(() => builds().at(-1) === 'three');
  await server.close();
});

test('a recipe that is invalid at first is built when it is corrected', async () => {
  put('models/net/recipe.toml', 'broken recipe');
  const server = await serve();
  await assert.rejects(importModel(server, 'webkiln:net'), /broken recipe/);
  put('models/net/recipe.toml', 'mended');
  await until(() => builds().at(-1) === 'mended');
  await server.close();
});

test('a server that has ended builds nothing', async () => {
  const source = put('a.keras', 'one');
  const server = await serve();
  await importModel(server, `${source}?webkiln`);
  await server.close();
  put('a.keras', 'two');
  await wait(500);
  assert.deepEqual(builds(), ['one']);
});

test('without hot replacement a bundle is served unchanged', async () => {
  const source = put('a.keras', 'one');
  for (const hmr of [true, false]) {
    const server = await serve({}, { hmr });
    const { id } = await importModel(server, `${source}?webkiln`);
    const { code } = await server.environments.client.transformRequest(id);
    assert.equal(code.includes('import.meta.hot.accept()'), hmr);
    await server.close();
  }
});

test('files of bundles are served, also from above the folder of the server', async () => {
  put('models/net/recipe.toml', 'one');
  put('web/package.json', '{}');
  const server = await serve({}, { port: 0, host: '127.0.0.1' }, join(root, 'web'));
  await server.listen();
  const { id } = await importModel(server, 'webkiln:net', 'web/main.js');
  const { port } = server.httpServer.address();
  const answer = await fetch(
    `http://127.0.0.1:${port}/@fs${encodeURI(dirname(id)).replaceAll('#', '%23')}/relaxed.wasm`,
  );
  assert.equal(answer.status, 200);
  await server.close();
});

test('models of the same name in two folders have separate types, or none', () => {
  const file = join(root, 'env.d.ts');
  const bundle = name =>
    dirname(put(`${name}/index.d.ts`, `export declare const name: '${name}';\n`));
  const [one, two] = [bundle('one'), bundle('two')];
  new Types(file).add('../a/model.keras?webkiln', one);
  new Types(file).add('./b/model.keras?webkiln', two);
  const types = new Types(file);
  types.add('./model.keras?webkiln', one);
  const declared = name =>
    readFileSync(file, 'utf8').split(`declare module "${name}" {`)[1]?.split('\n}')[0] ?? '';
  assert.match(declared('*/a/model.keras?webkiln'), /'one'/);
  assert.match(declared('*/b/model.keras?webkiln'), /'two'/);
  assert.match(declared('*/model.keras?webkiln'), /'one'/);
  const order = [...readFileSync(file, 'utf8').matchAll(/declare module ["']([^"']*)/g)].map(
    ([, name]) => name,
  );
  assert.deepEqual(order, [
    '*/a/model.keras?webkiln',
    '*/b/model.keras?webkiln',
    '*/model.keras?webkiln',
    'webkiln:*',
    '*?webkiln',
  ]);
  types.add('./model.keras?webkiln', two);
  assert.match(declared('*/model.keras?webkiln'), /load: \(options\?: any\)/);
});

test('concurrent builds keep the types of each other', () => {
  const file = join(root, 'env.d.ts');
  const folder = dirname(put('one/index.d.ts', 'export declare const one: 1;\n'));
  const builds = [new Types(file), new Types(file)];
  builds.forEach((types, index) => types.add(`webkiln:model${index}`, folder));
  assert.match(readFileSync(file, 'utf8'), /"webkiln:model0"[^]*"webkiln:model1"/);
});
