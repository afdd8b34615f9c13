import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { hasCode } from '../../../src/errors.ts';
import type { Question } from '../../../src/explorer/question.ts';
import { answerQuestion } from '../../../src/explorer/read/answer.ts';
import { Cursors } from '../../../src/explorer/read/cursor.ts';
import { openDatabases } from '../../../src/explorer/read/databases.ts';
import { Reader } from '../../../src/explorer/read/reader.ts';
import { DECODER_TIP, NEWEST_BLOCK } from '../../../src/explorer/read/tip.ts';
import type { Databases } from '../../../src/explorer/records/record.ts';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

const MANY = 50_000;
const MAX_READ = 500;
const CLOSED = { refuses: false, tell: () => undefined };

let indexer: Awaited<ReturnType<typeof createDatabase>>;
let store: IndexerStore;
let databases: Databases;
let reader: Reader;
let readers: Reader[];
before(async () => {
  indexer = await createDatabase('names');
  store = await IndexerStore.open(indexer, TEST_RULES, 30);
  readers = [NEWEST_BLOCK, NEWEST_BLOCK, DECODER_TIP].map(
    (opening) => new Reader({ database: indexer, connections: 1, limitMs: 20_000, breaker: CLOSED, opening })
  );
  const [own, aside, decoder] = readers as [Reader, Reader, Reader];
  reader = own;
  const cursors = new Cursors(new Uint8Array(32));
  databases = openDatabases(chainNetwork('bitcoin', 'regtest'), { indexer: own, aside, decoder }, cursors);
});
after(async () => {
  store.close();
  await Promise.all(readers.map((each) => each.close()));
});

/** A block with one action of its own, or with none. */
const blockOf = (height: number, data?: string): ChainBlock => ({
  height,
  time: 1_700_000_000 + height,
  hash: `${height}`.padStart(64, 'a'),
  transactions:
    data === undefined
      ? []
      : [{ hash: `${height}`.padStart(64, data.length % 2 ? 'd' : 'e'), source: 'A', fee: 10, data }]
});

interface Answer {
  readonly data: readonly { readonly tick: string; readonly info: { readonly tick: string } }[];
  readonly total: number;
  readonly next: string | null;
}

async function ask(method: string, query: string, more: Partial<Question> = {}): Promise<Answer> {
  const question = {
    method,
    query,
    parameters: {},
    page: 1,
    limit: 3,
    order: 'desc',
    format: 'json',
    ...more
  } as const;
  const { body } = await answerQuestion(databases, question);
  return JSON.parse(Buffer.from(body).toString()) as Answer;
}

const ticks = ({ data }: Answer) => data.map(({ tick }) => tick);
const tokenOf = async (query: string) => {
  const { info } = (await ask('token', query)) as unknown as { info: { tick: string } };
  return info.tick;
};

test('a name in any case, until a reorg takes its token back; another token of its key takes its place', async () => {
  await store.addBlocks([blockOf(1, 'ISSUE|0|DevTok|100|0|0||50')]);
  assert.equal(await tokenOf('dEVtOK'), 'DevTok');
  await store.addBlocks([blockOf(2, 'ISSUE|0|LateTok|1|0|0||1')]);
  assert.equal(await tokenOf('latetok'), 'LateTok');
  assert.equal((await ask('tokens', '*Tok')).total, 2);
  assert.equal((await ask('tokens', 'DEV*')).total, 1, 'a pattern counts case no more than a name does');
  assert.equal((await ask('tokens', 'DEVTOK')).total, 1);
  await store.rollBack(2);
  await assert.rejects(tokenOf('latetok'), (error) => hasCode(error, 'RECORD_UNKNOWN'));
  await store.addBlocks([blockOf(2, 'ISSUE|0|OtherTok|1|0|0||1')]);
  assert.equal(await tokenOf('othertok'), 'OtherTok');
  await assert.rejects(tokenOf('latetok'), (error) => hasCode(error, 'RECORD_UNKNOWN'));
  assert.deepEqual(ticks(await ask('tokens', '*Tok')), ['OtherTok', 'DevTok']);
});

