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
import { openLink } from '../../support/link.ts';
import { addEmptyBlock, hadEnded, sql } from '../../support/sql.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const TABLES = ['blocks', 'actions', 'balances', 'credits'];
const LISTS = ['/api/blocks', '/api/actions', '/api/balances/A', '/api/history/A/address', '/api/credits/A'];
/** Rounds of upgrades: at least so many, and more until the readers have had enough answers, up to a bound. */
const ROUNDS = 4;
const MOST_ROUNDS = 100;
const ENOUGH_ANSWERS = 20;
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
  for (let round = 0; round < ROUNDS || (answered <= ENOUGH_ANSWERS && round < MOST_ROUNDS); round++) {
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
  assert.ok(answered > ENOUGH_ANSWERS, `${answered} answers`);
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

test('the newest of two copies answers, the loss of one costs no answer, and one on another chain is not read', async (test) => {
  const second = await createExplored();
  const wires = [await openLink(serverOf(explored)), await openLink(serverOf(second))] as const;
  const [port, otherPort] = wires.map(({ url }) => Number(new URL(url).port));
  const { indexer, decoder } = explored;
  const { url, indexer: account } = await startExplorer(
    { indexer: { ...indexer, port: port! }, decoder: { ...decoder, port: port! } },
    {
      EXPLORER_REPLICAS: `127.0.0.1:${otherPort}/${second.indexer.name}/${second.decoder.name}`,
      EXPLORER_CACHE_MB: '0',
      EXPLORER_RATE_LIMIT_RPM: '1000000'
    }
  );
  for (const { name } of [second.indexer, second.decoder])
    await sql(second.indexer, `GRANT SELECT ON \`${name}\`.* TO '${account.user}'@'%'`);
  const get = async (path: string) => {
    const response = await fetch(`${url}/api/${path}`);
    const { headers, status } = response;
    const body = (await response.json()) as { next?: string; code?: string; data: never };
    return { status, body, height: Number(headers.get('x-block-height')), etag: headers.get('etag') };
  };
  const states = async () =>
    ((await get('status')).body.data as { RBTC: { replicas: { state: string }[] } }).RBTC.replicas.map(
      ({ state }) => state
    );
  const become = (...wanted: string[]) =>
    eventually(`the copies are ${wanted.join()}`, async () => (await states()).join() === wanted.join());
  const many = () => Promise.all(Array.from({ length: 20 }, () => get('blocks?limit=5')));
  await become('serves', 'serves');

  const seen: Awaited<ReturnType<typeof get>>[] = [];
  let isOver = false;
  test.after(() => (isOver = true));
  const watching = (async () => {
    while (!isOver) seen.push(await get('actions?limit=5'));
  })();
  const newest = await addEmptyBlock(indexer);
  await become('serves', 'behind');
  assert.deepEqual(new Set((await many()).map(({ height }) => height)), new Set([newest]));
  const heights = seen.map(({ height }) => height);
  assert.deepEqual(
    heights,
    heights.toSorted((a, b) => a - b),
    'no answer is older than one before it'
  );
  const { next } = (await get('actions?limit=5')).body;
  const further = () => get(`actions?limit=5&cursor=${encodeURIComponent(next!)}`);
  assert.equal((await further()).status, 200);

  wires[0].block();
  await become('unavailable', 'serves');
  const late = await further();
  assert.deepEqual([late.status, late.body.code], [503, 'COIN_NOT_AVAILABLE'], 'no reorg replaced that block');
  assert.equal(await addEmptyBlock(second.indexer), newest);
  await eventually('the cursor goes on at the other copy', async () => (await further()).status === 200);
  isOver = true;
  await watching;
  assert.deepEqual(
    seen.filter(({ status }) => status !== 200),
    []
  );
  wires[0].open();
  await become('serves', 'serves');
  const metrics = await (await fetch(`${url}/metrics`)).text();
  assert.match(metrics, /^explorer_replica_serves\{.*replica="2".*\} 1$/m);
  assert.match(metrics, /^explorer_replica_lag_blocks\{.*replica="2".*\} 0$/m);

  const [{ etag }] = (await many()) as [Awaited<ReturnType<typeof get>>];
  await sql(second.indexer, `UPDATE blocks SET block_time = block_time + 1 WHERE block_index = ${newest}`);
  await become('serves', 'forked');
  assert.deepEqual(new Set((await many()).map((each) => each.etag)), new Set([etag]));
  wires[0].block();
  await become('unavailable', 'forked');
  assert.deepEqual(new Set((await many()).map(({ status }) => status)), new Set([503]));
  wires[0].open();
  await become('serves', 'forked');
  assert.equal((await get('blocks')).status, 200);
  second.store.close();
});

const serverOf = (explored: { readonly indexer: { readonly port: number } }) =>
  `http://127.0.0.1:${explored.indexer.port}`;
