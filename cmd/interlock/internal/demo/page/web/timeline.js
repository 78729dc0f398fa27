// The chart: a row for each request, with its wait, its time in the shop, and forbidden
// overlaps.

import { s, duration } from './dom.js';
import { t } from './i18n.js';

const calm = window.matchMedia('(prefers-reduced-motion: reduce)');

/** History contains the events of a run, and a row for each request. */
export class History {
  constructor(count) {
    this.rows = Array.from({ length: count }, (_, i) => ({ request: i + 1 }));
    this.events = [];
    this.first = null; // when the first request was sent: the chart's origin
    this.end = 0;
  }

  add(e) {
    this.first ??= e.at_ms;
    e = { ...e, at_ms: e.at_ms - this.first };
    this.events.push(e);
    this.end = Math.max(this.end, e.at_ms);
    const row = this.rows[e.request - 1];
    row.label = e.label || `c${e.request}`;
    row.shared = Boolean(e.shared);
    if (e.kind === 'ask') row.ask = e.at_ms;
    else if (e.kind === 'enter') Object.assign(row, { enter: e.at_ms, fence: e.fence });
    else if (e.kind === 'leave') row.leave = e.at_ms;
    else Object.assign(row, { end: e.at_ms, outcome: e.kind, status: e.status, code: e.code, retryAfter: e.retry_after_ms });
  }

  /** order returns the rows in the order in which they were sent. */
  get order() { return this.rows.filter((r) => r.ask !== undefined).sort((a, b) => a.ask - b.ask || a.request - b.request); }

  count(kind) { return this.rows.filter((r) => r.outcome === kind).length; }

  get ran() { return this.rows.filter((r) => r.enter !== undefined).length; }

  /** steps returns the number of requests in the shop over time, and forbidden overlaps. */
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

/** Timeline draws a History into an element, and updates it during a run. */
export class Timeline {
  constructor(element, history) {
    this.element = element;
    this.history = history;
    this.svg = s('svg', { class: 'timeline', role: 'img', 'aria-label': t('idle') });
    element.replaceChildren(this.svg);
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(element);
    this.began = null;
  }

  /** live redraws every frame until stop is called. */
  live() {
    this.began = performance.now();
    const tick = () => {
      if (this.began === null) return;
      this.draw(Math.max(this.history.end, performance.now() - this.began - 60));
      this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  /** stop draws the final chart, and replays short runs slowly first. */
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
      parts.push(drawRow(row, i * pitch, pitch, dense, x, until, bad, width - margin));
    });
    parts.push(...concurrency(steps, until, high + 24, strip + 16, x, gutter, width - margin));
    svg.replaceChildren(...parts);
    if (history.end > 0) {
      const most = Math.max(0, ...steps.map((p) => p.inside));
      svg.setAttribute('aria-label', t('chart', rows, duration(history.end), history.ran, history.count('refused'), history.count('replayed'), most));
    }
  }
}

/** hatch is the pattern of forbidden overlaps, for readers who cannot see red. */
export function hatch(id = 'hatch') {
  return s('defs', {}, s('pattern', { id, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    s('rect', { width: 6, height: 6, class: 'bad-fill' }), s('rect', { width: 2, height: 6, class: 'bad-stripe' })));
}

/** stretches returns the times of forbidden overlaps. */
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

function drawRow(row, y, pitch, dense, x, until, bad, right) {
  const g = s('g', {}, s('title', {}, describe(row)));
  const thick = dense ? pitch - 0.8 : pitch - 6;
  const top = y + (pitch - thick) / 2;
  const mid = y + pitch / 2;
  const waited = Math.min(row.enter ?? row.end ?? until, until);
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
  if (!dense) g.append(s('text', { class: 'label', x: 2, y: mid, 'dominant-baseline': 'central' }, row.label));
  if (row.end !== undefined && row.end <= until) {
    if (row.outcome !== 'answered') g.append(symbol(row.outcome, x(row.end), mid, dense));
    if (!dense) g.append(s('text', { class: `status status-${row.outcome}`, x: right + 8, y: mid, 'dominant-baseline': 'central' }, String(row.status ?? '!')));
  }
  return g;
}

/** symbol marks the outcome of a request that did not run. */
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
  const labels = Math.max(2, Math.floor((right - left) / 54)); // that fit side by side
  const step = steps.find((n) => span / n <= labels) ?? 10000;
  const parts = [];
  for (let at = 0; at <= span; at += step) {
    const position = left + (at / span) * (right - left);
    parts.push(s('line', { class: 'grid', x1: position, x2: position, y1: 0, y2: high + 4 }));
    parts.push(s('text', { class: 'time', x: position, y: high + 17, 'text-anchor': at === 0 ? 'start' : 'middle' }, step >= 1000 ? `${at / 1000} s` : `${at} ms`));
  }
  if (until < total) parts.push(s('line', { class: 'head', x1: x(until), x2: x(until), y1: 0, y2: high + 4 }));
  return parts;
}

/** concurrency draws the number of requests in the shop over time. */
function concurrency(steps, until, y, high, x, left, right) {
  const most = Math.max(1, ...steps.map((p) => p.inside));
  const base = y + high;
  const parts = [s('line', { class: 'base', x1: left, x2: right, y1: base, y2: base })];
  steps.forEach((p, i) => {
    if (p.inside === 0) return;
    const to = steps[i + 1]?.at ?? until;
    const tall = Math.max(3, (p.inside / most) * (high - 18));
    parts.push(s('rect', { class: p.bad ? 'concurrency-bad' : 'concurrency', x: x(p.at), width: Math.max(0.6, x(to) - x(p.at)), y: base - tall, height: tall }));
  });
  if (steps.length > 0) {
    parts.push(s('text', { class: 'peak', x: left, y: y + 2, 'dominant-baseline': 'hanging' }, `${t('atOnce')}: ${most}`));
  }
  return parts;
}

/** describe returns a row's times and outcome as text. */
export function describe(row) {
  const words = [row.label];
  if (row.enter !== undefined) words.push(`${t('waits')} ${duration(row.enter - row.ask)}`);
  if (row.leave !== undefined) words.push(`${t('inside')} ${duration(row.leave - row.enter)}`);
  if (row.outcome && row.outcome !== 'answered') words.push(t(row.outcome));
  if (row.status) words.push(String(row.status));
  if (row.code) words.push(row.code);
  if (row.retryAfter) words.push(t('retryIn', duration(row.retryAfter)));
  return words.join(' · ');
}
