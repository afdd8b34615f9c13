import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { readExamples } from '../../support/examples/read.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

/*
 * What columns hold in databases in use, row by row: by a query on a ledger in MariaDB, or by the example that shows it. What no
 * query shows yet is named with its reason.
 */

const TIME = 1_700_000_000;
const RULES = {
  ...TEST_RULES,
  fees: { ...TEST_RULES.fees, gas: { ...DEFAULT_PROFILE.gas, sweep: 5_000 }, donation: 'D' }
};

/** Texts of one block; the number of an action is its place. */
const TEXTS = [
  'ISSUE|0|TOKA|1000.50||2|A text, verbatim',
  'ISSUE|0|NEWA|x|||||||||||||NEWB',
  'MINT|0|TOKA|50',
  'MINT|0|TOKA|5|B',
  'MINT|0|TOKA|5|A',
  'SEND|1|TOKA|1|B|2|C|3|B|note',
  'SEND|0|NEWC|1|B',
  'SEND|0||1||',
  'SEND|0|^999|1|B',
  'LIST|0|2||C|B',
  'LIST|1|1|10||A',
  'LIST|1|2|11||B',
  'FILE|0|name|text/plain|title',
  'LINK|0|BTC|13|BTC|1',
  'FILE|0|name|text/plain|title',
  'PRICE|1|BTC|NEWD|USD|1.50000000|0.010',
  'PRICE|1|BTC|NEWD|USD|x|0',
  'DISPENSER|0|BTC|TOKA|1|0|5|BTC||0.5',
  'DISPENSER|0|BTC|NEWE|1|0|5|BTC||0.5',
  'DISPENSER|1|18',
  'ISSUE|0|GAS|1000||8',
  'MINT|0|GAS|100',
  'SWEEP|0|H|0|0',
  'ISSUE|0|TOKB|||1||100',
  'ISSUE|0|TOKC|||0||100',
  'ORDER|0|BTC|TOKB|10|0|BTC|TOKC|40',
  'ORDER|0|BTC|TOKB|3|0|BTC|TOKC|6',
  'ORDER|0|BTC|TOKC|20|0|BTC||0.5',
  'SEND|0|TOKC|10|K',
  'ISSUE|0|NEWX|5||0||5|Y|X|||||||NEWZ',
  'MINT|0|NEWM|5|B',
  'MINT|0|TOKA|5|^2',
  `PRICE|0|7|${TIME}|1|1|BTC/USD|65000.5|1|${'a'.repeat(64)}|${'b'.repeat(128)}`
] as const;
/** An action of the block above by another address: it takes a part of what action 27 gives. */
const TAKER = 'ORDER|0|BTC|TOKC|4|0|BTC|TOKB|2';

let database: DatabaseCoordinates;
let store: IndexerStore;
const transactions = TEXTS.map((data, place) => ({
  hash: String(place + 1).padStart(64, '0'),
  source: 'A',
  fee: 10,
  data
}));
const FIRST = { height: 1, time: TIME, hash: 'a'.repeat(64), transactions };
const taking = [{ hash: 'b'.repeat(64), source: 'K', fee: 10, data: TAKER }];
const SECOND = { height: 2, time: TIME + 60, hash: 'b'.repeat(64), transactions: taking };

before(async () => {
  database = await createDatabase('indexer');
  store = await IndexerStore.open(database, RULES, 30);
  await store.addBlocks([FIRST]);
  await store.addBlocks([SECOND]);
});
after(() => store.close());

/** The rows of a query, a text each. */
async function lines(query: string): Promise<string[]> {
  return (await sql(database, query)).map((row) => Object.values(row).map(String).join(' '));
}

const MAPPED = (index: number) =>
  `SELECT m.type_id, COALESCE(i.tick, a.address) FROM mappings_actions m
   LEFT JOIN index_tickers i ON m.type_id = 1 AND i.id = m.id LEFT JOIN index_addresses a ON m.type_id = 2 AND a.id = m.id
   WHERE m.action_index = ${index} ORDER BY 1, m.id`;
const TICK = (table: string, index: number, column = 'tick_id') =>
  `SELECT i.tick FROM ${table} t LEFT JOIN index_tickers i ON i.id = t.${column} WHERE t.action_index = ${index}`;
const SOURCE = 'JOIN index_addresses a ON a.id';