test('names follow the hash of a block: a rival of the same second, actions and hashes of the ledger has tokens of its own', async () => {
  const issue = (name: string) => `ISSUE|0|${name}|1|0|0`;
  const rival = (hash: string, name: string): ChainBlock => ({ ...blockOf(3, issue(name)), hash: hash.repeat(64) });
  const hashes = async () => {
    const [block] = await sql(
      indexer,
      'SELECT block_time, ledger_hash_id, actions_hash_id, contract_hash_id FROM blocks ORDER BY block_index DESC LIMIT 1'
    );
    return { ...block };
  };
  await store.addBlocks([rival('1', 'FirstTok')]);
  assert.equal(await tokenOf('firsttok'), 'FirstTok');
  const before = await hashes();
  await store.rollBack(3);
  await store.addBlocks([rival('2', 'RivalTok')]);
  const after = await hashes();
  assert.equal(after['block_time'], before['block_time']);
  assert.equal(await tokenOf('rivaltok'), 'RivalTok');
  await assert.rejects(tokenOf('firsttok'), (error) => hasCode(error, 'RECORD_UNKNOWN'));
  assert.deepEqual(after, before, 'the ledger does not tell them apart');
  await store.rollBack(3);
});

test('a token is found and spelled as its ISSUE has it, whatever a refused action of anybody called it before', async () => {
  const height = 3;
  await store.addBlocks([blockOf(height, 'SEND|0|zz9shadow|5|B')]);
  await store.addBlocks([blockOf(height + 1, 'ISSUE|0|ZZ9Shadow|10|0|0||10')]);
  for (const asked of ['zz9shadow', 'ZZ9Shadow', 'ZZ9SHADOW']) {
    assert.equal(await tokenOf(asked), 'ZZ9Shadow', asked);
    assert.equal((await ask('holders', asked)).total, 1, asked);
  }
  await store.rollBack(height);
});

test('names that match a pattern come page after page, with their total', async () => {
  await sql(
    indexer,
    `INSERT INTO index_tickers (id, tick, block_index) SELECT 1000 + seq, CONCAT(IF(seq % 2, 'EVEN.', 'ODD'), seq), 1 FROM seq_1_to_${MANY}`,
    `INSERT INTO tokens (id, tick_id, action_index, supply, decimals, owner_id, coin_price, coin_floor)
     SELECT 1000 + seq, 1000 + seq, 1, '1', 0, 1, '0', '0' FROM seq_1_to_${MANY}`
  );
  await store.addBlocks([blockOf(3)]);
  const page = await ask('tokens', 'EVEN*9*', { order: 'asc' });
  const plain = "FROM tokens t JOIN index_tickers i ON i.id = t.tick_id WHERE i.tick LIKE 'EVEN%9%' ORDER BY t.id";
  const expected = (await sql(indexer, `SELECT i.tick ${plain}`)).map(({ tick }) => tick);
  assert.deepEqual([ticks(page), page.total], [expected.slice(0, 3), expected.length]);
  const next = await ask('tokens', 'EVEN*9*', { order: 'asc', cursor: page.next! });
  assert.deepEqual(ticks(next), expected.slice(3, 6));
  assert.deepEqual(ticks(await ask('tokens', 'EVEN*9*', { order: 'asc', page: 3 })), expected.slice(6, 9));
  const newest = await ask('tokens', 'EVEN*9*');
  const older = await ask('tokens', 'EVEN*9*', { cursor: newest.next! });
  assert.deepEqual([...ticks(newest), ...ticks(older)], expected.toReversed().slice(0, 6));
  assert.deepEqual(ticks(await ask('tokens', 'EVEN*9*', { page: expected.length })), []);
  const end = await ask('tokens', 'EVEN*9*', { page: Math.ceil(expected.length / 3) });
  assert.deepEqual([ticks(end).at(-1), end.next], [expected[0], null]);
  for (const parent of ['EVEN', 'even'])
    assert.equal((await ask('tokens', parent, { type: 'subtoken' })).total, MANY / 2);
});

const CHEAP: readonly (readonly [method: string, query: string, more?: Partial<Question>])[] = [
  ['tokens', 'EVEN*'],
  ['tokens', 'NOPE*'],
  ['tokens', '*99'],
  ['tokens', 'EVEN', { type: 'subtoken' }],
  ['holders', 'NOPE'],
  ['holders', 'even.1'],
  ['search', 'e'],
  ['search', 'NOPE']
];
for (const [method, query, more] of CHEAP)
  test(`${method} ${query} reads few rows of ${MANY} tokens`, async () => {
    const rowsRead = async () => {
      const counted = await reader.read((read) => read<{ Value: string }>("SHOW SESSION STATUS LIKE 'Handler_read%'"));
      return counted.reduce((sum, { Value }) => sum + Number(Value), 0);
    };
    await ask(method, query, more);
    const read = await rowsRead();
    const began = performance.now();
    await ask(method, query, more);
    const tookMs = performance.now() - began;
    assert.ok((await rowsRead()) - read < MAX_READ, `${(await rowsRead()) - read} rows were read`);
    assert.ok(tookMs < 100, `${tookMs} ms`);
  });
