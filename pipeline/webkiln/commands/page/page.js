/** Runs the bundle at /bundle/ on sample inputs and shows what it says. */

import {
  asInput,
  noise,
  noisePicture,
  readJson,
  readNpy,
  shown,
  summary,
  zeros,
} from './values.js';
import { load, manifest, top } from '/bundle/index.js';

const byId = id => document.getElementById(id);
const LABELS = 5;
const USUAL_SIZE = 16;
const PICTURE_SIZE = 128;
/** Pictures of at most this many pixels are shown enlarged. */
const FEW = 64;

/** An element with properties, and children or text. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const typeOf = (dtype, shape, order) =>
  `${dtype} [${shape.join(', ')}]${order ? `  ${order.replaceAll(',', '')}` : ''}`;
const milliseconds = value =>
  `${value < 10 ? value.toFixed(2) : value.toFixed(value < 100 ? 1 : 0)} ms`;

/** Sizes that are set here, by name. */
const sizes = new Map();

function addSizes() {
  const box = byId('sizes');
  box.hidden = manifest.placeholders.length === 0;
  if (box.hidden) return;
  box.append(make('h3', { textContent: 'Sizes' }));
  const rows = make('fieldset', {}, make('legend', { textContent: 'Sizes' }));
  for (const name of manifest.placeholders) {
    const text = manifest.sizes?.[name] ?? '';
    const step = Number(/multiple of (\d+)/.exec(text)?.[1] ?? 1);
    const field = make('input', {
      type: 'number',
      min: '1',
      value: String(Math.ceil(USUAL_SIZE / step) * step),
      name,
    });
    sizes.set(name, field);
    rows.append(
      make('label', {}, `${name} `, field),
      ...(text ? [make('span', { className: 'hint', textContent: text })] : []),
    );
  }
  box.append(rows);
}

const sizeOf = size => (typeof size === 'number' ? size : Number(sizes.get(size).value));

/** The card of one input, which says what the input is when the model runs. */
class InputCard {
  #array = null;
  #picture = null;

  constructor(tensor, index) {
    this.tensor = tensor;
    this.canvas = make('canvas', { hidden: true });
    this.told = make(
      'p',
      {},
      tensor.image
        ? 'Drop an image here, or a .npy or .json file, or '
        : 'Drop a .npy or .json file of numbers here, or ',
    );
    const chooser = make('input', {
      type: 'file',
      accept: tensor.image ? 'image/*,.npy,.json' : '.npy,.json',
      name: `file-${tensor.name}`,
    });
    this.told.append(make('label', { className: 'pick' }, 'choose one', chooser));
    this.file = make('p', { className: 'hint', hidden: true });
    this.kinds = ['noise', 'zeros', 'file'].map(value =>
      make('input', {
        type: 'radio',
        name: `sample-${tensor.name}`,
        value,
        checked: value === 'noise',
      }),
    );
    this.kinds[2].disabled = true;
    this.seed = make('input', {
      type: 'number',
      min: '0',
      value: String(index + 1),
      name: `seed-${tensor.name}`,
    });
    const words = ['Noise', 'Zeros', 'File'];
    this.element = make(
      'section',
      { className: 'card' },
      make('h3', { textContent: tensor.name }),
      make('p', {
        className: 'type',
        textContent: typeOf(tensor.dtype, tensor.shape, tensor.order),
      }),
      make(
        'fieldset',
        {},
        make('legend', { textContent: `Sample for ${tensor.name}` }),
        make(
          'div',
          { className: 'choice' },
          ...this.kinds.map((kind, at) => make('label', {}, kind, words[at])),
        ),
        make('label', {}, 'Seed', this.seed),
      ),
      make('div', { className: 'drop' }, this.canvas, make('div', {}, this.told, this.file)),
    );
    this.element.dataset.input = tensor.name;
    for (const control of [...this.kinds, this.seed]) control.addEventListener('change', changed);
    chooser.addEventListener('change', () => this.take(chooser.files[0]));
    this.element.addEventListener('dragover', event => {
      event.preventDefault();
      this.element.classList.add('over');
    });
    this.element.addEventListener('dragleave', () => this.element.classList.remove('over'));
    this.element.addEventListener('drop', event => {
      event.preventDefault();
      this.element.classList.remove('over');
      this.take(event.dataTransfer.files[0]);
    });
  }

  get kind() {
    return this.kinds.find(kind => kind.checked).value;
  }

