import path from 'node:path';
import webkiln from 'unplugin-webkiln/rspack';

export default {
  entry: './src/main.js',
  output: { path: path.resolve('public/build'), filename: 'main.js', clean: true },
  plugins: [webkiln()],
};
