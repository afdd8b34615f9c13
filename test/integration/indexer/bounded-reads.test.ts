import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows, type Statements } from '../../../src/db/connection.ts';
import { executeBlocks } from '../../../src/indexer/block/execute.ts';
import type { FactKey } from '../../../src/indexer/state/facts.ts';
import { View } from '../../../src/indexer/state/view.ts';
import { factLoader } from '../../../src/indexer/store/facts/loader.ts';
import { loadBooks, restoreBooks } from '../../../src/indexer/store/facts/offers.ts';
import { readTickers } from '../../../src/indexer/store/facts/tickers.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

type Text = readonly [source: string, data: string];

/** Key that A stakes behind. */
const KEY = 'a'.repeat(64);
/** Key that B stakes behind. */
const OTHER_KEY = 'b'.repeat(64);

/** Texts of the first block. The comments name the indexes of their actions. */
const FIRST: readonly Text[] = [
  ['A', 'ISSUE|0|TOKA|0|0|0||1000000'], // 1
  ['A', 'LIST|0|2||B'], // 2
  ['A', 'ADDRESS|0|1|0|2'], // 3
  ['A', 'VOTE|0|TOKA|100000|yes,no|1||flat'], // 4
  ['A', 'ORDER|0|BTC|TOKA|100000|0|BTC||1'], // 5
  ['B', 'ISSUE|0|TOKB|0|0|0||1000000'], // 6
  ['A', 'ORDER|0|BTC|TOKA|100000|0|BTC|TOKB|100000'], // 7
  ['A', 'SLEEP|0|0'], // 8
  ['B', 'DISPENSER|0|BTC|TOKB|1|0|1|BTC|TOKA|1'], // 9
  ['A', 'VOTE|1|4|0'],
  ['A', 'VOTE|3|TOKA|B'],
  ['A', 'LIST|0|2||B'], // 12
  ['A', 'SWAP|0|BTC|TOKA|7|0|BTC|TOKB|7'], // 13
  ['A', 'ISSUE|0|GAS|0|0|8||100000'], // 14
  ['A', `STAKE|1|1000|${KEY}`], // 15
  ['A', 'ORDER|0|BTC|TOKA|7|0|BTC||7'], // 16
  ['B', 'DISPENSER|0|BTC|TOKB|1|0|1|BTC|TOKA|9'], // 17
  ['A', 'SWAP|0|BTC|TOKA|8|0|BTC|TOKB|8'], // 18
  ['A', 'SEND|0|GAS|1000|B'], // 19
  ['B', `STAKE|1|1|${OTHER_KEY}`] // 20
];

