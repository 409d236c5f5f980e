/** Which modules may request builds from Vite's dev server, with a fast command. */

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

/** Plugins may generate code from a URL. */
const reflecting = {
  name: 'reflecting',
  load(id) {
    const made = id.split('?make=')[1];
    return made === undefined ? null : `export * from '${decodeURIComponent(made)}';`;
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
  for (const place of ['src/never', 'node_modules/dep/dep', 'node_modules/listed/listed']) {
    put(`app/${place}.onnx`, place.split('/').at(-1));
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

/** Request a path; expect that no model is built, and why. */
async function refused(path, reason) {
  const known = builds();
  const { status, text } = await get(path);
  assert.equal(status, 500, text);
  assert.match(text, reason);
  assert.deepEqual(builds(), known);
}

test('every way in which a module of the project imports a model', async () => {
  for (const path of ['/', '/index.html?html-proxy&index=0.js', '/src/main.ts']) {
    assert.equal((await get(path)).status, 200, path);
  }
  const { text } = await get('/src/worker.js?worker_file&type=module');
  assert.match(text, /\.webkiln\/bundles\/worker-/);
  const wanted = ['alias', 'glob-1', 'glob-2', 'inline', 'later', 'net', 'plain', 'worker'];
  assert.deepEqual([...new Set(builds())].sort(), wanted);
});

test('a URL is served whose request a module makes, and builds nothing', async () => {
  const known = builds();
  const { status, text } = await get('/src/plain.onnx?import&webkiln');
  assert.equal(status, 200);
  assert.match(text, /"text":"plain"/);
  assert.deepEqual(builds(), known);
});

test('a URL whose request no module makes builds nothing', async () => {
  await refused('/src/never.onnx?import&webkiln', /no module of the project imports it/);
  await refused('/src/plain.onnx?import&webkiln&encoding=float16', /no module of the project/);
  await refused('/@id/webkiln:mine:model?import', /no module of the project imports it/);
  await refused('/src/main.ts?import&webkiln', /no module of the project imports it/);
});

test('what is in the module graph has a model built only if its own code imports it', async () => {
  const { pluginContainer } = server.environments.client;
  const importer = join(root, 'src/main.ts');
  await get('/src/main.ts?seen');
  const known = builds();
  for (const id of [importer, `${importer}?seen`]) {
    const resolving = pluginContainer.resolveId('./never.onnx?webkiln', id);
    await assert.rejects(resolving, /does not import it/);
  }
  const fetching = server.environments.ssr.fetchModule('/src/never.onnx?webkiln', importer);
  await assert.rejects(fetching, /no module of the project imports it/);
  assert.deepEqual(builds(), known);
});

test('modules of packages, of the public folder and of other folders', async () => {
  await refused('/node_modules/dep/index.js', /is not a module of the project.*option importers/s);
  await refused('/public/upload.js?import', /is not a module of the project/);
  await refused(`/@fs${home}/packages/linked.js`, /is not a module of the project/);
  await refused('/src/linked.js', /is not a module of the project/);
});

test('folders that are listed as importers', async () => {
  assert.equal((await get('/node_modules/listed/index.js')).status, 200);
  assert.equal((await get(`/@fs${home}/packages/ui/index.js`)).status, 200);
  assert.deepEqual(builds().slice(-2), ['listed', 'ui']);
});

test('code that a plugin makes of a URL', async () => {
  const path = '/src/worker.js?make=';
  await refused(`${path}./never.onnx%3Fwebkiln%26encoding=float16`, /does not import it/);
  await refused(`${path}webkiln:mine:model`, /does not import it/);
  await refused(`${path}webkiln:mine:model%3F`, /does not import it/);
});

test('models that server.fs does not let Vite serve', async () => {
  imports('app/src/outside.js', '../../elsewhere/outside.onnx?webkiln');
  await refused('/src/outside.js', /outside the folders that Vite may serve.*server\.fs\.allow/s);
  await refused(`${home}/elsewhere/outside.onnx?import&webkiln`, /server\.fs\.allow/);
  imports('app/src/absolute.js', `${home}/elsewhere/outside.onnx?webkiln&name=other`);
  await refused('/src/absolute.js', /server\.fs\.allow/);
  imports('app/src/linking.js', './link.onnx?webkiln');
  await refused('/src/linking.js', /link\.onnx, which links to .*server\.fs\.allow/s);
  imports('app/src/hidden.js', './secret/hidden.onnx?webkiln');
  await refused('/src/hidden.js', /matches server\.fs\.deny/);
  imports('app/src/recipe.js', 'webkiln:../elsewhere/outside.onnx');
  await refused('/src/recipe.js', /server\.fs\.allow/);
});

test('a module that no longer imports a model does not vouch for its URL', async () => {
  imports('app/src/fickle.js', './fickle.onnx?webkiln');
  assert.equal((await get('/src/fickle.js')).status, 200);
  const [changed] = [once(server.watcher, 'change'), put('app/src/fickle.js', 'export {};\n')];
  await changed;
  await refused('/src/fickle.onnx?import&webkiln', /no module of the project imports it/);
});
