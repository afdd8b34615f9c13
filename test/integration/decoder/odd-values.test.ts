import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { toDecimal } from '../../../src/coin/amount.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import type { BlockRows, Finding, OutputRow, TransactionRow } from '../../../src/decoder/block-rows.ts';
import type { OpenedDispenser } from '../../../src/decoder/dispensers/action.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { query } from '../../support/decoder/loop.ts';
import { rowsOf } from '../../support/decoder/rows.ts';
import { createDatabase } from '../../support/mariadb.ts';

const { addresses } = chainNetwork('bitcoin', 'regtest');
const address = (script: Uint8Array) => addressOf(script, addresses)!;
const paid = (kind: 'keyHash' | 'witnessScriptHash' | 'taproot', bytes: number, fill: number) =>
  address(payTo({ kind, bytes: Buffer.alloc(bytes, fill) }));
const FAR = 999_999_999_999_999;
const MOST_BYTES = 8_189;
const txid = (of: string) => hash('sha256', of);

/** Values of each part of a transaction: the shortest, the longest, and those that text, numbers or SQL read otherwise. */
const SOURCES = [paid('keyHash', 20, 0), paid('taproot', 32, 255), paid('witnessScriptHash', 32, 1)];
const TEXTS = [
  'SEND',
  'SEND|0|trailing spaces  ',
  `MESSAGE|0|${'😀'.repeat(Math.floor((MOST_BYTES - 10) / 4))}`,
  `FILE|0|${'x'.repeat(MOST_BYTES - 7)}`,
  'BROADCAST|0|\u0000\u001a\'"`\\%_\n\r\t\u2028\ufeff\ufffd',
  'SEND|0|É é e\u0301 ß ẞ İ ı'
];
const RAW = [
  null,
  new Uint8Array(),
  Buffer.alloc(8_190, 0xff),
  Buffer.from([0, 0x27, 0x5c, 0x22, 0x1a, 0x0a, 0xed, 0xa0, 0x80])
];
const KEYS = [null, `02${'ff'.repeat(32)}`, `04${'0f'.repeat(64)}`];
const AMOUNTS = [0n, 1n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 64n - 1n];
const output = (vout: number, at: number): OutputRow => ({
  vout,
  address: SOURCES[at % SOURCES.length]!,
  amount: AMOUNTS[at % AMOUNTS.length]!
});
const OUTPUTS = [
  [],
  [output(0, 4), output(65_536, 3), output(1_000_000, 2), output(1_111_111, 1)],
  Array.from({ length: 3_000 }, (_, vout) => output(vout, vout))
];
const opened = (more: Partial<OpenedDispenser>): OpenedDispenser => ({
  address: null,
  oracleAddress: null,
  expiration: null,
  least: 1n,
  ...more
});
const DISPENSERS = [
  { opened: [], extendedTo: null },
  { opened: [opened({}), opened({ least: 2n ** 63n - 1n, expiration: FAR })], extendedTo: FAR },
  {
    opened: SOURCES.map((one, at) => opened({ address: one, oracleAddress: SOURCES[at - 1] ?? null, least: 0n })),
    extendedTo: 1
  }
];
const REASONS = ['', `${'😀'.repeat(50)}\ud83d…`, '\u0000\'"\\', 'x'.repeat(101)];
const CODES: readonly Finding['code'][] = ['PARSE_ERROR', 'TEXT_NOT_UTF8', 'SIGNATURE_NOT_WHOLE', 'SOURCE_NOT_SIGNER'];
const DIMENSIONS = [SOURCES, TEXTS, RAW, KEYS, OUTPUTS, DISPENSERS].map(({ length }) => length);

/** Rows of positions in the dimensions, so that each two values of two dimensions meet in one of them. */
function pairwise(sizes: readonly number[]): number[][] {
  const missing = new Set<string>();
  const pairs = (row: readonly number[]) =>
    row.flatMap((one, at) => row.slice(at + 1).map((other, more) => `${at}:${one} ${at + 1 + more}:${other}`));
  const every = sizes.reduce<number[][]>(
    (rows, size) => rows.flatMap((row) => Array.from({ length: size }, (_, value) => [...row, value])),
    [[]]
  );
  for (const row of every) for (const pair of pairs(row)) missing.add(pair);
  const chosen: number[][] = [];
  while (missing.size > 0) {
    let best: { row: number[]; found: number } = { row: [], found: 0 };
    for (const row of every) {
      const found = pairs(row).filter((pair) => missing.has(pair)).length;
      if (found > best.found) best = { row, found };
    }
    for (const pair of pairs(best.row)) missing.delete(pair);
    chosen.push(best.row);
  }
  return chosen;
}

