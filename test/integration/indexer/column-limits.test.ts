import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HANDLERS } from '../../../src/indexer/actions/handlers.ts';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import { TABLES_IN_USE } from '../../../src/indexer/definitions/definition.ts';
import { createStatement } from '../../../src/indexer/definitions/statement.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { priceText, slotMessage, type TestSigner, testSigner } from '../../support/indexer-signers.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

/** Addresses of two spellings that differ in case alone are two. */
const RULES = { ...TEST_RULES, readAddress: (text: string) => (/^[A-Za-z]{1,120}$/.test(text) ? text : undefined) };
const PUSHES = { network: 'regtest', onQueued: () => undefined };
const open = (database: DatabaseCoordinates) => IndexerStore.open(database, RULES, 30, { pushes: PUSHES });

/** A database of ours, and one whose tables are those in use. */
const DATABASES: Readonly<Record<string, () => Promise<DatabaseCoordinates>>> = {
  'tables of ours': () => createDatabase('indexer'),
  'tables in use': async () => {
    const database = await createDatabase('indexer');
    for (const [name, table] of TABLES_IN_USE.indexer) await sql(database, createStatement(name, table));
    return database;
  }
};

let hashes = 0;
function block(height: number, commands: readonly (readonly [source: string, data: string])[]): ChainBlock {
  const transactions = commands.map(([source, data]) => ({
    hash: String(++hashes).padStart(64, 'd'),
    source,
    fee: 10,
    data
  }));
  return { height, time: 1_700_000_000 + height, hash: String(height).padStart(64, 'a'), transactions };
}

const [ORACLE, ...OFFENDERS] = ['oracle', 'first', 'second'].map(testSigner) as [TestSigner, TestSigner, TestSigner];
/** The most units of a token. */
const MOST_UNITS = `1${'0'.repeat(36)}`;

/** Texts of the first block. The comments name the indexes of their actions. */
const OPENING = [
  ['A', 'ISSUE|0|TOKA|0|0|2||500000'], // 1
  ['A', 'ISSUE|0|GAS|0|0|8||900000'], // 2
  ['A', 'LIST|0|2||A|B'], // 3
  ['A', `STAKE|1|2000|${'a'.repeat(64)}`], // 4
  ['A', 'VOTE|0|TOKA|90000|x,y|2|split'], // 5
  ['A', 'ISSUE|0|TOKC|0|0|0||10'],
  ['A', 'ISSUE|4|TOKC|1|TOKA|1'],
  ['A', 'ISSUE|0|FINE|0|0|18||10'],
  ['A', `ISSUE|0|LARGE|0|0|0||${MOST_UNITS}`],
  ['A', 'ISSUE|0|MUCH|0|0|0'],
  ['A', `STAKE|1|50000|${ORACLE.pubkey}`],
  ...OFFENDERS.map(({ pubkey }) => ['A', `STAKE|1|1000|${pubkey}`] as const)
] as const;

/** Texts that differ only in the last character, case, accent, what is not seen, plane or length. */
const PAIRS = {
  case: ['hello', 'Hello'],
  accent: ['hello', 'héllo'],
  ligature: ['strasse', 'straße'],
  dot: ['i', 'ı'],
  'no width': ['x', 'x\u200b'],
  nul: ['x', 'x\0'],
  'soft hyphen': ['x', 'x\u00ad'],
  'kind of space': ['a b', 'a\u00a0b'],
  'two spaces': ['a b', 'a  b'],
  emoji: ['\u{1F600}', '\u{1F601}'],
  plane: ['\u{1F600}', '\u{10FFFF}'],
  composed: ['e\u0301', 'é'],
  'zero before': ['1', '01'],
  'zero behind': ['1.0', '1.00'],
  last: [`${'m'.repeat(248)}a`, `${'m'.repeat(248)}b`],
  'last behind emoji': [`${'\u{1F600}'.repeat(248)}a`, `${'\u{1F600}'.repeat(248)}b`],
  length: ['m'.repeat(248), 'm'.repeat(249)],
  quotes: ['"\\\'%_', '"\\\'%-'],
  // Spaces around a field are removed: these are one text, and none has a space at its end.
  'space behind': ['x', 'x '],
  'tab behind': ['x', 'x\t'],
  'wide space behind': ['x', 'x\u3000']
} as const;
type PairName = keyof typeof PAIRS;
const PAIR_NAMES = Object.keys(PAIRS) as readonly PairName[];
const TEXTS = PAIR_NAMES.flatMap((name) => PAIRS[name]);
/** Pairs of more than 64 characters. */
const LONG: readonly PairName[] = ['last', 'last behind emoji', 'length'];

