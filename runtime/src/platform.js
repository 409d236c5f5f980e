/** @type {any} */
const root = globalThis;

export const isNode =
  typeof root.process?.versions?.node === 'string' && typeof root.window === 'undefined';

/** A service worker has neither Workers nor `import()`. */
export const isServiceWorker = typeof root.ServiceWorkerGlobalScope === 'function';

/**
 * A built-in module of Node, loaded without an import that bundlers would have to resolve.
 * @param {string} name
 * @returns {any}
 */
export const nodeModule = name => root.process.getBuiltinModule(`node:${name}`);

/** @returns {string} the base URL of the caller's relative URLs */
export function documentURL() {
  if (isNode) return nodeModule('url').pathToFileURL(`${root.process.cwd()}/`).href;
  return root.document?.baseURI ?? root.location?.href;
}