/** Facts, and the texts of anybody that add rows which do not decide them. */
const CASES: readonly { readonly fact: FactKey; readonly texts: readonly Text[] }[] = [
  {
    fact: { kind: 'preferences', key: 'A' },
    texts: [
      ['A', 'ADDRESS|0'],
      ['A', 'ADDRESS|0|9'],
      ['A', 'BROADCAST|0|x']
    ]
  },
  {
    fact: { kind: 'list', key: '2' },
    texts: [
      ['A', 'LIST|1|1|2'],
      ['A', 'LIST|1|1|2||B'],
      ['A', 'LIST|1|9|2||B'],
      ['B', 'LIST|1|1|2||C']
    ]
  },
  {
    fact: { kind: 'member', key: '12|B' },
    texts: [
      ['A', 'LIST|1|1|12||C'],
      ['A', 'LIST|1|2|12||C'],
      ['B', 'LIST|0|2||B'],
      ['B', 'LIST|1|1|12||B']
    ]
  },
  { fact: { kind: 'listRoot', key: '2' }, texts: [['A', 'LIST|1|1|2']] },
  {
    fact: { kind: 'sleep', key: 'address|A' },
    texts: [
      ['A', 'SLEEP|0|x'],
      ['A', 'SLEEP|0']
    ]
  },
  {
    fact: { kind: 'sleep', key: 'tick|toka' },
    texts: [
      ['B', 'SLEEP|1|-1|TOKA'],
      ['A', 'SLEEP|1|x|TOKA']
    ]
  },
  { fact: { kind: 'firstSeller', key: 'C' }, texts: [['B', 'DISPENSER|0|BTC|TOKB|1|0|1|BTC|TOKA|1|C']] },
  { fact: { kind: 'served', key: 'B|A' }, texts: [['A', 'DISPENSER|0|BTC|TOKA|1|0|1|BTC|TOKB|1']] },
  {
    fact: { kind: 'offer', key: '5' },
    texts: [
      ['B', 'ORDER|0|BTC||0.00001|0|BTC|TOKA|1'],
      ['C', 'ORDER|2|5'],
      ['A', 'ORDER|2|16'],
      ['A', 'ORDER|2|5'],
      ['A', 'ORDER|2|5|||0']
    ]
  },
  { fact: { kind: 'offer', key: '7' }, texts: [['B', 'ORDER|0|BTC|TOKB|1|0|BTC|TOKA|1']] },
  {
    fact: { kind: 'offer', key: '9' },
    texts: [
      ['C', 'DISPENSER|2|9'],
      ['B', 'DISPENSER|2|17']
    ]
  },
  {
    fact: { kind: 'offer', key: '17' },
    texts: [
      ['B', 'DISPENSER|2|17|||0'],
      ['B', 'DISPENSER|2|17||9999999999']
    ]
  },
  {
    fact: { kind: 'offer', key: '13' },
    texts: [
      ['C', 'SWAP|2|13'],
      ['A', 'SWAP|2|18']
    ]
  },
  {
    fact: { kind: 'signer', key: KEY },
    texts: [
      ['B', `STAKE|1|x|${KEY}`],
      ['B', `UNSTAKE|0|${KEY}`],
      ['B', `DELEGATE|0|${KEY}`],
      ['B', `DELEGATE|2|${KEY}`],
      ['B', `STAKE|2|0.00000001|${OTHER_KEY}`]
    ]
  },
  { fact: { kind: 'keysOf', key: 'A' }, texts: [['A', `STAKE|1|x|${'b'.repeat(64)}`]] },
  { fact: { kind: 'pricedRound', key: '7' }, texts: [['B', 'PRICE|0|7']] },
  {
    fact: { kind: 'rounds', key: 'recent' },
    texts: [
      ['B', 'PRICE|0|999999999999999'],
      ['B', 'PRICE|1|BTC|TOKA|USD|1|0']
    ]
  },
  { fact: { kind: 'unclaimed', key: 'A' }, texts: [['A', 'COLLECT|0']] },
  { fact: { kind: 'cooling', key: '50' }, texts: [['B', `UNSTAKE|0|${KEY}`]] },
  {
    fact: { kind: 'token', key: 'toka' },
    texts: [
      ['A', 'ISSUE|0|TOKA|||||1'],
      ['B', 'ISSUE|0|TOKA|||||1']
    ]
  },
  { fact: { kind: 'minted', key: 'toka|A' }, texts: [['A', 'MINT|0|TOKA|1']] },
  { fact: { kind: 'balance', key: 'toka|A' }, texts: [['A', 'SEND|0|TOKA|1|B']] },
  {
    fact: { kind: 'poll', key: '4' },
    texts: [
      ['A', 'VOTE|1|4|1'],
      ['B', 'VOTE|1|4|1']
    ]
  },
  {
    fact: { kind: 'ballot', key: '4|A' },
    texts: [
      ['A', 'VOTE|1|4|0'],
      ['A', 'VOTE|1|4|9']
    ]
  },
  {
    fact: { kind: 'voteDelegate', key: 'toka|A' },
    texts: [
      ['A', 'VOTE|3|TOKA|B'],
      ['A', 'VOTE|3|TOKA|x']
    ]
  },
  { fact: { kind: 'past', key: '3' }, texts: [['A', 'ADDRESS|0']] },
  { fact: { kind: 'addressId', key: 'A' }, texts: [['A', 'BROADCAST|0|x']] }
];

