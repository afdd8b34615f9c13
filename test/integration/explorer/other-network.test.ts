import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
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
    NETWORK: 'RBTC',
    EXPLORER_API_HOST: '127.0.0.1',
    EXPLORER_API_PORT: String(port),
    ...databaseEnv('DECODER', decoder),
    ...databaseEnv('INDEXER', indexer)
  });
  const url = `http://127.0.0.1:${port}`;
  const ask = async (path: string) => (await fetch(url + path).catch(() => undefined))?.status;
  const named = `${indexer.name} is a ledger of litecoin-regtest: name those of bitcoin-regtest`;
  await eventually('the log names the database', async () => output().includes(named));
  assert.deepEqual([await ask('/api/blocks'), await ask('/readyz')], [503, 503]);
});

test('DATABASE_REFUSED: a wrong account is named once with reason and remedy, and nothing is called fresh', async () => {
  const { indexer, decoder } = await createExplored();
  const start = async (databases: { indexer: typeof indexer; decoder: typeof indexer }, reason: RegExp) => {
    const port = await freePort();
    const { output } = startServiceProcess('explorer', {
      NETWORK: 'RBTC',
      EXPLORER_API_HOST: '127.0.0.1',
      EXPLORER_API_PORT: String(port),
      ...databaseEnv('DECODER', databases.decoder),
      ...databaseEnv('INDEXER', databases.indexer)
    });
    await eventually('the log has the reason', async () => reason.test(output()));
    await sleep(5_000); // the circuit opens and is tried again meanwhile
    const lines = output().split('\n');
    assert.equal(lines.filter((line) => reason.test(line)).length, 1, output());
    assert.doesNotMatch(output(), /circuit/);
    const [ready, blocks, status] = await Promise.all(
      ['/readyz', '/api/blocks', '/api/status'].map(async (path) => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`);
        return { status: answer.status, body: await answer.text() };
      })
    );
    assert.equal(ready!.status, 503);
    return {
      blocks: [blocks!.status, blocks!.body] as const,
      status: (JSON.parse(status!.body) as { data: { RBTC: object } }).data.RBTC
    };
  };
  const refused = { ...decoder, pass: 'a wrong password' };
  const { blocks, status } = await start(
    { indexer, decoder: refused },
    /Access denied .*; check the database's name, the user/
  );
  assert.deepEqual(
    { ...status, last_block: 0, last_block_mark: '' },
    {
      supported: true,
      available: true,
      stale: true,
      last_block: 0,
      last_block_mark: '',
      decoder_tip: null,
      decoder_lag_blocks: null,
      hub_config_age_seconds: null
    }
  );
  assert.equal(blocks[0], 200, 'the ledger answers');
});

test('TABLE_LACKING: databases whose names were exchanged, and a table that is gone, are named once with reason and remedy', async () => {
  const { indexer, decoder } = await createExplored();
  const start = async (databases: { indexer: typeof indexer; decoder: typeof indexer }) => {
    const port = await freePort();
    const { output } = startServiceProcess('explorer', {
      NETWORK: 'RBTC',
      EXPLORER_API_HOST: '127.0.0.1',
      EXPLORER_API_PORT: String(port),
      ...databaseEnv('DECODER', databases.decoder),
      ...databaseEnv('INDEXER', databases.indexer)
    });
    return { url: `http://127.0.0.1:${port}`, output };
  };
  const isToldOnce = async ({ url, output }: { url: string; output: () => string }, reason: RegExp) => {
    await eventually('the log has the reason', async () => reason.test(output()));
    await sleep(5_000);
    assert.equal(
      output()
        .split('\n')
        .filter((line) => reason.test(line)).length,
      1,
      output()
    );
    assert.doesNotMatch(output(), /circuit/);
    assert.equal((await fetch(`${url}/readyz`)).status, 503);
    const answer = await fetch(`${url}/api/blocks`);
    assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [500, 'DB_ERROR']);
  };
  const swapped = await start({ indexer: decoder, decoder: indexer });
  const remedy = 'no (?:table|column) .*; let a release write .*; or INDEXER_DB_NAME and DECODER_DB_NAME are exchanged';
  await isToldOnce(swapped, new RegExp(`${decoder.name}: .*${remedy}`));

  const right = await start({ indexer, decoder });
  const isReady = async () => (await fetch(`${right.url}/readyz`).catch(() => undefined))?.status === 200;
  await eventually('it is ready', isReady);
  await sql(indexer, 'RENAME TABLE index_transactions TO gone');
  await isToldOnce(right, new RegExp(`${indexer.name}: .*no table index_transactions; let`));
  await sql(indexer, 'RENAME TABLE gone TO index_transactions');
  await eventually('it is ready again', isReady);
});
