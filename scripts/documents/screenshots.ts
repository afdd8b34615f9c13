import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium, type Page } from 'playwright-core';
import { findProgram } from '../../src/config/programs.ts';
import { ROOT } from '../root.ts';

const OUT = join(ROOT, 'dist', 'screenshots');
/** Those that the README shows. */
const SHOWN = ['overview-light.png', 'actor-dark.png', 'timeline-light.png'];
const IMAGES = join(ROOT, 'docs', 'images');
const DATABASE = 'indexer/litecoin/regtest';
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'];
/** Time for some blocks and a reorg. */
const LIVE_MS = 45_000;
const LOOKS = [
  { name: 'light', width: 1280, colorScheme: 'light' },
  { name: 'dark', width: 1280, colorScheme: 'dark' },
  { name: 'phone', width: 390, colorScheme: 'light' }
] as const;

/** Pictures of every page of the console, light, dark and phone-wide, from a devnet that runs for a minute. */
async function takeScreenshots(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-screenshots-'));
  const devnet = spawn(join(ROOT, 'scripts', 'platform-node'), ['devnet', '--dir', directory, '--interval', '1500'], {
    stdio: ['ignore', 'pipe', 'ignore']
  });
  const gone = once(devnet, 'exit');
  try {
    const { server, client, key } = await consolesOf(devnet.stdout);
    await new Promise((resolve) => setTimeout(resolve, LIVE_MS));
    const authorization = `Bearer ${key}`;
    await fetch(`${client}/debug/actors/${DATABASE}/kill`, { method: 'POST', headers: { authorization } });
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    mkdirSync(OUT, { recursive: true });
    for (const look of LOOKS) await takeLook(look, { server, client, key });
    mkdirSync(IMAGES, { recursive: true });
    for (const name of SHOWN) copyFileSync(join(OUT, name), join(IMAGES, name));
  } finally {
    devnet.kill('SIGINT');
    await gone;
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Where the devnet says that its consoles are. */
async function consolesOf(told: NodeJS.ReadableStream): Promise<{ server: string; client: string; key: string }> {
  for await (const line of createInterface({ input: told })) {
    const [, server, client, key] = /consoles: server (\S+), client (\S+); .*: (\S+)$/.exec(line) ?? [];
    if (server && client && key) {
      told.resume();
      return { server, client, key };
    }
  }
  throw new Error('the devnet ended before it was up');
}

async function takeLook(
  { name, width, colorScheme }: (typeof LOOKS)[number],
  { server, client, key }: { server: string; client: string; key: string }
): Promise<void> {
  const executablePath = findProgram('chromium', ['/usr/bin/chromium', '/usr/bin/chromium-browser']);
  const browser = await chromium.launch({ executablePath, args: QUIET });
  const page = await browser.newPage({ viewport: { width, height: 820 }, colorScheme });
  await page.addInitScript((secret) => sessionStorage.setItem('platform-node key', secret), key);
  const shoot = async (
    what: string,
    url: string,
    prepare: (page: Page) => Promise<unknown> = async () => undefined
  ) => {
    await page.goto(url);
    await page.reload();
    await page.waitForTimeout(5_000);
    await prepare(page);
    await page.screenshot({ path: join(OUT, `${what}-${name}.png`) });
  };
  await shoot('overview', `${client}/`);
  await shoot('server', `${server}/`);
  await shoot('actor', `${client}/#/actor/${DATABASE}`, async () => {
    await page.evaluate("document.querySelector('figure').scrollIntoView()");
    await page.waitForTimeout(1_500);
  });
  await shoot('timeline', `${client}/#/timeline`);
  await shoot('subscribers', `${server}/#/subscribers`);
  await shoot('transparency', `${server}/#/transparency`, async () => {
    await page.fill('input[type=number]', '50');
    await page.click('form button');
    await page.waitForSelector('#verdict');
  });
  await browser.close();
}

await takeScreenshots();
