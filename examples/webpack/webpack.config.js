import path from 'node:path';
import webkiln from 'unplugin-webkiln/webpack';

export default {
  entry: './src/main.js',
  output: { path: path.resolve('public/build'), filename: 'main.js', clean: true },
  devServer: { static: 'public', devMiddleware: { publicPath: '/build/' } },
  plugins: [webkiln()],
};
