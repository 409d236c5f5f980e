/** What a page of Vite asks for while its code is still on the way. */

import { dirname, relative } from 'node:path/posix';

/** The shards of which a load reads so many at a time. */
const AT_A_TIME = 4;

/**
 * The URL of a file as Vite writes it into a page; none where only the code can tell it.
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
 * Links to the first weights of the models that the code of a page imports: `fetch` takes what they have begun to read.
 * @param {Pick<import('vite').IndexHtmlTransformContext, 'bundle' | 'chunk' | 'path'>} page none of the first two in development
 * @param {Pick<import('vite').ResolvedConfig, 'base' | 'experimental'>} config
 * @param {string[][]} models the shards of each
 * @returns {import('vite').HtmlTagDescriptor[]}
 */
export function preloads({ bundle = {}, chunk, path }, config, models) {
  const seen = new Set();
  /** By the name that a shard has in its bundle. @type {Map<string, string>} */
  const carried = new Map();
  const visit = (/** @type {string} */ name) => {
    const output = bundle[name];
    if (seen.has(name) || output?.type !== 'chunk') return;
    seen.add(name);
    for (const file of output.viteMetadata?.importedAssets ?? []) {
      const asset = bundle[file];
      for (const own of asset?.type === 'asset' ? asset.names : []) carried.set(own, file);
    }
    output.imports.forEach(visit);
  };
  if (chunk) visit(chunk.fileName);
  const files = new Set(
    models.flatMap(shards => shards.slice(0, AT_A_TIME).flatMap(shard => carried.get(shard) ?? [])),
  );
  return [...files]
    .flatMap(file => urlIn(file, path.slice(1), config) ?? [])
    .map(href => ({
      tag: 'link',
      attrs: { rel: 'preload', as: 'fetch', crossorigin: 'anonymous', href },
      injectTo: 'head',
    }));
}
