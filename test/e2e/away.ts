import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../src/db/connection.ts';
import { atEnd } from '../support/cleanup.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { differences, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';
import type { Size } from '../support/tables-in-use/history.ts';
import { LATE_KINDS } from '../support/tables-in-use/late-changes.ts';
import { createLedger } from '../support/tables-in-use/ledger.ts';

/** Deeper than a replica fetches blocks anew: the longest cooldown of a chain, and what is a little older than it looks. */
const DEPTHS = [1_100, 10_080];
/** A contract's cooldown is its own, and none is that long. */
const SHORT = 'contractRefund';

/** A replica of a database with a history of this size. */
export async function startReplicated(
  seed: string,
  size: Size,
  env: Readonly<Record<string, number>> = {},
  binlog: 'required' | 'off' = 'off'
) {
  const logged = binlog === 'off' ? null : await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  const source = await createDatabase('away', logged?.root);
  const connection = await connect(source);
  atEnd(() => connection.end());
  const ledger = await createLedger(connection, { dbType: 'indexer', seed, size, chain: 'dogecoin' });
  await connection.query('DROP TABLE sync_meta, merkle_epochs'); // each sync service makes its own
  const pair = await startPair('indexer', source, { SYNC_BINLOG: binlog, ...env });
  const client = await pair.startClient();
  await pair.settle(client, ledger.height);
  return { connection, ledger, pair, client };
}

/** Starts the replica again. What it lacked must not be left to a comparison. */
export async function returns(pair: SyncPair, height: number): Promise<void> {
  await eventually('the server has told it', async () => {
    return (await pair.status(pair.server))['block_height'] === height;
  });
  const client = await pair.startClient();
  const verdict = await pair.settle(client, height);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  assert.match(client.log(), /caught up by snapshot/);
  const repaired = client
    .log()
    .split('\n')
    .filter((line) => line.includes('repaired'));
  assert.deepEqual(repaired, [], 'a comparison found nothing');
  await client.end();
  await pair.server.end();
}

/** Test of a replica that was away while rows of every age changed. */
export function lateChangesTest(binlog: 'off' | 'required'): void {
  test(`a replica that was away gets every late change by its since-snapshot, however old the row is (binary log ${binlog})`, async () => {
    const { ledger, pair, client } = await startReplicated('away', 'small', {}, binlog);
    const first = await ledger.writeBlock({ actions: 3 });
    const before = await pair.settle(client, first.height);
    assert.ok(before.equal, JSON.stringify(differences(before)));
    await client.end();

    let height = 0;
    for (const depth of DEPTHS) {
      for (const kind of LATE_KINDS) {
        if (kind !== SHORT || depth <= 4_032)
          ({ height } = await ledger.writeBlock({ actions: 1, late: [{ kind, depth }] }));
      }
    }
    await returns(pair, height);
  });
}
