/**
 * Converts strokes to the image format of the training data: the digit fills the height of a
 * 32 x 32 bitmap and is at most 24 wide; each of the 8 x 8 values is the share of black among
 * 4 x 4 pixels.
 */
const SIZE = 32;
const BLOCK = 4;
const WIDEST = 24;
const PEN = 2.3;

/** @typedef {[x: number, y: number]} Point */

/**
 * @param {Point} point
 * @param {Point} from
 * @param {Point} to
 * @returns {number} the squared distance of a point from a line segment
 */
function distance([x, y], [x0, y0], [x1, y1]) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const along =
    dx || dy ? Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy))) : 0;
  return (x - x0 - along * dx) ** 2 + (y - y0 - along * dy) ** 2;
}

/**
 * Scales and moves the strokes' bounding box, so that the pen touches the bitmap's top and bottom.
 * Scale and move the strokes so that they touch the bitmap's top and bottom.
 * @returns {Point[][]}
 */
function fit(strokes) {
  const points = strokes.flat();
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const [left, right, top, bottom] = [
    Math.min(...xs),
    Math.max(...xs),
    Math.min(...ys),
    Math.max(...ys),
  ];
  const room = SIZE - 2 * PEN;
  const scaleY = room / Math.max(bottom - top, (right - left) / 3, 1e-9);
  const scaleX = Math.min(scaleY, (WIDEST - 2 * PEN) / Math.max(right - left, 1e-9));
  return strokes.map(stroke =>
    stroke.map(([x, y]) => [
      SIZE / 2 + (x - (left + right) / 2) * scaleX,
      SIZE / 2 + (y - (top + bottom) / 2) * scaleY,
    ]),
  );
}

/**
 * @param {Point[][]} strokes
 * @returns {Float32Array} 8 x 8 values from 0 to 1, row by row
 */
export function pictureOf(strokes) {
  const side = SIZE / BLOCK;
  const picture = new Float32Array(side * side);
  const segments = fit(strokes).flatMap(stroke =>
    stroke.map((point, index) => [stroke[Math.max(0, index - 1)], point]),
  );
  for (let y = 0; y < SIZE; y++) {
    for (let x = 0; x < SIZE; x++) {
      const black = segments.some(
        ([from, to]) => distance([x + 0.5, y + 0.5], from, to) <= PEN * PEN,
      );
      if (black)
        picture[Math.floor(y / BLOCK) * side + Math.floor(x / BLOCK)] += 1 / (BLOCK * BLOCK);
    }
  }
  return picture;
}
