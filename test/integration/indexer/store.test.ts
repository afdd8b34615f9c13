import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DEFAULT_LIMITS, NO_LIMITS } from '../../../src/coin/limits.ts';
import { connect, type Statements } from '../../../src/db/connection.ts';
import { hasCode } from '../../../src/errors.ts';
import { HANDLERS } from '../../../src/indexer/actions/handlers.ts';
import { readStakes } from '../../../src/indexer/api/stakes.ts';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import { Preparer } from '../../../src/indexer/store/preparer.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import fc from '../../support/fast-check.ts';
import { anyBlocks } from '../../support/indexer-actions.ts';
import { addAllBlocks, dumpIndexer, dumpTexts } from '../../support/indexer-database.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

const open = (database: DatabaseCoordinates) => IndexerStore.open(database, TEST_RULES, 30);

let databases: [forked: DatabaseCoordinates, fresh: DatabaseCoordinates];
let stores: [forked: IndexerStore, fresh: IndexerStore];
before(async () => {
  databases = [await createDatabase('indexer'), await createDatabase('indexer')];
  stores = [await open(databases[0]), await open(databases[1])];
});
after(() => {
  for (const store of stores) store.close();
});

async function inGroups(store: IndexerStore, blocks: readonly ChainBlock[], size: number) {
  for (let at = 0; at < blocks.length; at += size) await addAllBlocks(store, blocks.slice(at, at + size));
}

/** Blocks that follow each other, each with some transactions of one source. */
function blocksOf(...texts: readonly (readonly string[])[]): ChainBlock[] {
  return texts.map((data, place) => ({
    height: place + 1,
    time: 1_700_000_000 + place,
    hash: String(place).padStart(64, 'a'),
    transactions: data.map((text, position) => ({
      hash: `${place} ${position}`.padStart(64, 'd'),
      source: 'A',
      fee: 10,
      data: text
    }))
  }));
}

test('through reorgs or in one go, in groups of any size: the same rows, and the hashes of a ledger in memory', async () => {
  const [forked, fresh] = stores;
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(anyBlocks, anyBlocks, anyBlocks),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      async ([lost, other, final], size, shared) => {
        for (const store of stores) await store.rollBack(0);
        const fork = Math.min(shared, lost.length);
        const above = (blocks: readonly ChainBlock[]) => blocks.filter(({ height }) => height > fork);
        const chain = [...lost.slice(0, fork), ...above(final)];
        await inGroups(forked, lost, size);
        await forked.rollBack(fork + 1);
        await inGroups(forked, above(other), 1);
        await forked.rollBack(fork + 1);
        await inGroups(forked, above(final), size);
        await addAllBlocks(fresh, chain);
        const dump = await dumpIndexer(databases[1]);
        assert.deepEqual(await dumpIndexer(databases[0]), dump);
        const memory = new MemoryLedger();
        const written = (await dumpTexts(databases[1]))['blocks']!.join();
        for (const block of chain) {
          const { hashes } = memory.run(block);
          assert.ok(written.includes(hashes.ledger) && written.includes(hashes.actions), `hashes of ${block.height}`);
        }
      }
    ),
    { numRuns: 10 }
  );
});

