import { loadSync } from './lowpass/sync.js';

class Lowpass extends AudioWorkletProcessor {
  constructor({ processorOptions }) {
    super();
    this.model = loadSync(processorOptions);
  }

  /** Each call has a block of 128 samples. The model keeps its state between calls. */
  process([[samples]], [[filtered]]) {
    if (samples) filtered.set(this.model.run({ samples }).filtered);
    return true;
  }
}

registerProcessor('lowpass', Lowpass);
