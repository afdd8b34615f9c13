import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { toDecimal } from '../../../src/coin/amount.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { TransactionRow } from '../../../src/decoder/block-rows.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import type { SentPayment } from '../../../src/devnet/processes/litecoin.ts';
import { startLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import scanBlocks from '../../../workers/decoder/scan-blocks.ts';
import { type NodeBlock, type NodeOutput, readBlockRows } from '../../support/coin/verbose-rows.ts';
import { query, scanRules, startLoop } from '../../support/decoder/loop.ts';
import { assertEqualRows, assertPrefix, rowsOf } from '../../support/decoder/rows.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';

const MAGIC = 'TEST';
const NETWORK = chainNetwork('litecoin', 'regtest');
const RULES = scanRules(NETWORK, MAGIC);
let coin: TestLitecoind;

before(async () => {
  coin = await startTestLitecoind({ magic: MAGIC });
  await coin.node.fund(250);
});

const startOn = (database: DatabaseCoordinates) =>
  startLoop({ database, node: coin.node, network: NETWORK, magic: MAGIC });

/** Everything that blocks brought, with ids replaced by what they stand for. */
async function contentOf(database: DatabaseCoordinates) {
  return {
    blocks: await query(
      database,
      `SELECT block_index, block_time, h.hash, p.hash AS previous FROM blocks
       JOIN index_transactions h ON h.id = block_hash_id JOIN index_transactions p ON p.id = previous_block_hash_id
       ORDER BY block_index`
    ),
    transactions: await query(
      database,
      `SELECT tx_index, h.hash, block_index, s.address AS source, destination_id, amount, fee, data, HEX(raw_data) AS raw
       FROM transactions JOIN index_transactions h ON h.id = tx_hash_id JOIN index_addresses s ON s.id = source_id
       ORDER BY tx_index`
    ),
    outputs: await query(
      database,
      `SELECT tx_index, vout, address, amount FROM transaction_outputs JOIN index_addresses ON id = destination_id
       ORDER BY tx_index, vout`
    )
  };
}

async function assertSameAsFresh(database: DatabaseCoordinates): Promise<void> {
  const fresh = await createDatabase('decoder_fresh');
  const loop = startOn(fresh);
  await loop.reach(await coin.node.height(), await tipHash());
  await loop.stop();
  await assertEqualRows(database, fresh);
}

const tipHash = async () => await coin.node.rpc.call('getbestblockhash');

test('200 blocks with payloads are decoded as they were paid', async () => {
  const database = await createDatabase('decoder');
  const receiver = await coin.node.newAddress();
  const paid: SentPayment[] = [];
  for (let block = 0; block < 200; block++) {
    if (block % 2 === 0) paid.push(await coin.node.pay({ action: `SEND|0|T${block}|${block}|é` }));
    if (block % 10 === 0) {
      const outputs = [{ address: receiver, amount: 2_100_000_001n + BigInt(block) }];
      paid.push(await coin.node.pay({ action: `COINPAY|0|${1 + block}`, outputs }));
    }
    if (block === 50) paid.push(await coin.node.pay({ action: 'FILE|0|', rawData: Buffer.alloc(5000, block) }));
    if (block === 51) await coin.node.pay({ action: 'NONSENSE|0' });
    await coin.node.mine(1, receiver);
  }
  const loop = startOn(database);
  await loop.reach(await coin.node.height(), await tipHash());
  assert.deepEqual(loop.states, ['connecting', 'waitingForNode', 'parsing.catchingUp', 'parsing.caughtUp']);
  assert.equal(loop.loop.report.lastProcessedBlock, await coin.node.height());
  await loop.stop();

  const { blocks, transactions, outputs } = await contentOf(database);
  assert.equal(blocks.length, (await coin.node.height()) + 1);
  assert.equal(blocks[0]?.['previous'], '0'.repeat(64));
  const expected = new Map(paid.map((payment) => [payment.txid, payment]));
  assert.equal(transactions.length, expected.size);
  for (const [position, row] of transactions.entries()) {
    const payment = expected.get(String(row['hash']));
    assert.equal(row['tx_index'], position);
    assert.deepEqual(
      { source: row['source'], data: row['data'], raw: row['raw'] },
      {
        source: payment?.source,
        data: payment?.action,
        raw: payment?.rawData ? Buffer.from(payment.rawData).toString('hex').toUpperCase() : null
      }
    );
    for (const output of payment?.outputs ?? []) {
      assert.ok(
        outputs.some(
          ({ tx_index, address, amount }) =>
            tx_index === position && address === output.address && amount === toDecimal(output.amount)
        )
      );
    }
  }
  assert.equal(outputs.length, 2 * 20); // what was paid, and the change
  const keys = await query(database, 'SELECT address, pubkey FROM pubkeys JOIN index_addresses a ON a.id = address_id');
  const named = new Set<unknown>();
  const known = new Set<unknown>();
  for (const { source, tx_index: txIndex } of transactions) {
    if (named.has(source)) known.add(source); // a row before named it
    named.add(source);
    for (const output of outputs) if (output['tx_index'] === txIndex) named.add(output['address']);
  }
  assert.deepEqual(new Set(keys.map(({ address }) => address)), known);
  const [{ id: emptyId } = {}] = await query(database, "SELECT id FROM index_addresses WHERE address = ''");
  assert.equal(emptyId, 1);
});

test('the rows of each block are those that a reader of printed blocks finds', async () => {
  const { rpc } = coin.node;
  const printed = async (height: number) => {
    const block = (await rpc.call('getblock', [await rpc.call('getblockhash', [height]), 2])) as NodeBlock;
    const output = async (txid: string, vout: number) => {
      const { vout: outputs } = (await rpc.call('getrawtransaction', [txid, true])) as { vout: NodeOutput[] };
      return outputs[vout]!;
    };
    return await readBlockRows(block, output, MAGIC);
  };
  const height = await coin.node.height();
  for (const isSmall of [true, false]) {
    for (let from = 0; from <= height; from += 100) {
      const range = { from, count: Math.min(100, height - from + 1), isSmall, wanted: new Uint32Array() };
      const { blocks } = await scanBlocks({ node: coin.node, range, rules: RULES });
      for (const { findings, transactions, marks: _marks, ...block } of blocks) {
        const { findings: _, transactions: expected, ...header } = await printed(block.height);
        assert.deepEqual(block, header);
        assert.deepEqual(transactions.map(plainRow), expected.map(plainRow));
        assert.ok(findings.every(({ code, reason }) => code === 'UNKNOWN_ACTION' && reason === 'NONSENSE|0'));
      }
    }
  }
});

const plainRow = ({ rawData, ...row }: TransactionRow) => ({
  ...row,
  raw: rawData && Buffer.from(rawData).toString('hex')
});

for (const depth of [1, 6]) {
  test(`a reorg of depth ${depth} ends as a fresh decode would`, async () => {
    const database = await createDatabase('decoder_reorg');
    const loop = startOn(database);
    for (let block = 0; block < depth; block++) {
      await coin.node.pay({ action: `COINPAY|0|${1 + depth}|${block}` });
      await coin.node.mine(1);
    }
    const height = await coin.node.height();
    await loop.reach(height, await tipHash());
    const left = (
      await query(
        database,
        'SELECT block_index, hash FROM blocks JOIN index_transactions ON id = block_hash_id ORDER BY block_index DESC LIMIT 10'
      )
    ).slice(0, depth);
    await coin.node.invalidate(depth);
    await coin.node.pay({ action: 'BROADCAST|0|on the other branch' });
    await coin.node.mineEmpty();
    await coin.node.mine(depth);
    await loop.reach(height + 1, await tipHash());
    await loop.stop();
    const events = await query(database, "SELECT data FROM events WHERE code = 'REORG' ORDER BY id");
    assert.deepEqual(
      events.map(({ data }) => JSON.parse(String(data))),
      left.map(({ block_index, hash }) => [{ block_index, block_hash: hash }])
    );
    await assertSameAsFresh(database);
  });
}

test('a block that is replaced at the same height is replaced here too', async () => {
  const database = await createDatabase('decoder_equal');
  await coin.node.mine(1);
  const loop = startOn(database);
  const height = await coin.node.height();
  await loop.reach(height, await tipHash());
  await coin.node.invalidate(1);
  await coin.node.mine(1);
  assert.equal(await coin.node.height(), height);
  await loop.reach(height, await tipHash());
  await loop.stop();
  await assertSameAsFresh(database);
});

test('stored blocks above the node wait for other blocks, which roll them back, also one stop and start further', async () => {
  const database = await createDatabase('decoder_above');
  await coin.node.mine(4);
  const loop = startOn(database);
  await loop.reach(await coin.node.height(), await tipHash());
  await loop.stop();
  await coin.node.invalidate(3);
  const again = startOn(database);
  for (const end = Date.now() + PATIENCE_MS; again.loop.report.state !== 'nodeBehind'; await sleep(20))
    assert.ok(Date.now() < end, again.loop.report.state);
  assert.deepEqual(await query(database, "SELECT id FROM events WHERE code = 'REORG'"), []);
  await coin.node.pay({ action: 'BROADCAST|0|another branch' });
  await coin.node.mine(2);
  await again.reach(await coin.node.height(), await tipHash());
  await again.stop();
  await assertSameAsFresh(database);
});

test('a node that goes away and comes back is waited for', async () => {
  const database = await createDatabase('decoder_node');
  const loop = startOn(database);
  await loop.reach(await coin.node.height(), await tipHash());
  const { rpcPort, user, password } = coin.node;
  await coin.node.stop();
  const deadline = Date.now() + PATIENCE_MS;
  while (loop.loop.report.failures < 3) {
    assert.ok(Date.now() < deadline);
    await sleep(20);
  }
  assert.ok(loop.loop.report.rpcErrors >= 3);
  coin.node = await startLitecoind(coin.directory, { rpcPort, magic: MAGIC, user, password });
  await coin.node.mine(2);
  await loop.reach(await coin.node.height(), await tipHash());
  await loop.stop();
});

test('ROLLBACK_TOO_DEEP: more than 126 blocks halt it durably, until an operator clears it', async () => {
  const database = await createDatabase('decoder_deep');
  await coin.node.mine(130);
  const first = startOn(database);
  await first.reach(await coin.node.height(), await tipHash());
  await first.stop();
  await coin.node.invalidate(127);
  await coin.node.mine(128);
  for (const start of [1, 2]) {
    const loop = startOn(database);
    const deadline = Date.now() + PATIENCE_MS;
    while (loop.loop.report.state !== 'halted') {
      assert.ok(Date.now() < deadline, `start ${start}: ${loop.loop.report.state}`);
      await sleep(20);
    }
    assert.match(loop.loop.report.haltReason ?? '', /more than 126 blocks/);
    await loop.stop();
  }
  assert.deepEqual(await query(database, "SELECT id FROM events WHERE code = 'REORG'"), []);
  const store = await openDecoderStore(database);
  assert.ok(await store.database.halts.clear());
  await store.database.close();
  const allowed = startOn(database);
  await allowed.reach(await coin.node.height(), await tipHash());
  await allowed.stop();
  await assertSameAsFresh(database);
});

test('a connection that is lost is opened anew, and no block is lost or written twice', async () => {
  const database = await createDatabase('decoder_lost');
  const loop = startOn(database);
  const height = await coin.node.height();
  const killed = new Set<unknown>();
  const deadline = Date.now() + PATIENCE_MS;
  while (killed.size < 10) {
    const [row] = await query(database, `SELECT IS_USED_LOCK('decoder ${database.name}') AS holder`).catch(() => []);
    if (row?.['holder'] && !killed.has(row['holder'])) {
      killed.add(row['holder']);
      await sleep(killed.size * 10); // each time a little further
      await query(database, `KILL CONNECTION ${row['holder']}`);
    }
    assert.ok(Date.now() < deadline);
    await sleep(5);
  }
  await loop.reach(height, await tipHash());
  assert.ok(loop.states.filter((state) => state === 'connecting').length > 1);
  await loop.stop();
  await assertSameAsFresh(database);
});

test('a stop amid catching up leaves whole blocks, and no connection', async () => {
  const [database, fresh] = [await createDatabase('decoder_stopped'), await createDatabase('decoder_whole')];
  const whole = startOn(fresh);
  await whole.reach(await coin.node.height(), await tipHash());
  await whole.stop();
  const loop = startOn(database);
  for (const end = Date.now() + PATIENCE_MS; loop.loop.report.lastProcessedBlock === null; await sleep(1)) {
    assert.ok(Date.now() < end);
  }
  await loop.stop();
  assert.equal(await connectionsTo(database), 0);
  const { lastProcessedBlock } = loop.loop.report;
  await assertPrefix(database, await rowsOf(fresh), lastProcessedBlock!);
});

test('a decoder has ten connections at most', async () => {
  const database = await createDatabase('decoder_pool');
  const store = await openDecoderStore(database);
  const ask = () => Promise.all([store.database.probe(10_000), store.database.pool.query('SELECT SLEEP(0.01)')]);
  const answers = await Promise.all(Array.from({ length: 100 }, ask));
  assert.ok(answers.every(([isThere]) => isThere));
  assert.equal(await connectionsTo(database), 10);
  await store.database.close();
});

/** Open connections whose database this is, without the one that asks. */
async function connectionsTo(database: DatabaseCoordinates): Promise<number> {
  const [row] = await query(
    database,
    `SELECT COUNT(*) AS count FROM information_schema.PROCESSLIST WHERE DB = '${database.name}' AND ID <> CONNECTION_ID()`
  );
  return Number(row?.['count']);
}

test('a quarantined transaction is recorded as PARSE_ERROR, together with its block', async () => {
  const database = await createDatabase('decoder_quarantine');
  const store = await openDecoderStore(database);
  const findings = [{ code: 'PARSE_ERROR' as const, hash: 'aa'.repeat(32), reason: 'not an amount: many' }];
  await store.writeBlocks([{ height: 5, time: 1, hash: 'b5', previousHash: 'b4', transactions: [], findings }]);
  assert.equal(store.parseErrors, 1);
  assert.deepEqual(await store.readTip(), { height: 5, hash: 'b5' });
  await store.database.close();
  const [event] = await query(database, 'SELECT code, data FROM events');
  assert.deepEqual(
    [event?.['code'], JSON.parse(String(event?.['data']))],
    ['PARSE_ERROR', [{ block_index: 5, tx_hash: findings[0]?.hash, reason: 'not an amount: many' }]]
  );
});

test('findings are recorded in their order, a thousand with one statement', async () => {
  const database = await createDatabase('decoder_findings');
  const store = await openDecoderStore(database);
  const inserts = async () => {
    const [row] = await store.database.query<{ Value: string }>("SHOW SESSION STATUS LIKE 'Com_insert'");
    return Number(row!.Value);
  };
  const before = await inserts();
  const findings = Array.from({ length: 2_500 }, (_, place) => ({
    code: 'UNKNOWN_ACTION' as const,
    hash: place.toString(16).padStart(64, '0'),
    reason: `STEAL|${place}`
  }));
  await store.writeBlocks([{ height: 5, time: 1, hash: 'b5', previousHash: 'b4', transactions: [], findings }]);
  assert.ok((await inserts()) - before < 12, String((await inserts()) - before));
  await store.database.close();
  const events = await query(database, 'SELECT data FROM events ORDER BY id');
  assert.deepEqual(
    events.map(({ data }) => JSON.parse(String(data))),
    findings.map(({ hash, reason }) => [{ block_index: 5, tx_hash: hash, reason }])
  );
});

test('a second writer of the same database waits', async () => {
  const database = await createDatabase('decoder_lock');
  const store = await openDecoderStore(database);
  await assert.rejects(openDecoderStore(database), { code: 'DATABASE_UNAVAILABLE', message: /another decoder/ });
  await store.database.close();
  await (await openDecoderStore(database)).database.close();
});
