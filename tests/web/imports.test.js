/** The modules for which Vite's dev server builds models, with a fast fake command. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createServer } from '../../examples/node_modules/vite/dist/node/index.js';
import webkiln from '../../runtime/unplugin/src/vite.js';

const home = realpathSync(mkdtempSync(join(tmpdir(), 'webkiln importers ä ')));
const root = join(home, 'app');
const command = [process.execPath, fileURLToPath(new URL('./fake_webkiln.js', import.meta.url))];
let server;
let origin;

const put = (path, text) => {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
};
const imports = (path, id) => put(path, `export * from '${id}';\n`);
const builds = () =>
  existsSync(join(root, 'builds.txt'))
    ? readFileSync(join(root, 'builds.txt'), 'utf8').trim().split('\n')
    : [];
const get = async path => {
  const answer = await fetch(origin + encodeURI(path));
  return { status: answer.status, text: await answer.text() };
};

/** A plugin that generates code from a URL. */
const reflecting = {
  name: 'reflecting',
  load(id) {
    const source = id.split('?make=')[1];
    return source === undefined ? null : `export * from '${decodeURIComponent(source)}';`;
  },
};

before(async () => {
  for (const name of [
    'plain',
    'alias',
    'glob-1',
    'glob-2',
    'later',
    'fickle',
    'inline',
    'worker',
  ]) {
    put(`app/src/${name}.onnx`, name);
  }
  for (const path of ['src/never', 'node_modules/dep/dep', 'node_modules/listed/listed']) {
    put(`app/${path}.onnx`, path.split('/').at(-1));
  }
  put('app/models/net/recipe.toml', 'net');
  put('app/src/secret/hidden.onnx', 'hidden');
  put('packages/linked.onnx', 'linked');
  put('packages/ui.onnx', 'ui');
  put('elsewhere/outside.onnx', 'outside');
  symlinkSync(join(home, 'elsewhere/outside.onnx'), join(root, 'src/link.onnx'));
  put('app/index.html', '<script type="module">import "./src/inline.onnx?webkiln";</script>');
  put(
    'app/src/main.ts',
    `
    import { manifest } from './plain.onnx?webkiln';
    import '~/alias.onnx?webkiln';
    import 'named';
    export const models: object = import.meta.glob('./glob-*.onnx', { query: '?webkiln' });
    export const later = () => import(\`./later.onnx?webkiln\`);
    export default manifest satisfies object;
    new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  `,
  );
  imports('app/src/worker.js', './worker.onnx?webkiln');
  imports('app/public/upload.js', '../src/never.onnx?webkiln');
  imports('app/node_modules/dep/index.js', './dep.onnx?webkiln');
  imports('app/node_modules/listed/index.js', './listed.onnx?webkiln');
  imports('packages/linked.js', './linked.onnx?webkiln');
  imports('packages/ui/index.js', '../ui.onnx?webkiln');
  symlinkSync(join(home, 'packages/linked.js'), join(root, 'src/linked.js'));
  server = await createServer({
    root,
    configFile: false,
    logLevel: 'silent',
    resolve: { alias: { '~': join(root, 'src'), named: 'webkiln:net' } },
    plugins: [
      webkiln({
        command,
        root,
        types: false,
        importers: ['node_modules/listed', '../packages/ui'],
      }),
      reflecting,
    ],
    server: {
      port: 0,
      host: '127.0.0.1',
      hmr: false,
      fs: { allow: [root, join(home, 'packages')], deny: ['**/secret/**'] },
    },
  });
  await server.listen();
  origin = `http://127.0.0.1:${server.httpServer.address().port}`;
});
after(async () => {
  await server.close();
  rmSync(home, { recursive: true });
});

/** Request a path. Expect that the request fails for this reason, and that no model is built. */
async function assertRefused(path, reason) {
  const buildsBefore = builds();
  const { status, text } = await get(path);
  assert.equal(status, 500, text);
  assert.match(text, reason);
  assert.deepEqual(builds(), buildsBefore);
}

test('every way in which a module of the project imports a model', async () => {
  for (const path of ['/', '/index.html?html-proxy&index=0.js', '/src/main.ts']) {
    assert.equal((await get(path)).status, 200, path);
  }
  const { text } = await get('/src/worker.js?worker_file&type=module');
  assert.match(text, /\.webkiln\/bundles\/worker-/);
  const expected = ['alias', 'glob-1', 'glob-2', 'inline', 'later', 'net', 'plain', 'worker'];
  assert.deepEqual([...new Set(builds())].sort(), expected);
});

