import { filterNode } from './filter.js';

const SAMPLE_RATE = 48_000;
const VOLUME = 0.2;
const play = document.querySelector('#play');
const filtered = document.querySelector('#filtered');
const state = document.querySelector('#state');

function noise(context) {
  const buffer = new AudioBuffer({ length: SAMPLE_RATE, sampleRate: SAMPLE_RATE });
  const samples = Float32Array.from({ length: SAMPLE_RATE }, () => VOLUME * (Math.random() - 0.5));
  buffer.copyToChannel(samples, 0);
  return new AudioBufferSourceNode(context, { buffer, loop: true });
}

async function start() {
  const context = new AudioContext({ sampleRate: SAMPLE_RATE });
  const filter = await filterNode(context);
  filter.onprocessorerror = () => {
    state.textContent = 'The filter failed.';
  };
  const source = noise(context);
  const connect = () => {
    source.disconnect();
    source.connect(filtered.checked ? filter : context.destination);
  };
  filter.connect(context.destination);
  filtered.onchange = connect;
  connect();
  source.start();
}

play.onclick = () => {
  play.disabled = true;
  start().catch(error => {
    state.textContent = error.message;
  });
};
