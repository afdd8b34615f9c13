import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createExplored } from '../../support/explorer-database.ts';
import { startExplorer } from '../../support/explorer-process.ts';
import { hadEnded, sql } from '../../support/sql.ts';

const TABLES = ['blocks', 'actions', 'balances', 'credits'];
const LISTS = ['/api/blocks', '/api/actions', '/api/balances/A', '/api/history/A/address', '/api/credits/A'];
const ROUNDS = 4;
const READERS = 4;

test('readers get their answers while tables are altered and connections are killed, as by an upgrade of the indexer', async () => {
  const explored = await createExplored();
  const { url, output, indexer } = await startExplorer(explored, {
    EXPLORER_CACHE_MB: '0',
    EXPLORER_RATE_LIMIT_RPM: '1000000'
  });
  let isOver = false;
  const refused: string[] = [];
  let answered = 0;
  const read = async (reader: number) => {
    for (let n = reader; !isOver; n++) {
      const path = `${LISTS[n % LISTS.length]}?limit=${1 + (n % 50)}`;
      const response = await fetch(url + path);
      const text = await response.text();
      if (response.status === 200) answered++;
      else refused.push(`${path} ${response.status} ${text}`);
    }
  };
  const readers = Array.from({ length: READERS }, (_, reader) => read(reader));
  for (let round = 0; round < ROUNDS; round++) {
    for (const table of TABLES)
      await sql(explored.indexer, `ALTER TABLE ${table} ADD COLUMN later_${round} INT NULL, ALGORITHM = COPY`);
    const resting = await sql(
      explored.indexer,
      `SELECT id FROM information_schema.processlist WHERE user = '${indexer.user}' AND command = 'Sleep'`
    );
    for (const { id } of resting.slice(0, 2)) await sql(explored.indexer, `KILL ${id}`).catch(hadEnded);
  }
  isOver = true;
  await Promise.all(readers);
  assert.deepEqual(refused, []);
  assert.ok(answered > 20, `${answered} answers`);
  assert.ok(!output().includes('circuit'), 'the database was never taken for down');
});