/** Column of a text of an action. */
interface Place {
  /** @param offer number of an offer that no other command names */
  readonly command: (text: string, offer: number) => string;
  /** Reads what is kept as `text`, from a table `t`. */
  readonly select: string;
  /** Offers of which each command takes one. */
  readonly offers?: keyof typeof OFFERS;
  /** Returns what is kept of a text. */
  readonly kept?: (text: string) => string | null;
  /** Pairs that are refused. */
  readonly refused?: readonly PairName[];
  /** Status of the others. */
  readonly status?: string;
}

const OFFERS = {
  orders: 'ORDER|0|BTC|TOKA|1||BTC|GAS|9',
  swaps: 'SWAP|0|BTC|TOKA|1||BTC|GAS|9',
  dispensers: 'DISPENSER|0|BTC|TOKA|1||1|BTC||1'
} as const;
const memoOf = (table: string) => `SELECT m.memo AS text FROM ${table} t JOIN index_memos m ON m.id = t.memo_id`;
const column = (table: string, name: string) => `SELECT t.${name} AS text FROM ${table} t`;
const answer = (payload: string, meta: string) =>
  `ATTEST|1|${'a'.repeat(64)}|p|${payload}|ok|${meta}|1|${'a'.repeat(64)}|${'b'.repeat(128)}`;

