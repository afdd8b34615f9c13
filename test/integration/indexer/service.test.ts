import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../../src/db/core/connection.ts';
import type { BlockRows } from '../../../src/decoder/block-rows.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { freePort } from '../../../src/devnet/free-port.ts';
import type { DatabaseCoordinates } from '../../../src/wire/database.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { databaseEnv, startServiceProcess } from '../../support/service-process.ts';
import { sql } from '../../support/sql.ts';

/** Addresses of a litecoin regtest. */
const [ALICE, BOB] = ['mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn', 'mrCDrCybB6J1vRfbwM5hemdJz73FwDBC8r'];
const GENESIS = '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9';
const hashOf = (height: number, branch: string) => (height === 0 ? GENESIS : `${branch}${height}`.padStart(64, '0'));

/** Blocks of one branch from a height on, each with the given action texts of Alice. */
function blocksOf(from: number, branch: string, texts: readonly (readonly string[])[], below = branch): BlockRows[] {
  return texts.map((data, place) => ({
    height: from + place,
    time: 1_700_000_000 + from + place,
    hash: hashOf(from + place, branch),
    previousHash: from + place === 0 ? '' : hashOf(from + place - 1, place === 0 ? below : branch),
    transactions: data.map((text, position) => ({
      hash: `${branch}${from + place}f${position}`.padStart(64, 'e'),
      source: ALICE,
      data: text,
      rawData: null,
      pubkey: null,
      outputs: [],
      dispensers: { opened: null, extendedTo: null }
    })),
    findings: []
  }));
}

interface Databases {
  readonly decoder: DatabaseCoordinates;
  readonly indexer: DatabaseCoordinates;
}

/** The same databases for an account that has the rights of docs/grants.md and no more. */
async function withGrants(databases: Databases): Promise<Databases> {
  const text = readFileSync(new URL('../../../docs/grants.md', import.meta.url), 'utf8');
  const granted = [...text.matchAll(/^GRANT (.*) ON `Platform_LTC_Mainnet_(Decoder|Indexer)`\.\* TO 'indexer'@/gm)];
  assert.equal(granted.length, 2);
  const account = { user: databases.indexer.name, pass: 'indexer-account-secret' };
  const to = `'${account.user}'@'%'`;
  await sql(
    databases.indexer,
    `CREATE USER IF NOT EXISTS ${to} IDENTIFIED BY '${account.pass}'`,
    ...granted.map(([, rights, name]) => {
      const { name: database } = name === 'Decoder' ? databases.decoder : databases.indexer;
      return `GRANT ${rights} ON \`${database}\`.* TO ${to}`;
    })
  );
  return { decoder: { ...databases.decoder, ...account }, indexer: { ...databases.indexer, ...account } };
}

/** Starts `platform-node indexer` as a process of its own. */
async function startIndexer(databases: Databases, env: Record<string, string> = {}, options: string[] = []) {
  const { decoder, indexer } = await withGrants(databases);
  const port = await freePort();
  const started = startServiceProcess(
    'indexer',
    {
      INDEXER_COIN: 'LTC',
      INDEXER_NETWORK: 'regtest',
      ...databaseEnv('DECODER', decoder),
      ...databaseEnv('INDEXER', indexer),
      INDEXER_API_HOST: '127.0.0.1',
      INDEXER_API_PORT: String(port),
      INDEXER_POLL_INTERVAL: '20',
      ...env
    },
    options
  );
  const { child, output } = started;
  const call = async (method: string, params = {}) => {
    const body = JSON.stringify({ jsonrpc: '2.0', method, params, id: 5 });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body, headers });
    return ((await response.json()) as { result: Record<string, unknown> }).result;
  };
  return {
    ...started,
    call,
    async until(isDone: (health: Record<string, unknown>) => boolean) {
      const deadline = Date.now() + 30_000;
      for (;;) {
        const health: Record<string, unknown> = await call('health').catch(() => ({}));
        if (isDone(health)) return health;
        assert.ok(Date.now() < deadline && child.exitCode === null, `${JSON.stringify(health)}\n${output()}`);
        await sleep(150);
      }
    }
  };
}

async function holdings({ indexer }: Databases): Promise<string[]> {
  const connection = await connect(indexer);
  const found = await rows<{ address: string; tick: string; amount: string }>(
    connection,
    `SELECT a.address, i.tick, b.amount FROM balances b JOIN index_addresses a ON a.id = b.address_id
     JOIN index_tickers i ON i.id = b.tick_id ORDER BY 1, 2`
  );
  await connection.end();
  return found.map(({ address, tick, amount }) => `${address === ALICE ? 'Alice' : 'Bob'} ${amount} ${tick}`);
}

