import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import fc from '../../support/fast-check.ts';
import { anyBlocks } from '../../support/indexer-actions.ts';
import { dumpTexts } from '../../support/indexer-database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { slotMessage, testSigner } from '../../support/indexer-signers.ts';
import { createDatabase } from '../../support/mariadb.ts';

/** A store and what it does with each block. */
interface Path {
  readonly name: string;
  readonly database: DatabaseCoordinates;
  readonly store: IndexerStore;
  readonly take: (store: IndexerStore, block: ChainBlock) => Promise<void>;
}

const TAKES: Readonly<Record<string, Path['take']>> = {
  'runs through': async (store, block) => {
    await store.addBlocks([block]);
  },
  'reads anew after every block': async (store, block) => {
    await store.addBlocks([block]);
    await store.discard();
  },
  'takes every block back and writes it again': async (store, block) => {
    await store.addBlocks([block]);
    await store.rollBack(block.height);
    await store.addBlocks([block]);
  }
};

let paths: Path[] = [];
before(async () => {
  paths = await Promise.all(
    Object.entries(TAKES).map(async ([name, take]) => {
      const database = await createDatabase('indexer');
      return { name, take, database, store: await IndexerStore.open(database, TEST_RULES, 30) };
    })
  );
});
after(() => {
  for (const { store } of paths) store.close();
});

/** Writes blocks on every path. @returns the rows, which are the same on all, hashes of blocks among them */
async function sameOnEveryPath(blocks: readonly ChainBlock[]): Promise<Dump> {
  const dumps = await Promise.all(
    paths.map(async ({ store, database, take }) => {
      await store.rollBack(0);
      for (const block of blocks) await take(store, block);
      return await dumpTexts(database);
    })
  );
  for (const [place, { name }] of paths.entries()) assert.deepEqual(missing(dumps[0]!, dumps[place]!), [], name);
  return dumps[0]!;
}

type Dump = Awaited<ReturnType<typeof dumpTexts>>;

/** The rows that one of two dumps has alone. */
function missing(first: Dump, second: Dump): string[] {
  const [some, others] = [first, second].map((dump) =>
    Object.entries(dump).flatMap(([table, rows]) => rows.map((row) => `${table} ${row}`))
  );
  return [...new Set(some).symmetricDifference(new Set(others))];
}

type Texts = readonly (readonly [source: string, data: string])[];

/** Blocks of some texts, twenty minutes apart; each COINPAY pays A 3 coins. */
function blocksOf(...texts: readonly Texts[]): ChainBlock[] {
  return texts.map((transactions, place) => ({
    height: place + 1,
    time: 1_700_000_000 + place * 1_200,
    hash: String(place).padStart(64, 'a'),
    transactions: transactions.map(([source, data], position) => ({
      hash: `${place} ${position}`.padStart(64, 'd'),
      source,
      fee: 10,
      data,
      ...(data.startsWith('COINPAY') ? { outputs: [{ vout: 0, address: 'A', amount: 3n * 10n ** 18n }] } : {})
    }))
  }));
}

const key = (digit: string) => digit.repeat(64);
const GAS: Texts[number] = ['A', 'ISSUE|0|GAS|0|0|8||500000'];

/** `action status` of all rows of a table. */
function verdicts(dump: Dump, table: string): string[] {
  const rows = (dump[table] ?? []).map((row) => JSON.parse(row) as Record<string, unknown>);
  return rows
    .sort((a, b) => Number(a['action_index']) - Number(b['action_index']))
    .map((row) => `${row['action_index']} ${row['status_id']}`);
}

test('any blocks', async () => {
  await fc.assert(
    fc.asyncProperty(anyBlocks, async (blocks) => {
      await sameOnEveryPath(blocks);
    }),
    { numRuns: 8 }
  );
});

