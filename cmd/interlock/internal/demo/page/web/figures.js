// The figures since the start, computed from the text of /metrics as Prometheus would.

import { h, duration } from './dom.js';
import { t } from './i18n.js';

/** figures reads the text of /metrics. */
export function figures(text) {
  const all = parse(text);
  const sum = (name, labels = {}) => all.filter((s) => s.name === name && Object.entries(labels).every(([k, v]) => s.labels[k] === v)).reduce((n, s) => n + s.value, 0);
  const acquire = (result) => sum('interlock_lock_acquire_total', { result });
  const calls = (...verdicts) => verdicts.reduce((n, verdict) => n + sum('interlock_guard_calls_total', { verdict }), 0);
  const duplicates = calls('replayed', 'refused', 'mismatch', 'unknown', 'failed', 'no-result');
  return {
    acquired: acquire('acquired'),
    refused: acquire('busy') + acquire('timeout'),
    cancelled: acquire('cancelled'),
    failed: acquire('error'),
    duplicates,
    replays: calls('replayed'),
    inProcess: duplicates > 0 ? Math.min(1, sum('interlock_guard_coalesced_total') / duplicates) : null,
    wait: quantile(all, 'interlock_lock_wait_seconds_bucket', 0.99),
    hold: quantile(all, 'interlock_lock_hold_seconds_bucket', 0.99),
    held: sum('interlock_lock_held'),
    waiting: sum('interlock_lock_waiters') + sum('interlock_guard_waiters'),
  };
}

/** parse returns the samples: {name, labels, value}. */
function parse(text) {
  const samples = [];
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = line.match(/^(interlock_\w+)(?:\{(.*)\})? (\S+)$/) ?? [];
    if (!name) continue;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, k, v]) => [k, v]);
    samples.push({ name, labels: Object.fromEntries(pairs), value: Number(value) });
  }
  return samples;
}

/** quantile is histogram_quantile of Prometheus, in seconds; null without a sample. */
function quantile(all, name, q) {
  const below = new Map();
  for (const s of all) if (s.name === name) below.set(s.labels.le, (below.get(s.labels.le) ?? 0) + s.value);
  const buckets = [...below].map(([le, n]) => [le === '+Inf' ? Infinity : Number(le), n]).sort((a, b) => a[0] - b[0]);
  const rank = q * (buckets.at(-1)?.[1] ?? 0);
  if (rank === 0) return null;
  let [from, count] = [0, 0];
  for (const [to, n] of buckets) {
    if (n >= rank) return to === Infinity ? from : from + (to - from) * (rank - count) / (n - count);
    [from, count] = [to, n];
  }
  return null;
}

/** figureList renders figures. */
export function figureList(f) {
  const time = (seconds) => (seconds === null ? '–' : duration(seconds * 1000));
  const rows = [
    [t('acquired'), f.acquired, t('acquiredRest', f.refused, f.cancelled, f.failed)],
    [t('duplicates'), f.duplicates, t('duplicatesRest', f.replays, f.duplicates - f.replays)],
    [t('inProcess'), f.inProcess === null ? '–' : `${Math.floor(f.inProcess * 100)} %`, t('inProcessNote')],
    [t('p99wait'), time(f.wait)],
    [t('p99hold'), time(f.hold)],
    [t('heldNow'), f.held],
    [t('waitingNow'), f.waiting],
  ];
  return h('section', { class: 'now-list' },
    h('h3', {}, t('figures'), h('a', { class: 'source', href: '/metrics', 'data-act': 'metrics' }, '/metrics')),
    h('dl', { class: 'figures' }, rows.flatMap(([name, value, note]) => [
      h('dt', {}, name, note && h('span', { class: 'facts' }, note)), h('dd', {}, String(value))])));
}
