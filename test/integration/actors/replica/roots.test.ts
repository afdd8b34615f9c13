import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WireRow } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { appendBlocks, createIndexer } from '../../../support/sync/generated-indexer.ts';
import { startLyingSource } from '../../../support/sync/lying-source.ts';
import { plainRoots } from '../../../support/sync/plain-roots.ts';
import { differences, type SyncPair, startPair } from '../../../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../../../support/sync/sync-process.ts';

type Body = Record<string, unknown>;

async function startIndexerPair(): Promise<SyncPair> {
  const source = await createDatabase('roots');
  await createIndexer(source, { seed: 'roots', blocks: 20, rows: 600 });
  return startPair('indexer', source);
}

const commitment = async (pair: SyncPair, of: SyncProcess) =>
  (await pair.status(of))['state_commitment'] as { phase: string; height: number | null; balances: number };

/** Both sides have a tree: the next block's roots are named and compared. */
async function untilReady(pair: SyncPair, client: SyncProcess): Promise<void> {
  for (const side of [pair.server, client])
    await eventually('a balance tree', async () => (await commitment(pair, side))?.phase === 'ready').catch(
      async (fault: Error) =>
        assert.fail(`${fault.message}: ${JSON.stringify(await pair.status(side))}\n${side.log().slice(-4000)}`)
    );
}

/** A row in which a source lies; its hashes and roots are right. By the root that gives it away. */
const LIES: Readonly<Record<string, (block: Body) => WireRow | undefined>> = {
  balances_root: ({ data }) => (data as Record<string, WireRow[]> | undefined)?.['balances']?.[0],
  // A block with rows of contracts has no such root.
  block_merkle_root: ({ data, block_merkle_root }) =>
    block_merkle_root === null ? undefined : (data as Record<string, WireRow[]>)['credits']?.[0]
};

test('a source that lies in one row is halted for the root that says so; nothing of the block is visible', async (t) => {
  const pair = await startIndexerPair();
  let findRow: ((block: Body) => WireRow | undefined) | undefined;
  let hasLied = false;
  const lying = await startLyingSource(pair.server.url, undefined, undefined, (message) => {
    const row = message['type'] === 'block' ? findRow?.(message) : undefined;
    if (row) {
      row['amount'] = `${String(row['amount'])}1`;
      hasLied = true;
    }
    return [message];
  });
  let client = await pair.startClient({ SYNC_SOURCES: lying.url });
  const rowsOf = () =>
    sql(
      pair.replica,
      `SELECT (SELECT MAX(block_index) FROM blocks) AS tip, (SELECT height FROM sync_state) AS height, (SELECT COUNT(*) FROM credits) AS credits,
       (SELECT MD5(GROUP_CONCAT(address_id, '/', tick_id, '/', amount ORDER BY id)) FROM balances) AS balances`
    );
  for (const [root, find] of Object.entries(LIES)) {
    await t.test(root, async () => {
      await untilReady(pair, client);
      findRow = find;
      hasLied = false;
      let height = 0;
      let before: unknown;
      // Not every block moves something.
      while (!hasLied) {
        before = await rowsOf();
        height = await appendBlocks(pair.source, 1, root);
        await eventually('the block is applied, or not', async () => {
          const { block_height, halted } = await pair.status(client);
          return halted === true || (block_height === height && !hasLied);
        });
      }
      assert.equal((await pair.status(client))['reason'], 'state-root-mismatch');
      const [halt] = await sql(pair.replica, 'SELECT * FROM sync_halt');
      const sourceRoot = ((await plainRoots(pair.source)) as unknown as Record<string, string>)[root];
      const mismatch = JSON.parse(String(halt?.['mismatches'])) as Body;
      assert.deepEqual({ ...mismatch, ours: '' }, { root, height, ours: '', theirs: sourceRoot });
      assert.notEqual(mismatch['ours'], sourceRoot);
      assert.equal(halt?.['block_index'], height);
      assert.deepEqual(JSON.parse(String(halt?.['sources'])), [lying.url]);
      assert.deepEqual(await rowsOf(), before);

      findRow = undefined;
      if (root === 'balances_root') {
        await client.end();
        client = await pair.startClient({ SYNC_SOURCES: lying.url });
        const isHalted = async () => (await pair.status(client))['phase'] === 'halted';
        await eventually('it is halted after a restart', isHalted);
      }
      assert.equal(await client.post('/halt/clear/indexer/litecoin/regtest'), 200);
      const verdict = await pair.settle(client, height);
      assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
    });
  }
  await client.end();
  await pair.server.end();
});
