// Takes the screenshots of the documentation.

import { statSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { visit, expect } from './visit.js';

const all = [
  ['demo-light-en.png', { lang: 'en', theme: 'light' }, 'payment'],
  ['demo-dark-en.png', { lang: 'en', theme: 'dark' }, 'readers'],
  ['demo-light-zh.png', { lang: 'zh', theme: 'light' }, 'payment'],
  ['demo-dark-zh.png', { lang: 'zh', theme: 'dark' }, 'fair'],
];

/** screenshots writes the files into a directory, each below 250 KB. */
export async function screenshots(chromium, url, dir) {
  mkdirSync(dir, { recursive: true });
  for (const [file, options, id] of all) {
    const v = await visit(chromium, url, { name: file, width: 1400, height: 860, ...options });
    await v.open(id);
    await v.page.click('#run-both');
    await v.verdict('direct');
    await v.verdict('guarded');
    // Locks and claims to show beside it: a task of three seconds, and a queue.
    const send = (path, body) => fetch(url + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }).catch(() => {});
    send('/lock-release-slow', `{"order":"${file}"}`);
    for (let i = 0; i < 14; i += 1) send('/desks/7', '{"name":"ann"}');
    await v.page.evaluate(() => { document.activeElement.blur(); window.scrollTo(0, 0); });
    await v.page.waitForTimeout(1400);
    const path = join(dir, file);
    await v.page.screenshot({ path });
    expect(statSync(path).size < 250 * 1024, `${file} is larger than 250 KB`);
    await v.close();
  }
}
