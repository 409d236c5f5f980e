import webkiln from 'unplugin-webkiln/rspack';
import options from './options.js';

export default {
  entry: './src/main.js',
  devServer: { static: { directory: '.', watch: false }, devMiddleware: { publicPath: '/src/' } },
  plugins: [webkiln(options)],
};