const PLACES: readonly Place[] = [
  { command: (text) => `ISSUE|1|TOKA|${text}`, select: column('issues', 'description') },
  { command: (text) => `ISSUE|1|TOKA|d|${text}`, select: memoOf('issues') },
  { command: (text) => `SEND|0|TOKA|1|B|${text}`, select: memoOf('sends') },
  { command: (text) => `MINT|0|TOKA|1||${text}`, select: memoOf('mints') },
  { command: (text) => `DESTROY|0|TOKA|1|${text}`, select: memoOf('destroys') },
  { command: (text) => `ADDRESS|0|1|0||${text}`, select: memoOf('addresses') },
  { command: (text) => `AIRDROP|0|TOKA|1|3|${text}`, select: memoOf('airdrops') },
  { command: (text) => `DIVIDEND|0|TOKA|TOKA|0.01|${text}`, select: memoOf('dividends') },
  { command: (text) => `CALLBACK|0|TOKC|${text}`, select: memoOf('callbacks') },
  { command: (text) => `SLEEP|0|0|${text}`, select: memoOf('sleeps') },
  { command: (text) => `SLEEP|1|0|TOKA|${text}`, select: memoOf('sleeps') },
  { command: (text) => `SWEEP|0|B|0|0|0|0|0|${text}`, select: memoOf('sweeps') },
  { command: (text) => `BROADCAST|0|${text}|1`, select: column('broadcasts', 'message') },
  { command: (text) => `BROADCAST|1|m|1|1|${text}`, select: memoOf('broadcasts') },
  { command: (text) => `FILE|0|${text}|t|t`, select: column('files', 'name') },
  {
    command: (text) => `FILE|0|n|${text}|t`,
    select: 'SELECT m.type AS text FROM files t JOIN index_mime_types m ON m.id = t.type_id'
  },
  { command: (text) => `FILE|0|n|t|${text}`, select: column('files', 'title') },
  { command: (text) => `FILE|0|n|t|t|${text}`, select: memoOf('files') },
  { command: (text) => `MESSAGE|0|BTC|B|1|${text}`, select: column('messages', 'encryption_key') },
  { command: (text) => `MESSAGE|1|BTC|B|1|${text}`, select: column('messages', 'encryption_key') },
  { command: (text) => `MESSAGE|2|BTC|B|${text}`, select: column('messages', 'encrypted_message') },
  { command: (text) => `MESSAGE|3|BTC|B|${text}`, select: column('messages', 'plaintext_message') },
  { command: (text) => `VOTE|0|TOKA|90000|x,y||||||||${text}`, select: column('polls', 'question') },
  {
    command: (text) => `VOTE|0|TOKA|90000|${text},other`,
    select: column('polls', 'options'),
    kept: (text) => JSON.stringify([text, 'other']),
    refused: LONG
  },
  { command: (text) => `VOTE|1|5|0|${text}`, select: column('votes', 'memo') },
  // No column has the memo of a delegation.
  {
    command: (text) => `VOTE|3|TOKA|B|${text}`,
    select: 'SELECT NULL AS text FROM vote_delegations t',
    kept: () => null
  },
  { command: (text) => `PRICE|1|BTC|TOKA|USD|1|0|${text}`, select: memoOf('prices') },
  { command: (text) => `LINK|0|BTC|1|BTC|1|${text}`, select: memoOf('links') },
  { command: (text) => `ORDER|0|BTC|TOKA|1||BTC||1||||||${text}`, select: memoOf('orders') },
  { command: (text, order) => `ORDER|2|${order}||||${text}`, select: memoOf('order_edits'), offers: 'orders' },
  { command: (text, order) => `ORDER|1|${order}|${text}`, select: memoOf('order_cancels'), offers: 'orders' },
  { command: (text) => `SWAP|0|BTC|TOKA|1||BTC|GAS|1||||||${text}`, select: memoOf('swaps') },
  { command: (text, swap) => `SWAP|2|${swap}||||${text}`, select: memoOf('swap_edits'), offers: 'swaps' },
  { command: (text, swap) => `SWAP|1|${swap}|${text}`, select: memoOf('swap_cancels'), offers: 'swaps' },
  { command: (text) => `DISPENSER|0|BTC|TOKA|1||1|BTC||1||||||||${text}`, select: memoOf('dispensers') },
  {
    command: (text, dispenser) => `DISPENSER|2|${dispenser}|||||${text}`,
    select: memoOf('dispenser_edits'),
    offers: 'dispensers'
  },
  {
    command: (text, dispenser) => `DISPENSER|1|${dispenser}|${text}`,
    select: memoOf('dispenser_cancels'),
    offers: 'dispensers'
  },
  // Its rows are all of refused actions: there are no contracts.
  {
    command: (text) => answer(text, 'm'),
    select: column('attests', 'response_payload'),
    status: 'invalid: REQUEST_ID (unknown)'
  },
  {
    command: (text) => answer('p', text),
    select: column('attests', 'meta'),
    status: 'invalid: REQUEST_ID (unknown)'
  }
];

