/** The literal references of a bundle's `index.js`, for bundlers that do not follow them by themselves. */

import { dirname, join, relative } from 'node:path';

const FILE = /new URL\((["'])\.\/([^"'\n]+)\1, import\.meta\.url\)/g;

/** What a page may fetch of a bundle whose `index.js` is part of other code: data, and the Worker with the modules that it imports. */
export const isServed = (/** @type {string} */ file) =>
  /\.(js|wasm|bin)$/.test(file) && !['index.js', 'webdnn.js'].includes(file);

/**
 * @param {string} code
 * @param {(file: string) => string} expression gives the JavaScript expression of a file's URL
 * @returns {string}
 */
export const withURLs = (code, expression) =>
  code.replace(FILE, (_, _quote, file) => `new URL(${expression(file)})`);

/** Stands in the code for the folder of all bundles, until it is known from where it is looked at. */
export const PLACE = '__WEBKILN__';

/**
 * The folder of all bundles as it is seen from a file of the output.
 * @param {string} path
 * @param {string} out
 */
export function placeFrom(path, out) {
  const near = relative(dirname(path), join(out, 'webkiln')).replaceAll('\\', '/');
  return `${near.startsWith('.') ? '' : './'}${near}/`;
}
