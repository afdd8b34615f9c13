import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { formatAmount, parseAmount } from '../../../src/consensus/amount.ts';
import { hasCode } from '../../../src/errors.ts';
import { LISTS } from '../../../src/explorer/lists/lists.ts';
import type { Question } from '../../../src/explorer/question.ts';
import { answerQuestion } from '../../../src/explorer/read/answer.ts';
import { Cursors } from '../../../src/explorer/read/cursor.ts';
import { openDatabases, type Readers } from '../../../src/explorer/read/databases.ts';
import { readPast } from '../../../src/explorer/read/past.ts';
import { Reader } from '../../../src/explorer/read/reader.ts';
import { DECODER_TIP, NEWEST_BLOCK } from '../../../src/explorer/read/tip.ts';
import type { Databases } from '../../../src/explorer/records/record.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { createExplored } from '../../support/explorer-database.ts';
import { addAllBlocks } from '../../support/indexer-database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

const CLOSED = { refuses: false, tell: () => undefined };
const readerOf = (database: Parameters<typeof sql>[0], opening: string) =>
  new Reader({ database, connections: 2, limitMs: 20_000, breaker: CLOSED, opening });

const cursors = new Cursors(new Uint8Array(32));
let explored: Awaited<ReturnType<typeof createExplored>>;
let readers: Readers;
let databases: Databases;
before(async () => {
  explored = await createExplored();
  readers = {
    indexer: readerOf(explored.indexer, NEWEST_BLOCK),
    aside: readerOf(explored.indexer, NEWEST_BLOCK),
    decoder: readerOf(explored.decoder, DECODER_TIP)
  };
  databases = openDatabases(chainNetwork('bitcoin', 'regtest'), readers, cursors);
});
after(async () => {
  explored.store.close();
  await Promise.all(Object.values(readers).map((reader: Reader) => reader.close()));
});

interface Answer {
  readonly data: readonly Record<string, unknown>[];
  readonly total: number | null;
  readonly next: string | null;
}

async function ask(asked: Partial<Question> & Pick<Question, 'method'>): Promise<Answer> {
  const { body } = await answerQuestion(databases, {
    parameters: {},
    page: 1,
    limit: 100,
    order: 'desc',
    format: 'json',
    ...asked
  });
  return JSON.parse(Buffer.from(body).toString()) as Answer;
}

/** One record. */
async function askRecord(method: string, query?: string): Promise<Record<string, unknown>> {
  const answer = await ask({ method, ...(query === undefined ? {} : { query }) });
  return answer as unknown as Record<string, unknown>;
}

/** All rows of a list, page after page, by its cursors. */
async function walk(asked: Partial<Question> & Pick<Question, 'method'>): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  let cursor: string | undefined;
  do {
    const { data, next } = await ask({ ...asked, ...(cursor === undefined ? {} : { cursor }) });
    rows.push(...data);
    cursor = next ?? undefined;
  } while (cursor !== undefined);
  return rows;
}

const ACTED = `JOIN actions a ON a.action_index = t.action_index JOIN index_actions n ON n.id = a.action_id
  LEFT JOIN index_addresses s ON s.id = a.source_id LEFT JOIN transactions x ON x.tx_index = a.tx_index
  LEFT JOIN index_transactions h ON h.id = x.tx_hash_id JOIN blocks b ON b.block_index = a.block_index`;
const COMMON = `CAST(a.action_index AS CHAR) action_index, n.action, a.action_format, s.address source, CAST(a.block_index AS CHAR) block_index,
  CAST(b.block_time AS CHAR) timestamp,
  h.hash tx_hash, CAST(a.tx_index AS CHAR) tx_index`;
const name = (table: string, column: string, id: string) =>
  `(SELECT ${column} FROM ${table} WHERE ${table}.id = t.${id})`;
const tick = (id = 'tick_id') => name('index_tickers', 'tick', id);
const at = (id: string) => name('index_addresses', 'address', id);
const coin = (side: string) => `${name('index_coins', 'coin', `${side}_coin_id`)} ${side}_coin`;
const number = (column: string) => `CAST(t.${column} AS CHAR) ${column}`;
/** Columns that orders, swaps and dispensers offer. */
const OFFER = `${coin('give')}, ${tick('give_tick_id')} give_tick, t.give_amount, t.give_ownership, ${coin('get')},
  ${tick('get_tick_id')} get_tick, t.get_amount, ${at('get_address_id')} get_address, ${number('expiration')},
  ${number('allow_list')}, ${number('block_list')}`;
const WORD = `${name('index_memos', 'memo', 'memo_id')} memo, ${name('index_statuses', 'status', 'status_id')} status`;

const LOCKS = ['max_supply', 'mint', 'mint_supply', 'max_mint', 'description', 'sleep', 'callback'];
/** The newest status of an offer. */
const newest = (
  kind: string
) => `(SELECT i.status FROM ${kind}_statuses z JOIN index_statuses i ON i.id = z.status_id WHERE z.${kind}_action_index = t.action_index
  AND z.action_index = (SELECT MAX(y.action_index) FROM ${kind}_statuses y WHERE y.${kind}_action_index = t.action_index))`;
const exact = (column: string) => `CAST(COALESCE(NULLIF(${column}, ''), '0') AS DECIMAL(40,18))`;
/** SQL of the amount that a dispenser was given, less the amount that it gave. */
const LEFT = `IF(${name('index_statuses', 'status', 'status_id')} = 'valid', TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(${exact('t.give_escrow')}
  + COALESCE((SELECT SUM(${exact('e.give_escrow')}) FROM dispenser_edits e JOIN index_statuses i ON i.id = e.status_id
      WHERE e.dispenser_action_index = t.action_index AND i.status = 'valid'), 0)
  - COALESCE((SELECT SUM(${exact('e.give_amount')}) FROM dispenses e JOIN index_statuses i ON i.id = e.status_id
      WHERE e.dispenser_action_index = t.action_index AND i.status = 'valid'), 0) AS CHAR))), NULL)`;

