import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { signingKey } from '../../src/consensus/auth-signature.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { accessibilityFaults } from '../support/accessibility.ts';
import { openBrowser } from '../support/browser.ts';
import { atEnd } from '../support/cleanup.ts';
import { runCommandLine } from '../support/command-line.ts';
import { runHub } from '../support/hub/run-hub.ts';
import { createDatabase } from '../support/mariadb.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { sql } from '../support/sql.ts';
import { appendBlocks, createIndexer } from '../support/sync/generated-indexer.ts';
import { PAIR_KEY, startPair } from '../support/sync/sync-pair.ts';
import { type SyncProcess, temporaryDirectory } from '../support/sync/sync-process.ts';

const DATABASE = 'indexer/litecoin/regtest';
const PATIENCE = { timeout: PATIENCE_MS };

const browser = await openBrowser();
/** The server's console, from the first test on. */
let server: Page;
/** Everybody whom the pages asked for something. */
const asked = new Set<string>();

/** Opens a service's console and gives it the key. */
async function openConsole(context: Awaited<ReturnType<typeof openBrowser>>, { url }: SyncProcess): Promise<Page> {
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (fault) => faults.push(fault.message));
  page.on('request', (request) => asked.add(new URL(request.url()).origin));
  await page.goto(`${url}/`);
  await page.fill('#key', 'not the key');
  await page.click('form button');
  await page.waitForSelector('p[role=alert]:text("does not accept the key")', PATIENCE);
  await page.fill('#key', PAIR_KEY);
  await page.click('form button');
  await page.waitForSelector(`td a >> text=${DATABASE}`, PATIENCE);
  assert.deepEqual(faults, []);
  return page;
}

/** Waits until a text is on the page; what is below the window is drawn when it is scrolled to. */
const seen = (page: Page, selector: string, text: string | RegExp) =>
  page
    .locator(selector, { hasText: text })
    .first()
    .waitFor({ state: 'attached', ...PATIENCE });

/** Presses a button whose operation is confirmed by the name of the actor, with a reason. */
async function confirmed(page: Page, operation: string): Promise<void> {
  await page.click(`button >> text=${operation}`);
  await page.fill('#confirmed', DATABASE);
  await page.fill('#reason', `a test of ${operation}`);
  await page.click('dialog button.danger');
}

/** Waits until an element of a chart is there. */
const drawn = (page: Page, selector: string) => page.waitForSelector(selector, { state: 'attached', ...PATIENCE });