test('the service indexes a decoder database, follows its reorgs, survives kill -9, and answers for actions', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100'], [`SEND|0|TOKA|30.5|${BOB}`]]));
    const first = await startIndexer(databases);
    await first.until(({ lastIndexedBlock, synced }) => lastIndexedBlock === 2 && synced === true);
    assert.deepEqual(await holdings(databases), ['Alice 69.5 TOKA', 'Bob 30.5 TOKA']);
    assert.deepEqual(await first.call('getlatestblock'), { block_index: 2, decoder_block_index: 2, is_synced: true });
    assert.deepEqual(await first.call('getactionconfirmations', { action_index: 1 }), {
      ...{ coin: 'LTC', network: 'regtest', action_index: 1, exists: true, action: 'ISSUE' },
      ...{ block_index: 1, latest_block_index: 2, confirmations: 2 }
    });
    assert.equal((await first.call('getactionconfirmations', { action_index: 9 }))['exists'], false);
    const pubkey = 'a'.repeat(64);
    assert.equal((await first.call('getownstake', { pubkey }))['stake'], '0');
    const { min_stake, validators } = await first.call('getcapabilityvalidators', { capability: 'price' });
    assert.deepEqual([min_stake, validators], ['1000', []]);

    await decoder.rollBackTip();
    await decoder.writeBlocks(blocksOf(2, 'b', [[`SEND|0|TOKA|1|${BOB}`], ['DESTROY|0|TOKA|9']], 'a'));
    await first.until(({ lastIndexedBlock }) => lastIndexedBlock === 3);
    assert.deepEqual(await holdings(databases), ['Alice 90 TOKA', 'Bob 1 TOKA']);

    first.child.kill('SIGKILL');
    await first.exited;
    await decoder.writeBlocks(blocksOf(4, 'b', [[`SEND|0|TOKA|1|${BOB}`]]));
    const second = await startIndexer(databases);
    await second.until(({ lastIndexedBlock }) => lastIndexedBlock === 4);
    second.child.kill('SIGTERM');
    assert.equal(await second.exited, 0, second.output());
    assert.deepEqual(await holdings(databases), ['Alice 89 TOKA', 'Bob 2 TOKA']);
  } finally {
    await decoder.database.close();
  }
});

test('WATCHDOG_TIMEOUT: a lock that another session holds ends the process; the next start goes on', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  const holder = await connect(databases.indexer);
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100']]));
    const held = await startIndexer(databases, { INDEXER_BLOCK_TIMEOUT: '3000' });
    await held.until(({ lastIndexedBlock }) => lastIndexedBlock === 1);
    await holder.query('START TRANSACTION');
    await holder.query("UPDATE balances SET amount = '100'");
    await decoder.writeBlocks(blocksOf(2, 'a', [[`SEND|0|TOKA|1|${BOB}`]]));
    assert.notEqual(await held.exited, 0);
    assert.match(held.output(), /WATCHDOG TIMEOUT: block 2 took more than 3000 ms/);
    await holder.query('ROLLBACK');
    const next = await startIndexer(databases);
    await next.until(({ lastIndexedBlock }) => lastIndexedBlock === 2);
    assert.deepEqual(await holdings(databases), ['Alice 99 TOKA', 'Bob 1 TOKA']);
    next.child.kill('SIGTERM');
    await next.exited;
  } finally {
    await holder.end();
    await decoder.database.close();
  }
});

test('a balance changed by hand halts; a restart stays halted until an operator clears it', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  const hand = await connect(databases.indexer);
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100']]));
    const first = await startIndexer(databases);
    await first.until(({ lastIndexedBlock }) => lastIndexedBlock === 1);
    first.child.kill('SIGTERM');
    await first.exited;
    await hand.query("UPDATE balances SET amount = '500'");
    await decoder.writeBlocks(blocksOf(2, 'a', [[`SEND|0|TOKA|1|${BOB}`]]));
    const second = await startIndexer(databases);
    const health = await second.until(({ error }) => error != null);
    assert.match(String(health['error']), /SANITY CHECK FAILED: supply of TOKA is 100/);
    assert.deepEqual([health['status'], health['running'], health['lastIndexedBlock']], ['unhealthy', false, 1]);
    second.child.kill('SIGTERM');
    await second.exited;
    await hand.query("UPDATE balances SET amount = '100'");
    const third = await startIndexer(databases);
    await third.until(({ running, error }) => running === false && error != null);
    third.child.kill('SIGTERM');
    await third.exited;
    const clearing = await startIndexer(databases, {}, ['--clear-halt']);
    assert.equal(await clearing.exited, 0, clearing.output());
    assert.match(clearing.output(), /cleared: .*SANITY CHECK FAILED/);
    const last = await startIndexer(databases);
    await last.until(({ lastIndexedBlock }) => lastIndexedBlock === 2);
    last.child.kill('SIGTERM');
    await last.exited;
  } finally {
    await hand.end();
    await decoder.database.close();
  }
});
