// Runs a graph model in TensorFlow.js: node run_tfjs.mjs NODE_FOLDER model.json < inputs.json
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const [folder, path] = process.argv.slice(2);
console.log = console.warn = console.info = () => {};
const tf = createRequire(join(folder, 'package.json'))('@tensorflow/tfjs');
const table = JSON.parse(readFileSync(path, 'utf8'));
const weightSpecs = table.weightsManifest.flatMap(group => group.weights);
const shards = table.weightsManifest
  .flatMap(group => group.paths)
  .map(shard => readFileSync(join(dirname(path), shard)));
const bytes = Buffer.concat(shards);
const weightData = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
const { modelTopology, ...rest } = table;
const load = async () => ({ ...rest, modelTopology, weightSpecs, weightData });
await tf.setBackend('cpu');
const model = await tf.loadGraphModel({ load });
const given = JSON.parse(readFileSync(0, 'utf8'));
const inputs = Object.fromEntries(
  model.inputs.map(({ name }) => {
    const plain = name.replace(/^serving_default_/, '').replace(/:0$/, '');
    const { shape, dtype, values } = given[plain];
    return [name, tf.tensor(values, shape, dtype)];
  }),
);
const outputs = await model.executeAsync(
  inputs,
  model.outputs.map(({ name }) => name),
);
const results = {};
const all = Array.isArray(outputs) ? outputs : [outputs];
for (const [index, { name }] of model.outputs.entries()) {
  results[name] = { shape: all[index].shape, values: Array.from(all[index].dataSync()) };
}
process.stdout.write(JSON.stringify(results));