  /** Takes a file of the user's. */
  async take(file) {
    if (!file) return;
    try {
      if (file.type.startsWith('image/')) {
        if (!this.tensor.image) {
          throw new Error(
            `input ${this.tensor.name} is no image; a recipe declares one in [inputs.${this.tensor.name}], and a .npy or .json file of numbers serves`,
          );
        }
        [this.#picture, this.#array] = [await createImageBitmap(file), null];
      } else {
        const array = file.name.endsWith('.npy')
          ? readNpy(await file.arrayBuffer())
          : readJson(await file.text());
        [this.#picture, this.#array] = [null, array];
        if (array.shape.length === this.tensor.shape.length) {
          this.tensor.shape.forEach(
            (size, at) =>
              typeof size === 'string' && (sizes.get(size).value = String(array.shape[at])),
          );
        }
      }
    } catch (error) {
      fail(new Error(`${file.name}: ${error.message}`));
      return;
    }
    const what = this.#picture
      ? `${this.#picture.width} × ${this.#picture.height} pixels`
      : `[${this.#array.shape.join(', ')}]`;
    Object.assign(this.file, { textContent: `${file.name}, ${what}`, hidden: false });
    this.kinds[2].disabled = false;
    this.kinds[2].checked = true;
    changed();
  }

  /** What `run` gets, and the sizes that follow from it. */
  value() {
    const { tensor, kind } = this;
    const length = tensor.shape.reduce((product, size) => product * sizeOf(size), 1);
    const picture = this.#pictureFor(kind);
    this.#show(picture);
    if (picture) return picture;
    if (kind === 'file') return asInput(tensor, this.#array);
    return kind === 'zeros'
      ? zeros(tensor, length)
      : noise(tensor, length, Number(this.seed.value));
  }

  /** Open sizes that the image tells. */
  get toldSizes() {
    return this.kind === 'file' && this.#picture
      ? this.tensor.image.size.filter(size => typeof size === 'string')
      : [];
  }

  #pictureFor(kind) {
    if (!this.tensor.image || kind === 'zeros') return null;
    const [height, width] = this.tensor.image.size.map(sizeOf);
    return kind === 'noise' ? noisePicture(width, height, Number(this.seed.value)) : this.#picture;
  }

  #show(picture) {
    this.canvas.hidden = !picture;
    if (!picture) return;
    const scale = Math.min(1, PICTURE_SIZE / Math.max(picture.width, picture.height));
    Object.assign(this.canvas, {
      width: Math.max(1, Math.round(picture.width * scale)),
      height: Math.max(1, Math.round(picture.height * scale)),
    });
    this.canvas.classList.toggle('small', Math.max(picture.width, picture.height) <= FEW);
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', `What ${this.tensor.name} gets`);
    const context = this.canvas.getContext('2d');
    if (picture instanceof ImageData && scale === 1) context.putImageData(picture, 0, 0);
    else if (picture instanceof ImageData) {
      const whole = new OffscreenCanvas(picture.width, picture.height);
      whole.getContext('2d').putImageData(picture, 0, 0);
      context.drawImage(whole, 0, 0, this.canvas.width, this.canvas.height);
    } else context.drawImage(picture, 0, 0, this.canvas.width, this.canvas.height);
  }
}

function labelRows(scores, labels) {
  const best = top(scores, Math.min(LABELS, labels.length));
  const probable = best.every(({ score }) => score >= 0 && score <= 1);
  const largest = Math.max(...best.map(({ score }) => Math.abs(score))) || 1;
  return make(
    'ol',
    {},
    ...best.map(({ label, score }) => {
      const fill = make('div', { className: 'fill' });
      fill.style.width = `${Math.max(0, 100 * (probable ? score : score / largest))}%`;
      return make(
        'li',
        {},
        make('b', { textContent: label, title: label }),
        make('div', { className: 'track' }, fill),
        make('span', { textContent: probable ? `${(100 * score).toFixed(1)} %` : shown(score) }),
      );
    }),
  );
}

const term = (name, value) =>
  make('div', {}, make('dt', { textContent: name }), make('dd', { textContent: value }));

function outputCard({ name, dtype, order, labels }, values, shape) {
  const { least, largest, mean, finite, others, first } = summary(values);
  const card = make(
    'section',
    { className: 'card' },
    make('h3', { textContent: name }),
    make('p', { className: 'type', textContent: typeOf(dtype, shape, order) }),
  );
  card.dataset.output = name;
  if (labels && values.length >= labels.length) {
    card.append(labelRows(values.slice(0, labels.length), labels));
    const rows = values.length / labels.length;
    if (rows > 1)
      card.append(make('p', { className: 'hint', textContent: `the first of ${rows} rows` }));
  }
  const stats =
    finite > 0
      ? [term('min', shown(least)), term('max', shown(largest)), term('mean', shown(mean))]
      : [];
  if (others > 0) stats.push(term('NaN or infinite', String(others)));
  card.append(
    make('dl', { className: 'numbers' }, ...stats),
    make('p', {
      className: 'first',
      textContent:
        first.map(shown).join('  ') +
        (values.length > first.length ? `  … ${values.length} in all` : ''),
    }),
  );
  return card;
}

function fail(error) {
  Object.assign(byId('error'), {
    textContent: `${error.code ? `${error.code}: ` : ''}${error.message}`,
    hidden: false,
  });
}

/** The card of an input that takes texts. */
class TextCard {
  constructor({ input, shape }) {
    this.toldSizes = manifest.inputs.flatMap(({ text }) =>
      text?.input === input && typeof text.length === 'string' ? [text.length] : [],
    );
    this.tensor = { name: input, dtype: 'string', shape };
    const length = shape.reduce((product, size) => product * sizeOf(size), 1);
    this.fields = Array.from({ length }, (_, at) =>
      make('input', { type: 'text', value: 'Some text', name: `text-${input}-${at}` }),
    );
    this.element = make(
      'section',
      { className: 'card' },
      make('h3', { textContent: input }),
      make('p', { className: 'type', textContent: typeOf('string', shape) }),
      make(
        'fieldset',
        {},
        make('legend', { textContent: `Texts for ${input}` }),
        ...this.fields.map((field, at) => make('label', {}, `${at + 1}`, field)),
      ),
    );
    this.element.dataset.input = input;
    for (const field of this.fields) field.addEventListener('change', changed);
  }