test('numbers with zeros in front, of every field that has them', async () => {
  const zeros = '0'.repeat(38);
  const dump = await sameOnEveryPath(
    blocksOf(
      [
        ['A', `ISSUE|0|TOKA|${zeros}9.10|${zeros}2|002|d\u00e9sc \u{1F600}|05`],
        ['A', 'ISSUE|0|TOKB|9|2|02||5||B||||||000000000000105||||||000000000000008|000000000000001|000000000000099'],
        ['A', 'ISSUE|0|PAYT|0|0|018||100'],
        ['A', 'ISSUE|4|TOKA|000000000000106|payt|0000.000000000000000001']
      ],
      [
        ['A', 'LIST|0|2||B|^1|bad|B'],
        ['C', 'ADDRESS|0|01|01|02'],
        ['B', 'SLEEP|0|-01'],
        ['A', 'SLEEP|1|000000000000004|TOKA'],
        ['A', 'MESSAGE|0|BTC|B|01|k'],
        ['A', 'MESSAGE|1|btc|B|0000003|k'],
        ['A', 'BROADCAST|1|x|0000000000000000000000.10|000000000.1'],
        ['A', 'DISPENSER|0|BTC|PAYT|01|0|02|BTC||001|C||||001700009000']
      ],
      [
        ['A', 'ISSUE|5|TOKA|0000005|0'],
        ['A', 'ISSUE|1|toka|x'],
        ['A', 'MINT|0|TOKA|001.50|B'],
        ['A', 'SEND|0|PAYT|01|C|x']
      ],
      [
        ['A', 'MINT|0|TOKA|01.50'],
        ['A', 'SEND|0|TOKA|1.5|B'],
        ['A', 'ORDER|0|BTC|PAYT|01|0|BTC||0002|0||001700009000']
      ],
      [['A', 'ISSUE|1|TOKA|y']]
    )
  );
  const [token] = dump['tokens']!.map((row) => JSON.parse(row)).filter(({ tick_id }) => tick_id === 1);
  assert.deepEqual([token.decimals, token.max_supply, token.callback_block], [2, '9.1', 106]);
  const methods = dump['messages']!.map((row) => JSON.parse(row)['encryption_method']);
  assert.deepEqual(methods.sort(), ['1', '3']);
});

test('a key that is delegated and taken back in one block', async () => {
  const dump = await sameOnEveryPath(
    blocksOf(
      [GAS, ['A', `STAKE|1|1000|${key('a')}`], ['A', 'SEND|0|GAS|1000|B']],
      [],
      [],
      [
        ['A', `DELEGATE|0|${key('b')}`],
        ['A', `DELEGATE|2|${key('b')}`],
        ['A', `BATCH|0|DELEGATE|0|${key('c')};DELEGATE|2|${key('c')}`]
      ],
      [
        ['B', `STAKE|1|10|${key('b')}`],
        ['B', `STAKE|1|10|${key('c')}`]
      ],
      [
        ['B', `STAKE|1|10|${key('b')}`],
        ['A', `DELEGATE|2|${key('a')}`]
      ],
      []
    )
  );
  const taken = 'invalid: SIGNING_PUBKEY (already delegated)';
  assert.deepEqual(verdicts(dump, 'stakes'), ['2 valid', `9 ${taken}`, `10 ${taken}`, '11 valid']);
});

test('an order that did not pay ends, and its seller sells to the next', async () => {
  const dump = await sameOnEveryPath(
    blocksOf(
      [
        ['A', 'ISSUE|0|TOKA|0|0|0||20'],
        ['A', 'ISSUE|0|OWND'],
        ['A', 'ORDER|0|BTC|TOKA|5|0|BTC||2'],
        ['B', 'ORDER|0|BTC||4|0|BTC|TOKA|10'],
        ['A', 'ORDER|0|BTC|OWND||1|BTC||3'],
        ['C', 'ORDER|0|BTC||3|0|BTC|OWND||1']
      ],
      ...Array.from({ length: 13 }, () => []),
      [
        ['A', 'ORDER|0|BTC|TOKA|10|0|BTC||3'],
        ['A', 'ORDER|0|BTC|OWND||1|BTC||3'],
        ['B', 'ORDER|0|BTC||3|0|BTC|TOKA|10'],
        ['C', 'ORDER|0|BTC||3|0|BTC|OWND||1']
      ],
      [
        ['B', 'ORDER|1|4'],
        ['B', 'COINPAY|0|14'],
        ['C', 'COINPAY|0|16']
      ],
      []
    )
  );
  const matches = verdicts(dump, 'order_matches');
  assert.deepEqual(matches, ['5 expired', '8 expired', '14 valid', '16 valid']);
  assert.deepEqual(verdicts(dump, 'order_statuses').slice(-3), ['18 complete', '19 complete', '19 complete']);
});