/** Fields with a form of their own, and two of the greatest, least or most alike values that are valid. */
const FORMED: readonly (readonly [
  command: (value: string, at: number) => string,
  select: string,
  values: readonly [string, string],
  source?: string
])[] = [
  [(value) => `SEND|0|FINE|${value}|B`, column('sends', 'amount'), [leastUnits(1), leastUnits(2)]],
  [(value) => `SEND|0|LARGE|${value}|B`, column('sends', 'amount'), mostUnits(3)],
  [(value) => `DESTROY|0|LARGE|${value}`, column('destroys', 'amount'), mostUnits(1)],
  [(value) => `MINT|0|MUCH|${value}`, column('mints', 'amount'), mostUnits(4)],
  [(value) => `AIRDROP|0|FINE|${value}|3`, column('airdrops', 'amount'), [leastUnits(1), leastUnits(2)]],
  [(value) => `DIVIDEND|0|TOKC|FINE|${value}`, column('dividends', 'amount'), [leastUnits(1), leastUnits(2)]],
  [
    (value, at) => `ISSUE|0|CAP${at}|${value}|0|0`,
    column('issues', 'max_supply'),
    [`1${'0'.repeat(21)}`, '9'.repeat(21)]
  ],
  [(value) => `ISSUE|4|TOKC||FINE|${value}`, column('issues', 'callback_amount'), [leastUnits(1), leastUnits(2)]],
  [(value) => `ISSUE|4|TOKC|${value}|TOKA|1`, column('issues', 'callback_block'), mostWhole()],
  [(value) => `ISSUE|2|TOKC|||||${value}|${mostWhole()[0]}`, column('issues', 'mint_start_block'), mostWhole()],
  [
    (value) => `ORDER|0|BTC|TOKA|1||BTC||${value}`,
    column('orders', 'get_amount'),
    ['9'.repeat(40), `${'9'.repeat(39)}8`]
  ],
  [(value) => `ORDER|0|BTC|TOKA|1||BTC||${value}`, column('orders', 'get_amount'), ['0.00000001', '0.00000002']],
  [(value) => `SWAP|0|BTC|TOKA|1||BTC|GAS|1|||${value}`, column('swaps', 'expiration'), mostWhole()],
  [(value) => `DISPENSER|0|BTC|TOKA|1||1|BTC||1|||||${value}`, column('dispensers', 'expiration'), mostWhole()],
  [(value) => `BROADCAST|0|m|${value}`, column('broadcasts', 'value'), ['9'.repeat(25), `${'9'.repeat(24)}8`]],
  [(value) => `BROADCAST|0|m|${value}`, column('broadcasts', 'value'), ['1', '1.0']],
  [(value) => `BROADCAST|0|m|${value}`, column('broadcasts', 'value'), ['0', '-0']],
  [(value) => `BROADCAST|1|m|1|${value}|x`, column('broadcasts', 'fee'), ['9'.repeat(11), `${'9'.repeat(10)}8`]],
  [(value) => `VOTE|0|TOKA|${value}|x,y`, column('polls', 'end_block'), ['100000', '100001']],
  [(value) => `VOTE|0|TOKA|90000|x,y|||||${value}`, column('polls', 'min_voters'), mostWhole()],
  [(value) => `VOTE|0|TOKA|90000|x,y||||${value}`, column('polls', 'quorum'), [leastUnits(1), leastUnits(2)]],
  [
    (value) => `VOTE|0|FINE|90000|x,y||||||${value}`,
    column('polls', 'min_vote_balance'),
    [leastUnits(1), leastUnits(2)]
  ],
  [(value) => `VOTE|1|5|1:${value}`, column('votes', 'share'), ['1000000', '999999']],
  [
    (value, at) => `STAKE|1|${value}|${String(at).repeat(64)}`,
    column('stakes', 'amount'),
    ['0.00000001', '0.00000002']
  ],
  [(value) => `PRICE|1|BTC|TOKA|USD|${value}|0`, column('prices', 'value'), ['1', '1.0']],
  [
    (value) => `PRICE|1|BTC|TOKA|USD|${value}|0`,
    column('prices', 'value'),
    [`${'9'.repeat(40)}.00000001`, `${'9'.repeat(40)}.00000002`]
  ],
  [(value) => `PRICE|1|BTC|TOKA|USD|1|${value}`, column('prices', 'fee'), [leastUnits(1), leastUnits(2)]],
  [(value) => `LINK|0|BTC|1|LTC|${value}`, column('links', 'coin2_action_index'), mostWhole()],
  [
    (value) => `FILE|0|n|t|t||TOKC|1|${value}|1`,
    column('gated_files', 'key_hash'),
    ['a'.repeat(64), `${'a'.repeat(63)}b`]
  ],
  [
    (value) => `FILE|0|n|t|t||FINE|1|${'c'.repeat(64)}|${value}`,
    column('gated_files', 'gate_min_amount'),
    [leastUnits(1), leastUnits(2)]
  ],
  [(value) => `SLEEP|1|${value}|MUCH`, column('sleeps', 'resume_block'), mostWhole()],
  [(value) => `SLEEP|0|${value}`, column('sleeps', 'resume_block'), [mostWhole()[0], '-1'], 'AB']
];

