/** The types of the project's imports, for editors and `tsc`. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const HEAD = '/* eslint-disable */\n/* Written by unplugin-webkiln: the types of the models that this project imports. */\n';

/** Of what was not built yet. TypeScript takes the first of patterns that fit equally well, so that they stand last. */
const REST = ['webkiln:*', '*?webkiln'].map(pattern => `declare module '${pattern}' {
  export const load: (options?: any) => Promise<any>;
  export const top: (scores: ArrayLike<number>, k?: number) => { index: number; label: string; score: number }[];
  export const manifest: any;
}
`).join('');

/** Types are written for as many imports as were seen, and kept for those of earlier runs. */
export class Types {
  /**
   * @param {string} file
   */
  constructor(file) {
    this.file = file;
    /** @type {Map<string, string>} */
    this.modules = new Map(existsSync(file) ? blocks(readFileSync(file, 'utf8')) : []);
  }

  /**
   * @param {string} id as it is imported
   * @param {string} folder of its bundle
   */
  add(id, folder) {
    const name = id.startsWith('webkiln:') ? id : `*/${basename(id.split('?')[0] ?? '')}?${id.split('?')[1]}`;
    const types = readFileSync(join(folder, 'index.d.ts'), 'utf8').replaceAll('export declare ', 'export ');
    const block = `declare module ${JSON.stringify(name)} {\n${types.trimEnd().replace(/^(?=.)/gm, '  ')}\n}\n`;
    if (this.modules.get(name) === block) return;
    this.modules.set(name, block);
    const sorted = [...this.modules].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
    writeFileSync(this.file, [HEAD, ...sorted, REST].join('\n'));
  }
}

/**
 * @param {string} text of an earlier run
 * @returns {[name: string, block: string][]}
 */
function blocks(text) {
  return [...text.matchAll(/^declare module ("(?:[^"\\]|\\.)*") \{\n[^]*?^\}\n/gm)].map(([block, name]) => [JSON.parse(name ?? '""'), block]);
}