test('the console shows what is, an operator acts through it, and it proves what the service claims', async () => {
  const source = await createDatabase('console');
  await createIndexer(source, { seed: 'console', blocks: 30, rows: 500 });
  const pair = await startPair('indexer', source, { MERKLE_EPOCH_SIZE: 10 });
  const client = await pair.startClient();
  await pair.settle(client, 129);
  server = await openConsole(browser, pair.server);
  const replica = await openConsole(browser, client);

  await seen(server, 'td', '129');
  // The way of blocks stands above: what each service knows of it, with its last block.
  await seen(server, '.node[data-state="well"]', /^database129/);
  await seen(server, '.node[data-state="well"]', /^sync server129/);
  await seen(server, '.arrow', 'block 129');
  await seen(replica, '.node[data-state="well"]', /^source129127\.0\.0\.1:\d+●followed/);
  await seen(replica, '.node[data-state="well"]', /^replica129.*●live/);
  await seen(replica, 'td', 'caught up');
  await seen(replica, 'td', 'at 129');

  // Killed, it is seen to die and to come back: in its facts, in the chart, and on the timeline.
  await server.click(`td a >> text=${DATABASE}`);
  await seen(server, 'figure', 'source: polling.caughtUp');
  await drawn(server, '.state.active[data-state="polling.caughtUp"]');
  await confirmed(server, 'Kill actor');
  await seen(server, 'p', 'Kill actor: done');
  await seen(server, 'td', 'died');
  await seen(server, 'td', 'killed');
  await seen(server, 'dd', 'running, polling.caughtUp');
  await drawn(server, '.edge.taken');
  await seen(server, '.stories li', /was killed; started again after [\d.]+ s, it was caught up after/);
  await server.click('nav >> text=Audit');
  await seen(server, 'td', 'a test of Kill actor');
  const height = await appendBlocks(source, 2, 'after');
  await pair.settle(client, height);
  await server.click('nav >> text=Timeline');
  await server.fill('input[type=search]', 'restart');
  await seen(server, 'td', 'restart: backoff');
  await server.fill('input[type=search]', 'sent');
  await seen(server, 'td', 'sent');
  await server.fill('input[type=search]', '');
  await seen(replica, 'td', String(height));

  // The charts of any actor as they were at an instant: at the beginning it was not there.
  await server.selectOption('select[aria-label="Charts of"]', DATABASE);
  await drawn(server, '.state.active[data-state="polling.caughtUp"]');
  await server.fill('#scrub', '0');
  await server.waitForSelector('.state.active[data-state="polling.caughtUp"]', { state: 'detached', ...PATIENCE });
  await server.click('button >> text=Now');
  await drawn(server, '.state.active[data-state="polling.caughtUp"]');

  // What it exports replays the same.
  const [download] = await Promise.all([
    server.waitForEvent('download', PATIENCE),
    server.click('button >> text=Export')
  ]);
  const file = join(temporaryDirectory('timeline'), 'timeline.json');
  await download.saveAs(file);
  const replayed = await runCommandLine(['replay', file]);
  assert.equal(replayed.code, 0, replayed.stdout + replayed.stderr);

  // A proof is verified in the browser, and a tampered one is not.
  await server.click('nav >> text=Transparency');
  await seen(server, 'p', /^\d+ epochs are committed/);
  await seen(server, 'tr', /^13121 to 130/);
  const prove = async (block: string) => {
    await server.fill('input[type=number]', block);
    await server.click('form button');
  };
  await prove('105');
  await seen(server, '#verdict.good', 'Verified here: block 105');
  await server.route('**/proof/106', async (route) => {
    const answer = await route.fetch();
    const proof = (await answer.json()) as { proof: { hash: string }[] };
    proof.proof[0]!.hash = proof.proof[0]!.hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    await route.fulfill({ response: answer, json: proof });
  });
  await prove('106');
  await seen(server, '#verdict.bad', 'does not lead to the root');

  // A halt is shown with its reason and cleared.
  await sql(
    pair.replica,
    "INSERT INTO sync_halt (id, reason, detected_at) VALUES (1, 'halted by a test <b id=hostile>', NOW(6))"
  );
  await replica.click(`td a >> text=${DATABASE}`);
  await confirmed(replica, 'Restart actor');
  await seen(replica, 'dd', 'halted: halted by a test <b id=hostile>');
  await seen(replica, '.node[data-state="failed"] .reason', 'halted by a test <b id=hostile>; another program');
  assert.equal(await replica.locator('#hostile').count(), 0);
  await drawn(replica, '.state.active[data-state="halted"]');
  await confirmed(replica, 'Clear halt');
  await seen(replica, 'dd', 'running, live');
  await foldsAndZooms(replica);

  // The interface is documented by the service itself, behind the key.
  await server.click('nav >> text=Interface');
  await seen(server, 'summary', '/snapshot/{dbType}/{chain}/{network}');

  await server.click('nav >> text=Subscribers');
  await seen(server, 'td', 'subscriber');
  await seen(server, 'td', 'keeps up');

  assert.deepEqual([...asked].sort(), [pair.server.url, client.url].sort());
});