  value() {
    return this.fields.map(field => field.value);
  }
}

const texts = new Map(manifest.inputs.flatMap(({ text }) => (text ? [[text.input, text]] : [])));
const cards = [
  ...manifest.inputs
    .filter(({ text }) => !text)
    .map((tensor, index) => new InputCard(tensor, index)),
  ...[...texts.values()].map(text => new TextCard(text)),
];
let model = null;

/** Loads the model on the chosen backend; the one before is let go. */
async function open() {
  model?.dispose();
  model = null;
  const backend = byId('backend').value;
  byId('status').textContent = `Loading${backend ? ` ${backend}` : ''}…`;
  model = await load(backend ? { backends: [backend] } : {});
}

async function run() {
  const options = Object.fromEntries(
    [...sizes].map(([name, field]) => [name, Number(field.value)]),
  );
  const inputs = Object.fromEntries(cards.map(card => [card.tensor.name, card.value()]));
  for (const name of cards.flatMap(card => card.toldSizes)) delete options[name];
  byId('status').textContent = 'Running…';
  if (manifest.states.length > 0) await model.reset();
  const outputs = await model.run(inputs, { placeholders: options });
  byId('outputs').replaceChildren(
    ...manifest.outputs.map(tensor =>
      outputCard(tensor, outputs[tensor.name], model.shapes[tensor.name]),
    ),
  );
  const { backend, variant, worker, failures, stats } = model;
  byId('times').replaceChildren(
    term('runs on', variant ? `${backend}, ${variant}` : backend),
    term('load', milliseconds(stats.loadMs)),
    term('run', milliseconds(stats.lastRunMs)),
  );
  byId('status').textContent = [
    worker ? 'in a Worker' : 'in the thread of the page',
    ...(manifest.states.length > 0 ? ['from the initial states'] : []),
    ...failures.map(failure => `${failure.backend} failed, ${failure.code}: ${failure.message}`),
  ].join('; ');
}

let waiting = Promise.resolve();

/** Does something to the model after what is asked already; what fails is shown. */
function act(...steps) {
  delete document.body.dataset.ready;
  byId('run').disabled = true;
  waiting = waiting.then(async () => {
    byId('error').hidden = true;
    try {
      for (const step of steps) await step();
    } catch (error) {
      byId('status').textContent = '';
      fail(error);
    }
    byId('run').disabled = false;
    document.body.dataset.ready = 'true';
  });
}

function changed() {
  if (model) act(run);
  else act(open, run);
}

document.title = byId('name').textContent = manifest.name;
const bytes = manifest.shards.reduce((sum, shard) => sum + shard.bytes, 0);
const backends = ['webgpu', 'wasm', 'webgl', 'js'].filter(name => name in manifest.backends);
byId('facts').textContent =
  `${manifest.encoding} weights, ${bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} KB` : `${(bytes / 1e6).toFixed(1)} MB`}; backends ${backends.join(', ')}`;
byId('backend').append(
  make('option', { value: '', textContent: 'the best that runs' }),
  ...backends.map(name => make('option', { value: name, textContent: name })),
);
addSizes();
byId('inputs').append(...cards.map(card => card.element));
byId('backend').addEventListener('change', () => act(open, run));
byId('sizes').addEventListener('change', changed);
byId('controls').addEventListener('submit', event => {
  event.preventDefault();
  changed();
});
addEventListener('dragover', event => event.preventDefault());
addEventListener('drop', event => event.preventDefault());
act(open, run);