/** Number of times that each text is in the ledger at the first count, and at the second. */
const [FEW, MANY] = [50, 250];

async function open() {
  const database = await createDatabase('indexer');
  const store = await IndexerStore.open(database, TEST_RULES, 120);
  let height = 0;
  const add = async (texts: readonly Text[]) => {
    height += 1;
    const transactions = texts.map(([source, data], at) => {
      return { hash: `${height}a${at}`.padStart(64, '0'), source, fee: null, data };
    });
    await store.addBlocks([{ height, time: 600 * height, hash: String(height).padStart(64, '0'), transactions }]);
  };
  return { database, store, add };
}

/** Returns how many rows MariaDB has read, or looked for, by a connection. */
async function countRead(connection: Statements): Promise<number> {
  const found = await rows<{ Value: string }>(connection, `SHOW SESSION STATUS LIKE 'Handler\\_read\\_%'`);
  return found.reduce((sum, { Value }) => sum + Number(Value), 0);
}

/** Returns how many rows MariaDB reads, or looks for, to load each fact. */
async function rowsRead(
  { database, store }: Awaited<ReturnType<typeof open>>,
  facts = CASES.map(({ fact }) => fact)
): Promise<number[]> {
  const tables = (await sql(database, 'SHOW TABLES')).map((row) => Object.values(row)[0]);
  await sql(database, `ANALYZE TABLE ${tables.join(', ')}`);
  const connection = await connect(database);
  const count = () => countRead(connection);
  try {
    const read: number[] = [];
    for (const fact of facts) {
      const before = await count();
      const load = factLoader([connection as Statements], new View({ isWhole: false }), { ids: store.tickers });
      await load([fact]);
      read.push((await count()) - before);
    }
    return read;
  } finally {
    connection.destroy();
  }
}

/** Connects to a database. @returns a connection that counts the rows of each statement, and a function that ends it */
async function countedRows(database: Awaited<ReturnType<typeof createDatabase>>) {
  const connection = await connect(database);
  const lengths: number[] = [];
  const counted: Statements = {
    query: (async (...given: Parameters<Statements['query']>) => {
      const answer = await connection.query(...given);
      if (Array.isArray(answer[0])) lengths.push(answer[0].length);
      return answer;
    }) as Statements['query']
  };
  return { counted, lengths, end: () => connection.destroy() };
}

test('long lists that one text names are read in parts, each by a statement of its own', async () => {
  const { store, database, add } = await open();
  await add(Array.from({ length: 3 }, () => ['A', 'LIST|0|2||A'] as const));
  const members = 20_000;
  await sql(
    database,
    `INSERT INTO index_addresses (id, address, block_index) SELECT seq, CONCAT('B', seq), 1 FROM seq_2_to_${members}`,
    `INSERT INTO list_items SELECT l.action_index, i.id FROM lists l JOIN index_addresses i ON i.id > 1`
  );
  const { counted, lengths, end } = await countedRows(database);
  const view = new View({ isWhole: false });
  const roots = Array.from({ length: 3 }, (_, at) => String(at + 1));
  const load = factLoader([counted], view, { ids: store.tickers });
  await load(roots.map((key) => ({ kind: 'list', key }) as const));
  end();
  store.close();
  assert.deepEqual(
    roots.map((root) => view.get('list', root)!.members.size),
    roots.map(() => members)
  );
  assert.ok(Math.max(...lengths) <= 50_000, `${Math.max(...lengths)} rows by one statement`);
});

