import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Builder } from '../unplugin/src/builder.js';
import { bundlesPath, withURLs } from '../unplugin/src/references.js';
import { isRequest, optionPaths, readRequest } from '../unplugin/src/request.js';

const resolve = path => `/project/src/${path.replace('./', '')}`;
const read = (id, defaults = {}) => readRequest(id, resolve, defaults);

test('requests are distinguished from other imports', () => {
  for (const id of [
    'webkiln:digits',
    './a.keras?webkiln',
    './a b.keras?webkiln&backend=js',
    './a.onnx?backend=js&webkiln',
  ])
    assert.ok(isRequest(id), id);
  for (const id of [
    'webkiln',
    './webkiln.js',
    './a.svg?url',
    './a.js?webkilned',
    'unplugin-webkiln/vite',
  ])
    assert.ok(!isRequest(id), id);
});

test('options are sorted, so that equal requests are built once', () => {
  const first = read('./größe 1.keras?webkiln&encoding=float16&backend=wasm,js');
  assert.deepEqual(first, read('./größe 1.keras?backend=wasm,js&webkiln&encoding=float16'));
  assert.deepEqual(first, {
    source: '/project/src/größe 1.keras',
    recipe: false,
    options: [
      ['backend', 'wasm,js'],
      ['encoding', 'float16'],
    ],
  });
});

test('recipes are names, paths are relative to the importing module, and defaults apply', () => {
  assert.deepEqual(read('webkiln:digits?backend=js', { backend: 'wasm', encoding: 'int8' }), {
    source: 'digits',
    recipe: true,
    options: [
      ['backend', 'js'],
      ['encoding', 'int8'],
    ],
  });
  assert.deepEqual(read('./a.onnx?webkiln&plugin=./one.py&plugin=./two.py&dim=n%3D2').options, [
    ['dim', 'n=2'],
    ['plugin', '/project/src/one.py'],
    ['plugin', '/project/src/two.py'],
  ]);
});

test('a value can contain question marks', () => {
  assert.deepEqual(read('webkiln:digits?parameter=a=b?c&backend=js').options, [
    ['parameter', 'a=b?c'],
    ['backend', 'js'],
  ]);
});

test('unknown and repeated options are errors', () => {
  assert.throws(
    () => read('webkiln:digits?output=x'),
    /webkiln:digits\?output=x: there is no option output; the options are name, weights, .*backend/,
  );
  assert.throws(
    () => read('webkiln:digits?backend=js&backend=wasm'),
    /backend occurs 2 times, expected once/,
  );
});

test('URLs are replaced, with single or double quotes', () => {
  const code =
    'a(new URL(\'./x.wasm\', import.meta.url)); b(new URL("./y.bin", import.meta.url)); ' +
    "c(new URL('./z', base));";
  assert.equal(
    withURLs(code, file => `<${file}>`),
    "a(new URL(<x.wasm>)); b(new URL(<y.bin>)); c(new URL('./z', base));",
  );
});

test('the folder of bundles is relative to the output file', () => {
  assert.equal(bundlesPath('main.js', ''), './webkiln/');
  assert.equal(bundlesPath('assets/deep/main.js', ''), '../../webkiln/');
});

test('omitted parts of a bundle are reported, and flags are passed without a value', async () => {
  const root = mkdtempSync(join(tmpdir(), 'webkiln-'));
  const script = `
    import { writeFileSync } from 'node:fs';
    writeFileSync(process.argv.at(-1), 'a.keras');
    console.error('[1/1] bundle:a\\nbuilt without wasm:');
    console.error('  emcc is needed and was not found\\n[1/1] bundle:a');
    console.log(process.argv[5] + ': written\\n  backends  js');`;
  writeFileSync(join(root, 'fake.mjs'), script);
  const [reported, warned] = [[], []];
  const builder = new Builder(
    root,
    [process.execPath, join(root, 'fake.mjs')],
    line => reported.push(line),
    text => warned.push(text),
  );
  await builder.build(read('./a.keras?webkiln&trust-source'));
  assert.deepEqual(warned, ['built without wasm:\n  emcc is needed and was not found']);
  assert.deepEqual(reported, ['[1/1] bundle:a', '[1/1] bundle:a']);
});

test('flags accept no value', () => {
  assert.deepEqual(read('./a.keras?webkiln&trust-source').options, [['trust-source', '']]);
  assert.throws(() => read('./a.keras?webkiln&trust-source=no'), /trust-source takes no value/);
});

test('the error of an unwritable folder names it', () => {
  const root = mkdtempSync(join(tmpdir(), 'webkiln-'));
  writeFileSync(join(root, '.webkiln'), '');
  assert.throws(
    () => new Builder(root, 'webkiln', () => {}).build(read('./a.keras?webkiln')),
    /bundles cannot be written to .*\.webkiln.*option `root`/,
  );
});

test('paths in options are relative to the importing module', () => {
  const { options } = read(
    './net.json?webkiln&weights=w.h5&labels=scores=names.txt&labels=all.txt&tuned=t.json' +
      '&winograd=off',
  );
  assert.deepEqual(options, [
    ['weights', '/project/src/w.h5'],
    ['labels', 'scores=/project/src/names.txt'],
    ['labels', '/project/src/all.txt'],
    ['winograd', 'off'],
    ['tuned', '/project/src/t.json'],
  ]);
  assert.deepEqual(optionPaths(options), [
    '/project/src/w.h5',
    '/project/src/names.txt',
    '/project/src/all.txt',
    '/project/src/t.json',
  ]);
});
