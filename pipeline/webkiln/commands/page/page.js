/** Runs the bundle at /bundle/ on sample inputs and shows its outputs. */

import { ofSizes, noise, noiseImage, readJson, readNpy, toInput, zeros } from './values.js';
import { describeType, make, term } from './elements.js';
import { outputCard } from './outputs.js';
import { load, manifest } from '/bundle/index.js';

const byId = id => document.getElementById(id);
const DEFAULT_SIZE = 16;
const IMAGE_SIZE = 128;
/** Images up to this width and height are enlarged. */
const SMALL_SIZE = 64;

const milliseconds = value =>
  `${value < 10 ? value.toFixed(2) : value.toFixed(value < 100 ? 1 : 0)} ms`;

/** Placeholder -> its input field. */
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
      value: String(Math.ceil(DEFAULT_SIZE / step) * step),
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

/** The card of one input, which selects its value. */
class InputCard {
  #array = null;
  #image = null;

  constructor(tensor, index) {
    this.tensor = tensor;
    this.canvas = make('canvas', { hidden: true });
    this.prompt = make(
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
    this.prompt.append(make('label', { className: 'pick' }, 'choose one', chooser));
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
    const labels = ['Noise', 'Zeros', 'File'];
    this.element = make(
      'section',
      { className: 'card' },
      make('h3', { textContent: tensor.name }),
      make('p', {
        className: 'type',
        textContent: describeType(tensor.dtype, tensor.shape, tensor.order),
      }),
      make(
        'fieldset',
        {},
        make('legend', { textContent: `Sample for ${tensor.name}` }),
        make(
          'div',
          { className: 'choice' },
          ...this.kinds.map((kind, at) => make('label', {}, kind, labels[at])),
        ),
        make('label', {}, 'Seed', this.seed),
      ),
      make('div', { className: 'drop' }, this.canvas, make('div', {}, this.prompt, this.file)),
    );
    this.element.dataset.input = tensor.name;
    for (const control of [...this.kinds, this.seed]) control.addEventListener('change', changed);
    chooser.addEventListener('change', () => this.read(chooser.files[0]));
    this.element.addEventListener('dragover', event => {
      event.preventDefault();
      this.element.classList.add('over');
    });
    this.element.addEventListener('dragleave', () => this.element.classList.remove('over'));
    this.element.addEventListener('drop', event => {
      event.preventDefault();
      this.element.classList.remove('over');
      this.read(event.dataTransfer.files[0]);
    });
  }

  get kind() {
    return this.kinds.find(kind => kind.checked).value;
  }

  /** Read a file as the value of the input. */
  async read(file) {
    if (!file) return;
    try {
      if (file.type.startsWith('image/')) {
        if (!this.tensor.image) {
          throw new Error(
            `input ${this.tensor.name} is not an image; use a .npy or .json file of numbers, or ` +
              `declare an image in [inputs.${this.tensor.name}] of the recipe`,
          );
        }
        [this.#image, this.#array] = [await createImageBitmap(file), null];
      } else {
        const array = file.name.endsWith('.npy')
          ? readNpy(await file.arrayBuffer())
          : readJson(await file.text());
        [this.#image, this.#array] = [null, array];
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
    const size = this.#image
      ? `${this.#image.width} × ${this.#image.height} pixels`
      : `[${this.#array.shape.join(', ')}]`;
    Object.assign(this.file, { textContent: `${file.name}, ${size}`, hidden: false });
    this.kinds[2].disabled = false;
    this.kinds[2].checked = true;
    changed();
  }

  /** The value for `run`. */
  value() {
    const { tensor, kind } = this;
    const length = tensor.shape.reduce((product, size) => product * sizeOf(size), 1);
    const image = this.#imageFor(kind);
    this.#show(image);
    if (image) return image;
    if (kind === 'file') return toInput(tensor, this.#array);
    if (tensor.sizes) return ofSizes(tensor, sizeOf);
    return kind === 'zeros'
      ? zeros(tensor, length)
      : noise(tensor, length, Number(this.seed.value));
  }

  /** Placeholders that are derived from the image. */
  get derivedSizes() {
    return this.kind === 'file' && this.#image
      ? this.tensor.image.size.filter(size => typeof size === 'string')
      : [];
  }

  #imageFor(kind) {
    if (!this.tensor.image || kind === 'zeros') return null;
    const [height, width] = this.tensor.image.size.map(sizeOf);
    return kind === 'noise' ? noiseImage(width, height, Number(this.seed.value)) : this.#image;
  }

  #show(image) {
    this.canvas.hidden = !image;
    if (!image) return;
    const scale = Math.min(1, IMAGE_SIZE / Math.max(image.width, image.height));
    Object.assign(this.canvas, {
      width: Math.max(1, Math.round(image.width * scale)),
      height: Math.max(1, Math.round(image.height * scale)),
    });
    this.canvas.classList.toggle('small', Math.max(image.width, image.height) <= SMALL_SIZE);
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', `The value of ${this.tensor.name}`);
    const context = this.canvas.getContext('2d');
    if (image instanceof ImageData && scale === 1) context.putImageData(image, 0, 0);
    else if (image instanceof ImageData) {
      const source = new OffscreenCanvas(image.width, image.height);
      source.getContext('2d').putImageData(image, 0, 0);
      context.drawImage(source, 0, 0, this.canvas.width, this.canvas.height);
    } else context.drawImage(image, 0, 0, this.canvas.width, this.canvas.height);
  }
}

function fail(error) {
  Object.assign(byId('error'), {
    textContent: `${error.code ? `${error.code}: ` : ''}${error.message}`,
    hidden: false,
  });
}

/** The card of an input of strings. */
class TextCard {
  constructor({ input, shape }) {
    this.derivedSizes = manifest.inputs.flatMap(({ text }) =>
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
      make('p', { className: 'type', textContent: describeType('string', shape) }),
      make(
        'fieldset',
        {},
        make('legend', { textContent: `Strings for ${input}` }),
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

/** Load the model on the selected backend, and dispose of the previous one. */
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
  for (const name of cards.flatMap(card => card.derivedSizes)) delete options[name];
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
    worker ? 'in a Worker' : 'in the main thread',
    ...(manifest.states.length > 0 ? ['from the initial states'] : []),
    ...failures.map(failure => `${failure.backend} failed, ${failure.code}: ${failure.message}`),
  ].join('; ');
}

let queue = Promise.resolve();

/** Queue steps after all earlier ones. Errors are shown in the page. */
function enqueue(...steps) {
  delete document.body.dataset.ready;
  byId('run').disabled = true;
  queue = queue.then(async () => {
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
  if (model) enqueue(run);
  else enqueue(open, run);
}

document.title = byId('name').textContent = manifest.name;
const bytes = manifest.shards.reduce((sum, shard) => sum + shard.bytes, 0);
const size = bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
const backends = ['webgpu', 'wasm', 'webgl', 'js'].filter(name => name in manifest.backends);
byId('facts').textContent =
  `${manifest.encoding} weights, ${size}; ` + `backends ${backends.join(', ')}`;
byId('backend').append(
  make('option', { value: '', textContent: 'the first that works' }),
  ...backends.map(name => make('option', { value: name, textContent: name })),
);
addSizes();
byId('inputs').append(...cards.map(card => card.element));
byId('backend').addEventListener('change', () => enqueue(open, run));
byId('sizes').addEventListener('change', changed);
byId('controls').addEventListener('submit', event => {
  event.preventDefault();
  changed();
});
addEventListener('dragover', event => event.preventDefault());
addEventListener('drop', event => event.preventDefault());
enqueue(open, run);
