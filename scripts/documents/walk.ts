import { readdirSync, readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';

/** Time after which every page says that a coin node is silent. */
const SILENT_MS = 12_000;
const SETTLE_MS = 3_000;
/** Height of the bar at the head of a page, and some. */
const HEAD_PX = 80;
/** Distance of the past instant that is looked at. */
const AGO_MS = 20_000;

/** Addresses of the pages. */
interface WalkedPages {
  readonly client: string;
  readonly server: string;
  readonly explorer: string;
  /** Key of the consoles. */
  readonly key: string;
  /** Process of the devnet, whose coin node is stopped for a moment. */
  readonly devnet: number;
}

/** Takes the pictures of docs/operating/walk.md: five questions of an operator, each answered by a page. @param path of a picture */
export async function takeWalk(browser: Browser, pages: WalkedPages, path: (name: string) => string): Promise<void> {
  const { client, server, explorer, key, devnet } = pages;
  const page = await browser.newPage({ viewport: { width: 1280, height: 640 }, colorScheme: 'light' });
  await page.addInitScript((secret) => sessionStorage.setItem('platform-node key', secret), key);
  const shoot = async (name: string, url: string, prepare?: () => Promise<unknown>) => {
    await page.goto(url);
    await page.reload();
    await page.waitForTimeout(SETTLE_MS);
    await page.evaluate('scrollTo(0, 0)');
    await prepare?.();
    await page.screenshot({ path: path(name) });
  };
  await shoot('walk-behind', `${server}/#/subscribers`);
  await shoot('walk-equal', `${client}/`, () => scrollTo(page, 'verified'));
  await shoot('walk-then', `${client}/#/timeline?at=${Date.now() - AGO_MS}`);
  await shoot('walk-paid', `${explorer}/address/${await paidAddress(explorer)}`, () => scrollTo(page, 'History'));
  const node = childNamed(devnet, 'litecoind');
  process.kill(node, 'SIGSTOP');
  try {
    await page.waitForTimeout(SILENT_MS);
    await shoot('walk-still', `${client}/`);
  } finally {
    process.kill(node, 'SIGCONT');
  }
  await page.close();
}

/** Scrolls to the first text that begins with a word. */
async function scrollTo(page: Page, word: string): Promise<void> {
  const found = page.getByText(new RegExp(`^${word}`)).first();
  const box = await found.boundingBox();
  await page.mouse.wheel(0, Math.max(0, (box?.y ?? 0) - HEAD_PX));
  await page.waitForTimeout(500);
}

/** Returns an address that was paid the devnet's token. @throws {Error} where nobody was */
async function paidAddress(explorer: string): Promise<string> {
  const answer = await fetch(`${explorer}/api/holders/DEV1`);
  const { data } = (await answer.json()) as { data: readonly { readonly address: string }[] };
  const [, paid] = data; // the first one issued it
  if (!paid) throw new Error('nobody was paid DEV1 yet');
  return paid.address;
}

/** Returns the child of a process that runs a program. @throws {Error} where there is none */
function childNamed(parent: number, program: string): number {
  const children = readdirSync(`/proc/${parent}/task`).flatMap((thread) =>
    readFileSync(`/proc/${parent}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  );
  const found = children.find((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === program);
  if (found === undefined) throw new Error(`the devnet has no child ${program}`);
  return found;
}
