import { defineConfig } from '@farmfe/core';
import webkiln from 'unplugin-webkiln/farm';

export default defineConfig({
  compilation: {
    presetEnv: false,
    input: { index: './index.html' },
    output: { path: 'dist', publicPath: './' },
    persistentCache: false,
  },
  plugins: [webkiln()],
});