/** Arrows that were never taken are folded away until asked for; a drawing is zoomed, and fits again. */
async function foldsAndZooms(page: Page): Promise<void> {
  const chart = page.locator('figure', { hasText: 'replica: ' });
  const shown = () => chart.locator('svg .edge:not(.side):visible').count();
  const folded = await shown();
  await chart.locator('button', { hasText: /^Show \d+ arrows never taken$/ }).click();
  assert.ok((await shown()) > folded);
  await chart.locator('button', { hasText: 'Hide' }).click();
  assert.equal(await shown(), folded);
  const part = () => chart.locator('svg').getAttribute('viewBox');
  const whole = await part();
  await chart.locator('.frame').press('+');
  assert.notEqual(await part(), whole);
  await chart.locator('.frame').press('0');
  assert.equal(await part(), whole);
}

/** Role or tag and accessible name of what has the focus; empty at the page itself. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  if (!element || element === document.body) return '';
  const label = element.labels?.[0]?.textContent.trim();
  return element.tagName.toLowerCase() + ': ' + (element.ariaLabel || label || element.textContent.trim());
})()`;
/** Selects the elements that have no name for a screen reader. */
const UNNAMED = `[...document.querySelectorAll('main table, main svg, main canvas')]
  .filter((each) => !each.ariaLabel).map((each) => each.outerHTML.slice(0, 80))`;

/** Returns the elements that the keyboard reaches, one Tab after the other. */
async function reachedByKeyboard(page: Page): Promise<string[]> {
  await page.evaluate("document.querySelector('#views a').focus()");
  const reached = [await page.evaluate<string>(FOCUSED)];
  for (let press = 0; press < 60; press++) {
    await page.keyboard.press('Tab');
    const name = await page.evaluate<string>(FOCUSED);
    if (name === '') break;
    if (!name.startsWith('div:')) reached.push(name); // what only scrolls
  }
  return reached;
}

test('every page is used by keyboard alone: each control is reached and says what it is', async () => {
  const expected: Readonly<Record<string, readonly string[]>> = {
    '#/': [`a: ${DATABASE}`],
    [`#/actor/${DATABASE}`]: ['button: Restart actor', 'button: Kill actor', 'button: Pause'],
    '#/timeline': [
      'input: Filter',
      'input: transition',
      'select: Time shown',
      'button: Export',
      'input: Instant',
      'select: Charts of'
    ],
    '#/subscribers': ['button: Who', 'button: Lag'],
    '#/transparency': ['select: Database', 'input: Block', 'button: Show and verify the proof']
  };
  for (const [place, controls] of Object.entries(expected)) {
    await server.evaluate(`location.hash = ${JSON.stringify(place)}`);
    await server.waitForTimeout(700);
    const reached = await reachedByKeyboard(server);
    for (const control of ['a: Overview', ...controls])
      assert.ok(reached.includes(control), `${place}: ${control} in ${reached}`);
    for (const name of reached) assert.match(name, /: \S/, `${place}: a control without a name among ${reached}`);
    assert.deepEqual(await server.evaluate(UNNAMED), [], place);
  }
});

test('axe-core finds no serious fault on the page of an actor with its charts', async () => {
  await server.goto(`${new URL(server.url()).origin}/#/actor/${DATABASE}`);
  await drawn(server, '.state.active');
  assert.deepEqual(await accessibilityFaults(server, 'actor'), []);
  await server.setViewportSize({ width: 1280, height: 900 });
  await server.emulateMedia({ colorScheme: 'light' });
});

test('keys lead to the pages, turn the colours, and are listed; the choice of colours is kept', async () => {
  const background = () => server.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  await server.evaluate("document.activeElement.blur(); location.hash = '#/'");
  await server.keyboard.press('2');
  await server.waitForSelector('a[aria-current] >> text=Timeline', PATIENCE);
  await server.keyboard.press('/');
  assert.equal(await server.evaluate<string>(FOCUSED), 'input: Filter');
  await server.keyboard.press('1'); // a field takes what is typed into it
  assert.equal(await server.inputValue('input[type=search]'), '1');
  await server.evaluate('document.activeElement.blur()');
  const light = await background();
  await server.keyboard.press('t');
  assert.equal(await background(), light); // the system's colours are light
  await server.keyboard.press('t');
  const dark = await background();
  assert.notEqual(dark, light);
  await server.reload();
  await server.waitForSelector('a[aria-current]', PATIENCE);
  assert.equal(await background(), dark);
  await server.keyboard.press('t');
  assert.equal(await background(), light);
  await server.keyboard.press('?');
  await server.waitForSelector('dialog[open] >> text=Timeline', PATIENCE);
  await server.keyboard.press('Escape');
  await server.waitForSelector('dialog[open]', { state: 'detached', ...PATIENCE });
});

