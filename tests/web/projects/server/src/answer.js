import { load } from 'webkiln:digits?backend=wasm,js';

export async function answer(pixels) {
  const model = await load();
  const { scores } = await model.run(pixels);
  const { backend, worker } = model;
  model.dispose();
  return { backend, worker, scores: [...scores] };
}
