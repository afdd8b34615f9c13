import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { openBrowser } from '../support/browser.ts';
import { runCommandLine } from '../support/command-line.ts';
import { appendBlocks, createIndexer } from '../support/generated-indexer.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { PAIR_KEY, startPair } from '../support/sync-pair.ts';
import { type SyncProcess, temporaryDirectory } from '../support/sync-process.ts';

const DATABASE = 'indexer/litecoin/regtest';
const PATIENCE = { timeout: 20_000 };

/** Opens a service's console and gives it the key. */
async function openConsole(context: Awaited<ReturnType<typeof openBrowser>>, { url }: SyncProcess): Promise<Page> {
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (fault) => faults.push(fault.message));
  await page.goto(`${url}/`);
  await page.fill('#key', 'not the key');
  await page.click('form button');
  await page.waitForSelector('#key', PATIENCE);
  await page.fill('#key', PAIR_KEY);
  await page.click('form button');
  await page.waitForSelector(`td a >> text=${DATABASE}`, PATIENCE);
  assert.deepEqual(faults, []);
  return page;
}

/** Waits until a text is seen somewhere. */
const seen = (page: Page, selector: string, text: string | RegExp) =>
  page.locator(selector, { hasText: text }).first().waitFor(PATIENCE);

test('the console shows what is, an operator acts through it, and it proves what the service claims', async () => {
  const source = await createDatabase('console');
  await createIndexer(source, { seed: 'console', blocks: 30, rows: 500 });
  const pair = await startPair('indexer', source, { MERKLE_EPOCH_SIZE: 10 });
  const client = await pair.startClient();
  await pair.settle(client, 129);
  const browser = await openBrowser();
  const server = await openConsole(browser, pair.server);
  const replica = await openConsole(browser, client);

  await seen(server, 'td', '129');
  await seen(replica, 'td', 'caught up');
  await seen(replica, 'td', 'at 129');

  // Killed, it is seen to die and to come back: in its facts, in the chart, and on the timeline.
  await server.click(`td a >> text=${DATABASE}`);
  await seen(server, 'figure', 'source: polling.caughtUp');
  await server.waitForSelector('.state.active[data-state="polling.caughtUp"]', PATIENCE);
  await server.click('button >> text=Kill actor');
  await seen(server, 'p', 'Kill actor: done');
  await seen(server, 'td', 'died');
  await seen(server, 'td', 'killed');
  await seen(server, 'dd', 'running, polling.caughtUp');
  await server.waitForSelector('.edge.taken', PATIENCE);
  const height = await appendBlocks(source, 2, 'after');
  await pair.settle(client, height);
  await server.click('nav >> text=Timeline');
  await seen(server, 'td', 'restart: backoff');
  await seen(server, 'td', 'sent');
  await seen(replica, 'td', String(height));

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
  await seen(server, 'p', /^Epoch \d+/);
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
  await sql(pair.replica, "INSERT INTO sync_halt (id, reason, detected_at) VALUES (1, 'halted by a test', NOW(6))");
  await replica.click(`td a >> text=${DATABASE}`);
  await replica.click('button >> text=Restart actor');
  await seen(replica, 'dd', 'halted: halted by a test');
  await replica.waitForSelector('.state.active[data-state="halted"]', PATIENCE);
  await replica.click('button >> text=Clear halt');
  await seen(replica, 'dd', 'running, live');

  // The interface is documented by the service itself, behind the key.
  await server.click('nav >> text=Interface');
  await seen(server, 'summary', '/snapshot/{dbType}/{chain}/{network}');

  await server.click('nav >> text=Subscribers');
  await seen(server, 'td', 'subscriber');
});
