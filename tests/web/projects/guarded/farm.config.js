import { defineConfig } from '@farmfe/core';
import webkiln from 'unplugin-webkiln/farm';
import options from './options.js';

export default defineConfig({
  compilation: { presetEnv: false, input: { index: './index.html' }, persistentCache: false },
  plugins: [webkiln(options)],
});
