import webkiln from 'unplugin-webkiln/rollup';

export default {
  input: 'src/main.js',
  output: { dir: 'public/src', format: 'es' },
  plugins: [webkiln()],
};
