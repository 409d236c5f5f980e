/** esbuild emits no files by name, and knows no expression for the URL of one: both are done when it has written its own. */

import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { PLACE, isServed, placeFrom } from './references.js';

/**
 * Copies the bundles that a build uses beside its output, and says in the output where they are.
 * @param {import('esbuild').PluginBuild} build
 * @param {() => Iterable<string>} entries the `index.js` of each bundle
 */
export function carryWith(build, entries) {
  const {
    absWorkingDir = process.cwd(),
    outdir,
    outfile,
    publicPath,
    format,
  } = build.initialOptions;
  const out = resolve(absWorkingDir, outdir ?? dirname(outfile ?? 'out/bundle'));
  build.initialOptions.metafile = true;
  build.onEnd(async result => {
    const used = Object.entries(result.metafile?.outputs ?? {}).flatMap(([path, { inputs }]) => {
      const read = new Set(
        Object.keys(inputs).map(input => resolve(absWorkingDir, input.replace(/^webkiln:/, ''))),
      );
      const found = [...entries()].filter(entry => read.has(resolve(entry)));
      return found.length > 0 ? [{ path: resolve(absWorkingDir, path), found }] : [];
    });
    if (used.length > 0 && format !== 'esm') {
      return {
        errors: [
          {
            text: `webkiln: the format is ${format ?? 'not set'}, expected esm: the files of a model are found by the URL of their module; set format: 'esm'`,
          },
        ],
      };
    }
    for (const { path, found } of used) {
      const place =
        publicPath === undefined
          ? placeFrom(path, out)
          : `${publicPath.replace(/\/*$/, '/')}webkiln/`;
      const kept = result.outputFiles?.find(file => file.path === path);
      const text = (kept ? kept.text : await readFile(path, 'utf8')).replaceAll(PLACE, place);
      if (kept) kept.contents = new TextEncoder().encode(text);
      else await writeFile(path, text);
      for (const folder of new Set(found.map(entry => dirname(entry)))) {
        await mkdir(join(out, 'webkiln'), { recursive: true });
        await cp(folder, join(out, 'webkiln', basename(folder)), {
          recursive: true,
          filter: path => path === folder || isServed(basename(path)),
        });
      }
    }
    return undefined;
  });
}