const QUERIES: readonly (readonly [fact: string, query: string, expected: readonly string[]])[] = [
  ['mappings_actions.type_id: 1 is a ticker, 2 an address', MAPPED(3), ['1 TOKA', '2 A']],
  ['mappings_actions: one row each, for all that is touched', MAPPED(6), ['1 TOKA', '2 A', '2 B', '2 C']],
  ['mappings_actions: written for refused actions', MAPPED(7), ['1 NEWC', '2 A', '2 B']],
  ['mappings_actions: a ^id that names nothing has none', MAPPED(9), ['2 A', '2 B']],
  [
    'mappings_files: by a valid LINK with an ISSUE, the ticker; none at FILE',
    'SELECT m.action_index, m.type_id, i.tick FROM mappings_files m JOIN index_tickers i ON i.id = m.id',
    ['13 1 TOKA']
  ],
  [
    'sends.leg_ordinal: from 0, in the order of merged legs',
    `SELECT t.leg_ordinal, a.address, t.amount FROM sends t ${SOURCE} = t.destination_id WHERE action_index = 6 ORDER BY 1`,
    ['0 B 4', '1 C 2']
  ],
  ['lists.type on edit: that of the list', 'SELECT type FROM lists ORDER BY action_index', ['2', '2', '2']],
  ['lists.edit: NULL, 1 adds, 2 removes', 'SELECT edit FROM lists ORDER BY action_index', ['null', '1', '2']],
  [
    'lists.list_action_index on edit: the first list, also where an edit is named',
    'SELECT list_action_index FROM lists ORDER BY action_index',
    ['null', '10', '10']
  ],
  ['lists.memo_id: NULL without a memo', 'SELECT DISTINCT memo_id FROM lists', ['null']],
  [
    'list_items of an edit: the whole membership, under the edit',
    `SELECT t.action_index, a.address FROM list_items t ${SOURCE} = t.item_id ORDER BY 1, 2`,
    ['10 B', '10 C', '12 A', '12 C']
  ],
  [
    'issues.tick_id of a refused name; CALLBACK_TICK has its id first',
    'SELECT t.id, t.tick FROM index_tickers t JOIN issues i ON t.id IN (i.tick_id, i.callback_tick_id) WHERE i.action_index = 2 ORDER BY 1',
    ['2 NEWB', '3 NEWA']
  ],
  [
    'issues: what was written, empty is NULL',
    'SELECT max_supply, max_mint, decimals, description, transfer_id, memo_id FROM issues WHERE action_index = 1',
    ['1000.50 null 2 A text, verbatim null null']
  ],
  ['issues: what was written, of a refused one, too', 'SELECT max_supply FROM issues WHERE action_index = 2', ['x']],
  [
    'issues: columns of bridges are there, and NULL',
    'SELECT DISTINCT bridge_chains, min_depth, lock_bridge FROM issues',
    ['null null null']
  ],
  ['sends.tick_id of a refused one', TICK('sends', 7), ['NEWC']],
  ['prices.tick_id: no token is needed', TICK('prices', 16), ['NEWD']],
  ['dispensers.tick_id of a refused one', TICK('dispensers', 19, 'give_tick_id'), ['NEWE']],
  [
    'an empty ticker, address and memo are NULL',
    'SELECT tick_id, destination_id, memo_id FROM sends WHERE action_index = 8',
    ['null null null']
  ],
  [
    'mints.destination_id: as written, NULL without, also where it is SOURCE',
    `SELECT t.action_index, a.address FROM mints t LEFT ${SOURCE} = t.destination_id WHERE action_index < 6 ORDER BY 1`,
    ['3 null', '4 B', '5 A']
  ],
  [
    'mints with DESTINATION: credit and debit of SOURCE, credit of DESTINATION',
    `SELECT 'credit', a.address, t.amount FROM credits t ${SOURCE} = t.address_id WHERE action_index = 4
     UNION ALL SELECT 'debit', a.address, t.amount FROM debits t ${SOURCE} = t.address_id WHERE action_index = 4 ORDER BY 1, 2`,
    ['credit A 5', 'credit B 5', 'debit A 5']
  ],
  [
    'prices: coin, currency, source, version and numbers as written',
    `SELECT c.coin, f.code, a.address, t.version, t.value, t.fee, t.validation_status FROM prices t
     JOIN index_coins c ON c.id = t.coin_id JOIN index_fiats f ON f.id = t.fiat_id ${SOURCE} = t.source_id ORDER BY action_index`,
    ['BTC USD A 1 1.50000000 0.010 valid', 'BTC USD A 1 x 0 invalid']
  ],
  [
    'prices of a round: version 0, its number, time, pairs and signatures; nothing of a batch or a token',
    `SELECT version, round_number, round_timestamp, pair_count, pairs_json, sig_count, sigs_json IS NULL, batch_first_round,
       batch_last_round, round_count, rounds_json, tick_id, value, validation_status FROM prices WHERE action_index = 33`,
    [`0 7 ${TIME} 1 [{"pair":"BTC/USD","price":"65000.5"}] 1 0 null null null null null null invalid`]
  ],
  [
    'dispensers: fiat_id, fiat_amount and oracle NULL without, give_ownership 0, 90 days without EXPIRATION',
    'SELECT fiat_id, fiat_amount, oracle_address_id, give_ownership, expiration FROM dispensers WHERE action_index = 18',
    [`null null null 0 ${TIME + 90 * 86_400}`]
  ],
  [
    'dispenser_statuses: cancelled_by_id with cancelling alone',
    `SELECT s.status, a.address FROM dispenser_statuses t JOIN index_statuses s ON s.id = t.status_id
     LEFT ${SOURCE} = t.cancelled_by_id ORDER BY t.action_index`,
    ['open null', 'cancelling A']
  ],
  [
    'fees: one row an action, in the gas token, donated, from the balance',
    `SELECT t.action_index, i.tick, t.amount, t.method, t.fee_preference, t.payment_mode, t.gas_cost, t.gas_price, t.xchain_amount,
       t.fee_version, t.native_coin_amount, t.native_coin, t.oracle_round, a.address FROM fees t
     JOIN index_tickers i ON i.id = t.tick_id LEFT ${SOURCE} = t.destination_id`,
    ['23 GAS 0.05 2 2 2 5000 0.00001 0.05 2 null null null D']
  ],
  [
    'issues: ids in the order CALLBACK_TICK, TICK; TRANSFER, TRANSFER_SUPPLY',
    `SELECT CONCAT_WS(' ', c.tick, t.tick, c.id < t.id, x.address, y.address, x.id < y.id) FROM issues i
     JOIN index_tickers c ON c.id = i.callback_tick_id JOIN index_tickers t ON t.id = i.tick_id
     JOIN index_addresses x ON x.id = i.transfer_id JOIN index_addresses y ON y.id = i.transfer_supply_id
     WHERE i.action_index = 30`,
    ['NEWZ NEWX 1 Y X 1']
  ],
  ['mints.tick_id of a refused one', TICK('mints', 31), ['NEWM']],
  ['mints.destination_id: the address of a ^id', 'SELECT destination_id FROM mints WHERE action_index = 32', ['2']],
  [
    'markets: a row a pair of valid orders; side 1 is what the first one gets, 0 the coin; both coins',
    `SELECT m.id, a.tick AS one, b.tick AS two, m.tick1_id = 0, c.coin, d.coin AS other FROM markets m
     LEFT JOIN index_tickers a ON a.id = m.tick1_id LEFT JOIN index_tickers b ON b.id = m.tick2_id
     JOIN index_coins c ON c.id = m.coin1_id JOIN index_coins d ON d.id = m.coin2_id ORDER BY m.id`,
    ['1 TOKC TOKB 0 BTC BTC', '2 null TOKC 1 BTC BTC']
  ],
  [
    'markets: the price of the last valid match, and its inverse',
    'SELECT tick1_price, tick2_price FROM markets ORDER BY id',
    ['0.5 2', '0 0']
  ],
  [
    'markets: the highest and the lowest price of open valid orders',
    'SELECT tick1_bid, tick1_ask, tick2_bid, tick2_ask FROM markets ORDER BY id',
    ['0.5 0.25 4 2', '40 40 0.025 0.025']
  ],
  [
    'markets: price a day ago, highest and lowest of a day, volume of the ticker, change in percent',
    `SELECT tick1_24hr_price, tick1_24hr_high, tick1_24hr_low, tick1_24hr_change, tick1_24hr_volume, tick2_24hr_volume
     FROM markets ORDER BY id`,
    ['0 0.5 0.5 0 4 2', '0 0 0 0 0 0']
  ],
  [
    'markets: the time of the block that refreshed them last',
    'SELECT last_updated FROM markets ORDER BY id',
    [`${TIME + 60}`, `${TIME}`]
  ]
];

