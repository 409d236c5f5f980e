import { generate } from '../../models/text_decoder/demo/generate.js';

/**
 * The greedily generated text of a text model, and the probabilities of runs of the given lengths.
 */
const [bundle, backend, request] = process.argv.slice(2);
const { load } = await import(bundle);
const model = await load({ backends: [backend], worker: false });
const { prompt, length, runs } = JSON.parse(request);
let text = '';
for await (const character of generate(model, prompt, { length, temperature: 0 }))
  text += character;
await model.reset();
const scores = [];
for (const characters of runs) scores.push([...(await model.run({ characters })).scores]);
console.log(JSON.stringify({ text, scores }));
