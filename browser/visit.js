// Opens the page in a browser and collects failures.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const failures = [];

/** expect records a failed check. */
export function expect(ok, what) {
  if (ok) return;
  failures.push(what);
  console.error(`FAIL ${what}`);
}

/** visit opens a browser context with a language and a theme. Errors on the console and
 * requests to other hosts are failures. */
export async function visit(browser, url, { name, lang = 'en', theme = 'light', width = 1440, height = 900, calm = true }) {
  const context = await browser.newContext({
    viewport: { width, height }, colorScheme: theme, locale: lang === 'zh' ? 'zh-CN' : 'en-US',
    reducedMotion: calm ? 'reduce' : 'no-preference', deviceScaleFactor: 1,
  });
  const page = await context.newPage();
  const host = new URL(url).host;
  page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') expect(false, `${name}: the console says ${m.text()}`); });
  page.on('pageerror', (e) => expect(false, `${name}: ${e.message}`));
  page.on('request', (r) => { if (!r.url().startsWith('data:')) expect(new URL(r.url()).host === host, `${name}: a request to ${r.url()}`); });
  return {
    name, page, context,
    /** open shows a case or another view. */
    async open(id, path = '/') {
      await page.goto(`${url}${path}#${id}`);
      await page.waitForSelector('h1');
    },
    /** press runs a case, direct or guarded, and returns the verdict. */
    async press(mode) {
      await page.click(`#run-${mode}`);
      return this.verdict(mode);
    },
    async verdict(mode) {
      const verdict = page.locator(`#panel-${mode} .verdict`);
      await verdict.waitFor({ timeout: 120_000 });
      return { ok: await verdict.getAttribute('data-ok'), overlaps: Number(await verdict.getAttribute('data-overlaps')), text: await page.locator(`#panel-${mode}`).innerText() };
    },
    /** accessible checks the page with axe. */
    async accessible(what) {
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      for (const v of violations) expect(false, `${name}, ${what}: axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
      return violations.length;
    },
    /** fits checks that the page does not scroll sideways. */
    async fits(what) {
      const [wide, view] = await page.evaluate(() => [document.scrollingElement.scrollWidth, innerWidth]);
      expect(wide <= view, `${name}, ${what}: ${wide} px of ${view}`);
    },
    close: () => context.close(),
  };
}