describe('columns have the facts of databases in use', () => {
  for (const [fact, query, expected] of QUERIES)
    test(fact, async () => {
      assert.deepEqual(await lines(query), expected);
    });
});

test('mappings_actions and markets are in no hash', async () => {
  const other = await createDatabase('indexer');
  const changed = await IndexerStore.open(other, RULES, 30);
  await changed.addBlocks([FIRST]);
  await sql(other, 'DELETE FROM mappings_actions', "UPDATE markets SET tick1_price = '7', last_updated = 1");
  await changed.addBlocks([SECOND]);
  changed.close();
  const hashes = `SELECT l.hash AS ledger, a.hash AS actions FROM blocks b JOIN index_transactions l ON l.id = b.ledger_hash_id
    JOIN index_transactions a ON a.id = b.actions_hash_id WHERE b.block_index <= 2 ORDER BY b.block_index`;
  assert.deepEqual(await sql(other, hashes), await sql(database, hashes));
});

test('the end of a block: swaps, dispensers and orders expire in the order of their actions, then what is owed; cancelled dispensers close, polls, stakes', async () => {
  const other = await createDatabase('indexer');
  const ending = await IndexerStore.open(other, RULES, 30);
  const [end, height, key] = [TIME + 7_200, 6, 'a'.repeat(64)];
  const texts = [
    'ISSUE|0|OFFA|||0||100',
    'ISSUE|0|OFFB|||0||100',
    'ORDER|0|BTC|OFFB|1|0|BTC||0.1',
    'ORDER|0|BTC||0.1|0|BTC|OFFB|1',
    `SWAP|0|BTC|OFFA|1|0|BTC|OFFB|9|||${end}`,
    `DISPENSER|0|BTC|OFFA|1|0|1|BTC||0.7|||||${end}`,
    `ORDER|0|BTC|OFFA|1|0|BTC|OFFB|9|||${end}`,
    `DISPENSER|0|BTC|OFFA|1|0|1|BTC||0.8|||||${end}`,
    'DISPENSER|0|BTC|OFFA|1|0|1|BTC||0.9',
    'DISPENSER|1|10',
    `VOTE|0|OFFA|${height}|yes,no`,
    'ISSUE|0|GAS|5000||8',
    'MINT|0|GAS|5000',
    `STAKE|1|1000|${key}`
  ];
  const acts = (at: number, ...payloads: readonly string[]) =>
    payloads.map((data, place) => ({
      hash: `${at}${place}`.padStart(64, 'c'),
      source: data.includes('0.1|0') ? 'B' : 'A',
      fee: 10,
      data
    }));
  const unstake = height - RULES.unstakeCooldown;
  // Times are medians: that of this block is the first one beyond the end.
  for (let at = 1; at <= height; at++) {
    const transactions = at === 1 ? acts(at, ...texts) : at === unstake ? acts(at, `UNSTAKE|0|${key}`) : [];
    await ending.addBlocks([{ height: at, time: at > 3 ? end + 1 : TIME, hash: `${at}`.repeat(64), transactions }]);
  }
  ending.close();
  const ended = await sql(
    other,
    `SELECT a.block_index AS height, n.action FROM actions a JOIN index_actions n ON n.id = a.action_id
     WHERE a.block_index > 1 AND a.tx_index IS NULL ORDER BY a.action_index`
  );
  assert.deepEqual(
    ended.map((row) => `${row['height']} ${row['action']}`),
    [
      'SWAP_EXPIRE',
      'DISPENSER_EXPIRE',
      'ORDER_EXPIRE',
      'DISPENSER_EXPIRE',
      'COINPAY_EXPIRE',
      'DISPENSER_CLOSE',
      'VOTE',
      'UNSTAKE_RELEASE'
    ].map((name) => `${height} ${name}`)
  );
});

