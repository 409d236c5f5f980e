/** Preload links in pages of Vite. */

import { dirname, relative } from 'node:path/posix';

/** The number of shards that a load requests at once. */
const PARALLEL_SHARDS = 4;

/**
 * The URL of a file in a page of Vite; undefined if it is only known at run time.
 * @param {string} file
 * @param {string} page
 * @param {Pick<import('vite').ResolvedConfig, 'base' | 'experimental'>} config
 * @returns {string | undefined}
 */
function urlIn(file, page, { base, experimental }) {
  const placed = experimental?.renderBuiltUrl?.(file, {
    type: 'asset',
    hostId: page,
    hostType: 'html',
    ssr: false,
  });
  if (typeof placed === 'string') return placed;
  if (placed?.runtime !== undefined) return undefined;
  const near = placed?.relative ?? !/^(\/|\w+:)/.test(base);
  return encodeURI(near ? relative(dirname(page), file) : base + file);
}

/**
 * Preload links for the first shards of the models that a page imports. `fetch` reuses the
 * responses.
 * @param {Pick<import('vite').IndexHtmlTransformContext, 'bundle' | 'chunk' | 'path'>} page
 *   without `bundle` and `chunk` in development
 * @param {Pick<import('vite').ResolvedConfig, 'base' | 'experimental'>} config
 * @param {string[][]} models the shards of each model
 * @returns {import('vite').HtmlTagDescriptor[]}
 */
export function preloads({ bundle = {}, chunk, path }, config, models) {
  const visited = new Set();
  /** Shard -> emitted file. @type {Map<string, string>} */
  const emitted = new Map();
  const visit = (/** @type {string} */ name) => {
    const output = bundle[name];
    if (visited.has(name) || output?.type !== 'chunk') return;
    visited.add(name);
    for (const file of output.viteMetadata?.importedAssets ?? []) {
      const asset = bundle[file];
      for (const own of asset?.type === 'asset' ? asset.names : []) emitted.set(own, file);
    }
    output.imports.forEach(visit);
  };
  if (chunk) visit(chunk.fileName);
  const files = new Set(
    models.flatMap(shards =>
      shards.slice(0, PARALLEL_SHARDS).flatMap(shard => emitted.get(shard) ?? []),
    ),
  );
  return [...files]
    .flatMap(file => urlIn(file, path.slice(1), config) ?? [])
    .map(href => ({
      tag: 'link',
      attrs: { rel: 'preload', as: 'fetch', crossorigin: 'anonymous', href },
      injectTo: 'head',
    }));
}