/** Each list as plain SQL: its rows, and what `?` must equal for each type. */
const PLAIN: Readonly<Record<string, { rows: string; types: Readonly<Record<string, string>> }>> = {
  sends: {
    rows: `SELECT ${COMMON}, ${at('destination_id')} destination, ${tick()} tick, t.amount, ${WORD}, t.leg_ordinal o FROM sends t ${ACTED}`,
    types: {
      address: `? IN (s.address, ${at('destination_id')})`,
      source: 's.address = ?',
      destination: `${at('destination_id')} = ?`,
      token: `${tick()} = ?`,
      block: 'a.block_index = ?'
    }
  },
  mints: {
    rows: `SELECT ${COMMON}, ${at('destination_id')} destination, ${tick()} tick, t.amount, ${WORD}, 0 o FROM mints t ${ACTED}`,
    types: {
      address: `? IN (s.address, ${at('destination_id')})`,
      source: 's.address = ?',
      destination: `${at('destination_id')} = ?`,
      token: `${tick()} = ?`,
      block: 'a.block_index = ?'
    }
  },
  issues: {
    rows: `SELECT ${COMMON}, ${tick()} tick, t.max_supply, t.max_mint, ${number('decimals')}, t.description, t.mint_supply,
      ${at('transfer_id')} transfer, ${at('transfer_supply_id')} transfer_supply, ${LOCKS.map((lock) => `t.lock_${lock}`).join()},
      t.callback_block, ${tick('callback_tick_id')} callback_tick, t.callback_amount, ${number('allow_list')}, ${number('block_list')},
      t.mint_address_max, t.mint_start_block, t.mint_stop_block, ${WORD}, 0 o FROM issues t ${ACTED}`,
    types: {
      address: `? IN (s.address, ${at('transfer_id')}, ${at('transfer_supply_id')})`,
      source: 's.address = ?',
      token: `${tick()} = ?`,
      block: 'a.block_index = ?'
    }
  },
  destroys: {
    rows: `SELECT ${COMMON}, ${tick()} tick, t.amount, ${WORD}, t.leg_ordinal o FROM destroys t ${ACTED}`,
    types: { address: 's.address = ?', token: `${tick()} = ?`, block: 'a.block_index = ?' }
  },
  ...Object.fromEntries(
    ['credits', 'debits', 'escrows'].map((table) => [
      table,
      {
        rows: `SELECT ${COMMON}, ${at('address_id')} address, ${tick()} tick, t.amount, CONCAT(LPAD(t.address_id, 9, '0'), LPAD(t.tick_id, 9, '0'), t.amount) o FROM ${table} t ${ACTED}`,
        types: {
          address: `${at('address_id')} = ?`,
          token: `${tick()} = ?`,
          block: 'a.block_index = ?',
          action: 't.action_index = ?'
        }
      }
    ])
  ),
  ...Object.fromEntries(
    (['order', 'swap', 'dispenser'] as const).map((kind) => [
      `${kind}s`,
      {
        rows: `SELECT ${COMMON}, ${OFFER}, ${WORD}, ${
          kind === 'dispenser'
            ? `t.give_escrow, ${name('index_fiats', 'code', 'fiat_id')} fiat, t.fiat_amount, ${at('oracle_address_id')} oracle_address,
               ${at('get_address_id')} address, ${LEFT} escrow_remaining`
            : `t.get_ownership, t.payout_legs, ${newest(kind)} ${kind}_status`
        }, ${newest(kind)} state, 0 o FROM ${kind}s t ${ACTED}`,
        types: {
          address: `? IN (s.address, ${at('get_address_id')})`,
          source: 's.address = ?',
          ...(kind === 'dispenser'
            ? { destination: `${at('get_address_id')} = ?`, oracle: `${at('oracle_address_id')} = ?` }
            : {}),
          token: `? IN (${tick('give_tick_id')}, ${tick('get_tick_id')})`,
          block: 'a.block_index = ?'
        } as Record<string, string>
      }
    ])
  ),
  dispenses: {
    rows: `SELECT ${COMMON}, CAST(t.dispenser_action_index AS CHAR) dispenser_action_index, ${coin('give')}, ${tick('give_tick_id')} give_tick, t.give_amount,
      ${coin('get')}, ${tick('get_tick_id')} get_tick, t.get_amount, ${at('destination_id')} destination,
      ${name('index_statuses', 'status', 'status_id')} status, 0 o FROM dispenses t ${ACTED}`,
    types: {
      address: `? IN (s.address, ${at('destination_id')})`,
      source: 's.address = ?',
      destination: `${at('destination_id')} = ?`,
      token: `? IN (${tick('give_tick_id')}, ${tick('get_tick_id')})`,
      block: 'a.block_index = ?',
      dispenser: 't.dispenser_action_index = ?'
    }
  },
  history: {
    rows: `SELECT ${COMMON}, (SELECT CAST(MIN(p.action_index) AS CHAR) FROM actions p JOIN index_actions q ON q.id = p.action_id
      WHERE p.tx_index = a.tx_index AND q.action = 'BATCH' AND p.action_index < a.action_index) parent_batch_action_index,
      0 o FROM (SELECT action_index FROM actions) t ${ACTED}`,
    types: {
      address: `EXISTS (SELECT 1 FROM mappings_actions m JOIN index_addresses i ON i.id = m.id WHERE m.action_index = t.action_index AND m.type_id = 2 AND i.address = ?)`,
      token: `EXISTS (SELECT 1 FROM mappings_actions m JOIN index_tickers i ON i.id = m.id WHERE m.action_index = t.action_index AND m.type_id = 1 AND i.tick = ?)`,
      block: 'a.block_index = ?',
      recent: "'all' = ?"
    }
  }
};
/** Fields of a history about its kinds of actions, which their own lists have. */
const MADE = new Set(['status', 'details']);

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Returns subjects to ask each type for. */
function subjectsOf(type: string): string[] {
  if (type === 'token') return ['TOKA', 'TOKB', 'GAS'];
  if (type === 'recent') return ['all'];
  if (type === 'action' || type === 'dispenser') return Array.from({ length: 40 }, (_, place) => String(5 * place));
  if (type === 'block') return explored.blocks.map(({ height }) => String(height)).slice(0, 8);
  return ['A', 'B', 'C', 'E'];
}

