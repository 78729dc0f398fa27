// The current locks and claims, with the time left, and the figures so far. It polls the
// admin API and the metrics once a second while the page is visible.

import { h, s, visible, shorten, duration } from './dom.js';
import { t } from './i18n.js';
import { figures, figureList } from './figures.js';

const every = 1000;
const maxShown = 8;

/** Now polls the locks and claims, and renders them. */
export class Now {
  constructor() {
    this.views = new Set();
    this.locks = [];
    this.claims = [];
    this.figures = null;
    this.most = new Map(); // the longest time left seen so far, by id
    this.unreachable = false;
    this.paused = false;
    document.addEventListener('visibilitychange', () => this.arm());
    this.arm();
  }

  get stopped() { return this.paused || document.hidden; }

  toggle() {
    this.paused = !this.paused;
    this.arm();
    this.show();
  }

  /** arm polls now and then every second, while the page is visible and not paused. */
  arm() {
    clearInterval(this.timer);
    if (this.stopped) return;
    this.ask();
    this.timer = setInterval(() => this.ask(), every);
  }

  async ask() {
    if (this.asking || this.stopped) return;
    this.asking = true;
    try {
      const [locks, claims, metrics] = await Promise.all([list('locks'), list('claims'), get('/metrics')]);
      this.locks = locks;
      this.claims = claims.sort(byAge);
      this.figures = figures(await metrics.text());
      this.unreachable = false;
    } catch {
      this.unreachable = true;
    }
    this.asking = false;
    const seen = new Map();
    for (const e of [...this.locks.map(lock), ...this.claims.map(claim)]) seen.set(e.id, Math.max(this.most.get(e.id) ?? 0, e.left));
    this.most = seen;
    this.show();
  }

  show() { for (const view of this.views) view(); }

  /** mount renders into an element until the element is removed. */
  mount(element, most = maxShown) {
    const view = () => {
      if (!element.isConnected && element.dataset.mounted) { this.views.delete(view); return; }
      element.dataset.mounted = 'yes';
      const focused = element.contains(document.activeElement) && document.activeElement.dataset?.act;
      element.replaceChildren(...this.content(most));
      if (focused) element.querySelector(`[data-act="${focused}"]`)?.focus();
    };
    this.views.add(view);
    queueMicrotask(view);
  }

  content(most) {
    const state = this.paused ? t('paused') : t('live');
    const head = h('div', { class: 'now-head' },
      h('h2', {}, t('now')),
      h('button', { type: 'button', class: `quiet pulse${this.paused ? ' is-paused' : ''}`, 'data-act': 'pause', 'aria-label': `${state}: ${this.paused ? t('resume') : t('pause')}`, onclick: () => this.toggle() },
        h('span', { class: 'dot', 'aria-hidden': 'true' }), state));
    if (this.unreachable) return [head, h('p', { class: 'empty' }, t('unreachable'))];
    return [head, this.section('locks', this.locks.map(lock), most), this.section('claims', this.claims.map(claim), most), this.figures && figureList(this.figures)].filter(Boolean);
  }

  section(name, entries, most) {
    const rest = entries.length - most;
    return h('section', { class: 'now-list' },
      h('h3', {}, t(name), h('span', { class: 'count' }, String(entries.length))),
      entries.length === 0
        ? h('p', { class: 'empty' }, t(name === 'locks' ? 'noLocks' : 'noClaims'))
        : h('ul', {}, entries.slice(0, most).map((e) => this.entry(e))),
      rest > 0 && h('p', { class: 'empty' }, t('more', rest)));
  }

  entry(e) {
    return h('li', { class: 'held' },
      ring(e.left, this.most.get(e.id)),
      h('div', { class: 'held-text' },
        h('span', { class: 'key', title: visible(e.key) }, shorten(visible(e.key), 40)),
        h('span', { class: 'facts' }, [e.state, ...e.facts, e.left > 0 && t('left', duration(e.left))].filter(Boolean).join(' · '))));
  }
}

async function get(path, accept = 'text/plain') {
  const answer = await fetch(path, { headers: { Accept: accept } });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer;
}

async function list(what) {
  const body = await (await get(`/api/v1/${what}?limit=100`, 'application/json')).json();
  return body[what] ?? [];
}

const kinds = new Set(['exclusive', 'fair', 'read', 'write', 'permit']);

function lock(l) {
  const holders = l.holders ?? [];
  const waiting = Array.isArray(l.waiters) ? l.waiters.length : l.waiters ?? 0;
  return {
    id: `lock ${l.key}`,
    key: l.key,
    left: Math.max(0, ...holders.map((x) => x.ttl_ms ?? 0)),
    state: kinds.has(l.kind) ? t(l.kind) : visible(l.kind ?? ''),
    facts: [
      holders.length > 1 && t('holders', holders.length),
      waiting > 0 && t('waiters', waiting),
      holders.length === 1 && Boolean(holders[0].fence) && t('fence', visible(holders[0].fence)),
    ],
  };
}

/** byAge sorts running claims first, then the latest. */
function byAge(a, b) {
  return (b.state === 'running') - (a.state === 'running') || String(b.began).localeCompare(String(a.began));
}

const states = { running: 'running_', done: 'done', failed: 'failed_', unknown: 'unknown' };

function claim(c) {
  return {
    id: `claim ${c.id} ${c.state}`,
    key: c.id,
    left: c.ttl_ms ?? 0,
    state: states[c.state] ? t(states[c.state]) : visible(c.state ?? ''),
    facts: [],
  };
}

/** ring draws the remaining part of a lease. */
function ring(left, whole) {
  const round = 2 * Math.PI * 9;
  const part = whole > 0 ? Math.max(0, Math.min(1, left / whole)) : 1;
  return s('svg', { class: `ring${part < 0.2 ? ' is-low' : ''}`, viewBox: '0 0 24 24', width: 24, height: 24, 'aria-hidden': 'true' },
    s('circle', { class: 'ring-back', cx: 12, cy: 12, r: 9 }),
    s('circle', { class: 'ring-front', cx: 12, cy: 12, r: 9, 'stroke-dasharray': `${round * part} ${round}`, transform: 'rotate(-90 12 12)' }));
}
