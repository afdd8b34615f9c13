import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import type { BlockChanges } from '../../../src/tracker/coins/changes.ts';
import { MADE, SPENT } from '../../../src/tracker/coins/records.ts';
import { openTrackerStore, type TrackerStore } from '../../../src/tracker/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { query } from '../../support/decoder/loop.ts';
import { createDatabase } from '../../support/mariadb.ts';

/** Values of each column: the least, the greatest, and those in which a sign or a quote may be seen. */
const HASHES = [0x01, 0xff, 0x27, 0x80].map((byte) => Buffer.alloc(32, byte));
const POSITIONS = [0, 1, 2 ** 31, 2 ** 32 - 1];
const VALUES = [0n, 1n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n];
const MATURITIES = [0, 6, 100, 240];

interface Coin {
  readonly outpoint: Buffer;
  readonly script: Buffer;
  readonly value: bigint;
  readonly maturity: number;
}

/** Each two values of two columns meet: the places are all different. */
const COINS: readonly Coin[] = HASHES.flatMap((id, a) =>
  POSITIONS.map((position, b): Coin => {
    const outpoint = Buffer.concat([id, Buffer.alloc(4)]);
    outpoint.writeUInt32LE(position, 32);
    const at = a * POSITIONS.length + b;
    return { outpoint, script: HASHES[(a + b) % 4]!, value: VALUES[at % 5]!, maturity: MATURITIES[(a + 2 * b) % 4]! };
  })
);

function madeOf({ outpoint, script, value, maturity }: Coin, height: number): Buffer {
  const record = Buffer.alloc(MADE.sizeBytes);
  outpoint.copy(record);
  script.copy(record, MADE.hashAt);
  record.writeBigUInt64LE(value, MADE.valueAt);
  record.writeUInt32LE(height, MADE.heightAt);
  record[MADE.maturityAt] = maturity;
  return record;
}

function spentOf({ outpoint }: Coin, height: number): Buffer {
  const record = Buffer.alloc(SPENT.sizeBytes);
  outpoint.copy(record);
  record.writeUInt32LE(height, SPENT.heightAt);
  return record;
}

const blockAt = (height: number, made: readonly Coin[], spent: readonly Coin[]): BlockChanges => ({
  height,
  hash: hash('sha256', `block ${height}`),
  previousHash: height === 0 ? '' : hash('sha256', `block ${height - 1}`),
  made: Buffer.concat(made.map((coin) => madeOf(coin, height))),
  spent: Buffer.concat(spent.map((coin) => spentOf(coin, height)))
});

/** All coins, then every third of them spent; an empty block above. */
const BLOCKS = [
  blockAt(0, [], []),
  blockAt(1, COINS, []),
  blockAt(
    2,
    [],
    COINS.filter((_, at) => at % 3 === 0)
  ),
  blockAt(3, [], [])
];

async function contentOf(database: DatabaseCoordinates) {
  const coins = await query(
    database,
    `SELECT HEX(outpoint) AS outpoint, HEX(script_hash) AS script, CAST(value AS CHAR) AS value, height, maturity FROM coins
     ORDER BY coins.outpoint`
  );
  const scripts = await query(
    database,
    'SELECT HEX(script_hash) AS script, first_height, CAST(received AS CHAR) AS received FROM scripts ORDER BY scripts.script_hash'
  );
  return { coins, scripts };
}

const hex = (bytes: Buffer) => bytes.toString('hex').toUpperCase();
const expected = (left: readonly Coin[]) => ({
  coins: left
    .toSorted((a, b) => a.outpoint.compare(b.outpoint))
    .map((coin) => ({
      outpoint: hex(coin.outpoint),
      script: hex(coin.script),
      value: String(coin.value),
      height: 1,
      maturity: coin.maturity
    })),
  scripts: HASHES.toSorted((a, b) => a.compare(b)).map((script) => {
    const own = COINS.filter((coin) => coin.script.equals(script));
    const received = own.reduce((sum, { value }) => sum + value, 0n);
    return { script: hex(script), first_height: 1, received: String(received) };
  })
});

async function open(name: string, tip: number): Promise<readonly [TrackerStore, DatabaseCoordinates]> {
  const database = await createDatabase(name);
  const store = await openTrackerStore(database, { undoDepth: 126, nodeHeight: () => tip });
  await store.prepare(tip);
  return [store, database];
}

test('the least and greatest values of each column are kept as they are, spent, and rolled back, also below a block that makes no coin', async () => {
  const [store, database] = await open('odd_coins', 3);
  for (const block of BLOCKS.slice(0, 2)) await store.writeBlocks([block]);
  assert.deepEqual(await contentOf(database), expected(COINS));
  await store.writeBlocks(BLOCKS.slice(2));
  const left = COINS.filter((_, at) => at % 3 !== 0);
  assert.deepEqual(await contentOf(database), expected(left));
  await store.rollBackTip();
  await store.rollBackTip();
  assert.deepEqual(await contentOf(database), expected(COINS));
  await store.rollBackTip();
  assert.deepEqual(await contentOf(database), { coins: [], scripts: [] });
  await store.writeBlocks(BLOCKS.slice(1));
  assert.deepEqual(await contentOf(database), expected(left), 'the same when they are written at once');
  await store.database.close();
});

test('a first sync keeps them too', async () => {
  const [store, database] = await open('odd_first_sync', 1_000);
  await store.writeBlocks(BLOCKS);
  const last = store.gathersTo!;
  for (let height = BLOCKS.length; height <= last; height++) await store.writeBlocks([blockAt(height, [], [])]);
  while (!(await store.loadNext())) assert.ok(store.firstSync);
  assert.deepEqual(await contentOf(database), expected(COINS.filter((_, at) => at % 3 !== 0)));
  await store.database.close();
});

test('BIP 30: of a reward with the id of an older one, one coin is left, at the height of the later', async () => {
  const coin = COINS[1]!;
  const content = (received: bigint) => ({
    coins: [{ ...expected([coin]).coins[0]!, height: 2 }],
    scripts: [{ script: hex(coin.script), first_height: 1, received: String(received) }]
  });
  const twice = [blockAt(0, [], []), blockAt(1, [coin], []), blockAt(2, [coin], [])];
  const [store, database] = await open('odd_twice', 2);
  for (const block of twice) await store.writeBlocks([block]);
  assert.deepEqual(await contentOf(database), content(2n * coin.value));
  await store.database.close();
  const [first, gathered] = await open('odd_twice_first', 1_000);
  await first.writeBlocks(twice);
  const above = Array.from({ length: first.gathersTo! - 2 }, (_, at) => blockAt(3 + at, [], []));
  await first.writeBlocks(above);
  while (!(await first.loadNext())) assert.ok(first.firstSync);
  assert.deepEqual(await contentOf(gathered), content(2n * coin.value));
  await first.database.close();
});
