// Starts the demo and a browser.

import { spawn, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

/** start builds the command, starts the demo and returns the URL of its page. */
export async function start() {
  const dir = mkdtempSync(join(tmpdir(), 'page'));
  const program = join(dir, 'interlock');
  execFileSync('go', ['build', '-o', program, '../cmd/interlock'], { stdio: 'inherit' });
  const child = spawn(program, ['demo', '--n=2', '--listen=127.0.0.1:0', '--for=10m', '--lang=en'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  const url = await new Promise((found, lost) => {
    child.stdout.on('data', (text) => {
      output += text;
      const at = output.match(/^page +(http:\S+)\/$/m);
      if (at && output.includes('Ctrl-C')) found(at[1]);
    });
    child.on('exit', (code) => lost(new Error(`the demo ended with ${code}:\n${output}`)));
  });
  const ended = new Promise((done) => child.on('exit', done));
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      const code = await ended;
      rmSync(dir, { recursive: true, force: true });
      if (code !== 0) throw new Error(`the demo ended with ${code}`);
    },
  };
}

/** browser starts the installed Chromium. */
export function browser() {
  const path = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => p && existsSync(p));
  return chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}
