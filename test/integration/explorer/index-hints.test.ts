import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { writeLedger } from '../../../lab/bench/support/explorer-ledger.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { answerQuestion } from '../../../src/explorer/read/answer.ts';
import { Cursors, markOf } from '../../../src/explorer/read/cursor.ts';
import { openDatabases } from '../../../src/explorer/read/databases.ts';
import { Reader } from '../../../src/explorer/read/reader.ts';
import { DECODER_TIP, NEWEST_BLOCK, tipIn } from '../../../src/explorer/read/tip.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

const ACTIONS = 20_000;
/** Keys and lookups of a page of ten rows are some hundred. */
const MAX_READ = 1_500;
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
  indexer = await createDatabase('hints');
  await writeLedger(indexer, { actions: ACTIONS, busy: ACTIONS / 2 });
});
after(() => Promise.all(readers.map((reader) => reader.close())));

/** Returns the rows that the session of a reader has read. */
async function rowsRead(reader: Reader): Promise<number> {
  const counted = await reader.read((query) => query<{ Value: string }>("SHOW SESSION STATUS LIKE 'Handler_read%'"));
  return counted.reduce((sum, { Value }) => sum + Number(Value), 0);
}

const PATHS = [
  'sends/TOKA/token',
  'sends/a1/destination',
  'sends/a1/address',
  'credits/TOKA/token',
  'credits/a1/address',
  'debits/TOKA/token',
  'history/TOKA/token',
  'history/a1/address'
];
for (const path of PATHS)
  test(`a page of ${path} reads its own rows, also when MariaDB has prepared its statement again`, async () => {
    const reader = readerOf(NEWEST_BLOCK);
    const own = { indexer: reader, aside: readerOf(NEWEST_BLOCK), decoder: readerOf(DECODER_TIP) };
    const databases = openDatabases(chainNetwork('bitcoin', 'regtest'), own, CURSORS);
    const [method = '', query = '', type = ''] = path.split('/');
    const tip = await reader.read(async (_, opened) => tipIn(opened)!);
    const asked = { method, query, type, parameters: {}, order: 'desc' } as const;
    const cursor = CURSORS.write(markOf(asked, query), tip, { key: String(ACTIONS / 4), given: 1 });
    const ask = () => answerQuestion(databases, { ...asked, cursor, page: 1, limit: 10, format: 'csv' });
    await ask();
    await sql(indexer, 'FLUSH TABLES');
    await ask();
    const before = await rowsRead(reader);
    const { body } = await ask();
    const read = (await rowsRead(reader)) - before;
    assert.equal(Buffer.from(body).toString().trimEnd().split('\r\n').length, 11, 'ten rows and their names');
    assert.ok(read > 10 && read < MAX_READ, `${read} rows were read`);
  });

for (const method of ['orders', 'swaps', 'dispensers', 'destroys'])
  test(`${method} of an address without any read none of its other actions`, async () => {
    const reader = readerOf(NEWEST_BLOCK);
    const own = { indexer: reader, aside: readerOf(NEWEST_BLOCK), decoder: readerOf(DECODER_TIP) };
    const databases = openDatabases(chainNetwork('bitcoin', 'regtest'), own, CURSORS);
    const asked = { method, query: 'a1', type: 'address', parameters: {}, page: 1, limit: 10 } as const;
    const ask = () => answerQuestion(databases, { ...asked, order: 'desc', format: 'csv' });
    await ask();
    const before = await rowsRead(reader);
    await ask();
    const read = (await rowsRead(reader)) - before;
    assert.ok(read < 100, `${read} rows were read`);
  });

test('without such an index, as another indexer leaves its tables, a list is the same', async () => {
  await sql(indexer, 'ALTER TABLE sends DROP KEY tick_id_action_index');
  const own = { indexer: readerOf(NEWEST_BLOCK), aside: readerOf(NEWEST_BLOCK), decoder: readerOf(DECODER_TIP) };
  const databases = openDatabases(chainNetwork('bitcoin', 'regtest'), own, CURSORS);
  const asked = { method: 'sends', query: 'TOKA', type: 'token', parameters: {}, page: 1, limit: 3 } as const;
  const { body } = await answerQuestion(databases, { ...asked, order: 'desc', format: 'json' });
  const { data } = JSON.parse(Buffer.from(body).toString()) as { data: { action_index: string }[] };
  assert.deepEqual(
    data.map(({ action_index }) => Number(action_index)),
    [ACTIONS, ACTIONS - 1, ACTIONS - 2]
  );
});
