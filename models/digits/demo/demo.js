import { pictureOf } from './picture.js';

const PEN_WIDTH = 0.07;

const engineOf = ({ backend, variant }) => [backend, variant].filter(Boolean).join(', ');

const paper = document.getElementById('paper');
const input = document.getElementById('input');
const status = document.getElementById('status');
const answer = document.getElementById('digit');
const rows = [];
let strokes = [];
let bundle = null;
let model = null;
let busy = false;
let stale = false;

function makeRows(labels) {
  for (const label of labels) {
    const row = document.createElement('li');
    const name = Object.assign(document.createElement('b'), { textContent: label });
    const track = Object.assign(document.createElement('div'), { className: 'track' });
    const fill = Object.assign(document.createElement('div'), { className: 'fill' });
    const share = Object.assign(document.createElement('span'), { textContent: '0.0 %' });
    track.append(fill);
    row.append(name, track, share);
    document.getElementById('bars').append(row);
    rows.push({ row, fill, share, label });
  }
}

function drawPaper() {
  const context = paper.getContext('2d');
  context.clearRect(0, 0, paper.width, paper.height);
  context.strokeStyle = getComputedStyle(paper).color;
  context.lineWidth = paper.width * PEN_WIDTH;
  context.lineCap = context.lineJoin = 'round';
  for (const [first, ...rest] of strokes) {
    context.beginPath();
    context.moveTo(first[0] * paper.width, first[1] * paper.height);
    for (const [x, y] of rest.length ? rest : [first])
      context.lineTo(x * paper.width, y * paper.height);
    context.stroke();
  }
  document.body.classList.toggle('drawn', strokes.length > 0);
}

function drawSeen(picture) {
  const context = input.getContext('2d');
  const [red, green, blue] = getComputedStyle(input).color.match(/\d+/g).map(Number);
  const image = context.createImageData(8, 8);
  picture.forEach((value, index) => image.data.set([red, green, blue, value * 255], index * 4));
  context.putImageData(image, 0, 0);
}

function show(scores) {
  const best = scores ? bundle.top(scores)[0] : null;
  answer.textContent = best?.label ?? '–';
  rows.forEach(({ row, fill, share }, index) => {
    const value = scores ? scores[index] : 0;
    row.classList.toggle('best', index === best?.index);
    fill.style.transform = `translateX(${(value - 1) * 100}%)`;
    share.textContent = `${(value * 100).toFixed(1)} %`;
  });
}

async function read() {
  if (busy || !model) {
    stale = true;
    return;
  }
  busy = true;
  do {
    stale = false;
    const picture = strokes.length ? pictureOf(strokes) : new Float32Array(64);
    drawSeen(picture);
    if (strokes.length) {
      const [output] = model.manifest.outputs;
      const outputs = await model.run(picture);
      if (strokes.length) show(outputs[output.name]);
      status.textContent = `${engineOf(model)}: ${model.stats.lastRunMs.toFixed(2)} ms`;
    } else show(null);
  } while (stale);
  busy = false;
}

function failed(error) {
  status.classList.add('failed');
  status.textContent = `${error.code ?? error.name}: ${error.message}`;
}

const pointOf = event => {
  const { left, top, width, height } = paper.getBoundingClientRect();
  return [(event.clientX - left) / width, (event.clientY - top) / height];
};

function change() {
  drawPaper();
  read().catch(failed);
}

paper.addEventListener('pointerdown', event => {
  paper.setPointerCapture(event.pointerId);
  strokes.push([pointOf(event)]);
  change();
});
paper.addEventListener('pointermove', event => {
  if (!paper.hasPointerCapture(event.pointerId) || strokes.length === 0) return;
  strokes.at(-1).push(...(event.getCoalescedEvents?.() ?? [event]).map(pointOf));
  change();
});
document.getElementById('clear').addEventListener('click', () => {
  strokes = [];
  change();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', change);

try {
  bundle = await import(
    new URL('index.js', new URL(document.body.dataset.bundle, location.href)).href
  );
  model = await bundle.load({
    backends: ['webgpu', 'wasm', 'webgl', 'js'],
    onProgress: ({ loaded, total }) => {
      status.textContent = `Loading the model… ${Math.round((loaded / total) * 100)} %`;
    },
  });
  const [{ shape, labels }] = model.manifest.outputs;
  makeRows(labels ?? Array.from({ length: shape.at(-1) }, (_, index) => String(index)));
  status.textContent = `Ready: ${engineOf(model)}, loaded in ${model.stats.loadMs.toFixed(0)} ms`;
  document.body.dataset.ready = 'true';
  await read();
} catch (error) {
  failed(error);
}
