import * as general from './scenarios.js';
import * as threads from './thread_scenarios.js';

const scenarios = { ...general, ...threads };

const { scenario, argument, bundle: address } = await (await fetch('/request')).json();
let answer;
try {
  const bundle = scenario.startsWith('webdnn') ? null : await import(address);
  answer = { result: await scenarios[scenario](bundle, argument) };
} catch (error) {
  answer = { error: `${error.name}: ${error.code ?? ''} ${error.message}\n${error.stack}` };
}
await fetch('/answer', { method: 'POST', body: JSON.stringify(answer) });
