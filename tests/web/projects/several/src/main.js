import { load } from './ziffern ä.keras?webkiln&backend=wasm,js';
import { load as loadHalf } from './ziffern ä.keras?webkiln&backend=wasm,js&encoding=float16';
import { load as loadOther } from './other.keras?webkiln&backend=wasm,js';
import { again } from './deep/again.js';

const pixels = Float32Array.from({ length: 64 }, (_, index) => (index % 29) / 29);

async function answer(load) {
  const model = await load();
  const { scores } = await model.run(pixels);
  return {
    backend: model.backend,
    worker: model.worker,
    encoding: model.manifest.encoding,
    scores: [...scores],
  };
}

const results = {
  whole: await answer(load),
  half: await answer(loadHalf),
  other: await answer(loadOther),
  again: await answer(again),
  same: again === load,
};
document.querySelector('output').value = JSON.stringify(results);
