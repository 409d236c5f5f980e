/** Elements of the page. */

/** Create an element with properties and children. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

export const describeType = (dtype, shape, order) =>
  `${dtype} [${shape.join(', ')}]${order ? `  ${order.replaceAll(',', '')}` : ''}`;

/** A name and a value, for a description list. */
export const term = (name, value) =>
  make('div', {}, make('dt', { textContent: name }), make('dd', { textContent: value }));
