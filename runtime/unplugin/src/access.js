/** Access control of Vite's dev server, applied to models. */

import { isInside, realPath } from './imports.js';

/** Matches URLs that Vite may resolve to a model, at any position. */
const MODEL = /webkiln:|[?&]webkiln(?:[&=]|$)/;

/**
 * Throw if Vite's `server.fs` options do not allow a file, by its path or by the target of a
 * symbolic link.
 * @param {string} id the request, for the message
 * @param {string} path
 * @param {import('vite').ResolvedConfig} config
 * @throws {Error}
 */
export function checkServed(id, path, config) {
  const { strict, allow } = config.server.fs;
  if (!strict) return;
  /** Vite's matcher of `server.fs.deny`, which its types omit. */
  const { fsDenyGlob } = /** @type {{ fsDenyGlob?: (path: string) => boolean }} */ (config);
  if (!fsDenyGlob) throw new Error('unplugin-webkiln needs Vite 6 or newer for its dev server');
  const real = realPath(path);
  const folders = allow.map(realPath);
  const location = real === path ? path : `${path}, which links to ${real},`;
  if (![path, real].every(file => [...allow, ...folders].some(folder => isInside(folder, file)))) {
    throw new Error(
      `${id}: ${location} is outside the folders that Vite may serve; move the model ` +
        `into one of ${allow.join(', ')}, or add its folder to server.fs.allow in Vite's ` +
        'configuration',
    );
  }
  if ([path, real].some(file => fsDenyGlob(file.replaceAll('\\', '/')))) {
    throw new Error(
      `${id}: ${location} matches server.fs.deny in Vite's configuration; rename it, or ` +
        'change that option',
    );
  }
}

/**
 * Whether a request comes from a page of another site that Vite's `server.cors` does not allow.
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response with the headers of Vite's CORS middleware
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
 * Respond with 403 if a page of another site requests a model by URL. Vite checks the Host header.
 * @type {import('vite').Connect.NextHandleFunction}
 */
export function rejectForeign(request, response, next) {
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
