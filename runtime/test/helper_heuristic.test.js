import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HelperHeuristic } from '../src/helper_heuristic.js';

/** The decisions for runs of 10^6 operations after `rest` milliseconds, with times per mode. */
function decisions(runs, rest, alone, helped) {
  let now = 1000;
  const heuristic = new HelperHeuristic(() => now);
  return Array.from({ length: runs }, (_, number) => {
    now += rest;
    const chosen = heuristic.begin();
    const spent = chosen ? helped : alone;
    now += typeof spent === 'number' ? spent : spent(number);
    heuristic.end(1e6);
    return chosen;
  });
}

const helpedOf = choices => choices.filter(Boolean).length;

test('helpers take part in all consecutive runs', () => {
  assert.deepEqual(decisions(6, 1, 12, 17), Array(6).fill(true));
});

test('after a rest both modes are measured, then the faster one is used', () => {
  assert.deepEqual(decisions(10, 50, 12, 17), [true, false, true, false, ...Array(6).fill(false)]);
  assert.deepEqual(decisions(10, 50, 12, 7), [true, false, true, false, ...Array(6).fill(true)]);
});

test('the slower mode is measured again periodically, and used once it is faster', () => {
  assert.equal(helpedOf(decisions(48, 50, 12, 17)), 2 + 2);
  const changed = decisions(64, 50, 12, number => (number < 10 ? 17 : 5));
  assert.deepEqual(changed.slice(17), [
    ...Array(15).fill(true),
    false,
    ...Array(15).fill(true),
    false,
    ...Array(15).fill(true),
  ]);
});

test('times are compared per operation, for models of several sizes', () => {
  let now = 0;
  const heuristic = new HelperHeuristic(() => now);
  for (const [operations, ms] of [
    [1e6, 7],
    [4e6, 48],
    [1e6, 7],
    [4e6, 48],
  ]) {
    now += 100;
    heuristic.begin();
    now += ms;
    heuristic.end(operations);
  }
  now += 100;
  assert.equal(heuristic.begin(), true);
});
