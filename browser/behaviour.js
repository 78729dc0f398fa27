// How the page behaves: languages, themes, keyboard, names that mean harm, small
// screens.

import { visit, expect } from './visit.js';

/** manners looks at what is remembered, and at how it is used without a mouse. */
export async function manners(chromium, url) {
  const v = await visit(chromium, url, { name: 'manners' });
  const { page } = v;
  await v.open('click');

  // Every text of the page is there in both languages, with the same arguments.
  const odd = await page.evaluate(async () => {
    const { all } = await import('/demo/assets/i18n.js');
    const holes = (text) => [...text.matchAll(/\{\d\}/g)].map((m) => m[0]).sort().join();
    return Object.entries(all).filter(([, [en, zh]]) => !en || !zh || holes(en) !== holes(zh)).map(([name]) => name);
  });
  expect(odd.length === 0, `texts that lack a form: ${odd}`);

  // The legend's signs are all there before anything was run.
  const blank = await page.$$eval('.legend [fill^="url("]', (signs) => signs.filter((e) => !e.ownerSVGElement.querySelector(e.getAttribute('fill').slice(4, -1))).length);
  expect(blank === 0 && await page.locator('.legend .bar-bad').count() === 1, `${blank} signs of the legend have no pattern`);

  // What is chosen is remembered.
  await page.click('#languages [data-value="zh"]');
  await page.click('#themes [data-value="dark"]');
  await page.reload();
  await page.waitForSelector('h1');
  expect((await page.textContent('h1')) === '双击提交', 'the language is not remembered');
  expect(await page.getAttribute('html', 'data-theme') === 'dark', 'the theme is not remembered');
  await page.click('#languages [data-value="en"]');
  expect((await page.textContent('h1')) === 'Double click', 'the language does not change back');
  expect(await page.getAttribute('html', 'lang') === 'en', 'the document does not say its language');
  await page.click('#themes [data-value="system"]');
  expect(await page.getAttribute('html', 'data-theme') === null, 'the theme does not follow the system again');

  // A keyboard is enough.
  await v.open('click');
  await page.reload();
  await page.waitForSelector('h1');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement.id) === 'skip', 'the first Tab does not reach the skip link');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement.id) === 'main', 'the skip link does not lead to the content');
  expect((await page.textContent('h1')) === 'Double click', 'the skip link changes the view');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement.id) === 'run-both', 'the next Tab does not reach the button');
  await page.keyboard.press('Enter');
  expect((await v.verdict('direct')).ok === 'false', 'Enter does not run it');
  expect((await v.verdict('guarded')).ok === 'true', 'Enter does not run both');
  expect((await page.textContent('#said')).includes('as it should be'), 'the verdict is not announced');

  // Paused means that nothing is asked.
  await page.click('[data-act="pause"]');
  await page.waitForTimeout(300);
  let asked = 0;
  page.on('request', (r) => { if (r.url().includes('/api/')) asked += 1; });
  await page.waitForTimeout(1500);
  expect(asked === 0, `paused, it asks ${asked} times`);
  await page.click('[data-act="pause"]');
  await page.waitForTimeout(1500);
  expect(asked > 0, 'it does not go on');
  const hide = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await hide(true);
  await page.waitForTimeout(300);
  asked = 0;
  await page.waitForTimeout(1500);
  expect(asked === 0, `hidden, it asks ${asked} times`);
  await hide(false);
  await page.waitForTimeout(500);
  expect(asked > 0, 'it does not go on when it is looked at again');
  await v.close();
}

// Names that show as nothing, turn text around, or want to be elements.
const evil = [
  '<img src=x onerror=alert(1)>', '<script>alert(1)</script>', '"><svg onload=alert(1)>', 'javascript:alert(1)', '{{7*7}}', '${7*7}',
  'a\u202eb', 'a\u200bb', 'a\u0000b', '\u001b[31mred', '\u2066x\u2069', '\ufeff', '\u00ad', 'line\nbreak', '\r\n', '\u2028', '\ud800', '\u{e0041}', '\u034f', '\u3164',
];

/** strangers shows keys with such names, and looks whether anything came of it. */
export async function strangers(chromium, url) {
  const v = await visit(chromium, url, { name: 'strangers' });
  const names = Array.from({ length: 500 }, (_, i) => `${evil[i % evil.length]}:${i}:${evil[(i * 7 + 3) % evil.length]}`);
  const locks = names.map((key, i) => ({ key, kind: key, holders: [{ owner: key, fence: key, ttl_ms: 1000 + i, count: 1 }], waiters: 0 }));
  const claims = names.map((key) => ({ id: key, guard: key, key, state: key, ttl_ms: 5000 }));
  await v.page.route('**/api/v1/locks*', (r) => r.fulfill({ json: { locks } }));
  await v.page.route('**/api/v1/claims*', (r) => r.fulfill({ json: { claims } }));
  await v.open('now');
  await v.page.waitForSelector('.now-wide .held');
  const seen = await v.page.evaluate(() => {
    const list = document.querySelector('.now-wide');
    const hidden = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ud800-\udfff]/;
    const texts = [...list.querySelectorAll('.key, .facts')].flatMap((e) => [e.textContent, e.title ?? '']);
    return { shown: list.querySelectorAll('.held').length, bad: texts.filter((x) => hidden.test(x)).length, made: list.querySelectorAll('img, script, iframe').length };
  });
  expect(seen.shown === 200, `${seen.shown} are shown, want 100 locks and 100 claims`);
  expect(seen.bad === 0, `${seen.bad} texts have something hidden in them`);
  expect(seen.made === 0, `${seen.made} elements came out of names`);
  const all = await v.page.evaluate(async (list) => {
    const { visible } = await import('/demo/assets/dom.js');
    return list.filter((n) => /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u.test(visible(n))).length;
  }, names);
  expect(all === 0, `${all} of 500 names keep something hidden`);
  await v.accessible('names that mean harm');
  await v.fits('names that mean harm');
  await v.close();
}

/** small looks at it on a telephone. */
export async function small(chromium, url) {
  for (const [lang, theme] of [['en', 'dark'], ['zh', 'light']]) {
    const v = await visit(chromium, url, { name: `390 px ${lang} ${theme}`, lang, theme, width: 390, height: 844, calm: false });
    for (const id of ['sale', 'config']) {
      await v.open(id);
      if (id === 'sale') {
        await v.page.click('#run-both');
        expect((await v.verdict('direct')).ok === 'false', `${v.name}: right when called directly`);
        expect((await v.verdict('guarded')).ok === 'true', `${v.name}: broken behind Interlock`);
      }
      await v.fits(id);
      await v.accessible(id);
    }
    await v.close();
  }
}
