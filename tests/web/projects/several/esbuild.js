import { build } from 'esbuild';
import webkiln from 'unplugin-webkiln/esbuild';

await build({
  entryPoints: ['src/main.js'],
  outdir: 'public/src',
  bundle: true,
  splitting: true,
  format: 'esm',
  plugins: [webkiln()],
});
