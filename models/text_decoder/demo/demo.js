import { generate } from './generate.js';

const element = id => document.getElementById(id);
const [form, write, given, made, status] = ['form', 'write', 'given', 'made', 'status'].map(
  element,
);
const models = {};
let round = 0;

const engineOf = ({ backend, variant }) => [backend, variant].filter(Boolean).join(', ');

const loaded = name => (models[name] ??= open(document.body.dataset[name]));

async function open(folder) {
  const bundle = await import(new URL('index.js', new URL(folder, location.href)).href);
  return bundle.load({ backends: ['wasm', 'js'] });
}

function failed(error) {
  status.classList.add('failed');
  status.textContent = `${error.code ?? error.name}: ${error.message}`;
}

async function start() {
  const mine = ++round;
  status.classList.remove('failed');
  const model = await loaded(element('network').value);
  if (mine !== round) return;
  const [prompt, temperature, length] = ['prompt', 'temperature', 'length'].map(
    id => element(id).value,
  );
  given.textContent = prompt;
  made.textContent = '';
  const begin = performance.now();
  let count = 0;
  for await (const character of generate(model, prompt, {
    temperature: Number(temperature),
    length: Number(length),
  })) {
    if (mine !== round) return;
    made.append(character);
    count++;
    const speed = (count / (performance.now() - begin)) * 1000;
    status.textContent = `${engineOf(model)}: ${count} characters, ${speed.toFixed(0)} a second`;
    if (count % 4 === 0)
      await new Promise(resolve => {
        requestAnimationFrame(resolve);
      });
  }
  document.body.dataset.written = count;
}

form.addEventListener('submit', event => {
  event.preventDefault();
  start().catch(failed);
});

try {
  const model = await loaded('decoder');
  status.textContent = `Ready: ${engineOf(model)}, loaded in ${model.stats.loadMs.toFixed(0)} ms`;
  write.disabled = false;
  document.body.dataset.ready = 'true';
} catch (error) {
  failed(error);
}
