/** The output of Vite's dev server for code that runs on the server: node serve.js PIXELS */

import { createServer } from 'vite';

const server = await createServer({
  server: { middlewareMode: true, hmr: false },
  appType: 'custom',
});
const { answer } = await server.ssrLoadModule('/src/answer.js');
console.log(JSON.stringify(await answer(JSON.parse(process.argv[2]))));
await server.close();
