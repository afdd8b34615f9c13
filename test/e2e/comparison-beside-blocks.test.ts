import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../src/db/connection.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { startLyingSource } from '../support/sync/lying-source.ts';
import { differences, startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';

const EPOCH = 5;
const BLOCK_MS = 300;
/** Longer than blocks ever waited for a comparison. */
const PASS_MS = 12_000;
const SHORT_PASS_MS = 1_000;
/** Rows of a table that is compared by itself. */
const LARGE_ROWS = 240_000;
const APPLIED_MS = 5_000;

/** Starts a server of a database with blocks and two tables without blocks, of which `settings` has one row. */
async function startServer(
  label: string,
  of: { readonly binlog: 'required' | 'off'; readonly blocks: number; readonly notes: number }
) {
  const mariadb = of.binlog === 'off' ? undefined : await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  const source = await createDatabase(label, mariadb?.root);
  await sql(
    source,
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL DEFAULT 0, block_hash VARCHAR(64) NOT NULL)',
    'CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(40) NOT NULL)',
    'CREATE TABLE settings (id INT PRIMARY KEY, text VARCHAR(40) NOT NULL)',
    `INSERT INTO blocks (block_index, block_hash) SELECT seq, CONCAT('h', seq) FROM seq_1_to_${of.blocks}`,
    `INSERT INTO notes (text) SELECT CONCAT('note ', seq) FROM seq_1_to_${of.notes}`,
    "INSERT INTO settings VALUES (1, 'of a block')"
  );
  const pair = await startPair('decoder', source, { SYNC_BINLOG: of.binlog, MERKLE_EPOCH_SIZE: EPOCH });
  return { pair, source };
}

test('a comparison that takes longer than blocks ends beside them, and what differs is repaired while they come', async () => {
  const { pair, source } = await startServer('beside', { binlog: 'required', blocks: 20, notes: 3_000 });
  let passMs = 0;
  const slow = await startLyingSource(pair.server.url, async (path, body) => {
    if (/^\/digest\/[^?]*\?key=/.test(path)) await sleep(passMs);
    return body;
  });
  const client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH, SYNC_SOURCES: slow.url });
  const status = () => pair.status(client);
  await eventually('verified', async () => (await status())['verification'] === 'verified');

  const writer = await connect(source);
  const [waits, end] = [[] as number[], new AbortController()];
  let height = 20;
  const blocks = (async () => {
    while (!end.signal.aborted) {
      height += 1;
      const next = height;
      await writer.query(`INSERT INTO blocks (block_index, block_hash) VALUES (${next}, 'h${next}')`);
      const began = performance.now();
      await eventually(`block ${next}`, async () => Number((await status())['block_height']) >= next);
      waits.push(performance.now() - began);
      await sleep(Math.max(0, BLOCK_MS - (performance.now() - began)));
    }
  })();
  passMs = PASS_MS;
  const from = height + EPOCH;
  await eventually('compared', async () => Number((await status())['verified_height']) > from);
  assert.ok(height > from + 10, `blocks came: ${height - from}`);
  const longest = Math.max(...waits);
  assert.ok(longest < APPLIED_MS, `a block waited for ${Math.round(longest)} ms`);
  passMs = SHORT_PASS_MS;

  await sql(pair.replica, "UPDATE notes SET text = 'by hand' WHERE id = 7", 'DELETE FROM notes WHERE id = 2999');
  await eventually('repaired', async () => Number((await status())['repairs']) > 0);
  const repairedAt = height;
  await eventually('compared', async () => Number((await status())['verified_height']) > repairedAt);
  end.abort();
  await blocks;
  const verdict = await pair.compare();
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  assert.doesNotMatch(client.log(), /halted/);
  writer.destroy();
});

test('rows that a comparison saw before their block do not take completeness from a replica that has the block', async () => {
  const { pair, source } = await startServer('ahead', { binlog: 'required', blocks: 20, notes: 300 });
  const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
  let isHeld = false;
  const slow = await startLyingSource(pair.server.url, async (path, body) => {
    if (!isHeld || !/^\/digest\/[^?]*\?key=/.test(path)) return body;
    read();
    await isReleased;
    return body;
  });
  const client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH, SYNC_SOURCES: slow.url });
  const status = () => pair.status(client);
  await eventually('verified', async () => (await status())['verification'] === 'verified');

  isHeld = true;
  await sql(source, "INSERT INTO blocks (block_index, block_hash) SELECT seq, CONCAT('h', seq) FROM seq_21_to_25");
  const end = new AbortController();
  const notes = (async () => {
    while (!end.signal.aborted) {
      await sql(source, "INSERT INTO notes (text) VALUES ('before its block')");
      await sleep(20);
    }
  })();
  await isRead;
  end.abort();
  await notes;
  await sql(source, "INSERT INTO blocks (block_index, block_hash) VALUES (26, 'h26')");
  const isWhole = async () => {
    const [row] = await sql(pair.replica, 'SELECT height, complete FROM sync_state');
    return row!['height'] === 26 && row!['complete'] === 1;
  };
  await eventually('complete at block 26', isWhole);
  release();
  await eventually('the comparison has ended', async () => client.log().includes('has not broadcast its changes'));
  assert.ok(await isWhole(), JSON.stringify(await sql(pair.replica, 'SELECT height, complete FROM sync_state')));
  const verdict = await pair.compare();
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
});

