import { fetchParts } from './lowpass/sync.js';

/** A node that filters one channel. The model runs in the thread of the audio. */
export async function filterNode(context) {
  const [parts] = await Promise.all([
    fetchParts(),
    context.audioWorklet.addModule(new URL('./processor.js', import.meta.url)),
  ]);
  return new AudioWorkletNode(context, 'lowpass', {
    channelCount: 1,
    channelCountMode: 'explicit',
    outputChannelCount: [1],
    processorOptions: parts,
  });
}
