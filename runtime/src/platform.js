/** @type {any} */
const root = globalThis;

export const isNode = typeof root.process?.versions?.node === 'string' && typeof root.window === 'undefined';

/**
 * Imports a module of Node by a name that no bundler can see.
 * @param {string} name
 * @returns {Promise<any>}
 */
export const importNode = name => import(/* @vite-ignore */ /* webpackIgnore: true */ `node:${name}`);

/** @returns {string} the URL against which a caller's relative URLs are resolved */
export function documentURL() {
  if (isNode) return `file://${root.process.cwd()}/`;
  return root.document?.baseURI ?? root.location.href;
}
