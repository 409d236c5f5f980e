import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { supportsVariant } from '../src/probe.js';

test('every supported Node has SIMD, and none has a variant without a probe', () => {
  assert.equal(supportsVariant('simd'), true);
  assert.equal(supportsVariant('quantum'), false);
});

test(
  'the relaxed probe follows the engine',
  { skip: Number(process.versions.node.split('.')[0]) > 20 },
  () => {
    const script = `import { supportsVariant } from '${new URL('../src/probe.js', import.meta.url)}'; console.log(supportsVariant('relaxed'))`;
    const ask = (...flags) =>
      execFileSync(process.execPath, [...flags, '--input-type=module', '-e', script], {
        encoding: 'utf8',
      }).trim();
    assert.equal(ask(), 'false');
    assert.equal(ask('--experimental-wasm-relaxed-simd'), 'true');
  },
);
