/** Continues a prompt character by character. The states of the model are the text so far. */

/**
 * @param {Float32Array} scores probabilities
 * @param {number} temperature 0 always selects the most probable character
 * @param {() => number} random numbers from 0 to 1
 * @returns {number} an index sampled from scores ** (1 / temperature)
 */
export function choose(scores, temperature, random = Math.random) {
  const best = scores.reduce((at, score, index) => (score > scores[at] ? index : at), 0);
  if (temperature === 0) return best;
  const weights = scores.map(score => (score / scores[best]) ** (1 / temperature));
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
  const index = weights.findIndex(weight => (left -= weight) < 0);
  return index < 0 ? best : index;
}

/**
 * @param {{ manifest: any, reset(): Promise<void>, run(inputs: object): Promise<any> }} model
 *   text_decoder or text_lstm
 * @param {string} prompt at least one character of the vocabulary; others are skipped
 * @param {{ length?: number, temperature?: number, random?: () => number }} [options]
 * @returns {AsyncGenerator<string>} `length` characters
 */
export async function* generate(
  model,
  prompt,
  { length = 200, temperature = 0.6, random = Math.random } = {},
) {
  const { labels } = model.manifest.outputs[0];
  let characters = [...prompt]
    .map(character => labels.indexOf(character))
    .filter(index => index >= 0);
  if (characters.length === 0)
    throw new RangeError('the prompt has no character that the model knows');
  await model.reset();
  for (let count = 0; count < length; count++) {
    const { scores } = await model.run({ characters });
    const next = choose(scores, temperature, random);
    yield labels[next];
    characters = [next];
  }
}
