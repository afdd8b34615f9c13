import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { createExplored } from '../../support/explorer-database.ts';
import { databaseEnv, startServiceProcess } from '../../support/service-process.ts';
import { sql } from '../../support/sql.ts';
import { eventually } from '../../support/sync/sync-process.ts';

test('DATABASE_UNUSABLE: databases of another network are not served, and the log names them', async () => {
  const { indexer, decoder } = await createExplored();
  await sql(indexer, "REPLACE INTO ledger_base (name, value) VALUES ('network', 'litecoin-regtest')");
  const port = await freePort();
  const { output } = startServiceProcess('explorer', {
    ...{ NETWORK: 'RBTC', EXPLORER_API_HOST: '127.0.0.1', EXPLORER_API_PORT: String(port) },
    ...databaseEnv('DECODER', decoder),
    ...databaseEnv('INDEXER', indexer)
  });
  const url = `http://127.0.0.1:${port}`;
  const ask = async (path: string) => (await fetch(url + path).catch(() => undefined))?.status;
  const named = `${indexer.name} is a ledger of litecoin-regtest: name those of bitcoin-regtest`;
  await eventually('the log names the database', 60_000, async () => output().includes(named));
  assert.deepEqual([await ask('/api/blocks'), await ask('/readyz')], [503, 503]);
});
