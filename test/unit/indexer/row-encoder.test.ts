import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasCode } from '../../../src/errors.ts';
import { HANDLERS } from '../../../src/indexer/actions/handlers.ts';
import { encodeRows } from '../../../src/indexer/store/row-encoder.ts';
import fc from '../../support/fast-check.ts';
import { MemoryLedger } from '../../support/indexer-ledger.ts';

const LOOKUPS = { idOf: () => 1 };
const issue = (status: string, decimals: string) => [
  { table: 'issues', columns: { action_index: 1, decimals, status_id: status } }
];

test('INTERNAL: a row that is not refused has no room for its text', () => {
  for (const status of ['valid', 'released'])
    assert.throws(
      () => encodeRows(issue(status, '002'), LOOKUPS),
      (error) => hasCode(error, 'INTERNAL') && /issues\.decimals has no room for 002/.test(error.message)
    );
  assert.match(encodeRows(issue('invalid: DECIMALS (min/max)', '200'), LOOKUPS).get('issues')!.tuples[0]!, /'20'/);
  const poll = [{ table: 'polls', columns: { action_index: 1, end_block: 'soon', status_id: 'valid' } }];
  assert.throws(() => encodeRows(poll, LOOKUPS), /polls\.end_block has no room for soon/);
});

test('INTERNAL: a number that is not refused is outside its column; a refused one becomes NULL, or 0 where NULL may not be', () => {
  const vote = (status: string, choice: number) => [
    { table: 'votes', columns: { action_index: 1, choice, status_id: status } }
  ];
  assert.throws(() => encodeRows(vote('valid', 65_536), LOOKUPS), /votes\.choice has no room for 65536/);
  assert.throws(() => encodeRows(vote('valid', -1), LOOKUPS), /votes\.choice has no room for -1/);
  const { columns, tuples } = encodeRows(vote('invalid: BALLOT (format)', 65_536), LOOKUPS).get('votes')!;
  assert.equal(tuples[0]!.slice(1, -1).split(',')[columns.indexOf('choice')], '0');
});

test('a refused text is kept in the characters and bytes that its column has', () => {
  const attest = (text: string) =>
    encodeRows(
      [{ table: 'attests', columns: { action_index: 1, validator_signatures: text, status_id: 'invalid: x' } }],
      LOOKUPS
    ).get('attests')!.tuples[0]!;
  assert.match(attest('a\u{1F600}b'), /'a\?b'/);
  const price = { action_index: 1, pairs_json: 'é'.repeat(40_000), status_id: 'invalid: x' };
  const [tuple] = encodeRows([{ table: 'prices', columns: price }], LOOKUPS).get('prices')!.tuples;
  assert.ok(Buffer.byteLength(tuple!) < 66_000);
});

const LONG = ['', 'm'.repeat(249), 'm'.repeat(250), '\u{1F600}'.repeat(249), '\u{1F600}'.repeat(250)];
const ZEROS = '0'.repeat(38);

/** Texts at the limits of what fields take, by parts of their names; what is not named may be any text. */
const OF_FIELDS: readonly (readonly [name: RegExp, texts: readonly string[]])[] = [
  [/GATE|CONTROLLER|FIAT_|ORACLE|CALLBACK_CONTRACT/, ['']],
  [/MEMO|MESSAGE|NAME|TITLE|TYPE$|DESCRIPTION|KEY_HASH|QUESTION|FIELD/, LONG],
  [/PUBKEY/, ['a'.repeat(64), 'B'.repeat(64)]],
  [/OWNERSHIP|LOCK_|UNBIND/, ['', '', '0']],
  [/TICK/, ['TOKA', 'toka', '^1', 'TOKB', `T${'x'.repeat(249)}`]],
  [/COIN._ACTION|POLL_REF|BROADCAST_ACTION/, ['1', '000000000000006', '000000000000001']],
  [/ACTION_INDEX|_LIST/, ['', '4', '000000000000004', '5']],
  [/COIN/, ['BTC', 'btc']],
  [/ADDRESS|DESTINATION|TRANSFER|DELEGATE_TO/, ['A', 'B', '^1', '']],
  [/EXPIRATION|BLOCK/, ['', '000000000000200', '999999999999999']],
  [/DECIMALS/, ['', '002', '018', '000000000000000']],
  [/FIAT$/, ['usd']],
  [/METHOD|EDIT|PREFERENCE|MEMO$|TYPE/, ['1', '2', '000000000000001']],
  [/OPTIONS/, ['x,y', `${'o'.repeat(64)},${'\u{1F600}'.repeat(64)}`]],
  [/BALLOT/, ['0', '0:0001000,1:0000001']],
  [/MODE/, ['', 'split', 'FLAT']],
  [/VALUE|FEE/, ['0000000000000000000000.10', '00000000.10', '']],
  [/./, ['', `${ZEROS}01`, `${ZEROS}1.50`, `${ZEROS}0.00000001`, '000', '9'.repeat(21), '1']]
];
const ANY = ['', '-01', '999999999999999', '9'.repeat(40), '0.000000000000000001', 'TOKA', 'x,y', 'm'.repeat(8_000)];

function textOf(field: string): fc.Arbitrary<string> {
  const [, texts] = OF_FIELDS.find(([name]) => name.test(field))!;
  return fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...texts) }, fc.constantFrom(...ANY));
}

const anyCommand = fc
  .constantFrom(
    ...[...HANDLERS.values()].flatMap(({ name, formats }) =>
      Object.entries(formats).map(([format, fields]) => ({ head: `${name}|${format}`, fields: fields.split('|') }))
    )
  )
  .chain(({ head, fields }) => fc.tuple(...fields.map(textOf)).map((texts) => [head, ...texts].join('|')));
const SIZE = 120;
const OPENING = [
  ['A', 'ISSUE|0|TOKA|0|0|2||500'],
  ['B', 'ISSUE|0|TOKB|0|0|0||500'],
  ['A', 'ISSUE|0|GAS|0|0|8||9000'],
  ['A', 'LIST|0|2||A|B|C'],
  ['A', `STAKE|1|2000|${'a'.repeat(64)}`],
  ['A', 'VOTE|0|TOKA|200|x,y|2|split']
] as const;

test('property: every row of every action that is not refused fits its table', () => {
  const valid = new Map<string, number>();
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom('A', 'B', 'C'), anyCommand), { minLength: SIZE, maxLength: SIZE }),
      (commands) => {
        const ledger = new MemoryLedger();
        ledger.act(...OPENING, ...commands);
        for (const { rows } of ledger.blocks) {
          encodeRows(rows, LOOKUPS);
          for (const { table, columns } of rows)
            if (columns['status_id'] === 'valid') valid.set(table, (valid.get(table) ?? 0) + 1);
        }
      }
    ),
    { numRuns: 150 }
  );
  const tables = [...valid.keys()];
  assert.ok(tables.length > 22, `${tables.join()} had valid rows`);
  for (const table of ['issues', 'messages', 'files', 'dispensers', 'orders', 'polls'])
    assert.ok(valid.has(table), table);
});
