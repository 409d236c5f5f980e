/** @type {any} */
const root = globalThis;

export const isNode =
  typeof root.process?.versions?.node === 'string' && typeof root.window === 'undefined';

/**
 * A module of Node, without an import that a bundler for browsers would have to resolve.
 * @param {string} name
 * @returns {any}
 */
export const nodeModule = name => root.process.getBuiltinModule(`node:${name}`);

/** @returns {string} the URL against which a caller's relative URLs are resolved */
export function documentURL() {
  if (isNode) return nodeModule('url').pathToFileURL(`${root.process.cwd()}/`).href;
  return root.document?.baseURI ?? root.location?.href;
}
