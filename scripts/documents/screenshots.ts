import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findProgram } from '../../src/config/programs.ts';
import { ROOT } from '../root.ts';
import { takeWalk } from './walk.ts';

const OUT = join(ROOT, 'dist', 'screenshots');
/** Pictures in README and watching.md. */
const SHOWN = ['overview-light.png', 'actor-dark.png', 'timeline-light.png', 'explorer-home-light.png'];
/** Only the pictures of walk.md. */
const IS_WALK = process.argv.includes('--walk');
const IMAGES = join(ROOT, 'docs', 'images');
const DATABASE = 'indexer/litecoin/regtest';
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'];
const START_DEADLINE_MS = 180_000;
/** Time for some blocks and a reorg. */
const LIVE_MS = 45_000;
/** A desk and a phone, by day and by night. */
const LOOKS = [
  { name: 'light', width: 1440, colorScheme: 'light' },
  { name: 'dark', width: 1440, colorScheme: 'dark' },
  { name: 'phone', width: 390, colorScheme: 'light' },
  { name: 'phone-dark', width: 390, colorScheme: 'dark' }
] as const;
/** Pages of the explorer by the names of their pictures. The devnet pays with the token. */
const EXPLORED = {
  home: '/',
  token: '/token/DEV1',
  block: '/block/120',
  search: '/search?q=DEV',
  missing: '/block/999999999'
} as const;

interface Consoles {
  readonly server: string;
  readonly client: string;
  readonly key: string;
}
interface Look {
  readonly platform: { readonly rows: readonly { readonly service: string | null; readonly url: string | null }[] };
}

/**
 * Takes pictures from a devnet with a set of hubs: every page of console, explorer and miner, on a desk and on a phone, in light and in
 * dark, and the overview of each service.
 */
async function takeScreenshots(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-screenshots-'));
  const devnet = spawn(
    join(ROOT, 'scripts', 'platform-node'),
    ['devnet', '--dir', directory, '--interval', '1500', '--hubs', '3'],
    {
      stdio: ['ignore', 'pipe', 'inherit']
    }
  );
  const gone = once(devnet, 'exit');
  const late = setTimeout(() => devnet.kill('SIGINT'), START_DEADLINE_MS);
  try {
    const consoles = await consolesOf(devnet.stdout);
    clearTimeout(late);
    const { client, key } = consoles;
    await new Promise((resolve) => setTimeout(resolve, LIVE_MS));
    const authorization = `Bearer ${key}`;
    await fetch(`${client}/debug/actors/${DATABASE}/kill`, { method: 'POST', headers: { authorization } });
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    for (const directory of [OUT, IMAGES]) mkdirSync(directory, { recursive: true });
    const others = await otherConsoles(consoles);
    if (!IS_WALK) for (const look of LOOKS) await takeLook(look, consoles, others);
    for (const name of IS_WALK ? [] : SHOWN) copyFileSync(join(OUT, name), join(IMAGES, name));
    const browser = await launch();
    const explorer = addressOf(others, 'explorer')!;
    await takeWalk(browser, { ...consoles, explorer, devnet: devnet.pid! }, (name) => join(IMAGES, `${name}.png`));
    await browser.close();
  } finally {
    clearTimeout(late);
    devnet.kill('SIGINT');
    await gone;
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Reads the addresses of the consoles from the devnet's output. */
async function consolesOf(output: NodeJS.ReadableStream): Promise<Consoles> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: output })) {
    const [, server, client, key] = /consoles: .*server (\S+), client (\S+); .*: (\S+)$/.exec(line) ?? [];
    if (server && client && key) {
      output.resume();
      return { server, client, key };
    }
    lines.push(line);
  }
  throw new Error(`the devnet ended before its consoles were up; it said last:\n${lines.slice(-20).join('\n')}`);
}

/** Returns the consoles of the other services by the service's name. */
async function otherConsoles({ client, key }: Consoles): Promise<Map<string, string>> {
  const headers = { authorization: `Bearer ${key}` };
  const look = async () => (await (await fetch(`${client}/debug/live`, { headers })).json()) as Look;
  await look(); // this starts the requests to the services
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const { rows } = (await look()).platform;
  return new Map(rows.flatMap(({ service, url }) => (service && url ? [[service, url] as const] : [])));
}

/** Returns the address of a service without its console. */
function addressOf(others: ReadonlyMap<string, string>, service: string): string | undefined {
  return others.get(service)?.replace(/\/(?:console)?$/, '');
}

function launch(): Promise<Browser> {
  const executablePath = findProgram('chromium', ['/usr/bin/chromium', '/usr/bin/chromium-browser']);
  return chromium.launch({ executablePath, args: QUIET });
}

async function takeLook(
  { name, width, colorScheme }: (typeof LOOKS)[number],
  { server, client, key }: Consoles,
  others: ReadonlyMap<string, string>
): Promise<void> {
  const browser = await launch();
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
    // A browser does not draw cards that no screen has shown.
    if (what.startsWith('all-'))
      await page.evaluate(
        "for (const card of document.querySelectorAll('.card, .lane')) card.style.contentVisibility = 'visible'"
      );
    await page.waitForTimeout(500);
    await page.screenshot({ path: join(OUT, `${what}-${name}.png`), fullPage: what.startsWith('all-') });
  };
  await shoot('overview', `${client}/`);
  await shoot('audit', `${client}/#/audit`);
  await shoot('docs', `${client}/#/docs`);
  await shoot('interface', `${client}/docs`);
  const [hub, explorer, miner] = ['hub', 'explorer', 'miner'].map((service) => addressOf(others, service));
  if (hub) await shoot('federation', `${hub}/#/federation`);
  if (miner) await shoot('miner', `${miner}/`);
  if (explorer) for (const [page, path] of Object.entries(EXPLORED)) await shoot(`explorer-${page}`, explorer + path);
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
  if (name === 'light') {
    await shoot('all-docs', `${client}/#/docs`);
    await shoot('all-actor', `${client}/#/actor/${DATABASE}`);
    for (const [service, url] of others)
      if (!service.startsWith('sync') && service !== 'replica') await shoot(`all-${service}`, url);
    const indexer = others.get('indexer');
    if (indexer) await shoot('all-indexer-actor', `${indexer.replace(/\/$/, '')}/#/actor/${DATABASE}`);
  }
  await browser.close();
}

await takeScreenshots();
