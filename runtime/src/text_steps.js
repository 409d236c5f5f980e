/** @import { TextInput, TextStep } from './types.ts' */
import { WebkilnError, describe } from './main.js';

/** The tokens before and after the others of a row. */
const MARKS = ['\x02', '\x03'];

/** Unicode's simple mapping of one character. @param {string} letter @param {'lower' | 'upper'} to */
function changedLetter(letter, to) {
  if (to === 'lower') return letter === 'İ' ? 'i' : letter.toLowerCase();
  const upper = letter.toUpperCase();
  if (upper.length === letter.length) return upper;
  // Greek letters with an iota subscript: their capitals follow at a distance of 8 or 9
  const code = Number(letter.codePointAt(0));
  const capitals = [code + 8, code + 9].map(capital => String.fromCodePoint(capital));
  return capitals.find(capital => capital.toLowerCase() === letter) ?? letter;
}

/** `std::tolower` and `std::toupper` of every character. @param {string} text @param {any} to */
export const changeCase = (text, to) =>
  to ? Array.from(text, letter => changedLetter(letter, to)).join('') : text;

/** The matches of a pattern of at least `least` characters. @param {number} least */
function matches(/** @type {string} */ text, /** @type {string} */ pattern, least) {
  if ([...text].length < least) return [];
  const [search, found] = [new RegExp(pattern, 'gu'), /** @type {string[]} */ ([])];
  for (let match; (match = search.exec(text));) {
    if ([...match[0]].length >= least) found.push(match[0]);
    else search.lastIndex = match.index + Number([...match[0]][0]?.length);
  }
  return found;
}

/**
 * onnxruntime/contrib_ops/cpu/tokenizer.cc
 * @param {string} text
 * @param {Extract<TextStep, { patterns: string[] }>} step
 */
function splitText(text, { separated, patterns, least }) {
  const [pattern] = patterns;
  if (pattern === undefined) return [...text];
  if (!separated) return matches(text, pattern, least);
  return patterns.reduce(
    (parts, separator) =>
      parts
        .flatMap(part => part.split(new RegExp(separator, 'u')))
        .filter(part => [...part].length >= least),
    [text],
  );
}

/**
 * The rows of tokens of strings: one for each string, or one for all if they are a list of words.
 * @param {string[]} texts
 * @param {TextInput} input
 * @param {TextStep[]} steps
 * @returns {string[][]}
 */
export function rowsOfSteps(texts, { input, list }, steps) {
  let rows = texts.map(text => [text]);
  for (const step of steps) {
    if ('patterns' in step) {
      rows = rows.map(([text = '']) => splitText(text, step));
      if (step.marked && rows.some(row => row.length > 0))
        rows = rows.map(row => [String(MARKS[0]), ...row, String(MARKS[1])]);
      continue;
    }
    const { stopwords, change, ignore_case: ignoresCase } = step;
    /** @param {string} text */
    const compared = text => (ignoresCase ? changeCase(text, 'lower') : text);
    const dropped = new Set(stopwords.map(compared));
    const kept = rows.filter(([text = '']) => dropped.size === 0 || !dropped.has(compared(text)));
    if (kept.length < rows.length && !list)
      throw new WebkilnError(
        'WrongValue',
        `input '${input}': ${describe(rows.find(row => !kept.includes(row))?.[0])} is one of the ` +
          'stop words, which the model would remove; leave it out',
      );
    rows = kept.map(([text = '']) => [changeCase(text, change)]);
  }
  return list ? [rows.length > 0 ? rows.flat() : ['']] : rows;
}
