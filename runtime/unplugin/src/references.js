/** The literal references of a bundle's `index.js`, for bundlers that do not follow them by themselves. */

const FILE = /new URL\((["'])\.\/([^"'\n]+)\1, import\.meta\.url\)/g;

/** What a page may fetch of a bundle whose `index.js` is part of other code: data, and the Worker with the modules that it imports. */
export const isServed = (/** @type {string} */ file) => /\.(js|wasm|bin)$/.test(file) && !['index.js', 'webdnn.js'].includes(file);

/**
 * @param {string} code
 * @param {(file: string) => string} expression gives the JavaScript expression of a file's URL
 * @returns {string}
 */
export const withURLs = (code, expression) => code.replace(FILE, (_, quote, file) => `new URL(${expression(file)})`);