test('one by one, in one group, with restarts, or prepared ahead: the same rows under the same ids', async () => {
  const chain = fc.sample(anyBlocks, { numRuns: 6, seed: 3 }).flat();
  const blocks = chain.map((block, place) => ({
    ...block,
    height: place + 1,
    hash: String(place).padStart(64, 'a'),
    transactions: block.transactions.map((own, position) => ({
      ...own,
      hash: `${place} ${position}`.padStart(64, 'e')
    }))
  }));
  assert.ok(blocks.length > 15, `${blocks.length} blocks`);
  const ways: Readonly<Record<string, (database: DatabaseCoordinates) => Promise<void>>> = {
    'one by one': async (database) => {
      const store = await open(database);
      await inGroups(store, blocks, 1);
      store.close();
    },
    'in one group': async (database) => {
      const store = await open(database);
      await addAllBlocks(store, blocks);
      store.close();
    },
    'with a restart after each group': async (database) => {
      for (let at = 0; at < blocks.length; at += 3) {
        const store = await open(database);
        await addAllBlocks(store, blocks.slice(at, at + 3));
        store.close();
      }
    },
    'prepared ahead': async (database) => {
      const store = await open(database);
      let writing: Promise<unknown> = Promise.resolve();
      for (let at = 0; at < blocks.length; at += 4) {
        const group = blocks.slice(at, at + 4);
        const prepared = store.prepare(group);
        await Promise.all([prepared, writing]);
        writing = store.addBlocks(group, blocks.length, prepared);
      }
      await writing;
      store.close();
    }
  };
  const dumps = [];
  for (const [way, index] of Object.entries(ways)) {
    const database = await createDatabase('indexer');
    await index(database);
    dumps.push([way, await dumpIndexer(database)] as const);
  }
  const [[, first], ...others] = dumps as [(typeof dumps)[number], ...typeof dumps];
  assert.ok(first['balances']!.length > 3 && first['index_transactions']!.length > 50);
  for (const [way, dump] of others) assert.deepEqual(dump, first, way);
});

test("a user's text need not fit a column", async () => {
  const [store] = stores;
  await store.rollBack(0);
  const long = [
    'x'.repeat(8_000),
    '𝟙'.repeat(2_000),
    '9'.repeat(8_000),
    '-1',
    `1.${'0'.repeat(30)}`,
    '"\\\'',
    '\u0000'
  ];
  const texts = [...HANDLERS.keys(), 'ORDER', 'NONSENSE'].flatMap((name) =>
    [0, 1, 2, 3, 4, 5, 6, 255].flatMap((format) =>
      long.map((field) => `${name}|${format}|${Array.from({ length: 12 }, () => field).join('|')}`.slice(0, 8_192))
    )
  );
  const [hashes] = await store.addBlocks(blocksOf(texts));
  assert.match(hashes!.ledger, /^[0-9a-f]{64}$/);
});

test('a group with more texts than are remembered is written', async () => {
  const [, store] = stores;
  await store.rollBack(0);
  const [block] = blocksOf(Array.from({ length: 50_001 }, () => ''));
  const [hashes] = await store.addBlocks([block!]);
  assert.match(hashes!.actions, /^[0-9a-f]{64}$/);
});

test('a database of an earlier release gets the keys that readers need', async () => {
  const database = await createDatabase('indexer');
  (await open(database)).close();
  const keys = async () => {
    const found = [
      ...(await sql(database, 'SHOW INDEX FROM sends')),
      ...(await sql(database, 'SHOW INDEX FROM actions'))
    ];
    return [...new Set(found.map(({ Key_name }) => String(Key_name)))].sort();
  };
  const before = await keys();
  await sql(
    database,
    'ALTER TABLE sends DROP INDEX destination_id_action_index, DROP INDEX tick_id_action_index',
    'ALTER TABLE actions DROP INDEX source_id_action_id'
  );
  assert.equal((await keys()).length, before.length - 3);
  (await open(database)).close();
  assert.deepEqual(await keys(), before);
});

test('a second writer is refused', async () => {
  await assert.rejects(open(databases[0]), (error) => hasCode(error, 'DATABASE_UNAVAILABLE'));
});

test('LEDGER_INSANE: a balance changed by hand, named with its sums; the block is not written', async () => {
  const [, store] = stores;
  await store.rollBack(0);
  const [first, second] = blocksOf(['ISSUE|0|TOKA|100|0|0||50'], ['SEND|0|TOKA|1|B']);
  await store.addBlocks([first!]);
  const connection = await connect(databases[1]);
  await connection.query("UPDATE balances SET amount = '60'");
  await connection.end();
  const reopened = async () => {
    store.close();
    stores[1] = await open(databases[1]);
    return stores[1];
  };
  const other = await reopened();
  await assert.rejects(other.addBlocks([second!]), (error) => {
    assert.ok(hasCode(error, 'LEDGER_INSANE'));
    assert.match(error.message, /SANITY CHECK FAILED: supply of TOKA is 50, balances and escrows 60/);
    return true;
  });
  stores[1] = await open(databases[1]);
  assert.deepEqual(
    (await stores[1].readNewest(5)).map(({ height }) => height),
    [1]
  );
  await stores[1].halts.write({ code: 'LEDGER_INSANE', reason: 'by hand', block_index: 7 });
  assert.deepEqual(await stores[1].halts.read(), { code: 'LEDGER_INSANE', reason: 'by hand', block_index: 7 });
  assert.equal((await stores[1].halts.clear())?.reason, 'by hand');
  assert.equal(await stores[1].halts.read(), null);
});