/** Examples that show a fact. */
const EXAMPLES: Readonly<Record<string, readonly (readonly [file: string, example: string])[]>> = {
  'an empty AMOUNT and an empty DESTINATION': [
    ['mint', 'an empty amount makes nothing'],
    ['send', 'an empty amount and an empty destination']
  ],
  'an offer has ended when its expiration is below the time, and transactions come first': [
    ['dispensers', 'it ends when the time is beyond its expiration, not yet at it'],
    ['orders', 'an expiration: open at its time, over behind it'],
    ['orders', 'in its last block an order is still met: expirations come after the transactions']
  ],
  'gas of SWEEP and CALLBACK': [
    ['fees', 'a SWEEP costs 5000 and 100 for each thing that it moves'],
    ['fees', 'a CALLBACK costs 5000 and 100 for each holder']
  ],
  'a SEND of a token with files, and who may gate a FILE': [
    ['send', 'a token with a file for its holders: who gets enough of it must get the key in the same BATCH'],
    ['send', 'a file without a least amount asks for the key with any amount'],
    ['notes', 'a file for holders: who may gate it']
  ],
  'values of FEE_PREFERENCE and REQUIRE_MEMO': [['notes', 'values that are none']],
  'formats and items of LIST': [
    ['lists', 'what is checked, in order'],
    ['lists', 'items are judged one by one, and none refuses the list'],
    ['lists', 'only who made a list may edit it']
  ],
  'recipients: none, SOURCE itself, an empty allow list': [
    ['lists', 'a list of nobody: valid, nothing moves'],
    ['lists', 'to each address of a list, SOURCE too'],
    ['lists', 'an allow list of nobody admits nobody: valid, nothing moves']
  ],
  'order_matches, pairs that are complete, awaited payments': [
    ['orders', 'the whole of both'],
    ['orders', 'tokens for coins: nothing moves before the payment'],
    [
      'orders',
      'a payment at the end of its two hours is too late: the tokens come back to the seller, not to the order'
    ],
    ['orders', 'an order with a payment awaited that is cancelled and not paid']
  ],
  'swaps: which mirror each other, and what a match holds': [
    ['orders', 'whole amounts that mirror each other'],
    ['orders', 'a match: the give side is that of the older swap'],
    ['orders', 'the oldest that fits']
  ],
  'UNSTAKE: its checks, the rest as a row of version 2, the end of its cooldown': [
    ['validators', 'what is checked, in order'],
    ['validators', 'a part: the rest becomes a row of its own from the block where the old one ends'],
    ['validators', 'all of it: the key signs for six blocks more, the units come back after a thousand']
  ],
  'revoking a key': [['validators', "taking a delegated key back, and the stake's own"]],
  'PRICE of format 1': [
    ['polls', 'anybody says what a token is worth, whether there is one or not'],
    ['polls', 'what is checked, in order'],
    ['polls', 'currencies: twelve']
  ],
  'VOTE of formats 0 and 1': [
    ['polls', 'what is checked of a poll, in order'],
    ['polls', 'a sleeping source, told first'],
    ['polls', 'ballots, in order']
  ],
  'checks of a DISPENSER': [
    ['dispensers', 'coins that are none, and of other chains'],
    ['dispensers', 'currencies'],
    ['dispensers', 'five refills'],
    ['dispensers', 'an ownership']
  ],
  'tickers of refused actions': [['issue', 'names of refused actions have the next ids']],
  // Texts of refused rounds hold what was written; here they do not, so that nobody fills the table of statuses.
  'PRICE of format 0: which field is wrong, in words of its own': [['polls', 'a round that cannot be read']]
};

