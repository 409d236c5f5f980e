/** The request of an import: a model and its build options. */

import { OPTIONS } from './options.js';

/**
 * @typedef {object} Request
 * @property {string} source a path, or the name of a recipe
 * @property {boolean} recipe
 * @property {[option: string, value: string][]} options in the order of OPTIONS
 */

/**
 * The arguments of `webkiln build`.
 * @param {Request['options']} options
 */
export const argumentsOf = options =>
  options.map(([name, value]) => (OPTIONS.get(name)?.flag ? `--${name}` : `--${name}=${value}`));

/**
 * The files and folders in options.
 * @param {Request['options']} options
 */
export const optionPaths = options =>
  options
    .filter(([name]) => OPTIONS.get(name)?.path)
    .map(([name, value]) =>
      OPTIONS.get(name)?.named ? value.slice(value.lastIndexOf('=') + 1) : value,
    );

/**
 * Split a specifier at its first question mark.
 * @param {string} id
 * @returns {[path: string, query: string]}
 */
export function splitQuery(id) {
  const mark = id.indexOf('?');
  return mark < 0 ? [id, ''] : [id.slice(0, mark), id.slice(mark + 1)];
}

/** A filter for bundlers. Matches all requests. */
export const FILTER = /^(?:\.\/)?webkiln:|[?&]webkiln(?:[&=]|$)/;

/** @param {string} id */
export const isRequest = id => id.startsWith('webkiln:') || /\?(.*&)?webkiln(&|=|$)/.test(id);

/**
 * Parse `./resnet50.keras?webkiln&backend=webgpu,wasm` or `webkiln:digits?encoding=float16`.
 * @param {string} id
 * @param {(path: string) => string} resolve resolves a path of the importing module
 * @param {Record<string, string | undefined>} defaults
 * @returns {Request}
 */
export function readRequest(id, resolve, defaults) {
  const recipe = id.startsWith('webkiln:');
  const [path, query] = splitQuery(recipe ? id.slice('webkiln:'.length) : id);
  const pairs = [...new URLSearchParams(query)].filter(([name]) => name !== 'webkiln');
  const unknown = pairs.map(([name]) => name).filter(name => !OPTIONS.has(name));
  if (unknown.length > 0)
    throw new Error(
      `${id}: there is no option ${unknown.join(', ')}; ` +
        `the options are ${[...OPTIONS.keys()].join(', ')}`,
    );
  /** @type {Request['options']} */
  const options = [];
  for (const [name, { many, flag, path: isPath, named }] of OPTIONS) {
    const located = (/** @type {string} */ value) => {
      const start = named ? value.lastIndexOf('=') + 1 : 0;
      return value.slice(0, start) + resolve(value.slice(start));
    };
    const values = pairs
      .filter(([option]) => option === name)
      .map(([, value]) => (isPath ? located(value) : value));
    if (flag && values.some(value => value !== ''))
      throw new Error(`${id}: ${name} takes no value; remove the value or the option`);
    if (values.length > 1 && !many)
      throw new Error(`${id}: ${name} occurs ${values.length} times, expected once`);
    const otherwise = defaults[name];
    if (values.length === 0 && otherwise !== undefined) values.push(otherwise);
    for (const value of values) options.push([name, value]);
  }
  return { source: recipe ? path : resolve(path), recipe, options };
}

/**
 * A key that is equal for requests of the same model with the same options.
 * @param {Request} request
 */
export const keyOf = ({ source, recipe, options }) => JSON.stringify([source, recipe, options]);
