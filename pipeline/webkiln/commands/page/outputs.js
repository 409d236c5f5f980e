/** The cards of outputs. */

import { describeType, make, term } from './elements.js';
import { formatNumber, summary } from './values.js';
import { top } from '/bundle/index.js';

/** The number of labels that are shown. */
const LABELS = 5;

function labelRows(scores, labels) {
  const best = top(scores, Math.min(LABELS, labels.length));
  const isProbability = best.every(({ score }) => score >= 0 && score <= 1);
  const largest = Math.max(...best.map(({ score }) => Math.abs(score))) || 1;
  return make(
    'ol',
    {},
    ...best.map(({ label, score }) => {
      const fill = make('div', { className: 'fill' });
      fill.style.width = `${Math.max(0, 100 * (isProbability ? score : score / largest))}%`;
      return make(
        'li',
        {},
        make('b', { textContent: label, title: label }),
        make('div', { className: 'track' }, fill),
        make('span', {
          textContent: isProbability ? `${(100 * score).toFixed(1)} %` : formatNumber(score),
        }),
      );
    }),
  );
}

export function outputCard({ name, dtype, order, labels }, values, shape) {
  const { least, largest, mean, finite, others, first } = summary(values);
  const card = make(
    'section',
    { className: 'card' },
    make('h3', { textContent: name }),
    make('p', { className: 'type', textContent: describeType(dtype, shape, order) }),
  );
  card.dataset.output = name;
  if (labels && values.length >= labels.length) {
    card.append(labelRows(values.slice(0, labels.length), labels));
    const rows = values.length / labels.length;
    if (rows > 1)
      card.append(make('p', { className: 'hint', textContent: `the first of ${rows} rows` }));
  }
  const stats =
    finite > 0
      ? [
          term('min', formatNumber(least)),
          term('max', formatNumber(largest)),
          term('mean', formatNumber(mean)),
        ]
      : [];
  if (others > 0) stats.push(term('NaN or infinite', String(others)));
  card.append(
    make('dl', { className: 'numbers' }, ...stats),
    make('p', {
      className: 'first',
      textContent:
        first.map(formatNumber).join('  ') +
        (values.length > first.length ? `  … ${values.length} in all` : ''),
    }),
  );
  return card;
}