test('the URL of an import is served, and builds nothing', async () => {
  const buildsBefore = builds();
  const { status, text } = await get('/src/plain.onnx?import&webkiln');
  assert.equal(status, 200);
  assert.match(text, /"text":"plain"/);
  assert.deepEqual(builds(), buildsBefore);
});

test('a URL that no module imports builds nothing', async () => {
  await assertRefused('/src/never.onnx?import&webkiln', /no module of the project imports it/);
  await assertRefused(
    '/src/plain.onnx?import&webkiln&encoding=float16',
    /no module of the project/,
  );
  await assertRefused('/@id/webkiln:mine:model?import', /no module of the project imports it/);
  await assertRefused('/src/main.ts?import&webkiln', /no module of the project imports it/);
});

test('a module of the graph has a model built only if its code imports it', async () => {
  const { pluginContainer } = server.environments.client;
  const importer = join(root, 'src/main.ts');
  await get('/src/main.ts?seen');
  const buildsBefore = builds();
  for (const id of [importer, `${importer}?seen`]) {
    const resolving = pluginContainer.resolveId('./never.onnx?webkiln', id);
    await assert.rejects(resolving, /does not import it/);
  }
  const fetching = server.environments.ssr.fetchModule('/src/never.onnx?webkiln', importer);
  await assert.rejects(fetching, /no module of the project imports it/);
  assert.deepEqual(builds(), buildsBefore);
});

test('modules of packages, of the public folder and of other folders', async () => {
  await assertRefused(
    '/node_modules/dep/index.js',
    /is not a module of the project.*option importers/s,
  );
  await assertRefused('/public/upload.js?import', /is not a module of the project/);
  await assertRefused(`/@fs${home}/packages/linked.js`, /is not a module of the project/);
  await assertRefused('/src/linked.js', /is not a module of the project/);
});

test('folders that are listed as importers', async () => {
  assert.equal((await get('/node_modules/listed/index.js')).status, 200);
  assert.equal((await get(`/@fs${home}/packages/ui/index.js`)).status, 200);
  assert.deepEqual(builds().slice(-2), ['listed', 'ui']);
});

test('code that a plugin generates from a URL', async () => {
  const path = '/src/worker.js?make=';
  await assertRefused(`${path}./never.onnx%3Fwebkiln%26encoding=float16`, /does not import it/);
  await assertRefused(`${path}webkiln:mine:model`, /does not import it/);
  await assertRefused(`${path}webkiln:mine:model%3F`, /does not import it/);
});

test('models that server.fs does not let Vite serve', async () => {
  imports('app/src/outside.js', '../../elsewhere/outside.onnx?webkiln');
  await assertRefused(
    '/src/outside.js',
    /outside the folders that Vite may serve.*server\.fs\.allow/s,
  );
  await assertRefused(`${home}/elsewhere/outside.onnx?import&webkiln`, /server\.fs\.allow/);
  imports('app/src/absolute.js', `${home}/elsewhere/outside.onnx?webkiln&name=other`);
  await assertRefused('/src/absolute.js', /server\.fs\.allow/);
  imports('app/src/linking.js', './link.onnx?webkiln');
  await assertRefused('/src/linking.js', /link\.onnx, which links to .*server\.fs\.allow/s);
  imports('app/src/hidden.js', './secret/hidden.onnx?webkiln');
  await assertRefused('/src/hidden.js', /matches server\.fs\.deny/);
  imports('app/src/recipe.js', 'webkiln:../elsewhere/outside.onnx');
  await assertRefused('/src/recipe.js', /server\.fs\.allow/);
});

test('a module that no longer imports a model does not permit its URL', async () => {
  imports('app/src/fickle.js', './fickle.onnx?webkiln');
  assert.equal((await get('/src/fickle.js')).status, 200);
  const [changed] = [once(server.watcher, 'change'), put('app/src/fickle.js', 'export {};\n')];
  await changed;
  await assertRefused('/src/fickle.onnx?import&webkiln', /no module of the project imports it/);
});