for (const [method, { rows, types }] of Object.entries(PLAIN)) {
  test(`${method}, page after page, in both orders, what plain SQL finds`, async () => {
    let found = 0;
    assert.deepEqual(Object.keys(types).sort(), Object.keys(LISTS[method]!.types).sort(), 'every type is compared');
    for (const [type, condition] of Object.entries(types)) {
      for (const subject of subjectsOf(type)) {
        const value = /^\d+$/.test(subject) ? subject : literal(subject);
        const plain = `${rows} WHERE ${condition.replaceAll('?', value)}`;
        for (const order of ['desc', 'asc'] as const) {
          const expected = await sql(explored.indexer, `${plain} ORDER BY a.action_index ${order}, o`);
          const walked = await walk({ method, type, query: subject, order, limit: 3 });
          assert.deepEqual(pick(walked, expected[0]), expected.map(plainRow), `${type} ${subject} ${order}`);
          found += expected.length;
          if (expected[0]) {
            const compared = Object.keys(expected[0]).filter((each) => each !== 'o');
            const fields = Object.keys(walked[0]!).filter((each) => method !== 'history' || !MADE.has(each));
            assert.deepEqual(compared.sort(), fields.sort(), 'every column is compared');
          }
        }
        const expected = await sql(explored.indexer, `${plain} ORDER BY a.action_index DESC, o LIMIT 2 OFFSET 2`);
        const { data, total } = await ask({ method, type, query: subject, page: 2, limit: 2 });
        assert.deepEqual(pick(data, expected[0]), expected.map(plainRow), `page 2 of ${type} ${subject}`);
        const [counted] = await sql(explored.indexer, `SELECT COUNT(*) AS n FROM (${plain}) q`);
        assert.equal(total, Number(counted?.['n']), `total of ${type} ${subject}`);
      }
    }
    assert.ok(found > 0, 'no row was compared');
  });
}

/** A row of plain SQL as it is told: without its order. */
const plainRow = ({ o: _, ...row }: Record<string, unknown>): Record<string, unknown> => row;

/** The columns that the plain rows have, for each row of an answer. */
function pick(rows: readonly Record<string, unknown>[], like: Record<string, unknown> | undefined) {
  const names = Object.keys(like ?? {}).filter((each) => each !== 'o');
  return rows.map((row) => Object.fromEntries(names.map((each) => [each, row[each]])));
}

test('blocks, actions, tokens, balances and holders: what plain SQL finds', async () => {
  const compare = async (asked: Partial<Question> & Pick<Question, 'method'>, plain: string) => {
    const expected = (await sql(explored.indexer, plain)).map(plainRow);
    const walked = await walk({ limit: 4, ...asked });
    if (asked.method === 'actions') assert.ok(walked.every(({ status, details }) => status !== undefined && details));
    const shown = walked.map(({ actions: _, ...row }) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => asked.method !== 'actions' || !MADE.has(name)))
    );
    assert.deepEqual(shown.map(sorted), expected.map(sorted), JSON.stringify(asked));
    const { total } = await ask(asked);
    assert.equal(total, Number(expected.length));
    return expected.length;
  };
  const blockHash = '(SELECT block_hash FROM chain_blocks c WHERE c.block_index = b.block_index) block_hash';
  const hash = (of: string) => `(SELECT hash FROM index_transactions i WHERE i.id = b.${of}_hash_id) ${of}_hash`;
  await compare(
    { method: 'blocks' },
    `SELECT CAST(block_index AS CHAR) block_index, CAST(block_time AS CHAR) timestamp, ${blockHash}, ${hash('ledger')}, ${hash('actions')}, ${hash('contract')}, ${hash('state')},
       (SELECT CAST(COUNT(DISTINCT a.tx_index) AS CHAR) FROM actions a WHERE a.block_index = b.block_index) transactions
     FROM blocks b ORDER BY b.block_index DESC`
  );
  const actions = `SELECT ${COMMON} FROM (SELECT action_index FROM actions) t ${ACTED}`;
  await compare({ method: 'actions' }, `${actions} ORDER BY t.action_index DESC`);
  const ofBlock = { method: 'actions', parameters: { blockIndex: '2' } };
  await compare(ofBlock, `${actions} WHERE a.block_index = 2 ORDER BY t.action_index DESC`);
  const [paid] = await sql(explored.indexer, `${actions} WHERE h.hash IS NOT NULL ORDER BY t.action_index LIMIT 1`);
  const txid = String(paid?.['tx_hash']);
  const ofHash = { method: 'actions', parameters: { txid } };
  assert.ok((await compare(ofHash, `${actions} WHERE h.hash = '${txid}' ORDER BY t.action_index DESC`)) > 0);
  const touched = PLAIN['history']!.types['token']!.replace('?', "'TOKA'");
  const ofTick = { method: 'actions', parameters: { tick: 'TOKA' } };
  assert.ok((await compare(ofTick, `${actions} WHERE ${touched} ORDER BY t.action_index DESC`)) > 0);

  const tokens = `SELECT CAST(t.id AS CHAR) id, i.tick, o.address owner, t.supply, t.max_supply, t.max_mint, t.decimals, t.description,
    ${LOCKS.map((lock) => `COALESCE(t.lock_${lock}, 0) lock_${lock}`).join()}, CAST(t.action_index AS CHAR) action_index,
    CAST(a.block_index AS CHAR) block_index, (SELECT CAST(b.block_time AS CHAR) FROM blocks b WHERE b.block_index = a.block_index) timestamp,
    CAST(a.tx_index AS CHAR) tx_index, (SELECT h.hash FROM transactions x JOIN index_transactions h ON h.id = x.tx_hash_id
      WHERE x.tx_index = a.tx_index) tx_hash FROM tokens t JOIN index_tickers i ON i.id = t.tick_id
    LEFT JOIN index_addresses o ON o.id = t.owner_id JOIN actions a ON a.action_index = t.action_index`;
  assert.ok((await compare({ method: 'tokens' }, `${tokens} ORDER BY t.id DESC`)) > 2);
  for (const [type, query, condition] of [
    ['address', 'A', "o.address = 'A'"],
    ['token', 'TOK*', "i.tick LIKE 'TOK%'"],
    ['subtoken', 'TOKA', "i.tick LIKE 'TOKA.%'"],
    ...explored.blocks.slice(0, 3).map(({ height }) => ['block', String(height), `a.block_index = ${height}`])
  ])
    await compare({ method: 'tokens', type: type!, query: query! }, `${tokens} WHERE ${condition} ORDER BY t.id DESC`);

  const balances = `FROM balances t JOIN index_tickers i ON i.id = t.tick_id JOIN index_addresses d ON d.id = t.address_id
    LEFT JOIN tokens k ON k.tick_id = t.tick_id`;
  for (const holder of ['A', 'B', 'C'])
    await compare(
      { method: 'balances', query: holder, order: 'asc' },
      `SELECT i.tick, t.amount, k.supply, k.decimals, k.coin_price ${balances} WHERE d.address = '${holder}' ORDER BY i.tick`
    );
  await compare(
    { method: 'holders', query: 'toka' },
    `SELECT d.address, t.amount ${balances} WHERE i.tick = 'TOKA' ORDER BY CAST(t.amount AS DECIMAL(40,18)) DESC, t.address_id DESC`
  );
});