test('after a restart, a comparison goes on with the tables that were not compared', async () => {
  const { pair, source } = await startServer('position', { binlog: 'required', blocks: 21, notes: LARGE_ROWS });
  let passMs = 0;
  let keys: string[] = [];
  const slow = await startLyingSource(pair.server.url, async (path, body) => {
    const [, part] = /^\/digest\/.*\/key(.*)/.exec(path) ?? [];
    if (part !== undefined) keys.push(part);
    if (/^\/digest\/[^?]*\?key=/.test(path)) await sleep(passMs);
    return body;
  });
  const start = () => pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH, SYNC_SOURCES: slow.url });
  const first = await start();
  await eventually('verified', async () => (await pair.status(first))['verified_height'] === 21);
  [passMs, keys] = [1_000, []];
  await sql(source, "INSERT INTO blocks (block_index, block_hash) SELECT seq, CONCAT('h', seq) FROM seq_22_to_25");
  await eventually('the large table is compared', async () => keys.includes('?only=notes'));
  passMs = 5_000;
  await eventually('the others are being compared', async () => keys.includes('?without=notes'));
  const { comparing } = (await pair.status(first)) as { comparing: { height: number; percent: number } };
  assert.equal(comparing.height, 25);
  first.child.kill('SIGKILL');
  await first.end();

  [passMs, keys] = [0, []];
  await sql(source, "INSERT INTO blocks (block_index, block_hash) VALUES (26, 'h26')");
  const second = await start();
  await eventually('verified', async () => (await pair.status(second))['verification'] === 'verified');
  assert.deepEqual(keys, ['?without=notes'], 'the large table is not compared again');
  const { verified_height, comparing: after } = await pair.status(second);
  assert.deepEqual([verified_height, after], [25, null], 'the block at which its first table was compared');
});

test('a repair for which blocks wait leaves no rows of a moment between two blocks in a replica that calls itself complete', async () => {
  const { pair, source } = await startServer('between', { binlog: 'off', blocks: 20, notes: 3_000 });
  let passMs = 0;
  const slow = await startLyingSource(pair.server.url, async (path, body) => {
    if (/^\/digest\/[^?]*\?key=/.test(path)) await sleep(passMs);
    return body;
  });
  const client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH, SYNC_SOURCES: slow.url });
  const status = () => pair.status(client);
  await eventually('verified', async () => (await status())['verification'] === 'verified');
  let height = 20;
  const addBlock = async () => {
    height += 1;
    await sql(source, "UPDATE settings SET text = 'of a block'");
    await sql(source, `INSERT INTO blocks (block_index, block_hash) VALUES (${height}, 'h${height}')`);
    await eventually('settled', async () => (await pair.status(pair.server))['settled_height'] === height);
  };
  const marker = async () => {
    const [row] = await sql(pair.replica, 'SELECT complete, height FROM sync_state');
    const [setting] = await sql(pair.replica, 'SELECT text FROM settings');
    const { complete, height } = row!;
    return { complete, height, text: setting!['text'], verification: (await status())['verification'] };
  };

  await sql(pair.replica, "UPDATE notes SET text = 'by hand' WHERE id = 7");
  passMs = 2 * SHORT_PASS_MS;
  while (!client.log().includes('blocks wait for the comparison')) {
    await addBlock();
    await sql(source, "UPDATE settings SET text = 'between two'");
    await sleep(BLOCK_MS);
  }
  passMs = 0;
  await eventually('repaired', async () => Number((await status())['repairs']) > 0);
  await eventually('the comparison has ended', async () => (await status())['comparing'] === null);
  const { complete, verification, text } = await marker();
  assert.ok(text === 'of a block' || (complete === 0 && verification !== 'verified'), JSON.stringify(await marker()));

  await addBlock();
  const isWhole = async () => {
    const now = await marker();
    return now.height === height && now.complete === 1 && now.verification === 'verified';
  };
  await eventually('complete and verified', isWhole);
  assert.equal((await marker()).text, 'of a block');
});
