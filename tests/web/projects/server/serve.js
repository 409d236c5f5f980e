/** Runs the model in server-side code with Vite's dev server: node serve.js PIXELS */

import { createServer } from 'vite';

const server = await createServer({
  server: { middlewareMode: true, hmr: false },
  appType: 'custom',
});
const { answer } = await server.ssrLoadModule('/src/answer.js');
console.log(JSON.stringify(await answer(JSON.parse(process.argv[2]))));
await server.close();