/** Its columns in one order. */
const sorted = (row: Record<string, unknown>) => Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1));

test('one action, transaction, token, block, address and what a search finds', async () => {
  const [send] = (await ask({ method: 'sends', type: 'token', query: 'TOKA', limit: 1 })).data;
  const record = askRecord;
  const action = await record('action', String(send!['action_index']));
  assert.equal(action['tx_hash'], send!['tx_hash']);
  assert.ok((action['statuses'] as string[]).includes(String(send!['status'])));
  const transaction = await record('transaction', String(send!['tx_hash']));
  assert.equal(transaction['tx_index'], send!['tx_index']);
  const token = await record('token', 'TOKA');
  assert.equal((token['info'] as Record<string, unknown>)['tick'], 'TOKA');
  assert.equal((await record('block', '1'))['block_index'], '1');
  assert.equal((await record('address', 'A'))['address'], 'A');
  const { results } = await record('search', 'TOKA');
  assert.ok(
    (results as { type: string; value: string }[]).some(({ type, value }) => type === 'token' && value === 'TOKA')
  );
  const round = (number: number, pair: string, price: string, status = 'finalized') =>
    `INSERT INTO price_snapshots (round_number, coin_pair, price, reference_block, block_timestamp, status, validator_count, consensus_round, consensus_proof)
     VALUES (${number}, '${pair}', '${price}', 3, 1700000000, '${status}', 4, 1, '')`;
  await sql(
    explored.indexer,
    round(7, 'BTC/USD', '90000'),
    round(8, 'BTC/USD', '91000.5'),
    round(8, 'LTC/USD', '80'),
    round(9, 'BTC/USD', '1', 'disputed')
  );
  const { tip, prices } = await record('network');
  assert.equal((tip as Record<string, unknown>)['block_index'], String(explored.blocks.length));
  const agreed = { round: '8', reference_block: '3', timestamp: '1700000000' };
  assert.deepEqual(prices, [
    { pair: 'BTC/USD', price: '91000.5', ...agreed },
    { pair: 'LTC/USD', price: '80', ...agreed }
  ]);
  for (const [method, query] of [
    ['token', '%'],
    ['token', '^999999'],
    ['block', '999999']
  ])
    await assert.rejects(record(method!, query), (error) => hasCode(error, 'RECORD_UNKNOWN'), method);
});

test('a transaction that the ledger does not have yet is answered as such, for callers that wait for a confirmation', async () => {
  const { runtime: _, ...nothing } = await askRecord('action', '999999');
  assert.deepEqual(nothing, { credits: null, debits: null, escrows: null, fee: null });
  const { runtime: __, ...none } = await askRecord('transaction', 'f'.repeat(64));
  assert.deepEqual(none, { actions: [], tx_data: null });
  assert.deepEqual((await askRecord('address', '%'))['info'], { address: '%', address_id: null });
});

test('a token and an address are found by `^` and their ids, which their records tell', async () => {
  const { tick_id: tickId } = (await askRecord('token', 'TOKA'))['info'] as Record<string, unknown>;
  const { address_id: addressId } = (await askRecord('address', 'A'))['info'] as Record<string, unknown>;
  assert.ok(Number(tickId) > 0 && Number(addressId) > 0);
  assert.equal(((await askRecord('token', `^${tickId}`))['info'] as Record<string, unknown>)['tick'], 'TOKA');
  assert.equal((await askRecord('address', `^${addressId}`))['address'], 'A');
  const held = async (query: string) => (await ask({ method: 'balances', query })).data;
  assert.deepEqual(await held(`^${addressId}`), await held('A'));
  assert.deepEqual(
    (await ask({ method: 'holders', query: `^${tickId}` })).data,
    (await ask({ method: 'holders', query: 'TOKA' })).data
  );
  assert.deepEqual(await held('^999999'), []);
});

