/** The URLs in a bundle's `index.js`, for bundlers that do not follow them. */

import { dirname, join, relative } from 'node:path';

const FILE = /new URL\((["'])\.\/([^"'\n]+)\1, import\.meta\.url\)/g;

/** Files that a page fetches if `index.js` is bundled: data, the Worker and its modules. */
export const isServed = (/** @type {string} */ file) =>
  /\.(js|wasm|bin)$/.test(file) && !['index.js', 'webdnn.js'].includes(file);

/**
 * @param {string} code
 * @param {(file: string) => string} expression returns the JavaScript expression of a file's URL
 * @returns {string}
 */
export const withURLs = (code, expression) =>
  code.replace(FILE, (_, _quote, file) => `new URL(${expression(file)})`);

/** A placeholder for the folder of all bundles, until the output file is known. */
export const PLACEHOLDER = '__WEBKILN__';

/**
 * The folder of all bundles, relative to a file of the output.
 * @param {string} path
 * @param {string} out
 */
export function bundlesPath(path, out) {
  const near = relative(dirname(path), join(out, 'webkiln')).replaceAll('\\', '/');
  return `${near.startsWith('.') ? '' : './'}${near}/`;
}
