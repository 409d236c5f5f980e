import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HelperHeuristic } from '../src/helper_heuristic.js';

/** What is decided for runs after `rest` milliseconds that take so long alone and helped, for a million operations. */
function decided(runs, rest, alone, helped) {
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

test('in a row of runs all are helped', () => {
  assert.deepEqual(decided(6, 1, 12, 17), Array(6).fill(true));
});

test('after a rest both ways are tried, then the faster one is taken', () => {
  assert.deepEqual(decided(10, 50, 12, 17), [true, false, true, false, ...Array(6).fill(false)]);
  assert.deepEqual(decided(10, 50, 12, 7), [true, false, true, false, ...Array(6).fill(true)]);
});

test('the slower way is tried again now and then, and taken when it has become the faster one', () => {
  assert.equal(helpedOf(decided(48, 50, 12, 17)), 2 + 2);
  const changed = decided(64, 50, 12, number => (number < 10 ? 17 : 5));
  assert.deepEqual(changed.slice(17), [
    ...Array(15).fill(true),
    false,
    ...Array(15).fill(true),
    false,
    ...Array(15).fill(true),
  ]);
});

test('times count by operation, so that a model of several sizes compares them', () => {
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
