import { WebkilnError } from './errors.js';
import { listOf, said } from './dtypes.js';

const ALIKE = 3;

/**
 * Refuses options that a function does not have, and names the one that begins alike.
 * @param {string} of the function
 * @param {string[]} known
 * @param {any} options
 */
export function checkNames(of, known, options) {
  if (Object(options) !== options || Array.isArray(options)) {
    throw new WebkilnError(
      'WrongOption',
      `${of}: expected an object of options, got ${said(options)}; the options are ${listOf(known)}`,
    );
  }
  const start = (/** @type {string} */ name) => name.slice(0, ALIKE).toLowerCase();
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const near = known.find(other => start(other) === start(name));
    const hint = near ? `; did you mean '${near}'?` : '';
    throw new WebkilnError(
      'WrongOption',
      `${of}: there is no option ${listOf([name])}; the options are ${listOf(known)}${hint}`,
    );
  }
}