test('the most units that a token without a cap may have', async () => {
  const most = `1${'0'.repeat(36)}`;
  const all = `${'9'.repeat(36)}.${'9'.repeat(18)}`;
  const dump = await sameOnEveryPath(
    blocksOf(
      [
        ['A', `ISSUE|0|TOKA|0|0|18||${most}`],
        ['A', 'MINT|0|TOKA|0.000000000000000001'],
        ['A', 'VOTE|0|TOKA|4|x,y']
      ],
      [
        ['A', `SEND|0|TOKA|${all}|B`],
        ['B', `SEND|0|TOKA|${all}|C`],
        ['C', 'DESTROY|0|TOKA|2']
      ],
      [
        ['A', 'MINT|0|TOKA|2'],
        ['A', 'MINT|0|TOKA|0.1'],
        ['C', 'VOTE|1|3|1'],
        ['C', `ORDER|0|BTC|TOKA|${'9'.repeat(36)}|0|BTC||1`]
      ],
      [],
      []
    )
  );
  const refusal = 'invalid: mint exceeds MAX_SUPPLY';
  assert.deepEqual(verdicts(dump, 'mints'), [`2 ${refusal}`, '7 valid', `8 ${refusal}`]);
  assert.equal(JSON.parse(dump['tokens']![0]!).supply, most);
});

test('LINK and BROADCAST may name every action that was valid, whatever became of it', async () => {
  const signer = testSigner('one');
  const [messages, signatures] = [1, 2]
    .map((a) => slotMessage(signer, { btc_block_height: 4, a }))
    .reduce<[string[], string[]]>(
      ([all, sigs], [message, sig]) => [
        [...all, message],
        [...sigs, sig]
      ],
      [[], []]
    );
  const opening: Texts = [
    GAS,
    ['A', `STAKE|1|2000|${signer.pubkey}`],
    ['A', 'SEND|0|GAS|5000|B'],
    ['B', `STAKE|1|3000|${key('b')}`],
    ['A', 'ISSUE|0|TOKA|0|0|2||500'],
    ['B', 'ISSUE|0|TOKB|0|0|0||500'],
    ['A', 'ORDER|0|BTC|TOKA|8|0|BTC||3'],
    ['B', 'ORDER|0|BTC||3|0|BTC|TOKA|8'],
    ['A', 'DISPENSER|0|BTC|TOKA|2||4|BTC|TOKB|4'],
    ['A', 'SWAP|0|BTC|TOKA|4|0|BTC|TOKB|4'],
    ['A', 'VOTE|0|TOKA|5|x,y'],
    ['A', 'SLEEP|0|0'],
    ['A', 'LIST|0|2||A|B']
  ];
  const chain = [
    opening,
    [],
    [['B', `UNSTAKE|0|${key('b')}`]],
    [
      ['A', 'VOTE|1|12|0'],
      ['B', 'SEND|0|TOKB|8|A'],
      ['C', 'COINPAY|0|9'],
      ['A', 'SWAP|1|11']
    ],
    [['A', `UNSTAKE|0|${signer.pubkey}|700`]],
    [['C', `SLASH|0|price|${signer.pubkey}|${messages[0]}|${signatures[0]}|${messages[1]}|${signatures[1]}`]],
    [],
    []
  ] as const;
  const named = Array.from({ length: 45 }, (_, place) => place + 1);
  const dump = await sameOnEveryPath(
    blocksOf(
      ...chain,
      named.map((index) => ['A', `BROADCAST|3|${index}|5`] as const),
      named.map((index) => ['A', `LINK|0|BTC|${index}|BTC|1`] as const)
    )
  );
  const statuses = new Set((dump['unstakes'] ?? []).map((row) => JSON.parse(row)['status_id']));
  assert.deepEqual([...statuses].sort(), ['released', 'slashed']);
  const firstOf = (table: string) => Number(verdicts(dump, table)[0]!.split(' ')[0]);
  const refused = verdicts(dump, 'broadcasts').filter((verdict) => !verdict.endsWith(' valid'));
  const refusedNames = refused.map((verdict) => Number(verdict.split(' ')[0]) - firstOf('broadcasts') + 1);
  // What no text asked for: a match, a dispense and its end, a payment, the end of the poll, a release; then BROADCASTs of those.
  assert.deepEqual(refusedNames, [9, 18, 19, 20, 23, 25, 34, 43, 44, 45]);
  assert.equal(verdicts(dump, 'links').filter((verdict) => !verdict.endsWith(' valid')).length, refused.length);
});
