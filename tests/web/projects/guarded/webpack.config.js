import webkiln from 'unplugin-webkiln/webpack';
import options from './options.js';

export default {
  entry: './src/main.js',
  devServer: { static: { directory: '.', watch: false }, devMiddleware: { publicPath: '/src/' } },
  plugins: [webkiln(options)],
};