test('a search finds a block by its hash, and an address in capitals; one that did nothing is told from no address', async () => {
  const { addresses } = databases.network;
  const addressOfHash = (byte: string) => addressOf(Buffer.from(`0014${byte.repeat(20)}`, 'hex'), addresses)!;
  const [used, unused] = [addressOfHash('11'), addressOfHash('22')];
  const hash = explored.blocks[1]!.hash;
  await sql(explored.indexer, `INSERT INTO index_addresses (id, address, block_index) VALUES (9001, '${used}', 1)`);
  await sql(
    explored.decoder,
    `INSERT INTO index_transactions (id, hash) VALUES (9001, '${hash}')`,
    'INSERT INTO blocks (block_index, block_time, block_hash_id, previous_block_hash_id) VALUES (2, 1, 9001, 1)',
    `INSERT INTO index_transactions (id, hash) VALUES (9002, '${'ab'.repeat(32)}')`,
    'INSERT INTO blocks (block_index, block_time, block_hash_id, previous_block_hash_id) VALUES (3, 1, 9002, 1)'
  );
  const search = async (query: string) => {
    const { results, unused_address } = await askRecord('search', query);
    return { results, unused_address };
  };
  const found = (type: string, value: string) => ({ results: [{ type, value }], unused_address: null });
  assert.deepEqual(await search(hash), found('block', '2'));
  assert.deepEqual(await search(hash.toUpperCase()), found('block', '2'));
  const ofAnotherBranch = 'ab'.repeat(32);
  assert.deepEqual(
    await search(ofAnotherBranch),
    { results: [], unused_address: null },
    'the ledger has another block 3'
  );
  await assert.rejects(ask({ method: 'block', query: ofAnotherBranch }), (error) => hasCode(error, 'RECORD_UNKNOWN'));
  const newest = explored.blocks.at(-1)!;
  assert.deepEqual(await search(newest.hash), found('block', String(newest.height)), 'the decoder knows nothing of it');
  assert.equal((await askRecord('block', newest.hash))['block_hash'], newest.hash);
  assert.deepEqual(await search(used), found('address', used));
  assert.deepEqual(await search(used.toUpperCase()), found('address', used));
  assert.deepEqual(await search(unused.toUpperCase()), { results: [], unused_address: unused });
  assert.deepEqual(await search('f'.repeat(64)), { results: [], unused_address: null });
  const { info, type } = await askRecord('address', unused);
  assert.deepEqual([info, type], [{ address: unused, address_id: null }, 'p2wpkh']);
});

test('every list has a page for a subject that nobody knows', async () => {
  for (const [method, { types }] of Object.entries(LISTS)) {
    for (const [type, { takes }] of Object.entries(types)) {
      if (takes === 'everything') continue;
      const query = takes === 'height' || takes === 'action' ? '999999999' : 'nobody/%';
      assert.deepEqual((await ask({ method, type, query })).data, [], `${method} ${type}`);
      if (takes !== 'address') continue;
      const { data, total } = await ask({ method, type, query: 'nobody', page: 2 });
      assert.deepEqual([data, total], [[], 0], `${method} ${type}`);
    }
  }
});

test('a join allocates no buffer, which would cost more than the rows that are read', async () => {
  const [session] = await readers.indexer.read((query) => query('SELECT @@join_cache_level AS level'));
  assert.equal(session?.['level'], 0);
});

test('balances of a past block: what an indexer had that stopped there', async () => {
  const past = await createDatabase('past');
  const store = await IndexerStore.open(past, TEST_RULES, 30);
  try {
    let compared = 0;
    for (const block of explored.blocks) {
      await store.addBlocks([block]);
      if (block.height % 4 !== 0) continue;
      for (const holder of ['A', 'B', 'C']) {
        const expected = await sql(
          past,
          `SELECT i.tick, t.amount FROM balances t JOIN index_tickers i ON i.id = t.tick_id JOIN index_addresses d ON d.id = t.address_id
           WHERE d.address = '${holder}' ORDER BY t.tick_id DESC`
        );
        const asked = { method: 'balances', query: holder, height: block.height };
        assert.deepEqual(pick(await walk({ ...asked, limit: 2 }), expected[0]), expected, `${holder} ${block.height}`);
        const { total } = await ask({ ...asked, limit: 1, page: 2 });
        assert.equal(total, Number(expected.length));
        compared += expected.length;
      }
    }
    assert.ok(compared > 20, `${compared} balances were compared`);
  } finally {
    store.close();
  }
  for (const height of [0, explored.blocks.length + 1])
    await assert.rejects(ask({ method: 'balances', query: 'A', height }), (error) =>
      hasCode(error, 'BLOCK_INDEX_INVALID')
    );
});

test('balances of a past block whose movements add up to 10^46, and an amount that is no number: an error, never 0', async () => {
  const past = await createDatabase('sums');
  const store = await IndexerStore.open(past, TEST_RULES, 30);
  const reader = readerOf(past, NEWEST_BLOCK);
  try {
    await addAllBlocks(store, explored.blocks);
    const [move] = await sql(past, 'SELECT address_id, tick_id FROM balances ORDER BY id LIMIT 1');
    const [address, tick] = [Number(move!['address_id']), Number(move!['tick_id'])];
    const [most, many] = ['9'.repeat(40), 11_000];
    const moved = (table: string, rows: number, amount: string) =>
      sql(past, `INSERT INTO ${table} SELECT 1, ${address}, ${tick}, '${amount}' FROM seq_1_to_${rows}`);
    const amountOf = async (by: 'address_id' | 'tick_id', mostMovements?: number) => {
      const [id, other] = by === 'tick_id' ? [tick, address] : [address, tick];
      const page = {
        by,
        id,
        height: explored.blocks.length,
        limit: 1,
        offset: 0,
        after: other - 1,
        isDescending: false
      };
      const asked = { ...page, ...(mostMovements === undefined ? {} : { mostMovements }) };
      const { data } = await reader.read((query) => readPast(query, asked));
      return data[0]?.['amount'];
    };
    const known = await amountOf('tick_id');
    for (const table of ['credits', 'debits']) await moved(table, many, most);
    for (const by of ['tick_id', 'address_id'] as const) assert.equal(await amountOf(by), known);
    await moved('credits', 1, '5.5');
    assert.equal(await amountOf('tick_id'), formatAmount(parseAmount(String(known))! + parseAmount('5.5')!));
    const isUnreadable = (error: unknown) =>
      hasCode(error, 'LEDGER_INSANE') && /the index has .*(?:credits|balances)/.test(error.message);
    for (const odd of ["'much'", "'-1e3'", 'NULL']) {
      await sql(past, `INSERT INTO credits VALUES (1, ${address}, ${tick}, ${odd})`);
      await assert.rejects(amountOf('tick_id'), isUnreadable);
      await sql(past, `DELETE FROM credits WHERE amount = ${odd} OR amount IS NULL`);
    }
    // Too many movements until the block, none since: the balances of now are read.
    for (const odd of ["'much'", "''", 'NULL']) {
      await sql(past, `UPDATE balances SET amount = ${odd} WHERE address_id = ${address} AND tick_id = ${tick}`);
      await assert.rejects(amountOf('tick_id', 1), isUnreadable);
    }
    const long = '9'.repeat(47);
    await sql(past, `UPDATE balances SET amount = '${long}' WHERE address_id = ${address} AND tick_id = ${tick}`);
    assert.equal(await amountOf('tick_id', 1), long);
  } finally {
    store.close();
    await reader.close();
  }
});