test('ROWS_REFUSED: the row that MariaDB refuses is told by its table, action and transaction, in a group too', async () => {
  const database = await createDatabase('indexer');
  const chain = blocksOf(
    ['ISSUE|0|TOKA|100|0|0||50'],
    ['SEND|0|TOKA|1|B', 'BROADCAST|0|one|1'],
    ['SEND|0|TOKA|2|C', 'BROADCAST|0|two|256', 'SEND|0|TOKA|3|D']
  );
  const refusal = async (sql: string, reason: RegExp) => {
    const connection = await connect(database);
    await connection.query(sql);
    await connection.end();
    const store = await open(database);
    await assert.rejects(store.addBlocks(chain), (error) => {
      assert.ok(hasCode(error, 'ROWS_REFUSED'));
      assert.match(error.message, reason);
      return true;
    });
    store.close();
  };
  (await open(database)).close();
  const [second, first] = ['2 1'.padStart(64, 'd'), '1 1'.padStart(64, 'd')];
  await refusal(
    'ALTER TABLE broadcasts ADD COLUMN further INT NOT NULL',
    new RegExp(`rows of the table broadcasts, action 3 of transaction ${first}: Field 'further'`)
  );
  await refusal(
    'ALTER TABLE broadcasts DROP COLUMN further, ADD COLUMN further INT NOT NULL DEFAULT 0, ADD UNIQUE (further)',
    new RegExp(`rows of the table broadcasts, action 5 of transaction ${second}: Duplicate entry`)
  );
  await refusal(
    'ALTER TABLE broadcasts DROP COLUMN further, MODIFY message INT',
    new RegExp(`rows of the table broadcasts, action 3 of transaction ${first}: Incorrect integer value: 'one'`)
  );
  await refusal(
    'ALTER TABLE broadcasts MODIFY message VARCHAR(250), MODIFY value TINYINT UNSIGNED',
    new RegExp(`rows of the table broadcasts, action 5 of transaction ${second}: Out of range value for column 'value'`)
  );
  await sql(database, 'ALTER TABLE broadcasts MODIFY value VARCHAR(25)');
  const store = await open(database);
  await sql(database, 'DROP TABLE balances');
  await assert.rejects(store.addBlocks(chain), (error) => {
    assert.ok(hasCode(error, 'ROWS_REFUSED'));
    assert.match(error.message, /rows of the table balances, blocks 1 to 3: Table '.*balances' doesn't exist/);
    return true;
  });
  store.close();
});

test('a turnover of more than 10^40 units is added up, and a text that is no amount is named', async () => {
  const database = await createDatabase('indexer');
  const store = await open(database);
  await addAllBlocks(store, blocksOf(['ISSUE|0|TOKA|100|0|0||50'], ['SEND|0|TOKA|1|B']));
  const moved = `SELECT 1, 1, 1, '1${'0'.repeat(36)}' FROM seq_1_to_20000`;
  await sql(database, `INSERT INTO credits ${moved}`, `INSERT INTO debits ${moved}`);
  const next = (height: number): ChainBlock => ({ ...blocksOf(['SEND|0|TOKA|1|B'])[0]!, height });
  await store.addBlocks([next(3)]);
  await sql(database, "UPDATE tokens SET supply = '5O'");
  store.close();
  const other = await open(database);
  await assert.rejects(other.addBlocks([next(4)]), (error) => {
    assert.ok(hasCode(error, 'LEDGER_INSANE'));
    assert.match(error.message, /has "5O" where an amount is expected/);
    return true;
  });
});

test('keys sign with what is staked behind them, from the block where they begin to the one where they end', async () => {
  const [store] = stores;
  await store.rollBack(0);
  const [key, other] = ['a', 'b'].map((digit) => digit.repeat(64)) as [string, string];
  await store.addBlocks(
    blocksOf(
      ['ISSUE|0|GAS|100|0|8||50', `STAKE|1|20|${key}`],
      [],
      [`STAKE|2|5.5|${key}`, `DELEGATE|0|${other}`],
      [`DELEGATE|2|${key}`],
      [`UNSTAKE|0|${key}|10`],
      [],
      [`UNSTAKE|0|${key}`],
      [],
      []
    )
  );
  const connection = await connect(databases[0]);
  const stakesAt = async (height: number) => {
    const { signers } = await readStakes(connection, { pubkey: null, height });
    return signers.map(({ pubkey, source, stake }) => `${pubkey[0]} ${source} ${stake}`);
  };
  const history = [];
  for (let height = 1; height <= 9; height++) history.push(await stakesAt(height));
  assert.deepEqual(history.slice(0, 2), [[], []]);
  assert.deepEqual(history.slice(2, 5), [['a A 20'], ['a A 20'], ['a A 25.5', 'b A 25.5']]);
  assert.deepEqual(history.slice(5), [['b A 25.5'], ['b A 15.5'], ['b A 15.5'], []]);
  assert.deepEqual((await readStakes(connection, { pubkey: other, height: null })).signers, []);
  await connection.end();
});

test('the file of a token goes with the LINK that gave it, and stays while another LINK gives it', async () => {
  const own = [await createDatabase('indexer'), await createDatabase('indexer')] as const;
  const [forked, fresh] = [await open(own[0]), await open(own[1])];
  const chain = blocksOf(
    ['FILE|0|a.png', 'ISSUE|0|TOKA|100'],
    ['LINK|0|BTC|2|BTC|1'],
    ['ISSUE|0|TOKA||||||B', 'LINK|0|BTC|2|BTC|1', 'LINK|0|BTC|1|BTC|2'],
    ['FILE|0|b.png', 'LINK|0|BTC|6|BTC|1']
  );
  const filesOf = async () =>
    (await sql(own[0], 'SELECT action_index, type_id FROM mappings_files ORDER BY 1')).map(
      ({ action_index, type_id }) => `${action_index} ${type_id}`
    );
  await inGroups(forked, chain, 1);
  assert.deepEqual(await filesOf(), ['1 1'], 'the new owner has linked nothing');
  await forked.rollBack(3);
  assert.deepEqual(await filesOf(), ['1 1']);
  await forked.rollBack(2);
  assert.deepEqual(await filesOf(), []);
  await inGroups(forked, chain.slice(1), 3);
  await inGroups(fresh, chain, 4);
  assert.deepEqual(await dumpIndexer(own[0]), await dumpIndexer(own[1]));
  for (const store of [forked, fresh]) store.close();
});

test('executed blocks that were not written are undone by reading again the offers that they changed, and no others', async () => {
  const own = await createDatabase('indexer');
  const store = await open(own);
  const orders = Array.from({ length: 20 }, () => 'ORDER|0|BTC|TOKA|1|0|BTC|TOKB|1').join(';');
  const cancels = Array.from({ length: 4 }, (_, at) => `ORDER|1|${5 + at};`).join('');
  const [first, lost, taking] = blocksOf(
    ['ISSUE|0|TOKA|0|0|0||100', 'ISSUE|0|TOKB|0|0|0||100', 'SEND|0|TOKB|50|B', `BATCH|0|${orders}`],
    [`BATCH|0|${cancels}ORDER|0|BTC|TOKA|9|0|BTC|TOKB|1`],
    ['ORDER|0|BTC|TOKB|6|0|BTC|TOKA|6']
  );
  const final = { ...taking!, height: lost!.height, transactions: [{ ...taking!.transactions[0]!, source: 'B' }] };
  await store.addBlocks([first!]);
  const connection = await connect(own);
  const statements: string[] = [];
  const counted: Statements = {
    query: ((...given: Parameters<Statements['query']>) => {
      statements.push(JSON.stringify(given));
      return connection.query(...given);
    }) as Statements['query']
  };
  const loads = () => statements.splice(0).filter((text) => text.includes('order_statuses s JOIN')).length;
  const [kept, fresh] = [new Preparer(TEST_RULES), new Preparer(TEST_RULES)];
  for (const preparer of [kept, fresh]) await preparer.restart(counted);
  await kept.prepare([lost!], [counted]);
  assert.equal(loads(), 1, 'the first block needs all');
  await kept.restart(counted);
  const after = await kept.prepare([final], [counted]);
  assert.equal(loads(), 0, 'the rest is in memory');
  const matched = after.rows.filter(({ table }) => table === 'order_matches');
  assert.deepEqual(
    matched.map(({ columns }) => columns['give_action_index']),
    [5, 6, 7, 8, 9, 10]
  );
  const { executed } = await fresh.prepare([final], [counted]);
  assert.deepEqual(executed[0]!.hashes, after.executed[0]!.hashes);
  await connection.end();
  store.close();
});

test('a reorg within a group of blocks, and then a deeper one, leave the offers of the chain that stays', async () => {
  const own = await createDatabase('indexer');
  const [base, second, cancelling, last, other, taking] = blocksOf(
    [
      'ISSUE|0|TOKA|0|0|0||100',
      'ISSUE|0|TOKB|0|0|0||100',
      'SEND|0|TOKB|50|B',
      'ORDER|0|BTC|TOKA|1|0|BTC|TOKB|1',
      'ORDER|0|BTC|TOKA|5|0|BTC|TOKB|5'
    ],
    ['SEND|0|TOKA|1|B'],
    ['ORDER|1|4', 'ORDER|0|BTC|TOKA|9|0|BTC|TOKB|1'],
    ['SEND|0|TOKA|1|C'],
    ['SEND|0|TOKA|2|C'],
    ['ORDER|0|BTC|TOKB|15|0|BTC|TOKA|6']
  );
  const moved = (block: ChainBlock, height: number) => ({ ...block, height });
  const final = moved({ ...taking!, transactions: [{ ...taking!.transactions[0]!, source: 'B' }] }, cancelling!.height);
  const store = await open(own);
  await store.addBlocks([base!]);
  await store.addBlocks([second!, cancelling!, last!]);
  await store.rollBack(last!.height);
  await store.addBlocks([moved(other!, last!.height)]);
  await store.rollBack(cancelling!.height);
  await store.addBlocks([final]);
  const anew = await createDatabase('indexer');
  const fresh = await open(anew);
  await fresh.addBlocks([base!, second!, final]);
  const followed = await dumpIndexer(own);
  assert.equal(followed['order_matches']!.length, 2);
  assert.deepEqual(followed, await dumpIndexer(anew));
  for (const each of [store, fresh]) each.close();
});

test('LINKs, TRANSFERs and tokens of one undone block leave the files and the held ownerships of the block below', async () => {
  const own = [await createDatabase('indexer'), await createDatabase('indexer')] as const;
  const [forked, fresh] = [await open(own[0]), await open(own[1])];
  const by = (source: string, { transactions, ...block }: ChainBlock): ChainBlock => ({
    ...block,
    transactions: transactions.map((each) => ({ ...each, source }))
  });
  const [first, ofA, ofB, last] = blocksOf(
    [
      'FILE|0|a.png',
      'ISSUE|0|TOKA|100',
      'LINK|0|BTC|2|BTC|1',
      'ISSUE|0|TOKC|100',
      'ISSUE|0|TOKD|100',
      'ORDER|1|BTC|TOKC||1|BTC|BTC|1|0',
      'SWAP|0|BTC|TOKD||1|BTC|TOKA|5'
    ],
    ['LINK|0|BTC|1|BTC|2', 'LINK|0|BTC|2|BTC|1', 'ISSUE|0|TOKA||||||B', 'ISSUE|0|TOKB|1', 'LINK|0|BTC|11|BTC|1'],
    ['LINK|0|BTC|1|BTC|2', 'LINK|0|BTC|2|BTC|1'],
    ['ORDER_CANCEL|0|6', 'SWAP_CANCEL|0|7', 'ORDER|1|BTC|TOKD||1|BTC|BTC|1|0']
  );
  const chain = [first!, ofA!, by('B', ofB!), last!];
  const held = () => sql(own[0], 'SELECT tick_id, escrow_action_index FROM tokens ORDER BY 1');
  await forked.addBlocks([chain[0]!]);
  const [mapped, before] = [await sql(own[0], 'SELECT * FROM mappings_files'), await held()];
  assert.equal(mapped.length, 1);
  await inGroups(forked, chain.slice(1), 1);
  assert.equal((await sql(own[0], 'SELECT * FROM mappings_files')).length, 6);
  assert.notDeepEqual(await held(), before);
  await forked.rollBack(2);
  assert.deepEqual(await sql(own[0], 'SELECT * FROM mappings_files'), mapped);
  assert.deepEqual(await held(), before);
  await inGroups(forked, chain.slice(1), 2);
  for (const height of [4, 3]) await forked.rollBack(height);
  await inGroups(forked, chain.slice(2), 1);
  await inGroups(fresh, chain, 4);
  assert.deepEqual(await dumpIndexer(own[0]), await dumpIndexer(own[1]));
  for (const store of [forked, fresh]) store.close();
});

test('files for holders are asked for in an index that was opened again, and no text as long as a transaction is looked up', async () => {
  const own = await createDatabase('indexer');
  const hash = 'ab'.repeat(32);
  const chain = blocksOf(
    ['ISSUE|0|TOKA|100||||50', `FILE|0|a.bin||||toka|1|${hash}|10`],
    ['SEND|0|TOKA|9|B', `SEND|0|${'T'.repeat(400_000)}|9|B`],
    ['SEND|0|TOKA|1|B', 'BATCH|0|MESSAGE|2|BTC|B|key;SEND|0|TOKA|1|B']
  );
  for (const block of chain) {
    const store = await open(own);
    await store.addBlocks([block]);
    store.close();
  }
  const sends = await sql(
    own,
    'SELECT s.status FROM sends r JOIN index_statuses s ON s.id = r.status_id ORDER BY r.action_index'
  );
  assert.deepEqual(
    sends.map(({ status }) => status),
    ['valid', 'invalid: TICK (unknown)', 'invalid: gated token transfer requires key handoff message', 'valid']
  );
  const store = await open(own);
  await store.rollBack(1);
  store.close();
  assert.equal((await sql(own, 'SELECT 1 FROM gated_files')).length, 0);
});

test('a list that was emptied below the height of LIMITS has the same rows in an index that was restarted', async () => {
  const list = 'LIST|0|2||B|C|D';
  const blocks = blocksOf(
    [list],
    ['LIST|1|2|1||B|C|D'],
    ['LIST|1|2|1||B'],
    ['ISSUE|0|TOKA|0|0|0||9'],
    ['AIRDROP|0|TOKA|1|1'],
    ['LIST|1|2|1||C']
  );
  const rules = {
    ...TEST_RULES,
    limitsAt: (height: number) => (height >= 5 ? DEFAULT_LIMITS : NO_LIMITS)
  };
  const dumps = [];
  for (const size of [1, blocks.length]) {
    const database = await createDatabase('indexer');
    for (let at = 0; at < blocks.length; at += size) {
      const store = await IndexerStore.open(database, rules, 30);
      await addAllBlocks(store, blocks.slice(at, at + size));
      store.close();
    }
    dumps.push(await dumpIndexer(database));
  }
  assert.equal(dumps[0]!['list_edits']?.length, 8);
  assert.deepEqual(dumps[0], dumps[1]);
});
