import { build } from 'esbuild';
import webkiln from 'unplugin-webkiln/esbuild';

await build({
  entryPoints: ['src/main.js'],
  outdir: 'public/build',
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  plugins: [webkiln()],
});