/** Some of the least units of a token with 18 places. */
function leastUnits(count: number): string {
  return `0.${String(count).padStart(18, '0')}`;
}

/** Two numbers of units, more than a double holds, that differ in their last digit. */
function mostUnits(first: number): readonly [string, string] {
  return [`${first}${'0'.repeat(34)}1`, `${first}${'0'.repeat(34)}2`];
}

/** The two greatest whole numbers. */
function mostWhole(): readonly [string, string] {
  return ['9'.repeat(15), `${'9'.repeat(14)}8`];
}

for (const [name, create] of Object.entries(DATABASES)) {
  test(`${name}: two texts that are two for the ledger stay two, and are read back to the byte`, async () => {
    const { database, add, close } = await openLedger(create);
    const refused: (readonly [string, PairName])[] = [];
    for (const place of PLACES) {
      const { command, select, offers, kept = (text: string) => text, status = 'valid' } = place;
      const indexes = offers ? await made(database, add, offers) : [];
      const height = await add(TEXTS.map((text, at) => ['A', command(text, indexes[at] ?? 0)]));
      const written = await readBack(database, select, height);
      assert.equal(written.length, TEXTS.length, command('', 0));
      for (const [at, pair] of PAIR_NAMES.entries()) {
        const both = written.slice(2 * at, 2 * at + 2);
        if (both.every((row) => row.status === status))
          assert.deepEqual(
            both.map(({ text }) => text),
            PAIRS[pair].map((text) => kept(text.trim())),
            command(pair, 0)
          );
        else refused.push([command('', 0), pair]);
      }
    }
    const expected = PLACES.flatMap(({ command, refused = [] }) =>
      refused.map((pair) => [command('', 0), pair] as const)
    );
    assert.deepEqual(refused, expected, 'no other pair is refused');
    close();
  });

  test(`${name}: the greatest, the least and the most alike values of a field stay two`, async () => {
    const { database, add, close } = await openLedger(create);
    for (const [command, select, values, sources = 'AA'] of FORMED) {
      const height = await add(values.map((value, at) => [sources[at]!, command(value, at + 1)]));
      const written = await readBack(database, select, height);
      assert.deepEqual(
        written.map(({ status, text }) => [status, String(text)]),
        values.map((value) => ['valid', value]),
        command(values[0], 1)
      );
    }
    close();
  });

  test(`${name}: pairs of prices and slots of proofs that are nearly the same stay what was signed`, async () => {
    const { database, add, close } = await openLedger(create);
    const names = ['BTC-USD', 'BTC/USD', 'BTCUSD', 'BTC_USD'];
    const pairs = names.map((pair, at) => [pair, `1.${'0'.repeat(at + 1)}`] as const);
    for (let height = 1; height <= TEST_RULES.stakeDelay; ) height = await add([]);
    const at = await add([]);
    const rounds = mostWhole().map((round) => priceText({ round: Number(round), height: at, pairs }, [ORACLE]));
    const priced = await readBack(
      database,
      column('prices', 'pairs_json'),
      await add(rounds.map((text) => ['A', text]))
    );
    const pricesText = JSON.stringify(pairs.map(([pair, price]) => ({ pair, price })));
    assert.deepEqual(
      priced.map(({ status, text }) => [status, text]),
      [
        ['valid', pricesText],
        ['valid', pricesText]
      ]
    );
    const slots = ['EQUIV|oracle|round|1||', 'EQUIV|oracle|Round|01||'];
    const proofs = OFFENDERS.map((signer, each) => {
      const messages = [1, 2].map((n) => slotMessage(signer, { btc_block_height: at, n }, slots[each]));
      return `SLASH|0|price|${signer.pubkey}|${messages.flat().join('|')}`;
    });
    await add(proofs.map((text) => ['B', text]));
    const slashed = await sql(database, 'SELECT equiv_key FROM capability_slash_events ORDER BY slash_action_index');
    assert.deepEqual(
      slashed.map(({ equiv_key }) => equiv_key),
      slots
    );
    close();
  });

  test(`${name}: addresses that differ in case alone are two`, async () => {
    const database = await create();
    const store = await open(database);
    await store.addBlocks([block(1, OPENING), block(2, [['A', 'SEND|1|TOKA|1|Bob|2|bob|3|BOB']])]);
    const held = await sql(
      database,
      "SELECT a.address, b.amount FROM balances b JOIN index_addresses a ON a.id = b.address_id WHERE a.address <> 'A' AND b.tick_id = 1"
    );
    assert.deepEqual(held.map(({ address, amount }) => `${address} ${amount}`).sort(), ['BOB 3', 'Bob 1', 'bob 2']);
    store.close();
  });

  test(`${name}: of two tickers with the same first 200 characters the second is refused, also after a rollback`, async () => {
    const database = await create();
    const store = await open(database);
    const [long, longer, upper] = ['a', 'bb', 'A'].map((end) => `T${'x'.repeat(199)}${end}`);
    const short = `T${'x'.repeat(198)}`;
    const exact = `${short}x`;
    const issues = (ticks: readonly (string | undefined)[]) =>
      ticks.map((tick) => ['A', `ISSUE|0|${tick}|0|0|0||5`] as const);
    const statuses = async () => {
      const found = await sql(
        database,
        'SELECT s.status FROM issues i JOIN index_statuses s ON s.id = i.status_id ORDER BY action_index'
      );
      return found.map(({ status }) => status);
    };
    const taken = 'invalid: TICK (first 200 characters taken)';
    await store.addBlocks([block(1, issues([long, longer, short, exact]))]);
    await store.addBlocks([block(2, issues([longer])), block(3, issues([upper, `t${'x'.repeat(200)}`]))]);
    // Another spelling of a known ticker is that ticker.
    assert.deepEqual(await statuses(), ['valid', taken, 'valid', taken, taken, 'valid', 'valid']);
    await store.rollBack(1);
    await store.addBlocks([block(1, issues([longer, long]))]);
    assert.deepEqual(await statuses(), ['valid', taken]);
    store.close();
  });

  test(`${name}: tickers that nobody issued stay two, however alike, and never stop a block`, async () => {
    const database = await create();
    const store = await open(database);
    const begins = ['x', '\u{1F600}', '%', '_', '\\', 'é'].map((letter) => letter.repeat(200));
    const ends = ['', 'a', 'A', 'é', '\u0001', '\u{10FFFF}', '%'];
    const long = begins.flatMap((begin) => ends.map((end) => begin + end));
    const alike = [
      ...TEXTS.map((text) => text.trim()).filter((text) => text.length < 200),
      'a',
      'a\u0001',
      'K',
      '\u212a'
    ];
    const send = (tick: string) => ['A', `SEND|0|${tick}|1|B`] as const;
    await store.addBlocks([block(1, OPENING), block(2, long.map(send)), block(3, alike.map(send))]);
    await store.rollBack(3);
    await store.addBlocks([block(3, alike.toReversed().map(send))]);
    await store.addBlocks([block(4, [...long, ...alike].map(send))]);
    const found = await sql(database, 'SELECT tick FROM index_tickers WHERE block_index > 1 ORDER BY id');
    const expected = [...begins, ...new Set(alike)];
    assert.deepEqual(found.map(({ tick }) => tick).toSorted(), expected.toSorted());
    store.close();
  });

  test(`${name}: a ticker that goes on with spaces is another than its beginning`, async () => {
    const database = await create();
    const store = await open(database);
    const spaced = (begin: string, length: number) => `${begin.padEnd(length)}x`;
    const ticks = ['GAS', 'NOBODY', 'n'.repeat(199)].flatMap((begin) => [
      begin,
      spaced(begin, 200),
      spaced(begin, 260)
    ]);
    const send = (tick: string) => ['A', `SEND|0|${tick}|1|B`] as const;
    await store.addBlocks([block(1, OPENING), block(2, ticks.map(send))]);
    await store.rollBack(2);
    await store.addBlocks([block(2, ticks.toReversed().map(send))]);
    const found = await sql(database, 'SELECT tick FROM index_tickers WHERE block_index > 1 ORDER BY id');
    const numbered = ticks.toReversed().filter((tick) => tick !== 'GAS' && tick.length !== 201);
    assert.deepEqual(
      found.map(({ tick }) => tick),
      numbered
    );
    store.close();
  });

  test(`${name}: whatever is written into any field of any action, the block is written`, async () => {
    const store = await open(await create());
    await store.addBlocks([block(1, OPENING)]);
    const odd = [
      'x'.repeat(8_000),
      '\u{1F600}'.repeat(2_000),
      '9'.repeat(60),
      '-1',
      `1.${'0'.repeat(30)}`,
      '"\\\'',
      '\0',
      '007',
      '255',
      '256',
      '32768',
      '65536',
      '4294967296',
      '999999999999999',
      '18446744073709551616',
      'İ',
      '\u00a0',
      '\ufffd'
    ];
    const commands = [...HANDLERS.values()].flatMap(({ name: action, formats }) =>
      Object.entries(formats).flatMap(([format, fields]) => {
        const places = fields.split('|').length;
        return odd.flatMap((text) => {
          const all = Array.from({ length: places }, () => text).join('|');
          const one = Array.from({ length: places }, (_, place) => fieldsWith(fields, place, text));
          return [all, ...one].map((given) => ['A', `${action}|${format}|${given}`.slice(0, 8_192)] as const);
        });
      })
    );
    for (let at = 0; at < commands.length; at += 500)
      await store.addBlocks([block(2 + at / 500, commands.slice(at, at + 500))]);
    store.close();
  });
}

