import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
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

const house = fork(join(import.meta.dirname, '../support/console-house.ts'), {
  stdio: ['ignore', 'ignore', 'inherit', 'ipc']
});
atEnd(async () => void house.kill('SIGKILL'));
const [{ port }] = (await once(house, 'message')) as [{ port: number }];
const page = await (await openBrowser()).newPage();
await page.goto(`http://127.0.0.1:${port}/`);

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
