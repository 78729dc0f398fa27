// The picture: a row for each request, with who waited, who was inside, and where
// two were inside who should not have been.

import { s, duration } from './dom.js';
import { t } from './i18n.js';

const calm = window.matchMedia('(prefers-reduced-motion: reduce)');

/** History is what is known of a run: a row for each request. */
export class History {
  constructor(count) {
    this.rows = Array.from({ length: count }, (_, i) => ({ who: i + 1 }));
    this.events = [];
    this.first = null; // when the first was sent: there the picture begins
    this.end = 0;
  }

  add(e) {
    this.first ??= e.at;
    e = { ...e, at: e.at - this.first };
    this.events.push(e);
    this.end = Math.max(this.end, e.at);
    const row = this.rows[e.who - 1];
    row.label = e.label || `c${e.who}`;
    row.shared = Boolean(e.shared);
    if (e.kind === 'ask') row.ask = e.at;
    else if (e.kind === 'enter') Object.assign(row, { enter: e.at, fence: e.fence });
    else if (e.kind === 'leave') row.leave = e.at;
    else Object.assign(row, { over: e.at, outcome: e.kind, status: e.status, code: e.code, left: e.left });
  }

  /** order returns the rows by when they were sent. */
  get order() { return this.rows.filter((r) => r.ask !== undefined).sort((a, b) => a.ask - b.ask || a.who - b.who); }

  count(kind) { return this.rows.filter((r) => r.outcome === kind).length; }

  get ran() { return this.rows.filter((r) => r.enter !== undefined).length; }

  /** steps returns how many are inside over time, and whether they should not be. */
  steps(until) {
    const changes = [];
    for (const r of this.rows) {
      if (r.enter === undefined || r.enter > until) continue;
      changes.push({ at: r.enter, by: 1, alone: r.shared ? 0 : 1 });
      changes.push({ at: Math.min(r.leave ?? until, until), by: -1, alone: r.shared ? 0 : -1 });
    }
    changes.sort((a, b) => a.at - b.at || a.by - b.by);
    const steps = [];
    let inside = 0;
    let alone = 0;
    for (const c of changes) {
      inside += c.by;
      alone += c.alone;
      steps.push({ at: c.at, inside, bad: inside > 1 && alone > 0 });
    }
    return steps;
  }
}

/** Timeline draws a History into an element, and again as it grows. */
export class Timeline {
  constructor(element, history) {
    this.element = element;
    this.history = history;
    this.svg = s('svg', { class: 'timeline', role: 'img', 'aria-label': t('idle') });
    element.replaceChildren(this.svg);
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(element);
    this.until = null; // all of it
    this.began = null;
  }