test('a walk meets each row once that stays in its list, whatever leaves it: waiting transactions, tokens of an owner', async () => {
  /** Walks row by row; each row leaves its list as soon as it was given, and its place in the order may be the cursor's. */
  const met = async (asked: Parameters<typeof ask>[0], key: string, remove: (found: string) => Promise<unknown>) => {
    const keys: string[] = [];
    let next: string | null = '';
    while (next !== null) {
      const answer: Answer = await ask({ ...asked, limit: 1, ...(next === '' ? {} : { cursor: next }) });
      for (const row of answer.data) {
        keys.push(String(row[key]));
        await remove(keys.at(-1)!);
      }
      next = answer.next;
    }
    return keys;
  };
  const waiting = Array.from({ length: 5 }, (_, at) => `${at}`.padStart(64, 'e'));
  const { indexer, decoder } = explored;
  for (const order of ['asc', 'desc'] as const) {
    const rows = waiting.map((hash) => `('${hash}', 'walker', 'SEND|0|TOKA|1|B')`);
    await sql(decoder, `INSERT INTO mempool_transactions (tx_hash, source, data) VALUES ${rows.join()}`);
    const asked = { method: 'mempool', query: 'walker', type: 'address', order };
    const found = await met(asked, 'tx_hash', (hash) =>
      sql(decoder, `DELETE FROM mempool_transactions WHERE tx_hash = '${hash}'`)
    );
    assert.deepEqual(found, order === 'asc' ? waiting : waiting.toReversed());
  }
  const tokens = await sql(indexer, 'SELECT id, owner_id FROM tokens ORDER BY id');
  assert.ok(tokens.length > 2, `${tokens.length} tokens`);
  const give = (id: unknown, to: unknown) => sql(indexer, `UPDATE tokens SET owner_id = ${to} WHERE id = ${id}`);
  const owner = tokens[0]!['owner_id'];
  const [named] = await sql(indexer, `SELECT address FROM index_addresses WHERE id = ${owner}`);
  try {
    for (const { id } of tokens) await give(id, owner);
    const asked = { method: 'tokens', query: String(named!['address']), type: 'address', order: 'asc' } as const;
    assert.deepEqual(
      await met(asked, 'id', (id) => give(id, 0)),
      tokens.map(({ id }) => String(id))
    );
  } finally {
    for (const { id, owner_id: former } of tokens) await give(id, former);
  }
});

test('a credit that comes late to an old action is in each of its lists at once; what cannot change is told as settled', async () => {
  const usual = databases;
  databases = openDatabases({ ...usual.network, undoDepth: 1 }, readers, cursors);
  const [{ at, address, tick }] = (await sql(
    explored.indexer,
    'SELECT MIN(action_index) AS at, address_id AS address, tick_id AS tick FROM credits GROUP BY address_id, tick_id ORDER BY at LIMIT 1'
  )) as [{ at: number; address: number; tick: number }];
  const [{ height, holder }] = (await sql(
    explored.indexer,
    `SELECT block_index AS height, (SELECT address FROM index_addresses WHERE id = ${address}) AS holder FROM actions WHERE action_index = ${at}`
  )) as [{ height: number; holder: string }];
  const asked = [
    { method: 'credits', type: 'block', query: String(height) },
    { method: 'credits', type: 'action', query: String(at) },
    { method: 'credits', type: 'address', query: holder }
  ].map((each) => ({ ...each, limit: 100 }));
  const read = async () => {
    const found = [];
    for (const each of asked) found.push((await walk(each)).length);
    return found;
  };
  const late = `INSERT INTO credits (action_index, address_id, tick_id, amount) VALUES (${at}, ${address}, ${tick}, '0.125')`;
  try {
    const before = await read();
    await sql(explored.indexer, late);
    await sleep(1_500); // reads share a snapshot for a moment
    assert.deepEqual(
      await read(),
      before.map((count) => count + 1)
    );
    const question = (method: string) =>
      answerQuestion(databases, {
        parameters: {},
        page: 1,
        order: 'desc',
        format: 'json',
        limit: 100,
        method,
        type: 'block',
        query: String(height)
      });
    assert.deepEqual([(await question('credits')).isSettled, (await question('debits')).isSettled], [false, true]);
  } finally {
    await sql(explored.indexer, `DELETE FROM credits WHERE action_index = ${at} AND amount = '0.125'`);
    databases = usual;
  }
});

