import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HANDLERS } from '../../../src/indexer/actions/handlers.ts';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import { TABLES_IN_USE } from '../../../src/indexer/definitions/definition.ts';
import { createStatement } from '../../../src/indexer/definitions/statement.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
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
    ...{ source, fee: 10, data }
  }));
  return { height, time: 1_700_000_000 + height, hash: String(height).padStart(64, 'a'), transactions };
}

const OPENING = [
  ['A', 'ISSUE|0|TOKA|0|0|2||500000'],
  ['A', 'ISSUE|0|GAS|0|0|8||900000'],
  ['A', 'LIST|0|2||A|B'],
  ['A', `STAKE|1|2000|${'a'.repeat(64)}`],
  ['A', 'VOTE|0|TOKA|200|x,y|2|split']
] as const;

/** Texts that differ only in the last character, case, accent, what is not seen, plane or length. */
const PAIRS: readonly (readonly [string, string])[] = [
  ['hello', 'Hello'],
  ['hello', 'héllo'],
  ['strasse', 'straße'],
  ['i', 'ı'],
  ['x', 'x\u200b'],
  ['x', 'x\0'],
  ['a b', 'a\u00a0b'],
  ['\u{1F600}', '\u{1F601}'],
  ['\u{1F600}', '\u{10FFFF}'],
  ['e\u0301', 'é'],
  ['1', '01'],
  ['1.0', '1.00'],
  [`${'m'.repeat(248)}a`, `${'m'.repeat(248)}b`],
  [`${'\u{1F600}'.repeat(248)}a`, `${'\u{1F600}'.repeat(248)}b`],
  [`${'m'.repeat(248)}`, `${'m'.repeat(249)}`],
  ['"\\\'%_', '"\\\'%-']
];

const MEMO = 'JOIN index_memos m ON m.id = t.memo_id';
/** Where each free text of each action is written, and how it is read back. */
const PLACES: readonly (readonly [command: (text: string) => string, select: string])[] = [
  [(text) => `ISSUE|1|TOKA|${text}`, 'SELECT description AS text FROM issues t'],
  [(text) => `ISSUE|1|TOKA|d|${text}`, `SELECT m.memo AS text FROM issues t ${MEMO}`],
  [(text) => `SEND|0|TOKA|1|B|${text}`, `SELECT m.memo AS text FROM sends t ${MEMO}`],
  [(text) => `MINT|0|TOKA|1||${text}`, `SELECT m.memo AS text FROM mints t ${MEMO}`],
  [(text) => `DESTROY|0|TOKA|1|${text}`, `SELECT m.memo AS text FROM destroys t ${MEMO}`],
  [(text) => `ADDRESS|0|1|0||${text}`, `SELECT m.memo AS text FROM addresses t ${MEMO}`],
  [(text) => `AIRDROP|0|TOKA|1|4|${text}`, `SELECT m.memo AS text FROM airdrops t ${MEMO}`],
  [(text) => `DIVIDEND|0|TOKA|TOKA|0.01|${text}`, `SELECT m.memo AS text FROM dividends t ${MEMO}`],
  [(text) => `BROADCAST|0|${text}|1`, 'SELECT message AS text FROM broadcasts t'],
  [(text) => `BROADCAST|1|m|1|1|${text}`, `SELECT m.memo AS text FROM broadcasts t ${MEMO}`],
  [(text) => `FILE|0|${text}|t|t`, 'SELECT name AS text FROM files t'],
  [(text) => `FILE|0|n|${text}|t`, 'SELECT m.type AS text FROM files t JOIN index_mime_types m ON m.id = t.type_id'],
  [(text) => `FILE|0|n|t|${text}`, 'SELECT title AS text FROM files t'],
  [(text) => `MESSAGE|3|BTC|B|${text}`, 'SELECT plaintext_message AS text FROM messages t'],
  [(text) => `VOTE|0|TOKA|200|x,y||||||||${text}`, 'SELECT question AS text FROM polls t'],
  [(text) => `PRICE|1|BTC|TOKA|USD|1|0|${text}`, `SELECT m.memo AS text FROM prices t ${MEMO}`],
  [(text) => `LINK|0|BTC|1|BTC|1|${text}`, `SELECT m.memo AS text FROM links t ${MEMO}`],
  [(text) => `ORDER|0|BTC|TOKA|1|BTC||1|||||||${text}`, `SELECT m.memo AS text FROM orders t ${MEMO}`]
];

for (const [name, create] of Object.entries(DATABASES)) {
  test(`${name}: two texts that are two for the ledger stay two, and are read back to the byte`, async () => {
    const database = await create();
    const store = await open(database);
    await store.addBlocks([block(1, OPENING)]);
    let height = 1;
    let valid = 0;
    for (const [command, select] of PLACES) {
      for (const pair of PAIRS) {
        height += 1;
        await store.addBlocks([
          block(
            height,
            pair.map((text) => ['A', command(text)] as const)
          )
        ]);
        const written = await sql(
          database,
          `${select} JOIN index_statuses s ON s.id = t.status_id JOIN actions x ON x.action_index = t.action_index
           WHERE x.block_index = ${height} AND s.status = 'valid' ORDER BY t.action_index`
        );
        if (written.length === 0) continue;
        assert.deepEqual(
          written.map(({ text }) => text),
          pair,
          command(pair[1])
        );
        valid += 1;
      }
    }
    assert.ok(valid > PLACES.length * (PAIRS.length - 4), `${valid} pairs were valid`);
    store.close();
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
    const alike = [...PAIRS.flat().filter((text) => text.length < 200), 'a', 'a\u0001', 'K', '\u212a'];
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

  test(`${name}: whatever is written into any field of any action, the block is written`, async () => {
    const store = await open(await create());
    await store.addBlocks([block(1, OPENING)]);
    const odd = [
      ...[
        'x'.repeat(8_000),
        '\u{1F600}'.repeat(2_000),
        '9'.repeat(60),
        '-1',
        `1.${'0'.repeat(30)}`,
        '"\\\'',
        '\0',
        '007'
      ],
      ...[
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
      ]
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
