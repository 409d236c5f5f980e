import webkiln from 'unplugin-webkiln/webpack';

export default {
  entry: './src/main.js',
  devServer: { static: { directory: '.', watch: false }, devMiddleware: { publicPath: '/src/' } },
  plugins: [webkiln({ backend: ['wasm', 'js'] })],
};