test('each fact that an example shows is shown by one that is there', () => {
  const named = new Map<string, Set<string>>();
  for (const [fact, places] of Object.entries(EXAMPLES)) {
    for (const [file, example] of places) {
      const path = new URL(`../../examples/${file}.txt`, import.meta.url);
      const known =
        named.get(file) ?? new Set(readExamples(file, readFileSync(path, 'utf8')).examples.map(({ name }) => name));
      named.set(file, known);
      assert.ok(known.has(example), `${fact}: ${file}.txt has no example "${example}"`);
    }
  }
});

/** Facts that no ledger writes here, with the tables that stay empty for them. */
const NOT_BUILT: Readonly<Record<string, readonly string[]>> = {
  'keys of addresses, which the decoder keeps': ['pubkeys'],
  'pictures, which each node fetches for itself': ['icons'],
  'contracts: DEPLOY, EXECUTE, their stakes, what they take from a stake': [
    'contracts',
    'contract_stakes',
    'slash_events'
  ],
  'nodes of the tree over balances, which each node makes for itself': ['state_tree_nodes'],
  BET: ['bets', 'bet_feeds'],
  'shares of lists and their metadata': ['list_share_mirrors', 'list_metas'],
  'batches of price rounds, bridges and calls between chains': ['xbridges', 'xcalls', 'anchor_actions', 'rollcalls']
};

test('tables of what is not built are there, and empty', async () => {
  for (const [reason, tables] of Object.entries(NOT_BUILT))
    for (const table of tables)
      assert.deepEqual(await lines(`SELECT COUNT(*) FROM ${table}`), ['0'], `${table}: ${reason}`);
});
