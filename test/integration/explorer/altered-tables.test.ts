import assert from 'node:assert/strict';
import { before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { answerQuestion } from '../../../src/explorer/read/answer.ts';
import { Cursors } from '../../../src/explorer/read/cursor.ts';
import { openDatabases } from '../../../src/explorer/read/databases.ts';
import { Reader } from '../../../src/explorer/read/reader.ts';
import { DECODER_TIP, NEWEST_BLOCK, tipIn } from '../../../src/explorer/read/tip.ts';
import { TokenNames } from '../../../src/explorer/read/token-names.ts';
import { createExplored } from '../../support/explorer-database.ts';
import { startExplorer } from '../../support/explorer-process.ts';
import { hadEnded, sql } from '../../support/sql.ts';

const TABLES = ['blocks', 'actions', 'balances', 'credits'];
const LISTS = ['/api/blocks', '/api/actions', '/api/balances/A', '/api/history/A/address', '/api/credits/A'];
const ROUNDS = 4;
const READERS = 4;
/** Statements that wait for a table end after so long. */
const LIMIT_MS = 10_000;
const BLOCKS = { method: 'blocks', parameters: {}, page: 1, limit: 1, order: 'desc', format: 'json' } as const;

let explored: Awaited<ReturnType<typeof createExplored>>;
before(async () => {
  explored = await createExplored();
});

test('readers get their answers while tables are altered and connections are killed, as by an upgrade of the indexer', async () => {
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

function openReader(t: TestContext, opening: string, connections: number): Reader {
  const breaker = { refuses: false, tell: () => undefined };
  const reader = new Reader({ database: explored.indexer, connections, limitMs: LIMIT_MS, breaker, opening });
  t.after(() => reader.close());
  return reader;
}

/** Waits until so many sessions wait for a table of the ledger. */
async function untilWaiting(count: number): Promise<void> {
  const waiting = `SELECT 1 FROM information_schema.processlist
    WHERE db = '${explored.indexer.name}' AND state = 'Waiting for table metadata lock'`;
  const deadline = performance.now() + LIMIT_MS / 2;
  for (let found = 0; found < count; ) {
    assert.ok(performance.now() < deadline, `${found} sessions wait`);
    found = (await sql(explored.indexer, waiting)).length;
  }
}

/** Runs what several sessions wait for each other in. @throws if one of them waited until its limit */
async function inTime(work: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await work();
  assert.ok(performance.now() - began < LIMIT_MS / 2, 'nobody waits until the limit');
}

test('the first look at the indexes waits for an ALTER, and no snapshot that the ALTER waits for waits for the look', async (t) => {
  const [indexer, decoder] = [openReader(t, NEWEST_BLOCK, 2), openReader(t, DECODER_TIP, 1)];
  const aside = openReader(t, NEWEST_BLOCK, 1);
  const cursors = new Cursors(new Uint8Array(32));
  const databases = openDatabases(chainNetwork('bitcoin', 'regtest'), { indexer, decoder, aside }, cursors);
  const [isUsed, isAltering] = [0, 1].map(() => Promise.withResolvers<void>());
  const before = aside.read(() => {
    isUsed!.resolve();
    return isAltering!.promise;
  });
  await isUsed!.promise; // the look waits for this connection
  const answer = answerQuestion(databases, BLOCKS);
  await sleep(300); // a read that opens its snapshot first has it now
  const altering = sql(explored.indexer, 'ALTER TABLE blocks ADD COLUMN looked INT NULL, ALGORITHM = COPY');
  await untilWaiting(1);
  await inTime(async () => {
    isAltering!.resolve();
    await Promise.all([before, answer, altering]);
  });
});

test('a read of the names waits for an ALTER, and no snapshot that the ALTER waits for waits for the names', async (t) => {
  const reader = openReader(t, NEWEST_BLOCK, 2);
  const names = new TokenNames();
  const [hasTokens, isAltering, isReading] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const first = reader.read(async (query, opened) => {
    await isAltering!.promise;
    return await names.at(query, tipIn(opened));
  });
  const second = reader.read(async (query, opened) => {
    await query('SELECT id FROM tokens LIMIT 1');
    hasTokens!.resolve();
    await isReading!.promise;
    return await names.at(query, tipIn(opened));
  });
  await hasTokens!.promise;
  const altering = sql(explored.indexer, 'ALTER TABLE tokens ADD COLUMN named INT NULL, ALGORITHM = COPY');
  await untilWaiting(1);
  isAltering!.resolve();
  await untilWaiting(2);
  await inTime(async () => {
    isReading!.resolve();
    const [one, other] = await Promise.all([first, second, altering]);
    assert.ok(one.find('sold') && other.find('sold'), 'both have the token SOLD');
  });
});

test('a read that waits for a session which waits for the read begins anew', async (t) => {
  const reader = openReader(t, NEWEST_BLOCK, 1);
  const [hasCredits, isLocking] = [0, 1].map(() => Promise.withResolvers<void>());
  const read = reader.read(async (query) => {
    await query('SELECT 1 AS found FROM credits LIMIT 1');
    hasCredits!.resolve();
    await isLocking!.promise;
    return await query('SELECT 1 AS found FROM actions LIMIT 1');
  });
  await hasCredits!.promise;
  const locking = sql(explored.indexer, 'LOCK TABLES actions WRITE, credits WRITE', 'UNLOCK TABLES');
  await untilWaiting(1);
  await inTime(async () => {
    isLocking!.resolve();
    assert.deepEqual((await Promise.all([read, locking]))[0], [{ found: 1 }]);
  });
});
