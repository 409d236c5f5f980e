import { load, top } from 'webkiln:digits?backend=wasm,js';

// A handwritten three: 8 rows of 8 pixels, from 0 (paper) to f (ink).
const pixels = Float32Array.from('018ec40005b496000003e200000ec10000028d2000000a8000964a70008ef810', digit => parseInt(digit, 16) / 15);

const model = await load();
const { scores } = await model.run(pixels);

const find = selector => document.querySelector(selector);
find('output').value = top(scores)[0].label;
find('p').textContent = [model.backend, model.variant, model.worker ? 'in a Worker' : 'in the main thread'].join(', ');
find('ol').append(...Array.from(scores, score => {
  const row = document.createElement('li');
  row.append(Object.assign(document.createElement('meter'), { value: score }));
  return row;
}));
const picture = Uint8ClampedArray.from({ length: 256 }, (_, index) => (index % 4 < 3 ? 0 : pixels[index >> 2] * 255));
find('canvas').getContext('2d').putImageData(new ImageData(picture, 8), 0, 0);
