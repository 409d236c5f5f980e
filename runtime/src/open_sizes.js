/** @import { Manifest, Tensor } from './types.ts' */
import { WebkilnError } from './errors.js';
import { isBuffer, listOf } from './dtypes.js';
import { checkPlaceholders } from './placeholders.js';

/**
 * The placeholders that are elements of inputs.
 * @param {Manifest} manifest
 * @param {any} inputs
 * @returns {Record<string, number>}
 */
function sizesAmong({ inputs: tensors }, inputs) {
  /** @type {Record<string, number>} */
  const values = {};
  for (const { name, sizes = [] } of tensors) {
    sizes.forEach((size, index) => {
      const value = inputs[name]?.[index];
      if (value !== undefined) values[size] = Number(value);
    });
  }
  return values;
}

/**
 * Set the placeholders that nested arrays determine.
 * @param {Manifest} manifest
 * @param {Record<string, number[]>} shapes of the inputs that are nested
 * @param {Record<string, number>} values the known placeholders, which are extended
 */
function setByShapes({ inputs: tensors }, shapes, values) {
  for (const { name, shape } of tensors) {
    if (!Object.hasOwn(shapes, name)) continue;
    shape.forEach((size, axis) => {
      const length = Number(shapes[name]?.[axis]);
      const known = typeof size === 'number' ? size : (values[size] ??= length);
      if (known === length) return;
      throw new WebkilnError(
        'WrongLength',
        `input '${name}': the nested arrays have shape [${shapes[name]}], expected [${shape}] ` +
          `with ${size} = ${known}`,
      );
    });
  }
}

/**
 * The length of an input divided by its known sizes, and the exponents of its unknown sizes.
 * @typedef {{ tensor: Tensor, length: number, rest: number, powers: Record<string, number> }}
 *   Equation
 */

/**
 * @param {Manifest} manifest
 * @param {any} inputs
 * @param {Record<string, number>} values
 * @returns {Equation[]} one for each input with unknown sizes
 */
const equationsOf = ({ inputs: tensors }, inputs, values) =>
  tensors.flatMap(tensor => {
    const input = Object.hasOwn(inputs, tensor.name) ? inputs[tensor.name] : undefined;
    const length = isBuffer(input) ? input.size / 4 : input?.length;
    /** @type {Record<string, number>} */
    const powers = Object.create(null);
    let known = 1;
    for (const size of tensor.shape) {
      const value = typeof size === 'number' ? size : values[size];
      if (value === undefined) powers[size] = (powers[size] ?? 0) + 1;
      else known *= value;
    }
    const open = typeof length === 'number' && Object.keys(powers).length > 0;
    return open && (length || known) ? [{ tensor, length, rest: length / known, powers }] : [];
  });

/**
 * The sizes that one input determines: its only unknown one, all if their product is 1, and the
 * only one that may be 0 if there are no elements. Throws WrongLength if no sizes fit.
 * @param {Equation} equation
 * @param {string[]} zeros the placeholders that may be 0
 * @returns {[name: string, value: number][]}
 */
function solveOne({ tensor: { name, shape }, length, rest, powers }, zeros) {
  const entries = Object.entries(powers);
  const least = entries.filter(([size]) => zeros.includes(size));
  const [, power] = /** @type {[string, number]} */ (entries[0]);
  const root = Math.round(rest ** (1 / power));
  const single = entries.length === 1;
  if (rest ? !Number.isInteger(rest) || (single && root ** power !== rest) : !least.length) {
    throw new WebkilnError(
      'WrongLength',
      `input '${name}': ${length} elements do not fit shape [${shape}]`,
    );
  }
  if (!rest) return least.length === 1 ? least.map(([size]) => [size, 0]) : [];
  return single || rest === 1 ? entries.map(([size]) => [size, root]) : [];
}

/**
 * The sizes that several inputs determine together, rounded: Gauss-Jordan elimination of the
 * logarithms of lengths.
 * @param {Equation[]} equations
 * @returns {[name: string, value: number][]}
 */
function solveTogether(equations) {
  const rows = equations.map(({ rest, powers }) => ({ log: Math.log(rest), powers, used: false }));
  const names = [...new Set(rows.flatMap(({ powers }) => Object.keys(powers)))];
  for (const name of names) {
    const pivot = rows.find(row => !row.used && row.powers[name]);
    if (!pivot) continue;
    pivot.used = true;
    for (const row of rows) {
      const factor = (row.powers[name] ?? 0) / Number(pivot.powers[name]);
      if (row === pivot || !factor) continue;
      row.log -= factor * pivot.log;
      for (const other of names) {
        const power = (row.powers[other] ?? 0) - factor * (pivot.powers[other] ?? 0);
        row.powers[other] = Math.abs(power) < 1e-9 ? 0 : power;
      }
    }
  }
  return rows.flatMap(({ log, powers }) => {
    const [only, ...others] = Object.entries(powers).filter(([, power]) => power);
    return only && others.length === 0 ? [[only[0], Math.round(Math.exp(log / only[1]))]] : [];
  });
}

/**
 * Derive the placeholders from nested arrays and from the lengths of the inputs. Throws
 * MissingPlaceholder if they do not determine one, and WrongLength if an input fits no sizes.
 * @param {Manifest} manifest
 * @param {any} inputs
 * @param {Record<string, number>} options placeholders set by the caller
 * @param {Record<string, number[]>} [shapes] of the inputs that were nested
 * @returns {Record<string, number>}
 */
export function placeholdersOf(manifest, inputs, options, shapes = {}) {
  const { inputs: tensors, placeholders, zeros = [] } = manifest;
  const sizes = sizesAmong(manifest, inputs);
  checkPlaceholders(manifest, sizes);
  /** @type {Record<string, number>} */
  const values = Object.assign(Object.create(null), options, sizes);
  setByShapes(manifest, shapes, values);
  for (;;) {
    const equations = equationsOf(manifest, inputs, values);
    const solved = equations
      .map(equation => solveOne(equation, zeros))
      .find(({ length }) => length);
    const found = solved ?? solveTogether(equations.filter(({ rest }) => rest));
    if (found.length === 0) break;
    Object.assign(values, Object.fromEntries(found));
  }
  checkPlaceholders(manifest, values);
  const unset = placeholders.filter(
    name =>
      !(name in values) &&
      tensors.some(tensor => Object.hasOwn(inputs, tensor.name) && tensor.shape.includes(name)),
  );
  const [first] = unset;
  if (first !== undefined) {
    const named = tensors.find(
      ({ name, shape }) => Object.hasOwn(inputs, name) && shape.includes(first),
    );
    throw new WebkilnError(
      'MissingPlaceholder',
      `the lengths of the inputs do not determine ${listOf(unset)}; pass rows ` +
        `({ ${named?.name}: [[...], [...]], ... }), or ` +
        `{ placeholders: { ${unset.map(name => `${name}: ...`).join(', ')} } } to run`,
    );
  }
  return { ...values };
}
