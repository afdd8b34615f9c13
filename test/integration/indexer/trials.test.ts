import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { ALICE, BOB, blocksOf, startIndexer } from '../../support/indexer-service.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

const BITCOIN_GENESIS = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';
const directory = mkdtempSync(join(tmpdir(), 'trials-'));
after(() => rmSync(directory, { recursive: true }));

/** An indexer of Bitcoin whose ledger has two tokens, where a SWEEP costs gas. */
async function priced() {
  const profile = join(directory, 'profile.json');
  writeFileSync(profile, JSON.stringify({ name: 'priced', gas: { sweep: 5_000, item: 100 } }));
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  const [genesis, ...others] = blocksOf(0, 'a', [
    [],
    ['ISSUE|0|GAS|1000000|0|8||1', 'ISSUE|0|TOKA|1000|0|2||100', 'ISSUE|0|TOKB|1000|0|2||100']
  ]);
  const ofBitcoin = { ...genesis!, hash: BITCOIN_GENESIS };
  await decoder.writeBlocks([ofBitcoin, ...others.map((block) => ({ ...block, previousHash: BITCOIN_GENESIS }))]);
  await decoder.database.close();
  const service = await startIndexer(databases, { INDEXER_COIN: 'BTC', PLATFORM_PROFILE: profile });
  await service.until(({ lastIndexedBlock }) => lastIndexedBlock === 1);
  const count = async () =>
    JSON.stringify(
      await sql(databases.indexer, 'SELECT MAX(id) AS n FROM index_addresses', 'SELECT COUNT(*) AS n FROM actions')
    );
  return { ...service, count };
}

test('preflight and feequote judge an action as the next block would, and leave the ledger as it is', async () => {
  const { call, count, child, exited, port } = await priced();
  const before = await count();
  const preflight = (action: string, params: unknown, source: string | null = ALICE) =>
    call('preflight', { action, params, source });
  assert.deepEqual(await preflight('send', `0|TOKA|30.5|${BOB}`), {
    action: 'SEND',
    coin: 'BTC',
    supported: true,
    valid: true,
    status: 'valid',
    error: null,
    denied: false,
    guardInert: false,
    guardInertReason: null,
    feeExempt: true,
    busy: false,
    retryable: false,
    xchainFee: '0.00000000',
    blockIndex: 1,
    blockTime: 1_700_000_001,
    feeMode: 'xchain',
    feeTick: 'GAS',
    feeTokenBalance: '1.00000000',
    feeAffordable: true,
    subCommands: [],
    oracleFeesOwed: {}
  });
  const refused = await preflight('SEND', [0, 'TOKA', 100.01, BOB, null]);
  assert.deepEqual([refused['valid'], refused['status']], [false, 'invalid: insufficient funds']);
  assert.equal((await preflight('SEND', `0|NONE|1|${BOB}`))['status'], 'invalid: TICK (unknown)');
  const batch = await preflight('BATCH', `0|SEND|0|TOKA|90|${BOB};SEND|0|TOKA|20|${BOB}`);
  assert.deepEqual(
    (batch['subCommands'] as Record<string, unknown>[]).map(({ position, action, refused: why }) => [
      position,
      action,
      why
    ]),
    [
      [0, 'SEND', null],
      [1, 'SEND', 'invalid: insufficient funds']
    ],
    'the second finds what the first left'
  );
  const alone = await preflight('SEND', `0|TOKA|1|${BOB}`, null);
  assert.deepEqual([alone['valid'], alone['status'], alone['feeTokenBalance']], [null, undefined, null]);
  const none = await preflight('XBRIDGE', '0|1');
  assert.deepEqual([none['supported'], none['valid'], none['xchainFee']], [false, null, null]);

  const sweep = await call('feequote', { action: 'SWEEP', params: `0|${BOB}|1|1|0`, source: ALICE });
  assert.deepEqual(
    [sweep['valid'], sweep['validated'], sweep['staticQuote']],
    [true, true, false],
    JSON.stringify(sweep)
  );
  assert.ok(Number(sweep['gasCost']) > 5_000, 'by what it moves');
  assert.equal(Number(sweep['xchainFee']), Number(sweep['gasCost']) / 100_000);
  const scheduled = await call('feequote', { action: 'SWEEP', items: '7', source: null, params: null });
  assert.deepEqual(
    [scheduled['gasCost'], scheduled['xchainFee'], scheduled['staticQuote']],
    [5_700, '0.05700000', true]
  );

  const asBytes = { action: 'MESSAGE', params: `0|${BOB}|${'é'.repeat(5_000)}`, source: ALICE };
  for (const method of ['preflight', 'feequote']) {
    const body = JSON.stringify({ jsonrpc: '2.0', method, params: asBytes, id: 5 });
    const headers = { 'content-type': 'application/json' };
    const reply = await (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body, headers })).text();
    assert.match(reply, /the action takes 10\d+ bytes, of which a transaction carries 8192 at most/);
  }

  const schedule = await call('feeschedule');
  assert.equal((schedule['gasSchedule'] as Record<string, number>)['sweep'], 5_000);
  assert.deepEqual(schedule['prices'], {
    available: false,
    error: 'no current oracle price for GAS/USD (missing or stale beyond 1800s)'
  });
  assert.deepEqual(
    [schedule['toleranceMin'], schedule['maxPriceAgeSeconds'], schedule['blockIndex']],
    ['0.95', 1_800, 1]
  );
  const oracle = await call('oraclefeequote', { oracleAddress: BOB, giveTick: 'TOKA', fiatCode: 'USD', giveEscrow: 5 });
  assert.deepEqual([oracle['valid'], oracle['requiredFeeSats'], oracle['blockTime']], [false, 0, 1_700_000_001]);

  const many = await Promise.all(Array.from({ length: 40 }, () => preflight('SEND', `0|TOKA|1|${BOB}`)));
  assert.ok(
    many.every(({ busy, valid, retryAfterMs }) => (busy ? valid === null && retryAfterMs === 1_000 : valid === true))
  );
  assert.ok(
    many.some(({ busy }) => busy) && many.some(({ busy }) => !busy),
    'those that find others waiting are sent away'
  );
  assert.equal(await count(), before);
  child.kill('SIGTERM');
  assert.equal(await exited, 0);
});