  /** live draws on until stop is called. */
  live() {
    this.began = performance.now();
    const tick = () => {
      if (this.began === null) return;
      this.draw(Math.max(this.history.end, performance.now() - this.began - 60));
      this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  /** stop draws what is known, and shows short runs once more, slowly. */
  async stop() {
    cancelAnimationFrame(this.frame);
    this.began = null;
    const end = this.history.end;
    if (end < 700 && !calm.matches && !document.hidden) {
      await new Promise((done) => {
        const from = performance.now();
        const tick = (now) => {
          const part = Math.min(1, Math.max(0, (now - from) / 800));
          this.draw(end * part, end);
          if (part < 1) requestAnimationFrame(tick); else done();
        };
        requestAnimationFrame(tick);
      });
    }
    this.draw();
  }

  draw(until = this.history.end, total = until) {
    const { history } = this;
    const width = Math.max(240, this.element.clientWidth);
    const rows = history.rows.length;
    const dense = rows > 30;
    const pitch = dense ? 3.4 : rows > 14 ? 14 : 22;
    const gutter = dense ? 12 : 46;
    const margin = dense ? 12 : 40;
    const strip = 34;
    const high = rows * pitch;
    const height = high + 24 + 16 + strip + 6;
    const span = Math.max(total * 1.02, 100);
    const x = (at) => gutter + (Math.min(at, until) / span) * (width - gutter - margin);
    const { svg } = this;
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('width', width);
    svg.setAttribute('height', height);
    const steps = history.steps(until);
    const parts = [hatch()];
    parts.push(...axis(span, gutter, width - margin, high, x, until, total));
    const bad = stretches(steps, until);
    history.order.forEach((row, i) => {
      if (row.ask > until) return;
      parts.push(line(row, i * pitch, pitch, dense, x, until, bad, width - margin));
    });
    parts.push(...crowd(steps, until, high + 24, strip + 16, x, gutter, width - margin));
    svg.replaceChildren(...parts);
    if (history.end > 0) {
      const most = Math.max(0, ...steps.map((p) => p.inside));
      svg.setAttribute('aria-label', t('picture', rows, duration(history.end), history.ran, history.count('refused'), history.count('replayed'), most));
    }
  }
}

/** hatch is the pattern of what should not be, for those who do not see red. */
export function hatch(id = 'hatch') {
  return s('defs', {}, s('pattern', { id, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    s('rect', { width: 6, height: 6, class: 'bad-fill' }), s('rect', { width: 2, height: 6, class: 'bad-stripe' })));
}

/** stretches returns when somebody was inside who should not have been. */
function stretches(steps, until) {
  const all = [];
  steps.forEach((p, i) => {
    if (!p.bad) return;
    const to = steps[i + 1]?.at ?? until;
    const last = all.at(-1);
    if (last && last.to === p.at) last.to = to; else all.push({ from: p.at, to });
  });
  return all;
}

function line(row, y, pitch, dense, x, until, bad, right) {
  const g = s('g', {}, s('title', {}, told(row)));
  const thick = dense ? pitch - 0.8 : pitch - 6;
  const top = y + (pitch - thick) / 2;
  const mid = y + pitch / 2;
  const waited = Math.min(row.enter ?? row.over ?? until, until);
  g.append(s('rect', { class: 'bar-wait', x: x(row.ask), y: mid - Math.min(1.5, thick / 2), width: Math.max(dense ? 1 : 2, x(waited) - x(row.ask)), height: Math.min(3, thick), rx: 1.5 }));
  if (row.enter !== undefined && row.enter <= until) {
    const leave = Math.min(row.leave ?? until, until);
    const rx = Math.min(4, thick / 2);
    g.append(s('rect', { class: row.shared ? 'bar-read' : 'bar-hold', x: x(row.enter), y: top, width: Math.max(2, x(leave) - x(row.enter)), height: thick, rx }));
    for (const b of bad) {
      const from = Math.max(b.from, row.enter);
      const to = Math.min(b.to, leave);
      if (to > from) g.append(s('rect', { class: 'bar-bad', fill: 'url(#hatch)', x: x(from), y: top, width: Math.max(2, x(to) - x(from)), height: thick, rx }));
    }
  }
  if (!dense) g.append(s('text', { class: 'who', x: 2, y: mid, 'dominant-baseline': 'central' }, row.label));
  if (row.over !== undefined && row.over <= until) {
    if (row.outcome !== 'answered') g.append(symbol(row.outcome, x(row.over), mid, dense));
    if (!dense) g.append(s('text', { class: `status status-${row.outcome}`, x: right + 8, y: mid, 'dominant-baseline': 'central' }, String(row.status ?? '!')));
  }
  return g;
}

/** symbol marks how a request ended that did not run. */
export function symbol(outcome, x, y, dense) {
  if (dense) return s('rect', { class: `tick tick-${outcome}`, x: x - 1, y: y - 1.4, width: 7, height: 2.8, rx: 1.2 });
  const paths = {
    refused: 'M-4 -4L4 4M4 -4L-4 4',
    replayed: 'M3.8 -2.6A4.6 4.6 0 1 0 4.6 1.2M4.4 -5.4V-2.2H1.2',
    failed: 'M0 -5V1M0 4.4V4.6',
  };
  return s('path', { class: `mark mark-${outcome}`, d: paths[outcome] ?? paths.failed, transform: `translate(${x + 7} ${y})` });
}

function axis(span, left, right, high, x, until, total) {
  const steps = [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
  const room = Math.max(2, Math.floor((right - left) / 54));
  const step = steps.find((n) => span / n <= room) ?? 10000;
  const parts = [];
  for (let at = 0; at <= span; at += step) {
    const place = left + (at / span) * (right - left);
    parts.push(s('line', { class: 'grid', x1: place, x2: place, y1: 0, y2: high + 4 }));
    parts.push(s('text', { class: 'time', x: place, y: high + 17, 'text-anchor': at === 0 ? 'start' : 'middle' }, step >= 1000 ? `${at / 1000} s` : `${at} ms`));
  }
  if (until < total) parts.push(s('line', { class: 'head', x1: x(until), x2: x(until), y1: 0, y2: high + 4 }));
  return parts;
}

/** crowd draws how many were inside at a time. */
function crowd(steps, until, y, high, x, left, right) {
  const most = Math.max(1, ...steps.map((p) => p.inside));
  const base = y + high;
  const parts = [s('line', { class: 'base', x1: left, x2: right, y1: base, y2: base })];
  steps.forEach((p, i) => {
    if (p.inside === 0) return;
    const to = steps[i + 1]?.at ?? until;
    const tall = Math.max(3, (p.inside / most) * (high - 18));
    parts.push(s('rect', { class: p.bad ? 'crowd-bad' : 'crowd', x: x(p.at), width: Math.max(0.6, x(to) - x(p.at)), y: base - tall, height: tall }));
  });
  if (steps.length > 0) {
    parts.push(s('text', { class: 'peak', x: left, y: y + 2, 'dominant-baseline': 'hanging' }, `${t('atOnce')}: ${most}`));
  }
  return parts;
}

/** told says in words what became of a row. */
export function told(row) {
  const words = [row.label];
  if (row.enter !== undefined) words.push(`${t('waits')} ${duration(row.enter - row.ask)}`);
  if (row.leave !== undefined) words.push(`${t('inside')} ${duration(row.leave - row.enter)}`);
  if (row.outcome && row.outcome !== 'answered') words.push(t(row.outcome));
  if (row.status) words.push(String(row.status));
  if (row.code) words.push(row.code);
  if (row.left) words.push(t('comeBack', duration(row.left)));
  return words.join(' · ');
}
