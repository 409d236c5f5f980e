import webkiln from 'unplugin-webkiln/rollup';

export default {
  input: 'src/answer.js',
  output: { dir: 'dist', format: 'es' },
  plugins: [webkiln()],
};
