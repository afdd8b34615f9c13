import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TransactionRow } from '../../../src/decoder/block-rows.ts';
import { NO_DISPENSERS } from '../../../src/decoder/dispensers/action.ts';
import { KEPT_BLOCKS } from '../../../src/decoder/dispensers/run.ts';
import { type DecoderStore, openDecoderStore } from '../../../src/decoder/store.ts';
import { query } from '../../support/decoder/loop.ts';
import { createDatabase } from '../../support/mariadb.ts';

const COUNT = 30_000;
const EXPIRATION = 1_000_000;
const EXTENDED = 2_000_000;

/** Rows and entries of indexes that a dispenser may cost in the block that does something with it. */
const READS_OF_ONE = 50;
/** The same for a block in which nothing happens. */
const READS_OF_NOTHING = 500;

/** Rows of as many dispensers, each of another source and at another address, and of an edit of each source. */
const ROWS = [
  `INSERT INTO index_addresses (id, address) SELECT seq + 10, CONCAT('address ', seq) FROM seq_1_to_${2 * COUNT}`,
  `INSERT INTO index_transactions (id, hash) SELECT seq + 1000, CONCAT('opening ', seq) FROM seq_1_to_${COUNT}`,
  `INSERT INTO transactions (tx_index, tx_hash_id, block_index, source_id, destination_id, fee, data)
   SELECT seq, seq + 1000, 1, seq + 10, 1, 0, 'DISPENSER' FROM seq_1_to_${COUNT}`,
  `INSERT INTO dispensers (tx_index, address_id, expiration)
   SELECT seq, seq + ${COUNT + 10}, ${EXPIRATION} FROM seq_1_to_${COUNT}`,
  `INSERT INTO dispenser_watches (tx_index, address_id, least, dispensers)
   SELECT seq, seq + ${COUNT + 10}, 1, 1 FROM seq_1_to_${COUNT}`,
  `INSERT INTO dispenser_extensions (block_index, address_id, expiration)
   SELECT 2, seq + 10, ${EXTENDED} FROM seq_1_to_${COUNT}`
];

/** Empty blocks, one after the other. */
class Blocks {
  readonly #store: DecoderStore;
  next: number;

  constructor(store: DecoderStore, next: number) {
    this.#store = store;
    this.next = next;
  }

