import webkiln from 'unplugin-webkiln/rolldown';

export default {
  input: 'src/main.js',
  output: { dir: 'public/build', format: 'es', minify: true },
  plugins: [webkiln()],
};
