import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { minerPage } from '../../src/miner/page.ts';
import { accessibilityFaults } from '../support/accessibility.ts';
import { openBrowser } from '../support/browser.ts';
import { atEnd } from '../support/cleanup.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { eventually } from '../support/sync/sync-process.ts';

const LANES = 18;
const [FIRST, LAST] = ['.lane:first-of-type', '.lane:last-of-type'];
/** The lanes in which a dot moves, and on how many arrows more than one does. */
const DOTS = `(() => {
  const targets = document.getAnimations().map(({ effect }) => effect.target).filter((target) => target.matches('.pass'));
  const lanes = [...document.querySelectorAll('.lane')];
  return {
    lanes: [...new Set(targets.map((target) => lanes.indexOf(target.closest('.lane'))))],
    crowded: targets.length - new Set(targets).size
  };
})()`;

const frontDoor = fork(join(import.meta.dirname, '../support/console-front-door.ts'), {
  stdio: ['ignore', 'ignore', 'inherit', 'ipc']
});
atEnd(async () => void frontDoor.kill('SIGKILL'));
const [{ port }] = (await once(frontDoor, 'message')) as [{ port: number }];
const page = await (await openBrowser()).newPage();
const origin = `http://127.0.0.1:${port}`;
await page.goto(`${origin}/`);

const heightsOf = (lane: string) =>
  `[...document.querySelectorAll('${lane} .node .height')].map((height) => height.textContent).join(' ')`;
const dots = () => page.evaluate<{ lanes: number[]; crowded: number }>(DOTS);

/** Waits until something is so in the page, whose policy allows no function that is made from text. */
const until = (condition: string, withinMs: number) =>
  eventually(condition, withinMs, () => page.evaluate<boolean>(condition));

/** Waits until a lane tells of other blocks than these. */
const moves = (lane: string, from: string, timeout: number) =>
  until(`${heightsOf(lane)} !== ${JSON.stringify(from)}`, timeout);

test('lanes in sight are drawn at each look, those out of sight by turns, and no dot moves that nobody sees', async () => {
  await until(`/\\d/.test(${heightsOf(LAST)})`, PATIENCE_MS);
  assert.equal(await page.locator('.lane').count(), LANES);
  const below = await page.evaluate<string>(heightsOf(LAST));
  for (let look = 0; look < 4; look++) await moves(FIRST, await page.evaluate<string>(heightsOf(FIRST)), 3_000);
  await moves(LAST, below, PATIENCE_MS);
  const moving = new Set<number>();
  for (let time = 0; time < 20; time++) {
    const { lanes, crowded } = await dots();
    for (const lane of lanes) moving.add(lane);
    assert.equal(crowded, 0);
    await sleep(100);
  }
  assert.ok(moving.has(0), 'no dot moved in the first lane');
  assert.ok(!moving.has(LANES - 1), 'a dot moved in a lane far below the window');
});

test('a lane that is scrolled to is drawn at each look from then on', async () => {
  await page.locator(LAST).scrollIntoViewIfNeeded();
  await until(`${DOTS}.lanes.includes(${LANES - 1})`, PATIENCE_MS);
  for (let look = 0; look < 4; look++) await moves(LAST, await page.evaluate<string>(heightsOf(LAST)), 3_000);
});

test('the tab tells the state; a link to the timeline holds instant, filter and span; times are told in the zone that was chosen', async () => {
  await until("document.title.startsWith('● sync 18 databases')", PATIENCE_MS);
  assert.match(String(await page.getAttribute('link[rel=icon]', 'href')), /icon-well\.svg$/);
  const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  await page.evaluate("localStorage.setItem('platform-node zone', 'utc')");
  await page.goto('about:blank');
  await page.goto(`${origin}/#/timeline?at=${at}&filter=polling&span=300000`);
  await page.locator('p[role=status]', { hasText: '2026-01-02 03:04:05.678 UTC' }).waitFor({ timeout: PATIENCE_MS });
  assert.equal(await page.inputValue('input[type=search]'), 'polling');
  assert.equal(await page.inputValue('select[aria-label="Time shown"]'), '300000');
  await page.click('#now');
  await until("location.hash === '#/timeline?filter=polling&span=300000'", PATIENCE_MS);
  const lanes = (await page.locator('canvas').boundingBox())!;
  await page.mouse.move(lanes.x + 600, lanes.y + 40);
  await page.mouse.down();
  await page.mouse.move(lanes.x + 700, lanes.y + 40, { steps: 4 });
  await page.mouse.up();
  await until("location.hash.includes('at=')", PATIENCE_MS);
});

test('the page of the interface filters, shows samples with the address of the service, and sends a request', async () => {
  await page.goto(`${origin}/docs#get-livez`);
  await page.locator('#get-livez[open] form').waitFor({ timeout: PATIENCE_MS });
  assert.equal(await page.locator('#get-livez h3:text-is("curl") + pre').textContent(), `curl '${origin}/livez'`);
  await page.locator('#get-livez button').click();
  await page.locator('#get-livez pre[role=status]', { hasText: /^200 OK/ }).waitFor({ timeout: PATIENCE_MS });
  await page.fill('input[type=search]', 'livez');
  assert.equal(await page.locator('.op:visible').count(), 1);
});

/** The answer of a miner's method `health`. */
const MINER = {
  status: 'healthy',
  reason: null,
  mempool_size: 2,
  blocks_mined: 3,
  last_mine_at: null,
  mining_paused: false,
  idle_mine_interval_ms: 120_000
};
/** The views of the console, and a part that each shows when it is there. */
const VIEWS: readonly (readonly [place: string, part: string])[] = [
  ['/#/', '.lane .node'],
  ['/#/actor/indexer/bitcoin/mainnet', 'dd'],
  ['/#/timeline', 'td'],
  ['/#/subscribers', 'table'],
  ['/#/transparency', 'form'],
  ['/#/audit', 'table'],
  ['/#/docs', '.op'],
  ['/docs', '.op'],
  ['/miner', '#condition']
];

test('axe-core finds no serious fault on any page of console, interface and miner, light or dark, wide or narrow', async () => {
  const other = await page.context().newPage();
  await other.route(`${origin}/miner`, (route) =>
    route.fulfill({ contentType: 'text/html', body: minerPage('litecoin-regtest') })
  );
  await other.route(`${origin}/`, (route) =>
    route.request().method() === 'POST' ? route.fulfill({ json: { result: MINER } }) : route.continue()
  );
  const faults: string[] = [];
  for (const [place, part] of VIEWS) {
    await other.goto('about:blank');
    await other.goto(origin + place);
    await other.waitForSelector(part, { state: 'attached', timeout: PATIENCE_MS });
    if (part === '.op') await other.locator('.op[data-path] > summary').first().click();
    faults.push(...(await accessibilityFaults(other, place)));
  }
  assert.deepEqual(faults, []);
  assert.equal(
    await other.locator('#condition').textContent(),
    'It mines: a block comes when a payment waits, and after 2 min 0 s without one.'
  );
});
