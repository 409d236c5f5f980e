/** @import { Manifest } from './types.ts' */
import { WebkilnError } from './errors.js';
import { listOf, describe } from './dtypes.js';

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
