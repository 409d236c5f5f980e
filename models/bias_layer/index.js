/* global WebDNN */
const result = document.getElementById('result');
try {
  let runner = await WebDNN.load('./output');
  runner.inputs[0].set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await runner.run();
  console.log(runner.outputs[0].toActual());
  result.textContent = Array.from(runner.outputs[0].toActual()).join(' ');
} catch (error) {
  result.textContent = `failed: ${error.message}`;
}
