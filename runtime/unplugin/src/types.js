/** Writes the types of the project's imports, for editors and `tsc`. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import { splitQuery } from './request.js';

const HEAD =
  '/* eslint-disable */\n' +
  '/* Written by unplugin-webkiln: the types of the models that this project imports. */\n';

const ANY = `  export const load: (options?: any) => Promise<any>;
  export const top: (
    scores: ArrayLike<number>,
    k?: number,
  ) => { index: number; label: string; score: number }[];
  export const manifest: any;
`;

/** For models that are not built yet. TypeScript prefers the first of equally specific patterns. */
const FALLBACKS = ['webkiln:*', '*?webkiln']
  .map(pattern => `declare module '${pattern}' {\n${ANY}}\n`)
  .join('');

/**
 * The module name for TypeScript: a pattern of the end of the specifier, since the paths differ
 * between folders.
 * @param {string} id the specifier
 */
function nameOf(id) {
  if (id.startsWith('webkiln:')) return id;
  const [path, query] = splitQuery(id);
  // An alias was replaced by the path of the file.
  const end =
    isAbsolute(path) && existsSync(path) ? basename(path) : path.replace(/^(\.{0,2}\/)+/, '');
  return `*/${end}?${query}`;
}

/** The file of types. Imports of earlier runs and of other builds are preserved. */
export class Types {
  /** Module name -> folders of bundles. @type {Map<string, Set<string>>} */
  #folders = new Map();

  /**
   * @param {string} file
   */
  constructor(file) {
    this.file = file;
  }

  /**
   * @param {string} id the specifier
   * @param {string} folder the folder of its bundle
   */
  add(id, folder) {
    const name = nameOf(id);
    const folders = (this.#folders.get(name) ?? new Set()).add(folder);
    this.#folders.set(name, folders);
    const types = readFileSync(join(folder, 'index.d.ts'), 'utf8').replaceAll(
      'export declare ',
      'export ',
    );
    const body = folders.size > 1 ? ANY : `${types.trimEnd().replace(/^(?=.)/gm, '  ')}\n`;
    const block = `declare module ${JSON.stringify(name)} {\n${body}}\n`;
    const modules = new Map(existsSync(this.file) ? blocks(readFileSync(this.file, 'utf8')) : []);
    if (modules.get(name) === block) return;
    if (folders.size > 1)
      console.warn(
        `webkiln: ${name} refers to ${folders.size} models in different folders, ` +
          'so its types are any; give their files different names',
      );
    modules.set(name, block);
    // The longer of two matching patterns is more specific.
    const sorted = [...modules]
      .sort(([a], [b]) => b.length - a.length || (a < b ? -1 : 1))
      .map(([, text]) => text);
    writeFileSync(this.file, [HEAD, ...sorted, FALLBACKS].join('\n'));
  }
}

/**
 * @param {string} text the file of an earlier run
 * @returns {[name: string, block: string][]}
 */
function blocks(text) {
  return [...text.matchAll(/^declare module ("(?:[^"\\]|\\.)*") \{\n[^]*?^\}\n/gm)].map(
    ([block, name]) => [JSON.parse(name ?? '""'), block],
  );
}
