// The page: the selected case, its runs, and the views.

import { h, s, visible, duration } from './dom.js';
import { t, pick, current, speak } from './i18n.js';
import { run } from './run.js';
import { History, Timeline, hatch, symbol } from './timeline.js';
import { code } from './code.js';
import { Now } from './now.js';

const $ = (id) => document.getElementById(id);
const groups = ['submit', 'once', 'one', 'scenes'];
const modes = ['direct', 'guarded'];

let site = null; // from the server: cases, configuration, addresses
const runs = new Map(); // by case and mode: {history, verdict, error, running}
const now = new Now();

const state = (id, mode) => runs.get(`${id} ${mode}`);
const selected = () => location.hash.replace(/^#\/?/, '') || 'concurrent'; // #/fast or #fast

// The frame.

function frame() {
  document.title = t('title');
  $('skip').textContent = t('skip');
  $('tag').textContent = t('tag');
  $('rail').setAttribute('aria-label', t('rail'));
  $('now').setAttribute('aria-label', t('locksAndClaims'));
  segments($('languages'), t('language'), [['en', 'EN', 'English'], ['zh', '中文', '中文']], current(), (code) => { speak(code); everything(); });
  segments($('themes'), t('theme'), [['system', '◐', t('system')], ['light', '☀', t('light')], ['dark', '☾', t('dark')]], theme(), (name) => { setTheme(name); frame(); });
}

function segments(element, label, options, chosen, choose) {
  const focused = element.contains(document.activeElement);
  element.setAttribute('aria-label', label);
  element.replaceChildren(...options.map(([value, text, name]) => h('button', {
    type: 'button', 'aria-pressed': String(value === chosen), 'aria-label': text === name || text === 'EN' ? null : name, title: name, 'data-value': value,
    lang: value === 'zh' ? 'zh-CN' : null, onclick: () => choose(value),
  }, text)));
  if (focused) element.querySelector('[aria-pressed="true"]').focus();
}

const theme = () => document.documentElement.dataset.theme ?? 'system';

function setTheme(name) {
  if (name === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try { localStorage.setItem('interlock.theme', name); } catch { /* for this visit only */ }
}

function rail() {
  const here = selected();
  const link = (id, text, ...rest) => h('li', {}, h('a', { href: `#/${id}`, 'aria-current': id === here ? 'page' : null }, h('span', {}, text), ...rest));
  const section = (title, items) => h('section', {}, h('h2', {}, title), h('ul', {}, items));
  $('rail').replaceChildren(
    ...groups.map((g) => section(t(g), site.cases.filter((c) => c.group === g).map((c) => link(c.id, pick(c.title), ends(c.id))))),
    section(t('look'), [link('now', t('locksAndClaims')), link('config', t('config'))]));
  const rail = $('rail');
  const chosen = rail.querySelector('[aria-current]');
  if (chosen && rail.scrollWidth > rail.clientWidth) rail.scrollLeft = chosen.offsetLeft - rail.clientWidth / 3; // a small screen scrolls the rail
}

/** ends shows the verdicts of a case: direct and guarded. */
function ends(id) {
  return h('span', { class: 'ends' }, modes.map((mode) => {
    const v = state(id, mode)?.verdict;
    if (!v) return null;
    return h('span', { class: v.ok ? 'end end-right' : 'end end-broken', role: 'img', 'aria-label': `${t(mode)}: ${t(v.ok ? 'right' : 'broken')}` }, v.ok ? '✓' : '✗');
  }));
}

// A case.

function caseView(c) {
  const panels = modes.map((mode) => panel(c, mode));
  return [
    h('header', { class: 'intro' },
      h('p', { class: 'eyebrow' }, t(c.group)),
      h('h1', { tabindex: '-1' }, pick(c.title)),
      h('p', { class: 'about' }, pick(c.about)),
      h('div', { class: 'acts' }, h('button', { type: 'button', class: 'primary', id: 'run-both', onclick: () => playBoth(c) }, play_(), t('both')))),
    h('div', { class: 'panels' }, panels),
    legend(c),
    h('section', { class: 'how' },
      h('h2', {}, t('how')),
      code(t('inGo'), c.go, 'go'),
      h('div', { class: 'codes' }, code(t('inYAML'), c.rule, 'yaml'),
        code(t('byHand'), `# ${t('direct')}\n${c.curl[0]}\n\n# ${t('guarded')}\n${c.curl[1]}\n`, 'shell'))),
  ];
}

const play_ = () => s('svg', { viewBox: '0 0 12 12', width: 12, height: 12, 'aria-hidden': 'true' }, s('path', { d: 'M2 1l9 5-9 5z', fill: 'currentColor' }));

function panel(c, mode) {
  const element = h('section', { class: `panel panel-${mode}`, id: `panel-${mode}`, 'aria-labelledby': `title-${mode}` });
  refresh(c, mode, element);
  return element;
}

/** refresh renders a panel again; its chart continues. */
function refresh(c, mode, element = $(`panel-${mode}`)) {
  if (!element || selected() !== c.id) return;
  const r = state(c.id, mode);
  const focused = element.contains(document.activeElement);
  const button = h('button', {
    type: 'button', class: 'secondary', id: `run-${mode}`, 'aria-disabled': r?.running ? 'true' : null, onclick: () => play(c, mode),
  }, r?.running ? t('running') : [play_(), t('run'), h('span', { class: 'hidden' }, ` ${t(mode)}`)]);
  const canvas = h('div', { class: 'canvas' });
  element.replaceChildren(
    h('div', { class: 'panel-head' },
      h('div', {}, h('h2', { id: `title-${mode}` }, h('span', { class: 'spot', 'aria-hidden': 'true' }), t(mode)), h('p', { class: 'note' }, t(`${mode}Note`))), button),
    canvas, ...result(r));
  if (r?.history) {
    r.timeline?.watch.disconnect();
    r.timeline = new Timeline(canvas, r.history);
    if (r.running) r.timeline.live(); else r.timeline.draw();
  } else {
    canvas.append(h('p', { class: 'idle' }, t('idle')));
  }
  if (focused) button.focus();
}

/** result renders the verdict of a run. */
function result(r) {
  if (r?.error) return [h('p', { class: 'verdict is-broken' }, t('failedRun', visible(r.error)))];
  if (!r?.verdict || r.running) return [];
  const v = r.verdict;
  const signs = { right: '✓', wrong: '✗', figure: '·' };
  return [
    h('p', { class: `verdict ${v.ok ? 'is-right' : 'is-broken'}`, 'data-ok': String(v.ok), 'data-overlaps': v.overlaps }, h('span', { class: 'sign', 'aria-hidden': 'true' }, v.ok ? '✓' : '✗'), pick(v.headline)),
    h('dl', { class: 'findings' }, v.findings.flatMap((f) => [
      h('dt', { class: `is-${f.mark}` }, h('span', { 'aria-hidden': 'true' }, signs[f.mark]), ` ${pick(f.name)}`),
      h('dd', { class: `is-${f.mark}` }, pick(f.text))])),
    v.violations && h('details', {}, h('summary', {}, t('checker')), h('ul', { class: 'log', lang: 'en' }, v.violations.map((x) => h('li', {}, visible(x))))),
    h('details', {}, h('summary', {}, t('events', r.history.events.length)), h('ol', { class: 'log' }, r.history.events.slice(0, 500).map(eventLine))),
  ].filter(Boolean);
}

function eventLine(e) {
  const what = t(`event${e.kind[0].toUpperCase()}${e.kind.slice(1)}`);
  const rest = [e.status, e.code && visible(e.code), e.retry_after_ms && t('retryIn', duration(e.retry_after_ms)), e.fence && t('fence', visible(e.fence))].filter(Boolean);
  return h('li', {}, h('span', { class: 'when' }, duration(e.at_ms)), ` ${visible(e.label || `c${e.request}`)} ${what}${rest.length ? ` (${rest.join(', ')})` : ''}`);
}

function legend(c) {
  const item = (sign, text) => h('li', {}, s('svg', { viewBox: '0 0 20 12', width: 20, height: 12, 'aria-hidden': 'true' }, sign), text);
  return h('ul', { class: 'legend' },
    item(s('rect', { class: 'bar-wait', x: 0, y: 4.5, width: 20, height: 3, rx: 1.5 }), t('waits')),
    item(s('rect', { class: 'bar-hold', width: 20, height: 12, rx: 3 }), t('inside')),
    c.id === 'readers' && item(s('rect', { class: 'bar-read', width: 20, height: 12, rx: 3 }), t('reads')),
    item(s('g', {}, hatch('sign'), s('rect', { class: 'bar-bad', fill: 'url(#sign)', width: 20, height: 12, rx: 3 })), t('overlap')), // its own pattern: no chart may exist yet
    item(symbol('refused', 3, 6), t('refused')), item(symbol('replayed', 3, 6), t('replayed')), item(symbol('failed', 3, 6), t('failed')));
}

/** play runs a case, direct or guarded. */
async function play(c, mode) {
  if (state(c.id, mode)?.running) return;
  const r = { history: new History(c.requests), running: true };
  runs.set(`${c.id} ${mode}`, r);
  refresh(c, mode);
  now.ask();
  try {
    r.verdict = await run(c.id, mode === 'direct', (e) => r.history.add(e));
    await r.timeline?.stop();
  } catch (error) {
    r.error = error.message;
  }
  r.running = false;
  refresh(c, mode);
  rail();
  if (r.verdict) $('said').textContent = t('announce', pick(c.title), t(mode), pick(r.verdict.headline));
}

/** playBoth runs a case direct and guarded. Short cases run one after the other, so that
 * they do not slow each other down. Long ones mostly wait, and run at the same time. */
async function playBoth(c) {
  const direct = play(c, 'direct');
  if (!long.has(c.id)) await direct;
  await play(c, 'guarded');
}

const long = new Set(['fast', 'slow', 'timeout']);

// The other views.

function configView() {
  return [h('header', { class: 'intro' }, h('p', { class: 'eyebrow' }, t('look')), h('h1', { tabindex: '-1' }, t('config')), h('p', { class: 'about' }, t('configAbout'))),
    code('interlock.yaml', site.config, 'yaml')];
}

function nowView() {
  const list = h('div', { class: 'now-wide' });
  now.mount(list, 100);
  return [h('header', { class: 'intro' }, h('p', { class: 'eyebrow' }, t('look')), h('h1', { tabindex: '-1' }, t('locksAndClaims'))), list];
}

function view() {
  const id = selected();
  document.body.dataset.view = id === 'now' ? 'now' : id === 'config' ? 'config' : 'case';
  if (id === 'config') return configView();
  if (id === 'now') return nowView();
  return caseView(site.cases.find((c) => c.id === id) ?? site.cases.find((c) => c.id === 'concurrent'));
}

function everything() {
  frame();
  rail();
  $('main').replaceChildren(...view());
  now.show();
}

async function begin() {
  frame();
  try {
    site = await (await fetch('/demo/cases')).json();
  } catch {
    $('main').replaceChildren(h('h1', {}, t('title')), h('p', { class: 'about' }, t('loadError')));
    return;
  }
  everything();
  now.mount($('now'));
  $('skip').addEventListener('click', (e) => {
    e.preventDefault(); // the hash contains the selected case
    $('main').focus();
  });
  window.addEventListener('hashchange', () => {
    everything();
    $('main').querySelector('h1').focus({ preventScroll: true });
    window.scrollTo(0, 0);
  });
}

begin();