/** A ledger with its first block. `add` writes one block more, and returns its height. */
async function openLedger(create: () => Promise<DatabaseCoordinates>) {
  const database = await create();
  const store = await open(database);
  let height = 0;
  const add = async (commands: readonly (readonly [source: string, data: string])[]): Promise<number> => {
    await store.addBlocks([block(++height, commands)]);
    return height;
  };
  await add(OPENING);
  return { database, add, close: () => store.close() };
}

type Add = Awaited<ReturnType<typeof openLedger>>['add'];

/** Makes as many offers as there are texts. @returns their numbers */
async function made(database: DatabaseCoordinates, add: Add, offers: keyof typeof OFFERS): Promise<number[]> {
  const height = await add(TEXTS.map(() => ['A', OFFERS[offers]]));
  const written = await readBack(database, `SELECT t.action_index AS text FROM ${offers} t`, height);
  assert.ok(
    written.every(({ status }) => status === 'valid'),
    offers
  );
  return written.map(({ text }) => Number(text));
}

/** Reads what the actions of a block have written, in their order. */
async function readBack(database: DatabaseCoordinates, select: string, height: number) {
  return await sql(
    database,
    `${select.replace(' AS text', ' AS text, s.status')} JOIN index_statuses s ON s.id = t.status_id
     JOIN actions x ON x.action_index = t.action_index WHERE x.block_index = ${height} ORDER BY t.action_index`
  );
}

const USUAL: readonly (readonly [RegExp, string])[] = [
  [/TICK/, 'TOKA'],
  [/COIN/, 'BTC'],
  [/FIAT$/, 'USD'],
  [/DESTINATION|ADDRESS/, 'B'],
  [/PUBKEY/, 'a'.repeat(64)],
  [/SIG_COUNT|PAIR_COUNT|_INDEX|TYPE|EDIT|AMOUNT|VALUE/, '1'],
  [/OPTIONS/, 'x,y'],
  [/STATUS/, 'ok']
];

/** Usual fields with an odd one among them. */
function fieldsWith(fields: string, odd: number, text: string): string {
  return fields
    .split('|')
    .map((field, place) => (place === odd ? text : (USUAL.find(([name]) => name.test(field))?.[1] ?? '')))
    .join('|');
}