const TRANSACTIONS = pairwise(DIMENSIONS).map(
  ([source, text, raw, key, outputs, dispensers], at): TransactionRow => ({
    hash: txid(`transaction ${at}`),
    source: SOURCES[source!]!,
    data: TEXTS[text!]!,
    rawData: RAW[raw!]!,
    pubkey: KEYS[key!]!,
    outputs: OUTPUTS[outputs!]!,
    dispensers: DISPENSERS[dispensers!]!
  })
);

const blockAt = (height: number, transactions: readonly TransactionRow[]): BlockRows => ({
  height,
  time: 2 ** 32 - 100 + height,
  hash: txid(`block ${height}`),
  previousHash: height === 0 ? '' : txid(`block ${height - 1}`),
  transactions,
  findings: transactions.map((transaction, at) => ({
    code: CODES[at % CODES.length]!,
    hash: transaction.hash,
    reason: REASONS[(height + at) % REASONS.length]!
  }))
});

test('the longest and oddest values of each column, each two together, are kept as they are, and rolled back', async () => {
  const database = await createDatabase('odd_values');
  const store = await openDecoderStore(database, { dispenserLimitHeight: 0 });
  const first = blockAt(0, []);
  await store.writeBlocks([first]);
  const before = await rowsOf(database);
  const size = 6;
  const blocks = Array.from({ length: Math.ceil(TRANSACTIONS.length / size) }, (_, at) =>
    blockAt(at + 1, TRANSACTIONS.slice(at * size, (at + 1) * size))
  );
  await store.writeBlocks(blocks.slice(0, 2));
  for (const block of blocks.slice(2)) await store.writeBlocks([block]);

  const stored = await query(
    database,
    `SELECT h.hash, a.address AS source, t.data, HEX(t.raw_data) AS raw FROM transactions t
     JOIN index_transactions h ON h.id = t.tx_hash_id JOIN index_addresses a ON a.id = t.source_id ORDER BY tx_index`
  );
  const hex = (bytes: Uint8Array | null) => bytes && Buffer.from(bytes).toString('hex').toUpperCase();
  assert.deepEqual(
    stored,
    TRANSACTIONS.map(({ hash: id, source, data, rawData }) => ({ hash: id, source, data, raw: hex(rawData) }))
  );
  const outputs = await query(
    database,
    `SELECT tx_index, vout, address, amount FROM transaction_outputs JOIN index_addresses ON id = destination_id ORDER BY 1, 2`
  );
  assert.deepEqual(
    outputs.map(({ tx_index, vout, address: to, amount }) => [Number(tx_index), Number(vout), to, amount]),
    TRANSACTIONS.flatMap((one, at) =>
      one.outputs.map(({ vout, address: to, amount }) => [at, vout, to, toDecimal(amount)])
    )
  );
  const events = await query(database, "SELECT data FROM events WHERE code <> 'REORG' ORDER BY id");
  assert.deepEqual(
    events.map(({ data }) => (JSON.parse(String(data)) as [{ reason: string }])[0].reason),
    [first, ...blocks].flatMap(({ findings }) => findings.map(({ reason }) => reason))
  );
  const [watched] = await query(
    database,
    `SELECT CAST(MIN(least) AS CHAR) AS least, CAST(MAX(least) AS CHAR) AS most, CAST(MAX(expiration) AS CHAR) AS last
     FROM dispenser_watches JOIN dispensers USING (tx_index, address_id)`
  );
  assert.deepEqual(
    watched,
    { least: '0', most: '9223372036854775807', last: String(FAR) },
    'those of one address are one, and each of its prices is kept'
  );

  const whole = await rowsOf(database);
  await store.database.close();
  const again = await openDecoderStore(database, { dispenserLimitHeight: 0 });
  for (const _ of blocks) await again.rollBackTip();
  assert.deepEqual(await rowsOf(database), before);
  await again.writeBlocks(blocks);
  assert.deepEqual(await rowsOf(database), whole, 'the same when they are written again, all at once');

  await again.mempool.add(TRANSACTIONS.map((row) => ({ ...row, hash: txid(row.hash) })));
  const waiting = await query(
    database,
    'SELECT tx_hash AS hash, source, data, HEX(raw_data) AS raw FROM mempool_transactions'
  );
  assert.deepEqual(
    new Map(waiting.map((row) => [row['hash'], row])),
    new Map(
      TRANSACTIONS.map(({ hash: id, source, data, rawData }) => [
        txid(id),
        { hash: txid(id), source, data, raw: hex(rawData) }
      ])
    )
  );
  await again.database.close();
});