  /** Writes a block. @returns how many rows and entries of indexes MariaDB read */
  async add(time: number): Promise<number> {
    const height = this.next++;
    const common = { findings: [], transactions: [] };
    const before = await readsOf(this.#store);
    await this.#store.writeBlocks([{ height, time, hash: `${height}`, previousHash: `${height - 1}`, ...common }]);
    return (await readsOf(this.#store)) - before;
  }
}

test('a block reads as much as the dispensers cost that it holds, ends or forgets, however many there are', async () => {
  const database = await createDatabase('many_dispensers');
  const first = await openDecoderStore(database, { dispenserLimitHeight: 0 });
  for (const beginning = new Blocks(first, 0); beginning.next < 3; ) await beginning.add(0);
  await first.database.close();
  for (const sql of ROWS) await query(database, sql);
  const store = await openDecoderStore(database, { dispenserLimitHeight: 0 });
  const blocks = new Blocks(store, 3);
  const add = async (what: string, most: number, time: number) => {
    const reads = await blocks.add(time);
    assert.ok(reads <= most, `${what} at ${blocks.next - 1}: ${reads} reads, at most ${most}`);
  };
  const most = COUNT * READS_OF_ONE;
  // Medians of eleven blocks, an hour later.
  for (let left = 0; left < 24; left++) await add('holding', most, EXPIRATION + 1 + 10_000 * Math.floor(left / 12));
  const held = await query(database, 'SELECT COUNT(*) AS count FROM dispenser_holds');
  assert.equal(held[0]?.['count'], COUNT);
  for (let left = 0; left < 3; left++) await add('nothing', READS_OF_NOTHING, EXPIRATION + 10_002);
  for (let left = 0; left < 24; left++) await add('ending', most, EXTENDED + 1 + 10_000 * Math.floor(left / 12));
  const ended = await query(database, 'SELECT MAX(ended) AS height FROM dispenser_tills');
  const height = Number(ended[0]?.['height']);
  while (blocks.next < height + KEPT_BLOCKS) await add('looking at old edits', most, EXTENDED + 10_002);
  await add('forgetting', most, EXTENDED + 10_002);
  while (blocks.next < height + 2 * KEPT_BLOCKS) await add('nothing', most, EXTENDED + 10_002);
  await add('forgetting their tills', most, EXTENDED + 10_002);
  for (const table of ['dispensers', 'dispenser_tills', 'dispenser_holds', 'dispenser_extensions'])
    assert.deepEqual(await query(database, `SELECT * FROM ${table} LIMIT 1`), [], table);
  await store.database.close();
});

test('a block asks the tables for all of its payments at once, however many addresses it pays', async () => {
  const database = await createDatabase('many_paid');
  const store = await openDecoderStore(database, { dispenserLimitHeight: 0 });
  const common = { rawData: null, pubkey: null };
  const names = Array.from({ length: 600 }, (_, at) => `owner ${at}`);
  const opening = { address: null, oracleAddress: null, expiration: EXPIRATION, least: 10n };
  const opens = names.map((source) => {
    const dispensers = { opened: [opening], extendedTo: null };
    return { ...common, hash: `${source} opens`, source, data: 'opens', outputs: [], dispensers };
  });
  const pays = [10n, 9n].map((amount) => {
    const outputs = names.map((address, vout) => ({ vout, address, amount, isPayment: true as const }));
    return { ...common, hash: `${amount}`, source: 'buyer', data: '', outputs, dispensers: NO_DISPENSERS };
  });
  const write = async (height: number, transactions: readonly TransactionRow[]) => {
    const count = async () =>
      Number((await store.database.query("SHOW SESSION STATUS LIKE 'Questions'"))[0]?.['Value']);
    const before = await count();
    const block = { height, time: height, hash: `${height}`, previousHash: `${height - 1}`, findings: [] };
    await store.writeBlocks([{ ...block, transactions }]);
    return (await count()) - before;
  };
  await write(0, opens);
  const statements = await write(1, pays);
  assert.ok(statements < 100, `${statements} statements`);
  const stored = await query(
    database,
    `SELECT COUNT(*) AS count, MIN(o.amount) AS least, SUM(p.payments) AS counted FROM transaction_outputs o
     JOIN dispenser_payments p ON p.address_id = o.destination_id`
  );
  assert.deepEqual(stored.map(Object.values), [[names.length, '0.00000010', String(names.length)]]);
  await store.database.close();
});

test('payments of many amounts to one address pass its dispensers a few times at most', async () => {
  const database = await createDatabase('many_amounts');
  const store = await openDecoderStore(database, { dispenserLimitHeight: 0 });
  const common = { rawData: null, pubkey: null };
  const opened = [{ address: 'till', oracleAddress: null, expiration: EXPIRATION, least: 5_000n }];
  const opens = Array.from({ length: 2_000 }, (_, at) => {
    const dispensers = { opened, extendedTo: null };
    return { ...common, hash: `opens ${at}`, source: `owner ${at}`, data: 'opens', outputs: [], dispensers };
  });
  const outputs = Array.from({ length: 500 }, (_, vout) => {
    return { vout, address: 'till', amount: BigInt(vout + 4_501), isPayment: true as const };
  });
  const pays = { ...common, hash: 'pays', source: 'buyer', data: '', outputs, dispensers: NO_DISPENSERS };
  const block = (height: number, transactions: readonly TransactionRow[]) => {
    return { height, time: height, hash: `${height}`, previousHash: `${height - 1}`, findings: [], transactions };
  };
  await store.writeBlocks([block(0, opens)]);
  const before = await readsOf(store);
  await store.writeBlocks([block(1, [pays])]);
  const reads = (await readsOf(store)) - before;
  assert.ok(reads < 10 * opens.length, `${reads} reads`);
  const [stored] = await query(database, 'SELECT GROUP_CONCAT(amount) AS amounts FROM transaction_outputs');
  assert.equal(stored?.['amounts'], '0.00005000');
  await store.database.close();
});

/** Returns how many rows and entries of indexes MariaDB has read for the writer. */
async function readsOf(store: DecoderStore): Promise<number> {
  const rows = await store.database.query("SHOW SESSION STATUS LIKE 'Handler_read%'");
  return rows.reduce((sum, { Value }) => sum + Number(Value), 0);
}
