import { WebkilnError } from './errors.js';
import { listOf, describe } from './dtypes.js';

const PREFIX = 3;

/**
 * Reject unknown options, and suggest the option with the same first letters.
 * @param {string} name the name of the function
 * @param {string[]} known
 * @param {any} options
 */
export function checkNames(name, known, options) {
  if (Object(options) !== options || Array.isArray(options)) {
    throw new WebkilnError(
      'WrongOption',
      `${name}: expected an object of options, got ${describe(options)}; ` +
        `the options are ${listOf(known)}`,
    );
  }
  const start = (/** @type {string} */ text) => text.slice(0, PREFIX).toLowerCase();
  for (const option of Object.keys(options)) {
    if (known.includes(option)) continue;
    const near = known.find(other => start(other) === start(option));
    const hint = near ? `; did you mean '${near}'?` : '';
    throw new WebkilnError(
      'WrongOption',
      `${name}: there is no option ${listOf([option])}; the options are ${listOf(known)}${hint}`,
    );
  }
}
