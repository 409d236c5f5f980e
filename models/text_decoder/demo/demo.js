import { generate } from './generate.js';

const element = id => document.getElementById(id);
const form = element('form');
const button = element('generate');
const promptText = element('prompt-text');
const generated = element('generated');
const status = element('status');
const models = {};
let request = 0;

const engineOf = ({ backend, variant }) => [backend, variant].filter(Boolean).join(', ');

const load = name => (models[name] ??= open(document.body.dataset[name]));

async function open(folder) {
  const bundle = await import(new URL('index.js', new URL(folder, location.href)).href);
  return bundle.load({ backends: ['wasm', 'js'] });
}

function showError(error) {
  status.classList.add('failed');
  status.textContent = `${error.code ?? error.name}: ${error.message}`;
}

async function run() {
  const own = ++request;
  status.classList.remove('failed');
  const model = await load(element('model').value);
  if (own !== request) return;
  const [prompt, temperature, length] = ['prompt', 'temperature', 'length'].map(
    id => element(id).value,
  );
  promptText.textContent = prompt;
  generated.textContent = '';
  const start = performance.now();
  let count = 0;
  for await (const character of generate(model, prompt, {
    temperature: Number(temperature),
    length: Number(length),
  })) {
    if (own !== request) return;
    generated.append(character);
    count++;
    const speed = (count / (performance.now() - start)) * 1000;
    status.textContent = `${engineOf(model)}: ${count} characters, ${speed.toFixed(0)} per second`;
    if (count % 4 === 0)
      await new Promise(resolve => {
        requestAnimationFrame(resolve);
      });
  }
  document.body.dataset.generated = count;
}

form.addEventListener('submit', event => {
  event.preventDefault();
  run().catch(showError);
});

try {
  const model = await load('decoder');
  status.textContent = `Ready: ${engineOf(model)}, loaded in ${model.stats.loadMs.toFixed(0)} ms`;
  button.disabled = false;
  document.body.dataset.ready = 'true';
} catch (error) {
  showError(error);
}
