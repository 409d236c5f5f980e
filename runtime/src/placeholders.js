/** @import { Manifest } from './types.ts' */
import { WebkilnError } from './errors.js';
import { isBuffer, listOf, describe } from './dtypes.js';

/**
 * @param {Manifest} manifest
 * @param {Record<string, number>} values
 */
export function checkPlaceholders({ placeholders: known, zeros = [] }, values) {
  const unknown = Object.keys(values).filter(name => !known.includes(name));
  if (unknown.length > 0) {
    throw new WebkilnError(
      'UnknownPlaceholder',
      `there is no placeholder ${listOf(unknown)}; the placeholders are ${listOf(known)}`,
    );
  }
  for (const [name, value] of Object.entries(values)) {
    const least = zeros.includes(name) ? 0 : 1;
    if (Number.isInteger(value) && value >= least) continue;
    throw new WebkilnError(
      'WrongSize',
      `placeholder '${name}': expected an integer of at least ${least}, got ${describe(value)}`,
    );
  }
}

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
 * Derive the placeholders from the lengths of the inputs. An input with one unknown size determines
 * it. Throws MissingPlaceholder if one is not determined.
 * @param {Manifest} manifest
 * @param {any} inputs
 * @param {Record<string, number>} options placeholders set by the caller
 * @returns {Record<string, number>}
 */
export function placeholdersOf(manifest, inputs, options) {
  const { inputs: tensors, placeholders, zeros = [] } = manifest;
  const sizes = sizesAmong(manifest, inputs);
  checkPlaceholders(manifest, sizes);
  const values = { ...options, ...sizes };
  const open = () => placeholders.filter(name => !Object.hasOwn(values, name));
  for (let before = Infinity; open().length > 0 && open().length < before;) {
    before = open().length;
    for (const { name, shape } of tensors) {
      const missing = [
        ...new Set(shape.filter(size => typeof size === 'string' && !Object.hasOwn(values, size))),
      ];
      const [placeholder] = missing;
      const length = isBuffer(inputs[name]) ? inputs[name].size / 4 : inputs[name]?.length;
      if (missing.length !== 1 || placeholder === undefined || typeof length !== 'number') continue;
      const known = shape.reduce(
        (/** @type {number} */ product, size) =>
          size === placeholder ? product : product * Number(values[size] ?? size),
        1,
      );
      const power = shape.filter(size => size === placeholder).length;
      const value = Math.round((length / known) ** (1 / power));
      const least = zeros.includes(`${placeholder}`) ? 0 : 1;
      if (value < least || known * value ** power !== length) {
        throw new WebkilnError(
          'WrongLength',
          `input '${name}': ${length} elements do not fit shape [${shape}]`,
        );
      }
      values[placeholder] = value;
    }
  }
  const unset = open().filter(name =>
    tensors.some(tensor => Object.hasOwn(inputs, tensor.name) && tensor.shape.includes(name)),
  );
  if (unset.length > 0) {
    throw new WebkilnError(
      'MissingPlaceholder',
      `the lengths of the inputs do not determine ${listOf(unset)}; ` +
        `pass { placeholders: { ${unset.map(name => `${name}: ...`).join(', ')} } } to run`,
    );
  }
  return values;
}
