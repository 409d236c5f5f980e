import path from 'node:path';
import webkiln from 'unplugin-webkiln/webpack';

export default {
  entry: './src/main.js',
  output: { path: path.resolve('public/src'), filename: 'main.js' },
  plugins: [webkiln()],
};
