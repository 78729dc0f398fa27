// Checks the page's behaviour: languages, themes, keyboard, hostile names, small screens.

import { visit, expect } from './visit.js';

/** behaviour checks stored settings, the keyboard and polling. */
export async function behaviour(chromium, url) {
  const v = await visit(chromium, url, { name: 'behaviour' });
  const { page } = v;
  await v.open('click');

  // Every text exists in both languages, with the same arguments.
  const odd = await page.evaluate(async () => {
    const { all } = await import('/demo/assets/i18n.js');
    const placeholders = (text) => [...text.matchAll(/\{\d\}/g)].map((m) => m[0]).sort().join();
    return Object.entries(all).filter(([, [en, zh]]) => !en || !zh || placeholders(en) !== placeholders(zh)).map(([name]) => name);
  });
  expect(odd.length === 0, `texts that differ between the languages: ${odd}`);

  // The legend is complete before the first run.
  const blank = await page.$$eval('.legend [fill^="url("]', (signs) => signs.filter((e) => !e.ownerSVGElement.querySelector(e.getAttribute('fill').slice(4, -1))).length);
  expect(blank === 0 && await page.locator('.legend .bar-bad').count() === 1, `${blank} symbols of the legend have no pattern`);

  // Settings are stored.
  await page.click('#languages [data-value="zh"]');
  await page.click('#themes [data-value="dark"]');
  await page.reload();
  await page.waitForSelector('h1');
  expect((await page.textContent('h1')) === '双击提交', 'the language is not stored');
  expect(await page.getAttribute('html', 'data-theme') === 'dark', 'the theme is not stored');
  await page.click('#languages [data-value="en"]');
  expect((await page.textContent('h1')) === 'Double click', 'the language does not change back');
  expect(await page.getAttribute('html', 'lang') === 'en', 'the document has the wrong language');
  await page.click('#themes [data-value="system"]');
  expect(await page.getAttribute('html', 'data-theme') === null, 'the theme does not follow the system again');

  // The page can be used with the keyboard only.
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
  expect((await v.verdict('direct')).ok === 'false', 'Enter does not run the case directly');
  expect((await v.verdict('guarded')).ok === 'true', 'Enter does not run the case behind Interlock');
  expect((await page.textContent('#said')).includes('correct'), 'the verdict is not announced');

  // The figures are those of /metrics.
  const figure = (name) => page.locator('#now .figures dt', { hasText: name }).locator('xpath=following-sibling::dd[1]').textContent();
  await page.waitForFunction(() => Number(document.querySelectorAll('#now .figures dd')[1]?.textContent) > 0);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(/^interlock_guard_calls_total\{name="click",verdict="refused"\} [1-9]/m.test(metrics), '/metrics does not have the refused click');
  expect((await figure('Answered in process')).endsWith(' %'), 'the share of duplicates answered in process is not shown');
  expect((await page.textContent('#now .figures')).includes('p99'), 'the waits are not shown');

  // A paused or hidden page sends no requests.
  await page.click('[data-act="pause"]');
  await page.waitForTimeout(300);
  let requests = 0;
  page.on('request', (r) => { if (r.url().includes('/api/')) requests += 1; });
  await page.waitForTimeout(1500);
  expect(requests === 0, `a paused page sends ${requests} requests`);
  const resumed = page.waitForRequest((r) => r.url().includes('/api/'));
  await page.click('[data-act="pause"]');
  await resumed;
  const hide = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await hide(true);
  await page.waitForTimeout(300);
  requests = 0;
  await page.waitForTimeout(1500);
  expect(requests === 0, `a hidden page sends ${requests} requests`);
  const visible = page.waitForRequest((r) => r.url().includes('/api/'));
  await hide(false);
  await visible;
  await v.close();
}

// Names with HTML, invisible characters or direction overrides.
const evil = [
  '<img src=x onerror=alert(1)>', '<script>alert(1)</script>', '"><svg onload=alert(1)>', 'javascript:alert(1)', '{{7*7}}', '${7*7}',
  'a\u202eb', 'a\u200bb', 'a\u0000b', '\u001b[31mred', '\u2066x\u2069', '\ufeff', '\u00ad', 'line\nbreak', '\r\n', '\u2028', '\ud800', '\u{e0041}', '\u034f', '\u3164',
];

/** hostileNames checks that hostile names are shown as plain, visible text. */
export async function hostileNames(chromium, url) {
  const v = await visit(chromium, url, { name: 'hostile names' });
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
  expect(seen.shown === 200, `${seen.shown} entries are shown, want 100 locks and 100 claims`);
  expect(seen.bad === 0, `${seen.bad} texts contain hidden characters`);
  expect(seen.made === 0, `names created ${seen.made} elements`);
  const all = await v.page.evaluate(async (list) => {
    const { visible } = await import('/demo/assets/dom.js');
    return list.filter((n) => /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u.test(visible(n))).length;
  }, names);
  expect(all === 0, `${all} of 500 names keep hidden characters`);
  await v.accessible('hostile names');
  await v.fits('hostile names');
  await v.close();
}

/** small checks the page on the screen of a phone. */
export async function small(chromium, url) {
  for (const [lang, theme] of [['en', 'dark'], ['zh', 'light']]) {
    const v = await visit(chromium, url, { name: `390 px ${lang} ${theme}`, lang, theme, width: 390, height: 844, calm: false });
    for (const id of ['sale', 'config']) {
      await v.open(id);
      if (id === 'sale') {
        await v.page.click('#run-both');
        expect((await v.verdict('direct')).ok === 'false', `${v.name}: correct when called directly`);
        expect((await v.verdict('guarded')).ok === 'true', `${v.name}: broken behind Interlock`);
      }
      await v.fits(id);
      await v.accessible(id);
    }
    await v.close();
  }
}
