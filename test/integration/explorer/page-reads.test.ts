import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { writeLedger } from '../../../lab/bench/support/explorer-ledger.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { answerQuestion } from '../../../src/explorer/read/answer.ts';
import { Cursors } from '../../../src/explorer/read/cursor.ts';
import { openDatabases } from '../../../src/explorer/read/databases.ts';
import { Reader } from '../../../src/explorer/read/reader.ts';
import { DECODER_TIP, NEWEST_BLOCK } from '../../../src/explorer/read/tip.ts';
import { createDatabase } from '../../support/mariadb.ts';

const ACTIONS = 40_000;
const CURSORS = new Cursors(new Uint8Array(32));
const CLOSED = { refuses: false, tell: () => undefined };

let indexer: Awaited<ReturnType<typeof createDatabase>>;
const readers: Reader[] = [];
/** Returns a reader with one connection, whose session counts the rows that it read. */
const readerOf = (opening: string) => {
  const reader = new Reader({ database: indexer, connections: 1, limitMs: 20_000, breaker: CLOSED, opening });
  readers.push(reader);
  return reader;
};
before(async () => {
  indexer = await createDatabase('page_reads');
  await writeLedger(indexer, { actions: ACTIONS, busy: ACTIONS / 2 });
});
after(() => Promise.all(readers.map((reader) => reader.close())));

/** Returns the rows that the session of a reader has read. */
async function rowsRead(reader: Reader): Promise<number> {
  const counted = await reader.read((query) => query<{ Value: string }>("SHOW SESSION STATUS LIKE 'Handler_read%'"));
  return counted.reduce((sum, { Value }) => sum + Number(Value), 0);
}

/** Rows that a read of a page may touch, however long the ledger is. */
const READS = [
  { method: 'page_activity', most: 1_500 },
  { method: 'page_blocks', query: '5', most: 20_000 },
  { method: 'page_tokens', most: 30_000 },
  { method: 'page_markets', most: 3_000 },
  { method: 'page_markets', query: '1', most: 3_000 },
  { method: 'page_holders', query: '1', most: 2_500 },
  { method: 'page_escrow', query: 'a1', most: 45_000 },
  { method: 'page_changes', query: 'a1', parameters: { actions: '39000,39001,39002' }, most: 1_500 }
] as const;
for (const { most, ...asked } of READS)
  test(`${asked.method} ${'query' in asked ? asked.query : ''} reads ${most} rows at most`, async () => {
    const reader = readerOf(NEWEST_BLOCK);
    const own = { indexer: reader, aside: readerOf(NEWEST_BLOCK), decoder: readerOf(DECODER_TIP) };
    const databases = openDatabases(chainNetwork('bitcoin', 'regtest'), own, CURSORS);
    const question = { parameters: {}, page: 1, limit: 8, order: 'desc', format: 'json', ...asked } as const;
    await answerQuestion(databases, { ...question, method: 'blocks', query: '', limit: 1 }); // it looks which indexes there are
    const began = await rowsRead(reader);
    await answerQuestion(databases, question);
    const read = (await rowsRead(reader)) - began;
    assert.ok(read > 0 && read < most, `${read} rows were read`);
  });
