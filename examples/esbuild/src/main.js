import { load, top } from 'webkiln:digits?backend=wasm,js';

// A handwritten six: 8 rows of 8 pixels, from 0 (paper) to f (ink).
const pixels = Float32Array.from(
  '000afb10005f9f4002e9081005f8100008ff800002f9f60000aff7000018c000',
  digit => parseInt(digit, 16) / 15,
);

const model = await load();
const { scores } = await model.run(pixels);

const find = selector => document.querySelector(selector);
find('output').value = top(scores)[0].label;
find('p').textContent = [
  model.backend,
  model.variant,
  model.worker ? 'in a Worker' : 'in the main thread',
].join(', ');
find('ol').append(
  ...Array.from(scores, score => {
    const row = document.createElement('li');
    row.append(Object.assign(document.createElement('meter'), { value: score }));
    return row;
  }),
);
const picture = Uint8ClampedArray.from({ length: 256 }, (_, index) =>
  index % 4 < 3 ? 0 : pixels[index >> 2] * 255,
);
find('canvas').getContext('2d').putImageData(new ImageData(picture, 8), 0, 0);
