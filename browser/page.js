// Drives the demo's page in a browser: presses every button, in both languages and
// themes, and checks the verdicts. `node page.js short` runs fewer combinations.
// `node page.js screenshots DIR` takes the screenshots of the documentation.

import { start, browser } from './demo.js';
import { visit, expect, failures } from './visit.js';
import { behaviour, hostileNames, small } from './behaviour.js';
import { screenshots } from './screenshots.js';

const [form = 'full', dir] = process.argv.slice(2);
const began = Date.now();
const demo = await start();
const chromium = await browser();
let pressed = 0;

// Cases that mostly wait run in parallel with the others, direct and guarded at once.
const long = ['fast', 'slow', 'timeout'];

/** everyCase presses every button of every case. */
const everyCase = (options) => Promise.all([some(options, (id) => long.includes(id)), some(options, (id) => !long.includes(id))]);

/** some presses every button of some cases. */
async function some(options, chosen) {
  const v = await visit(chromium, demo.url, { name: `${options.lang} ${options.theme}`, ...options });
  await v.open('concurrent', options.path);
  const ids = await v.page.$$eval('.rail a', (links) => links.map((a) => a.hash.slice(2)));
  const cases = ids.filter((id) => id !== 'now' && id !== 'config');
  expect(cases.length === 16, `${v.name}: ${cases.length} cases, want 16`);
  for (const id of cases.filter(chosen)) {
    await v.page.click(`.rail a[href="#/${id}"]`);
    await v.page.waitForFunction((want) => document.querySelector('.rail [aria-current]')?.hash === `#/${want}` && document.activeElement?.tagName === 'H1', id);
    const together = long.includes(id);
    if (together) await v.page.click('#run-both');
    const direct = together ? await v.verdict('direct') : await v.press('direct');
    const guarded = together ? await v.verdict('guarded') : await v.press('guarded');
    pressed += 2;
    expect(direct.ok === 'false', `${v.name}, ${id}: correct when called directly:\n${direct.text}`);
    expect(guarded.ok === 'true', `${v.name}, ${id}: broken behind Interlock:\n${guarded.text}`);
    for (const [mode, verdict] of Object.entries({ direct, guarded })) { // the chart agrees with the checker
      const drawn = await v.page.locator(`#panel-${mode} .bar-bad`).count();
      expect(drawn > 0 === verdict.overlaps > 0, `${v.name}, ${id}, ${mode}: the chart has ${drawn} overlaps, the checker found ${verdict.overlaps}:\n${verdict.text}`);
    }
    if (options.axe(id)) await v.accessible(id);
  }
  for (const id of ['now', 'config'].filter(chosen)) {
    await v.open(id);
    await v.accessible(id);
  }
  await v.close();
}

try {
  if (form === 'screenshots') {
    await screenshots(chromium, demo.url, dir ?? '../docs/images');
  } else {
    const visits = [{ lang: 'en', theme: 'light', path: '/' }, { lang: 'zh', theme: 'dark', path: '/ratelimit/duplicate-submit-test' }];
    if (form === 'full') visits.push({ lang: 'en', theme: 'dark', path: '/' }, { lang: 'zh', theme: 'light', path: '/' });
    const axe = (id) => form === 'full' || ['concurrent', 'payment', 'readers'].includes(id);
    await Promise.all([
      ...visits.map((v) => everyCase({ ...v, axe })),
      behaviour(chromium, demo.url).then(() => hostileNames(chromium, demo.url)).then(() => small(chromium, demo.url)),
    ]);
  }
} catch (error) {
  expect(false, error.stack);
} finally {
  await chromium.close();
  await demo.stop().catch((error) => expect(false, error.message));
}
console.log(`browser: ${pressed} buttons pressed, ${failures.length} failures, ${((Date.now() - began) / 1000).toFixed(0)} s`);
process.exit(failures.length === 0 ? 0 : 1);
