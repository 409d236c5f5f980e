import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shapeAt } from '../src/dtypes.js';
import { flattenInputs } from '../src/nested.js';
import { placeholdersOf } from '../src/open_sizes.js';

/**
 * @param {Record<string, (number | string)[]>} shapes
 * @param {string[]} [zeros]
 */
const manifestOf = (shapes, zeros = []) =>
  /** @type {any} */ ({
    inputs: Object.entries(shapes).map(([name, shape]) => ({ name, dtype: 'int64', shape })),
    placeholders: [
      ...new Set(
        Object.values(shapes)
          .flat()
          .filter(size => typeof size === 'string'),
      ),
    ],
    zeros,
  });

const solve = (manifest, inputs, options = {}) => {
  const [arrays, shapes] = flattenInputs(manifest.inputs, inputs);
  return placeholdersOf(manifest, arrays, options, shapes);
};

const lengths = table =>
  Object.fromEntries(Object.entries(table).map(([name, length]) => [name, new Int32Array(length)]));

test('placeholders can have names of properties of Object.prototype', () => {
  const manifest = manifestOf({ x: [1, 'constructor', 2], y: ['constructor', 'toString'] });
  const values = solve(manifest, lengths({ x: 8, y: 12 }));
  assert.deepEqual(values, { constructor: 4, toString: 3 });
  assert.deepEqual(shapeAt([2, 'constructor'], {}), [2, NaN]);
});

test('inherited properties are not inputs', () => {
  assert.deepEqual(solve(manifestOf({ toString: ['H', 'W'] }), {}), {});
});

test('nested arrays determine the sizes of all inputs', () => {
  const shape = ['batch', 'sequence'];
  const manifest = manifestOf({ input_ids: shape, attention_mask: shape, token_type_ids: shape });
  const rest = lengths({ attention_mask: 6, token_type_ids: 6 });
  const rows = [
    [1n, 2n, 3n],
    [4n, 5n, 6n],
  ];
  for (const [input_ids, flat] of [
    [rows, [1n, 2n, 3n, 4n, 5n, 6n]],
    [rows.map(row => BigInt64Array.from(row)), BigInt64Array.of(1n, 2n, 3n, 4n, 5n, 6n)],
  ]) {
    const given = { input_ids, ...rest };
    assert.deepEqual(solve(manifest, given), { batch: 2, sequence: 3 });
    assert.deepEqual(flattenInputs(manifest.inputs, given)[0].input_ids, flat);
  }
});

test('nested arrays have any rank, and may be empty', () => {
  const cube = manifestOf({ x: ['a', 2, 'b', 'c'] });
  const row = new Float32Array([1, 2, 3]);
  const x = [[[row], [row]]];
  assert.deepEqual(solve(cube, { x }), { a: 1, b: 1, c: 3 });
  assert.deepEqual(flattenInputs(cube.inputs, { x })[0].x, new Float32Array([1, 2, 3, 1, 2, 3]));
  assert.deepEqual(solve(manifestOf({ x: ['a', 'b'] }, ['b']), { x: [[], []] }), { a: 2, b: 0 });
  assert.throws(() => solve(manifestOf({ x: ['a', 'b'] }), { x: [[], []] }), { code: 'WrongSize' });
  assert.deepEqual(
    flattenInputs([/** @type {any} */ ({ name: 'x', shape: [2, 2] })], {
      x: [
        [1, 2],
        [3, 4],
      ],
    }),
    [{ x: [1, 2, 3, 4] }, { x: [2, 2] }],
  );
});

test('wrong rows are one error that names the input and the row', () => {
  const manifest = manifestOf({ ids: ['batch', 'sequence'], mask: ['batch', 'sequence'] });
  const given = { ids: [[1n, 2n]], mask: [[1n, 1n]] };
  for (const [inputs, code, message] of [
    [
      { ids: [[1n, 2n], [3n]] },
      'WrongLength',
      /'ids': row \[1\] is Array of 1, row \[0\] is Array of 2; pad/,
    ],
    [{ ids: [[1n, 2n], 3n] }, 'WrongLength', /'ids': row \[1\] is 3, row \[0\] is Array of 2/],
    [{ ids: [[], [3n]] }, 'WrongLength', /'ids': row \[1\] is Array of 1, row \[0\] is Array of 0/],
    [{ ids: [[[1n]]] }, 'WrongLength', /shape \[1,1,1\], expected \[batch,sequence\]/],
    [
      { ids: [[1n], new BigInt64Array(1)] },
      'WrongLength',
      /row \[1\] is BigInt64Array of 1, row \[0\] is Array of 1/,
    ],
    [{ mask: [[1n, 1n, 1n]] }, 'WrongLength', /'mask': .* \[1,3\], expected .* with sequence = 2/],
  ])
    assert.throws(() => solve(manifest, { ...given, ...inputs }), { code, message });
  assert.throws(() => solve(manifest, given, { batch: 3 }), { message: /with batch = 3/ });
});

test('inputs that share sizes are solved together', () => {
  const triangle = manifestOf({ x: ['a', 'b'], y: ['b', 'c'], z: ['a', 'c', 2] });
  for (const [a, b, c] of [
    [2, 3, 4],
    [1, 1, 1],
    [7, 7, 7],
    [1001, 17, 65535],
  ]) {
    const given = lengths({ x: a * b, y: b * c, z: 2 * a * c });
    assert.deepEqual(solve(triangle, given), { a, b, c });
  }
  const quotient = manifestOf({ x: ['a', 'b'], y: ['a', 'b', 'c'], z: ['b', 'b', 'd'], w: ['d'] });
  assert.deepEqual(solve(quotient, lengths({ x: 6, y: 24, z: 45, w: 5 })), {
    a: 2,
    b: 3,
    c: 4,
    d: 5,
  });
});

test('one input without elements, or of one, may determine several sizes', () => {
  const cache = manifestOf({ ids: ['batch', 1], past: ['batch', 2, 'length', 4] }, ['length']);
  assert.deepEqual(solve(cache, lengths({ ids: 3, past: 0 })), { batch: 3, length: 0 });
  assert.deepEqual(solve(manifestOf({ x: ['a', 'b'] }), lengths({ x: 1 })), { a: 1, b: 1 });
});

test('lengths that fit no sizes, and ambiguous ones, are errors', () => {
  const shape = ['batch', 'sequence'];
  assert.throws(() => solve(manifestOf({ x: [...shape, 3] }), lengths({ x: 7 })), {
    code: 'WrongLength',
    message: "input 'x': 7 elements do not fit shape [batch,sequence,3]",
  });
  assert.throws(() => solve(manifestOf({ x: ['a', 'a'] }), lengths({ x: 8 })), {
    code: 'WrongLength',
  });
  assert.throws(() => solve(manifestOf({ x: shape }), lengths({ x: 0 })), { code: 'WrongLength' });
  const three = manifestOf({ ids: shape, mask: shape, types: shape });
  const given = lengths({ ids: 6, mask: 6, types: 6 });
  assert.throws(() => solve(three, given), {
    code: 'MissingPlaceholder',
    message:
      "the lengths of the inputs do not determine 'batch', 'sequence'; pass rows " +
      '({ ids: [[...], [...]], ... }), or ' +
      '{ placeholders: { batch: ..., sequence: ... } } to run',
  });
  assert.deepEqual(solve(three, given, { batch: 2 }), { batch: 2, sequence: 3 });
});
