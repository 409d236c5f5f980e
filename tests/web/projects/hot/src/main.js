import { load } from './ziffern ä.keras?webkiln';

const output = document.querySelector('output');
output.dataset.opened = String(performance.timeOrigin);
addEventListener('unhandledrejection', ({ reason }) => {
  output.dataset.failed = String(reason);
});
const model = await load();
const pixels = Float32Array.from({ length: 64 }, (_, index) => (index % 29) / 29);
setInterval(async () => {
  const { scores } = await model.run(pixels);
  output.value = JSON.stringify({ backend: model.backend, scores: [...scores] });
}, 50);
