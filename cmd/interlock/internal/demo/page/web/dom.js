// Helpers that create elements. Text is inserted as text, never as HTML.

const svgSpace = 'http://www.w3.org/2000/svg';

/** h creates an element: h('button', {class: 'x', onclick: f}, 'text', child…). */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** s creates an SVG element. */
export function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS(svgSpace, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

// Invisible characters and those that change the text direction: controls, zero-width
// and bidirectional marks, separators, lone surrogates, tags.
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

/** visible escapes the hidden characters of untrusted text. */
export function visible(text) {
  return String(text).replace(hidden, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

/** shorten omits the middle of a long name. */
export function shorten(text, most = 64) {
  const letters = [...text];
  if (letters.length <= most) return text;
  return `${letters.slice(0, most - 13).join('')}…${letters.slice(-12).join('')}`;
}

/** duration formats milliseconds. */
export function duration(ms) {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 90_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 5_400_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}
