/** @import { Bundle, LoadRequest, ConvertInputs, TextInput } from './types.ts' */
import { WebkilnError, describe, shapeAt, sizeOf } from './main.js';
import { Reader } from './cache.js';

/** The separators of `tf.strings.split`: the whitespace of C's `isspace`. */
const SPACES = /[ \t\n\v\f\r]+/;
/** keras/src/layers/preprocessing/text_vectorization.py */
const PUNCTUATION = /[!"#$%&()*+,\-./:;<=>?@[\\\]^_`{|}~']/g;

/** `tf.strings.lower` without an encoding. @param {string} text */
const lower = text => text.replace(/[A-Z]+/g, letters => letters.toLowerCase());

/**
 * The tokens of a row of strings.
 * @param {string[]} texts
 * @param {TextInput} options
 */
export function tokensOf(texts, { standardize, split, ngrams }) {
  const plain = texts.map(text => {
    const small = standardize?.startsWith('lower') ? lower(text) : text;
    return standardize?.endsWith('punctuation') ? small.replace(PUNCTUATION, '') : small;
  });
  const words =
    split === 'whitespace'
      ? plain.flatMap(text => text.split(SPACES).filter(Boolean))
      : split === 'character'
        ? plain.flatMap(text => [...text])
        : plain;
  if (!ngrams) return words;
  return ngrams.flatMap(width =>
    words.slice(width - 1).map((_, at) => words.slice(at, at + width).join(' ')),
  );
}

/**
 * Create a function that returns the index of a token.
 * @param {string} name
 * @param {TextInput} options
 * @param {string[]} vocabulary
 * @param {Bundle['bucketOf']} bucketOf
 * @returns {(token: string) => number}
 */
function indexer(name, { first, other, others, salt, mask, masked }, vocabulary, bucketOf) {
  const table = new Map(vocabulary.map((token, at) => [token, first + at]));
  if (mask !== null) table.set(mask, masked);
  return token => {
    const index = table.get(token);
    if (index !== undefined) return index;
    if (others === 0)
      throw new WebkilnError(
        'WrongValue',
        `input '${name}': ${describe(token)} is not in the vocabulary, ` +
          'and the model has no index for other words',
      );
    return others > 1 && bucketOf ? other + bucketOf(token, others, salt) : other;
  };
}

/**
 * The strings of an input, which is a string or a nested list. Their number must fit the shape.
 * @param {string} name
 * @param {any} value
 * @param {(number | string)[]} shape
 * @param {Record<string, number>} sizes receives placeholders that are not set
 * @returns {string[]}
 */
function textsOf(name, value, shape, sizes) {
  const texts = Array.isArray(value) ? value.flat(Infinity) : [value];
  const wrong = texts.find(text => typeof text !== 'string');
  if (wrong !== undefined)
    throw new WebkilnError(
      'WrongDtype',
      `input '${name}': expected strings, got ${describe(wrong)}`,
    );
  const broken = texts.find(text => /\p{Surrogate}/u.test(text));
  if (broken !== undefined)
    throw new WebkilnError(
      'WrongValue',
      `input '${name}': ${describe(broken)} has a lone surrogate, which UTF-8 cannot encode`,
    );
  const open = shape.filter(size => typeof size === 'string' && !Object.hasOwn(sizes, size));
  const known = sizeOf(
    shapeAt(
      shape.map(size => (open.includes(size) ? 1 : size)),
      sizes,
    ),
  );
  if (open.length === 1 && texts.length % known === 0 && texts.length > 0)
    sizes[/** @type {string} */ (open[0])] = texts.length / known;
  else if (open.length > 1) Object.assign(sizes, sizesOfLists(value, shape, open));
  const expected = shapeAt(shape, sizes);
  if (texts.length !== sizeOf(expected)) {
    throw new WebkilnError(
      'WrongLength',
      `input '${name}': expected ${sizeOf(expected)} strings for shape [${expected}], ` +
        `got ${texts.length}`,
    );
  }
  return texts;
}

/**
 * The sizes of nested lists that are open.
 * @param {any} value
 * @param {(number | string)[]} shape
 * @param {(number | string)[]} open
 */
function sizesOfLists(value, shape, open) {
  const lists = [value];
  while (Array.isArray(lists.at(-1)?.[0])) lists.push(lists.at(-1)[0]);
  const sizes = shape.map((size, axis) => [size, lists[axis]?.length]);
  return Object.fromEntries(
    lists.length < shape.length ? [] : sizes.filter(([size]) => open.includes(size)),
  );
}

/**
 * Read the vocabularies. Returns a function that converts strings and images among the inputs.
 * @param {Bundle} bundle
 * @param {LoadRequest} request
 * @param {AbortSignal} [signal]
 * @returns {Promise<ConvertInputs>}
 */
export async function loadTexts(
  { bucketOf, rowsOfSteps, takeImages },
  { manifest, urls, cacheStrategy: strategy, saveCache: save, ignoreCache, stallTimeout },
  signal,
) {
  const reader = new Reader(manifest.name, { strategy, save, ignoreCache, stallTimeout, signal });
  const indexers = await Promise.all(
    manifest.inputs.map(async ({ text }) => {
      if (!text) return undefined;
      const { vocabulary: file, input } = text;
      const bytes = file && (await reader.read(file, urls[file.file] ?? '', () => () => {}));
      return indexer(
        input,
        text,
        bytes ? JSON.parse(new TextDecoder().decode(bytes)) : [],
        bucketOf,
      );
    }),
  );
  return (tensors, inputs, placeholders) => {
    const [arrays, sizes] = takeImages?.(tensors, inputs, placeholders) ?? [
      { ...inputs },
      { ...placeholders },
    ];
    tensors.forEach(({ name, text }, number) => {
      const [index, value] = [indexers[number], text && inputs[text.input]];
      if (!text || !index || value === undefined || ArrayBuffer.isView(inputs[name])) return;
      const texts = textsOf(text.input, value, text.shape, text.list ? {} : sizes);
      const rows = rowsOf(texts, text, sizes, rowsOfSteps);
      arrays[name] = Int32Array.from(
        text.length === null ? rows.flat().map(index) : padded(rows, index, text, sizes),
      );
    });
    return [arrays, sizes];
  };
}

/**
 * The tokens of each string, or of each row of strings if strings are not split. Strings that are
 * tokens are one row.
 * @param {string[]} texts
 * @param {TextInput} text
 * @param {Record<string, number>} sizes
 * @param {Bundle['rowsOfSteps']} rowsOfSteps
 */
function rowsOf(texts, text, sizes, rowsOfSteps) {
  if (text.steps && rowsOfSteps) return rowsOfSteps(texts, text, text.steps);
  if (text.length === null) return [texts];
  const width = text.split === null ? Number(shapeAt(text.shape, sizes)[1]) : 1;
  return Array.from({ length: texts.length / width }, (_, row) =>
    tokensOf(texts.slice(row * width, (row + 1) * width), text),
  );
}

/**
 * Pad rows to the same length: at least to the longest row. Rows of a fixed length are truncated,
 * except after `steps`, which have no such option.
 * @param {string[][]} rows
 * @param {(token: string) => number} index
 * @param {TextInput} text
 * @param {Record<string, number>} sizes
 */
function padded(rows, index, { input, length, fill, empty, steps }, sizes) {
  const longest = Math.max(...rows.map(row => row.length));
  if (typeof length === 'string') {
    if (longest === 0 && empty === null)
      throw new WebkilnError(
        'WrongLength',
        `input '${input}': the strings contain no words; the model needs at least one`,
      );
    sizes[length] ??= Math.max(1, longest);
  }
  const width = typeof length === 'string' ? Number(sizes[length]) : Number(length);
  if (width < longest && (typeof length === 'string' || steps))
    throw new WebkilnError(
      'WrongSize',
      typeof length === 'string'
        ? `placeholder '${length}': expected at least ${longest}, the words of the longest ` +
            `string; got ${width}`
        : `input '${input}': the longest string has ${longest} words; the model was built for ` +
            `at most ${width}`,
    );
  return rows.flatMap(row =>
    Array.from({ length: width }, (_, at) => {
      const token = row[at];
      if (token !== undefined) return index(token);
      return at < longest || empty === null ? fill : empty;
    }),
  );
}
