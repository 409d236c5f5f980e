/** The types of the project's imports, for editors and `tsc`. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import { divided } from './request.js';

const HEAD =
  '/* eslint-disable */\n/* Written by unplugin-webkiln: the types of the models that this project imports. */\n';

const ANY = `  export const load: (options?: any) => Promise<any>;
  export const top: (scores: ArrayLike<number>, k?: number) => { index: number; label: string; score: number }[];
  export const manifest: any;
`;

/** Of what was not built yet. TypeScript takes the first of patterns that fit equally well, so that they stand last. */
const REST = ['webkiln:*', '*?webkiln']
  .map(pattern => `declare module '${pattern}' {\n${ANY}}\n`)
  .join('');

/**
 * What TypeScript calls an import: a pattern of its end, because modules in several folders write it differently.
 * @param {string} id as it is imported
 */
function nameOf(id) {
  if (id.startsWith('webkiln:')) return id;
  const [path, query] = divided(id);
  // An alias has been made the path of the file.
  const end =
    isAbsolute(path) && existsSync(path) ? basename(path) : path.replace(/^(\.{0,2}\/)+/, '');
  return `*/${end}?${query}`;
}

/** Types are written for as many imports as were seen, and kept for those of earlier runs and of other builds. */
export class Types {
  /** The bundles that an import was seen to mean. @type {Map<string, Set<string>>} */
  #meant = new Map();

  /**
   * @param {string} file
   */
  constructor(file) {
    this.file = file;
  }

  /**
   * @param {string} id as it is imported
   * @param {string} folder of its bundle
   */
  add(id, folder) {
    const name = nameOf(id);
    const meant = (this.#meant.get(name) ?? new Set()).add(folder);
    this.#meant.set(name, meant);
    const types = readFileSync(join(folder, 'index.d.ts'), 'utf8').replaceAll(
      'export declare ',
      'export ',
    );
    const body = meant.size > 1 ? ANY : `${types.trimEnd().replace(/^(?=.)/gm, '  ')}\n`;
    const block = `declare module ${JSON.stringify(name)} {\n${body}}\n`;
    const modules = new Map(existsSync(this.file) ? blocks(readFileSync(this.file, 'utf8')) : []);
    if (modules.get(name) === block) return;
    if (meant.size > 1)
      console.warn(
        `webkiln: ${name} means ${meant.size} models in modules of several folders, so that its types are any; name their files differently`,
      );
    modules.set(name, block);
    // The longer one of two patterns that fit says more.
    const sorted = [...modules]
      .sort(([a], [b]) => b.length - a.length || (a < b ? -1 : 1))
      .map(([, text]) => text);
    writeFileSync(this.file, [HEAD, ...sorted, REST].join('\n'));
  }
}

/**
 * @param {string} text of an earlier run
 * @returns {[name: string, block: string][]}
 */
function blocks(text) {
  return [...text.matchAll(/^declare module ("(?:[^"\\]|\\.)*") \{\n[^]*?^\}\n/gm)].map(
    ([block, name]) => [JSON.parse(name ?? '""'), block],
  );
}