test('the tickers of all tokens are read by pages', async () => {
  const { store, database, add } = await open();
  await add(['TOKA', 'TOKB', 'TOKC', 'TOKD', 'TOKE'].map((tick) => ['A', `ISSUE|0|${tick}`]));
  const { counted, lengths, end } = await countedRows(database);
  for (const perStatement of [2, 5, 6]) {
    const tickers = await readTickers(counted, perStatement);
    const ids = ['toka', 'tokb', 'tokc', 'tokd', 'toke', 'tokf'].map((key) => [
      tickers.get(key),
      store.tickers.get(key)
    ]);
    assert.deepEqual(
      ids.map(([id]) => id),
      [1, 2, 3, 4, 5, undefined]
    );
    for (const [id, known] of ids) assert.equal(id, known);
    assert.equal(tickers.size, 5);
  }
  end();
  store.close();
  assert.equal(store.tickers.size, 5);
  assert.deepEqual(lengths, [2, 2, 1, 5, 0, 5]);
});

test('a SEND of a token whose lists have 100,000 members reads less than 100 rows, and so does an edit of one', async () => {
  const { store, database, add } = await open();
  await add([...FIRST.slice(0, 2), ['A', 'LIST|0|2||C'], ['A', 'ISSUE|5|TOKA|2|3']]);
  await add([['A', 'LIST|1|1|2||A']]);
  await sql(
    database,
    `INSERT INTO index_addresses (id, address, block_index) SELECT 100 + seq, CONCAT('M', seq), 1 FROM seq_1_to_100000`,
    `INSERT INTO list_items SELECT l.action_index, i.id FROM lists l JOIN index_addresses i ON i.id > 100`,
    'UPDATE list_counts SET members = members + 100000',
    'ANALYZE TABLE list_items, list_edits, lists, deciding_actions, index_addresses'
  );
  const connection = await connect(database);
  const view = new View({ isWhole: false });
  view.hasAllOffers = true;
  const load = factLoader([connection], view, { ids: store.tickers });
  const first = await countRead(connection);
  const before = await countRead(connection);
  const send = async (to: string) => {
    const transactions = [{ hash: '9'.padStart(64, '0'), source: 'A', fee: null, data: `SEND|0|TOKA|1|${to}` }];
    const block = { height: 3, time: 1_800, hash: '3'.padStart(64, '0'), transactions };
    const below = { hashes: undefined, times: [] };
    const [executed] = await executeBlocks({ view, rules: TEST_RULES, load }, [block], below);
    return executed!.rows.find(({ table }) => table === 'sends')?.columns['status_id'];
  };
  const status = await send('B');
  const read = (await countRead(connection)) - before - (before - first); // a count reads rows too
  const others = [await send('C'), await send('D')];
  const beforeEdit = await countRead(connection);
  const data = 'LIST|1|1|2||D|M1';
  const transactions = [{ hash: '9'.padStart(64, '0'), source: 'A', fee: null, data }];
  const block = { height: 3, time: 1_800, hash: '3'.padStart(64, '0'), transactions };
  const [edited] = await executeBlocks({ view, rules: TEST_RULES, load }, [block], { hashes: undefined, times: [] });
  const readByEdit = (await countRead(connection)) - beforeEdit;
  connection.destroy();
  store.close();
  assert.deepEqual([status, ...others], ['valid', ...others.map(() => 'invalid: DESTINATION (not authorized)')]);
  assert.ok(read < 100, `${read} rows`);
  assert.deepEqual(
    edited!.editedLists.map(([, root]) => root),
    [2]
  );
  assert.ok(readByEdit < 100, `${readByEdit} rows by an edit`);
});

