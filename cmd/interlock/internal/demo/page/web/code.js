// Code listings with syntax colors. All content is inserted as text, never as HTML.

import { h } from './dom.js';
import { t } from './i18n.js';

const go = /(\/\/[^\n]*)|("(?:[^"\\\n]|\\.)*"|`[^`]*`)|\b(func|return|if|err|nil|defer|package|import|type|range|for|var|const)\b|\b([A-Z]\w*)(?=\()/g;
const yaml = /(#[^\n]*)|("[^"\n]*"|\{[^}\n]*\})|^(\s*(?:- )?[\w-]+)(?=:)|()/gm;
const shell = /(#[^\n]*)|('[^'\n]*')|\b(curl)\b|()/g;
const grammars = { go, yaml, shell };
const classes = ['', 'c-note', 'c-text', 'c-word', 'c-call'];

/** code renders a listing with a copy button. */
export function code(title, text, grammar) {
  const listing = h('code', {});
  let at = 0;
  for (const m of text.matchAll(grammars[grammar])) {
    if (m[0] === '') continue;
    listing.append(text.slice(at, m.index));
    const kind = m.findIndex((g, i) => i > 0 && g !== undefined);
    listing.append(h('span', { class: classes[kind] }, m[0]));
    at = m.index + m[0].length;
  }
  listing.append(text.slice(at));
  return h('figure', { class: 'code' },
    h('figcaption', {}, h('span', {}, title), copier(title, text)),
    h('pre', { tabindex: '0', 'aria-label': title }, listing));
}

function copier(title, text) {
  const button = h('button', { type: 'button', class: 'quiet', 'aria-label': `${t('copy')}: ${title}` }, t('copy'));
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = t('copied');
      setTimeout(() => { button.textContent = t('copy'); }, 1500);
    } catch {
      getSelection().selectAllChildren(button.closest('figure').querySelector('code')); // the user can press Ctrl-C
    }
  });
  return button;
}