test('total is what COUNT(*) finds, through reorgs, where lists are counted in small parts', async () => {
  const usual = databases;
  const network = chainNetwork('bitcoin', 'regtest');
  const DEPTH = 5;
  databases = openDatabases({ ...network, undoDepth: DEPTH }, readers, cursors, { keysAtOnce: 3, keysAside: 2 });
  let [wasNull, wasCounted] = [0, 0];
  const compare = async () => {
    for (const [method, { rows, types }] of Object.entries(PLAIN)) {
      const asked = Object.entries(types).flatMap(([type, condition]) =>
        subjectsOf(type).map((query) => ({ type, query, condition }))
      );
      const counts = asked.map(
        ({ type, query, condition }) =>
          `SELECT COUNT(*) AS n FROM (${rows} WHERE ${condition.replaceAll('?', type === 'block' ? query : literal(query))}) q`
      );
      const expected = await sql(explored.indexer, counts.join(' UNION ALL '));
      for (const [place, { type, query }] of asked.entries()) {
        const ask1 = () => ask({ method, type, query, limit: 1 });
        let { total } = await ask1();
        if (total === null) {
          wasNull++;
          await databases.totals.idle();
          ({ total } = await ask1());
        } else if (Number(total) > 1) wasCounted++;
        assert.equal(total, Number(expected[place]!['n']), `${method} ${type} ${query}`);
      }
    }
  };
  try {
    await compare();
    const tip = explored.blocks.length;
    for (const [back, forth] of [
      [DEPTH, 2],
      [1, 3],
      [3, DEPTH]
    ] as const) {
      const height = Number((await ask({ method: 'blocks', limit: 1 })).data[0]!['block_index']);
      await explored.store.rollBack(height - back + 1);
      if (forth === 2) await compare();
      const others = explored.blocks.slice(height - back, Math.min(height - back + forth, tip));
      await explored.store.addBlocks(
        others.map((block) => ({
          ...block,
          hash: block.hash.replace('b', 'd'),
          transactions: block.transactions.slice(forth % 2)
        }))
      );
      await compare();
    }
    assert.ok(wasNull > 20 && wasCounted > 20, `${wasNull} lists had no total at first, ${wasCounted} had one`);
  } finally {
    databases = usual;
  }
});

test('reads share a snapshot for a moment; once another shows a new block, it ends', async () => {
  const options = { database: explored.indexer, connections: 2, limitMs: 20_000, breaker: CLOSED };
  const reader = new Reader({ ...options, opening: NEWEST_BLOCK, snapshotMs: 60_000 });
  try {
    const heightOf = () => reader.read(async (_, [block]) => block?.['height']);
    const tip = explored.blocks.length;
    assert.equal(await heightOf(), tip);
    await explored.store.rollBack(tip);
    assert.equal(await heightOf(), tip);
    // While one connection is in use, the other one opens a snapshot of its own.
    assert.deepEqual(await Promise.all([heightOf(), heightOf()]), [tip, tip - 1]);
    assert.equal(await heightOf(), tip - 1);
    await explored.store.addBlocks([explored.blocks.at(-1)!]);
  } finally {
    await reader.close();
  }
});

test('CURSOR_INVALID: of another query, or made by nobody; CURSOR_STALE: after a reorg', async () => {
  const { next } = await ask({ method: 'actions', limit: 1 });
  const [text = '', signature = ''] = next!.split('.');
  const others = new Cursors(new Uint8Array(32).fill(1)).write(
    'actions',
    { height: 1, mark: '' },
    { key: '1', given: 1 }
  );
  const changed = `${Buffer.from('["x",1,"x","1",0]').toString('base64url')}.${signature}`;
  const forged = [others, text, changed, `${text}.`, `${text}.x`, `${text}.${signature.toLowerCase()}`];
  for (const cursor of ['x', '', '.', Buffer.from('[1,2,3,4,5,6]').toString('base64url'), ...forged])
    await assert.rejects(ask({ method: 'actions', cursor }), (error) => hasCode(error, 'CURSOR_INVALID'), cursor);
  await assert.rejects(ask({ method: 'blocks', cursor: next! }), (error) => hasCode(error, 'CURSOR_INVALID'));
  await assert.rejects(ask({ method: 'actions', order: 'asc', cursor: next! }), (error) =>
    hasCode(error, 'CURSOR_INVALID')
  );
  const ofBlock = await ask({ method: 'actions', parameters: { blockIndex: '2' }, limit: 1 });
  await assert.rejects(ask({ method: 'actions', parameters: { tick: '2' }, cursor: ofBlock.next! }), (error) =>
    hasCode(error, 'CURSOR_INVALID')
  );
  const last = explored.blocks.at(-1)!;
  await explored.store.rollBack(last.height);
  await assert.rejects(ask({ method: 'actions', cursor: next! }), (error) => hasCode(error, 'CURSOR_STALE'));
  await explored.store.addBlocks([{ ...last, time: last.time + 1 }]);
  await assert.rejects(ask({ method: 'actions', cursor: next! }), (error) => hasCode(error, 'CURSOR_STALE'));
});

test('a reorg to blocks of the same seconds and actions is seen: by marks, cursors, names and totals', async () => {
  const marked = async () => (await answerQuestion(databases, QUESTION)).mark;
  const QUESTION = { method: 'blocks', parameters: {}, page: 1, limit: 1, order: 'desc', format: 'json' } as const;
  const last = explored.blocks.at(-1)!;
  await explored.store.rollBack(last.height);
  await explored.store.addBlocks([last]);
  const { next } = await ask({ method: 'actions', limit: 1 });
  const before = await marked();
  await explored.store.rollBack(last.height);
  await explored.store.addBlocks([{ ...last, hash: 'e'.repeat(64) }]);
  assert.notEqual(await marked(), before);
  await assert.rejects(ask({ method: 'actions', cursor: next! }), (error) => hasCode(error, 'CURSOR_STALE'));
  assert.equal((await ask(QUESTION)).data[0]!['block_hash'], 'e'.repeat(64));
  await explored.store.rollBack(last.height);
  await explored.store.addBlocks([last]);
  assert.equal(await marked(), before);
});

