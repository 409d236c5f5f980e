import { build } from 'esbuild';
import webkiln from 'unplugin-webkiln/esbuild';

await build({
  entryPoints: ['src/answer.js'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  plugins: [webkiln()],
});
