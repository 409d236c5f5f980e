/** Replaces webkiln: after a pause it writes a bundle that contains the text of its source. */

import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const [, source, ...parameters] = process.argv.slice(2);
const after = option => parameters[parameters.indexOf(option) + 1];
const [folder, file] = [
  after('--output'),
  source.includes('/') ? source : join('models', source, 'recipe.toml'),
];
const text = readFileSync(file, 'utf8');
appendFileSync('builds.txt', `${text}\n`);
await new Promise(resolve => setTimeout(resolve, 300));
if (text.startsWith('broken')) {
  process.stdout.write('half a line');
  process.stderr.write(`error: ${file}: ${text}\n`);
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'manifest.json'), JSON.stringify(text));
writeFileSync(join(folder, 'relaxed.wasm'), text);
writeFileSync(join(folder, 'index.d.ts'), `export declare const text: ${JSON.stringify(text)};\n`);
writeFileSync(
  join(folder, 'index.js'),
  `export const manifest = ${JSON.stringify({ text })};\n` +
    `export const load = () => new URL('./relaxed.wasm', import.meta.url);\n`,
);
writeFileSync(after('--depfile'), `${resolve(file)}\n`);
