/** esbuild cannot emit named files or reference their URLs, so both happen after its own output. */

import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { PLACEHOLDER, bundlesPath, isServed } from './references.js';

/**
 * Copy the bundles that a build uses next to its output, and insert their folder into the output.
 * @param {import('esbuild').PluginBuild} build
 * @param {() => Iterable<string>} entries the `index.js` of each bundle
 */
export function copyBundles(build, entries) {
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
      const bundles = [...entries()].filter(entry => read.has(resolve(entry)));
      return bundles.length > 0 ? [{ path: resolve(absWorkingDir, path), bundles }] : [];
    });
    if (used.length > 0 && format !== 'esm') {
      return {
        errors: [
          {
            text:
              `webkiln: the format is ${format ?? 'not set'}, expected esm; ` +
              "a model locates its files by the URL of its module; set format: 'esm'",
          },
        ],
      };
    }
    for (const { path, bundles } of used) {
      const base =
        publicPath === undefined
          ? bundlesPath(path, out)
          : `${publicPath.replace(/\/*$/, '/')}webkiln/`;
      const output = result.outputFiles?.find(file => file.path === path);
      const text = (output ? output.text : await readFile(path, 'utf8')).replaceAll(
        PLACEHOLDER,
        base,
      );
      if (output) output.contents = new TextEncoder().encode(text);
      else await writeFile(path, text);
      for (const folder of new Set(bundles.map(entry => dirname(entry)))) {
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
