import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { supportsVariant } from '../src/probe.js';

test('every supported Node has SIMD, and unknown variants are unsupported', () => {
  assert.equal(supportsVariant('simd'), true);
  assert.equal(supportsVariant('quantum'), false);
});

test(
  'the relaxed probe follows the engine',
  { skip: Number(process.versions.node.split('.')[0]) > 20 },
  () => {
    const url = new URL('../src/probe.js', import.meta.url);
    const script = `import { supportsVariant } from '${url}'; console.log(supportsVariant('relaxed'))`;
    const evaluate = (...flags) =>
      execFileSync(process.execPath, [...flags, '--input-type=module', '-e', script], {
        encoding: 'utf8',
      }).trim();
    assert.equal(evaluate(), 'false');
    assert.equal(evaluate('--experimental-wasm-relaxed-simd'), 'true');
  },
);
