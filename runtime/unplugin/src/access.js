/** What Vite's dev server lets a request reach: Vite's own rules, applied to models. */

import { realPath, within } from './imports.js';

/** A URL that Vite may resolve to a model, wherever the request stands in it. */
const MODEL = /webkiln:|[?&]webkiln(?:[&=]|$)/;

/**
 * Refuses a file that the options `server.fs` of Vite do not let it serve, by its path or by what a
 * symbolic link leads to.
 * @param {string} id of the request, for the message
 * @param {string} path
 * @param {import('vite').ResolvedConfig} config
 * @throws {Error}
 */
export function checkServed(id, path, config) {
  const { strict, allow } = config.server.fs;
  if (!strict) return;
  /** Vite's matcher of `server.fs.deny`, which its types leave out. */
  const { fsDenyGlob } = /** @type {{ fsDenyGlob?: (path: string) => boolean }} */ (config);
  if (!fsDenyGlob) throw new Error('unplugin-webkiln needs Vite 6 or newer for its dev server');
  const real = realPath(path);
  const folders = allow.map(realPath);
  const place = real === path ? path : `${path}, which links to ${real},`;
  if (![path, real].every(file => [...allow, ...folders].some(folder => within(folder, file)))) {
    throw new Error(
      `${id}: ${place} is outside the folders that Vite may serve; move the model ` +
        `into one of ${allow.join(', ')}, or add its folder to server.fs.allow in Vite's configuration`,
    );
  }
  if ([path, real].some(file => fsDenyGlob(file.replaceAll('\\', '/')))) {
    throw new Error(
      `${id}: ${place} matches server.fs.deny in Vite's configuration; rename it, or ` +
        'change that option',
    );
  }
}

/**
 * Whether a page of another site sent a request, which Vite's `server.cors` does not allow it to.
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response after Vite's CORS middleware
 */
function isForeign({ headers }, response) {
  const site = headers['sec-fetch-site'];
  if (site === 'same-origin' || site === 'none') return false;
  if (headers.origin === undefined) {
    return site === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate';
  }
  const own = URL.canParse(headers.origin) && new URL(headers.origin).host === headers.host;
  return !own && !response.hasHeader('Access-Control-Allow-Origin');
}

/**
 * Answers 403 where a page of another site requests a model by URL. Hosts are Vite's to check.
 * @type {import('vite').Connect.NextHandleFunction}
 */
export function refuseForeign(request, response, next) {
  let url = request.url ?? '';
  try {
    url = decodeURI(url);
  } catch {}
  if (!MODEL.test(url) || !isForeign(request, response)) return next();
  const from = request.headers.origin ?? 'another site';
  response.writeHead(403, { 'Content-Type': 'text/plain' });
  response.end(
    `webkiln: a page of ${from} may not request models from this server; ` +
      "add its origin to server.cors in Vite's configuration\n",
  );
}