test('on a phone no page is wider than the window', async () => {
  await server.setViewportSize({ width: 390, height: 800 });
  for (const place of ['#/', `#/actor/${DATABASE}`, '#/timeline', '#/subscribers', '#/transparency', '#/docs']) {
    await server.evaluate(`location.hash = ${JSON.stringify(place)}`);
    await server.waitForTimeout(700);
    assert.ok((await server.evaluate<number>('document.documentElement.scrollWidth')) <= 390, place);
  }
  await server.setViewportSize({ width: 1280, height: 900 });
});

test('the page of a set says that writes wait and for whom, and that all hubs are there; it fits a phone, and axe-core finds no serious fault', async () => {
  const file = join(temporaryDirectory('set'), 'federation.json');
  const seeds = ['01', '02'].map((digits) => digits.repeat(32));
  const ports = [await freePort(), await freePort()];
  const keys = seeds.map((seed) => signingKey(seed).pubkey);
  const members = keys.map((pubkey, at) => ({ pubkey, addr: `127.0.0.1:${ports[at]}` }));
  writeFileSync(file, JSON.stringify({ members }));
  const start = (at: number) =>
    runHub({
      HUB_FEDERATION: file,
      HUB_RATE_LIMIT_RPM: '10000',
      SIGNING_PRIVKEY_HEX: seeds[at]!,
      P2P_VALIDATOR_ADDR: members[at]!.addr,
      P2P_PORT: String(ports[at]),
      P2P_RECONNECT_BASE: '200',
      P2P_RECONNECT_MAX: '400',
      ORACLE_EPOCH_START: '1',
      DISABLED_CAPABILITIES: 'attestation'
    });
  const first = await start(0);
  atEnd(first.stop);
  const page = await (await openBrowser()).newPage();
  await page.goto(`${first.url}/`);
  await page.click('#views a >> text=Federation');
  const short = (at: number) => keys[at]!.slice(0, 8);
  await seen(page, '#set-state', `Writes wait: 2 of 2 hubs decide, and ${short(1)} is missing here`);
  const second = await start(1);
  atEnd(second.stop);
  await seen(page, '#set-state', 'All 2 hubs are connected');
  await page.waitForSelector('.ring line', { state: 'attached', ...PATIENCE });
  await seen(page, 'td', 'this hub');
  await seen(page, 'td', 'price: PRICE_SOURCES names no source');
  await seen(page, 'table[aria-label=Capabilities] td', 'off');
  assert.deepEqual(await accessibilityFaults(page, 'federation'), []);
  await page.setViewportSize({ width: 390, height: 800 });
  assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 390);
});

test('a lost connection is told with the time of the last answer, and its end is seen', async () => {
  await server.evaluate("location.hash = '#/'");
  await server.context().setOffline(true);
  await seen(server, '#lost:not([hidden])', /Connection lost: .* Last seen .* ago; the page shows how it was then/);
  await server.context().setOffline(false);
  await server.waitForSelector('#lost', { state: 'hidden', ...PATIENCE });
});

test('a page that nobody sees asks for nothing', async () => {
  let requests = 0;
  server.on('request', () => requests++);
  await server.waitForTimeout(1_200);
  assert.ok(requests > 0);
  await server.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })");
  await server.waitForTimeout(600);
  requests = 0;
  await server.waitForTimeout(1_200);
  assert.equal(requests, 0);
});