test('rows that do not decide a fact are not read to load it, whoever adds how many', async () => {
  const ledger = await open();
  await ledger.add(FIRST);
  await ledger.add([]);
  await ledger.add([]); // the stakes count
  const all = CASES.flatMap(({ texts }) => texts);
  const repeated = (count: number) => Array.from({ length: count }, () => all).flat();
  await ledger.add(repeated(FEW));
  const few = await rowsRead(ledger);
  await ledger.add(repeated(MANY - FEW));
  const many = await rowsRead(ledger);
  ledger.store.close();
  const growing = CASES.flatMap(({ fact: { kind, key } }, at) =>
    many[at]! <= few[at]! + 10 ? [] : [`${kind} ${key}: ${few[at]} rows beside ${FEW}, ${many[at]} beside ${MANY}`]
  );
  assert.deepEqual(growing, []);
});

test('keys that refused actions name are not read to load all signing keys', async () => {
  const ledger = await open();
  await ledger.add(FIRST);
  const count = async (most: number, before = 0) => {
    const keys = Array.from({ length: most - before }, (_, at) => String(before + at).padStart(64, '0'));
    await ledger.add(
      keys.flatMap((key): Text[] => [
        ['C', `STAKE|1|1|${key}`],
        ['C', `DELEGATE|0|${key}`]
      ])
    );
    return (await rowsRead(ledger, [{ kind: 'keys', key: 'all' }]))[0]!;
  };
  const few = await count(FEW);
  const many = await count(MANY, FEW);
  ledger.store.close();
  assert.ok(many <= few + 10, `${few} rows beside ${FEW}, ${many} beside ${MANY}`);
});

test('a rollback reads the polls that it changed, and no other open one', async () => {
  const { database, store, add } = await open();
  const polls = Array.from({ length: 300 }, () => ['A', 'VOTE|0|TOKA|1000|yes,no'] as const);
  await add([FIRST[0]!, ...polls]);
  const { counted, lengths, end } = await countedRows(database);
  const view = new View({ isWhole: false });
  await loadBooks(counted, view);
  const indexes = () => [...view.polls.ended(1_000)];
  const all = indexes();
  assert.equal(all.length, 300);
  lengths.length = 0;
  await sql(database, "UPDATE polls SET poll_status = 'finalized' WHERE action_index IN (5, 300)");
  await restoreBooks(counted, view, [5, 300, 302]);
  const others = indexes();
  await sql(database, "UPDATE polls SET poll_status = 'open'");
  await restoreBooks(counted, view, [300, 5]);
  end();
  store.close();
  const isOther = (index: number) => index !== 5 && index !== 300;
  assert.deepEqual(others, all.filter(isOther));
  assert.deepEqual(indexes(), all);
  assert.ok(lengths.reduce((sum, length) => sum + length, 0) < 10, `${lengths.join()} rows`);
});

test('an action of many refused parts is read by few of its rows', async () => {
  const { database, store, add } = await open();
  const parts = (text: string, count: number) => text + '|NOPE|x|1'.repeat(count);
  const legs = (count: number): Text[] => [
    ['A', parts('SEND|2', count)],
    ['A', parts('DESTROY|2', count)],
    ['A', parts('AIRDROP|2', count)]
  ];
  await add([...legs(FEW), ...legs(MANY), ['A', 'ISSUE|0|TOKA|0|0|0||9'], ['A', `${parts('SEND|2', MANY)}|TOKA|1|B`]]);
  const keys = [1, 2, 3, 4, 5, 6, 8].map(String);
  const read = await rowsRead(
    { database, store, add },
    keys.map((key) => ({ kind: 'past', key }))
  );
  const view = new View({ isWhole: false });
  const connection = await connect(database);
  await factLoader([connection as Statements], view, { ids: store.tickers })(
    keys.map((key) => ({ kind: 'past', key }) as const)
  );
  connection.destroy();
  store.close();
  assert.deepEqual(
    keys.map((key) => view.get('past', key)?.name ?? null),
    [...keys.slice(1).map(() => null), 'SEND']
  );
  assert.deepEqual(
    [0, 1, 2].map((at) => read[at + 3]! <= read[at]! + 10),
    [true, true, true],
    read.join()
  );
});