test('totals follow the hash of a sealed block: rivals of the same second and of the same hashes of the ledger', async () => {
  const usual = databases;
  const height = explored.blocks.length + 1;
  databases = openDatabases({ ...usual.network, undoDepth: 1 }, readers, cursors);
  const add = async (hash: string, source: string) =>
    await explored.store.addBlocks(
      [0, 1].map((above) => ({
        height: height + above,
        time: 1_900_000_000 + above,
        hash: `${above}`.padStart(64, hash),
        transactions: above > 0 ? [] : [{ hash: 'd'.repeat(64), source, fee: 0, data: 'SEND|0|NOSUCH|1|B' }]
      }))
    );
  const state = async () => {
    const total = async (query: string) => (await ask({ method: 'history', type: 'address', query, limit: 1 })).total;
    const hashes = await sql(
      explored.indexer,
      `SELECT block_time, ledger_hash_id AS l, actions_hash_id AS a, contract_hash_id AS c FROM blocks WHERE block_index >= ${height} ORDER BY block_index`
    );
    return { totals: [await total('RIVAL1'), await total('RIVAL2')], hashes: hashes.map((row) => ({ ...row })) };
  };
  try {
    await add('1', 'RIVAL1');
    const before = await state();
    assert.deepEqual(before.totals, [1, 0]);
    await explored.store.rollBack(height);
    await add('2', 'RIVAL2');
    const after = await state();
    assert.deepEqual(after.totals, [0, 1]);
    assert.deepEqual(after.hashes, before.hashes, 'the ledger does not tell them apart');
  } finally {
    await explored.store.rollBack(height);
    databases = usual;
  }
});

test('an indexer that keeps no hashes of the chain is read as one that has none', async () => {
  await sql(explored.indexer, 'RENAME TABLE chain_blocks TO kept_blocks');
  try {
    const [newest] = (await ask({ method: 'blocks', limit: 1 })).data;
    assert.deepEqual([newest!['block_index'], newest!['block_hash']], [String(explored.blocks.length), null]);
    const { next } = await ask({ method: 'actions', limit: 1 });
    assert.equal((await ask({ method: 'actions', limit: 1, cursor: next! })).data.length, 1);
  } finally {
    await sql(explored.indexer, 'RENAME TABLE kept_blocks TO chain_blocks');
  }
});

test('holders and balances of a height are the same on every page while blocks come and go', async () => {
  const [past, tip] = [await createDatabase('holders'), explored.blocks.length];
  const store = await IndexerStore.open(past, TEST_RULES, 30);
  const reader = readerOf(past, NEWEST_BLOCK);
  const usual = databases;
  databases = openDatabases(usual.network, { ...readers, indexer: reader, aside: reader }, cursors);
  const holders = `SELECT d.address, t.amount FROM balances t JOIN index_tickers i ON i.id = t.tick_id
    JOIN index_addresses d ON d.id = t.address_id WHERE i.tick = ? ORDER BY t.address_id`;
  try {
    const height = Math.floor(tip / 2);
    await addAllBlocks(store, explored.blocks.slice(0, height));
    const ticks = (await sql(past, 'SELECT tick FROM index_tickers')).map(({ tick: each }) => String(each));
    const expected = new Map<string, readonly Record<string, unknown>[]>();
    for (const each of ticks) expected.set(each, await sql(past, holders.replace('?', `'${each}'`)));
    assert.ok(
      [...expected.values()].some((rows) => rows.length > 2),
      'a token has several holders'
    );
    let above = 0;
    for (const each of ticks) {
      const rows: Record<string, unknown>[] = [];
      let cursor: string | undefined;
      do {
        const asked = { method: 'holders', query: each, height, limit: 1, order: 'asc' } as const;
        const answer = await ask({ ...asked, ...(cursor === undefined ? {} : { cursor }) });
        const { data, next } = answer;
        assert.deepEqual([Object(answer)['supply'], Object(answer)['coin_price']], [null, null], 'those of now');
        rows.push(...data);
        cursor = next ?? undefined;
        if (above > 2) {
          await store.rollBack(height + 1);
          above = 0;
        } else if (height + above < tip) {
          await addAllBlocks(store, explored.blocks.slice(height + above, height + above + 1));
          above++;
        }
      } while (cursor !== undefined);
      assert.deepEqual(
        rows,
        expected.get(each)!.map((row) => ({ ...row })),
        each
      );
    }
    let isLong = 0;
    for (const each of ticks) {
      const id = Number((await sql(past, `SELECT id FROM index_tickers WHERE tick = '${each}'`))[0]!['id']);
      const part = { by: 'tick_id', id, height, limit: 2, offset: 0, after: null, isDescending: true } as const;
      const wanted = [...expected.get(each)!].reverse().slice(0, 2);
      for (const mostMovements of [1, 2, 4, 8, 16]) {
        const reading = reader.read((query) => readPast(query, { ...part, mostMovements }));
        const found = await reading.catch((caught) => assert.ok(hasCode(caught, 'REQUEST_INVALID'), String(caught)));
        if (!found) continue;
        isLong += found.total === undefined ? 1 : 0;
        assert.deepEqual(
          found.data,
          wanted.map((row) => ({ ...row })),
          `${each}, from the balances of now`
        );
      }
    }
    assert.ok(isLong > 3, `${isLong} lists were read from the balances of now`);
  } finally {
    databases = usual;
    store.close();
    await reader.close();
  }
});

test('BLOCK_INDEX_INVALID and ACTION_INDEX_INVALID name what was sent; PARAMETER_MISSING what is missing', async () => {
  await assert.rejects(ask({ method: 'sends', type: 'block', query: 'x' }), (error) =>
    hasCode(error, 'BLOCK_INDEX_INVALID')
  );
  await assert.rejects(ask({ method: 'action', query: '-1' }), (error) => hasCode(error, 'ACTION_INDEX_INVALID'));
  await assert.rejects(ask({ method: 'sends', query: 'A' }), (error) => hasCode(error, 'PARAMETER_MISSING'));
});
