/** What a page of Vite asks for while its code is still on the way. */

import { basename, dirname, relative } from 'node:path/posix';

/** The shards of which a load reads so many at a time. */
const AT_A_TIME = 4;

/**
 * Links to the first weights of the models that the code of a page imports: `fetch` takes what they have begun to read.
 * @param {Pick<import('vite').IndexHtmlTransformContext, 'bundle' | 'chunk' | 'path'>} page none of both in development
 * @param {string} base what URLs begin with; not from the root or a host where they are relative
 * @param {string[][]} models the shards of each
 * @returns {import('vite').HtmlTagDescriptor[]}
 */
export function preloads({ bundle = {}, chunk, path }, base, models) {
  const seen = new Set();
  /** By the name that a shard has in its bundle. @type {Map<string, string>} */
  const carried = new Map();
  const visit = (/** @type {string} */ name) => {
    const output = bundle[name];
    if (seen.has(name) || output?.type !== 'chunk') return;
    seen.add(name);
    for (const asset of output.viteMetadata?.importedAssets ?? []) carried.set(`${/^weights-[0-9a-f]+/.exec(basename(asset))}.bin`, asset);
    output.imports.forEach(visit);
  };
  if (chunk) visit(chunk.fileName);
  const from = /^(\/|\w+:)/.test(base) ? null : dirname(path.slice(1));
  return models.flatMap(shards => shards.slice(0, AT_A_TIME).flatMap(shard => carried.get(shard) ?? [])).map(asset => ({
    tag: 'link',
    attrs: { rel: 'preload', as: 'fetch', crossorigin: 'anonymous', href: from === null ? base + asset : relative(from, asset) },
    injectTo: 'head',
  }));
}
