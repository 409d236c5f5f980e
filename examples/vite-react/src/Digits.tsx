import { useEffect, useState } from 'react';
import { load, top, type Outputs } from 'webkiln:digits?backend=wasm,js';
import { useModel } from './useModel';

// A handwritten six: 8 rows of 8 pixels, from 0 (paper) to f (ink).
const pixels = Float32Array.from(
  '000afb10005f9f4002e9081005f8100008ff800002f9f60000aff7000018c000',
  digit => parseInt(digit, 16) / 15,
);
const picture = Uint8ClampedArray.from({ length: 256 }, (_, index) =>
  index % 4 < 3 ? 0 : pixels[index >> 2]! * 255,
);
const draw = (canvas: HTMLCanvasElement | null) =>
  canvas?.getContext('2d')?.putImageData(new ImageData(picture, 8), 0, 0);

export function Digits() {
  const { model, error } = useModel(load);
  const [scores, setScores] = useState<Outputs['scores']>();
  useEffect(() => {
    model?.run(pixels).then(outputs => setScores(outputs.scores));
  }, [model]);
  return (
    <>
      <h1>Which digit is this?</h1>
      <canvas width="8" height="8" ref={canvas => void draw(canvas)} />
      <output>{scores && top(scores)[0]!.label}</output>
      <ol start={0}>
        {scores &&
          Array.from(scores, (score, digit) => (
            <li key={digit}>
              <meter value={score} />
            </li>
          ))}
      </ol>
      <p>
        {error?.message ??
          (model
            ? [
                model.backend,
                model.variant,
                model.worker ? 'in a Worker' : 'in the main thread',
              ].join(', ')
            : 'Loading the model…')}
      </p>
    </>
  );
}
