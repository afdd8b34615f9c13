import assert from 'node:assert/strict';
import { test } from 'node:test';
import { executeBlocks } from '../../../src/indexer/block/execute.ts';
import type { FactKey, Kind } from '../../../src/indexer/state/facts.ts';
import { View } from '../../../src/indexer/state/view.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const RULES = { ...TEST_RULES, readAddress: (text: string) => (/^[A-Z]\d*$/.test(text) ? text : undefined) };
const SETS = ['holders', 'holdings', 'owned', 'voters', 'delegators'] as const;
const [FEW, MANY] = [20, 400];

const repeat = (count: number, text: (place: number) => string) => Array.from({ length: count }, (_, at) => text(at));
const batches = (texts: readonly string[]) =>
  Array.from(
    { length: Math.ceil(texts.length / 250) },
    (_, at) => `BATCH|0|${texts.slice(250 * at, 250 * at + 250).join(';')}`
  );

/** Runs blocks of one source's texts. */
function blockOf(ledger: MemoryLedger, texts: readonly (string | readonly [source: string, data: string])[]) {
  const height = ledger.height++;
  const transactions = texts.map((text, place) => {
    const [source, data] = typeof text === 'string' ? ['A', text] : text;
    return { hash: `${height} ${place}`, source, fee: null, data };
  });
  return { height, time: ledger.time, hash: String(height), transactions };
}

/**
 * Runs a block by a view that has nothing but the live offers in memory. @param loaded gets the kinds of loaded facts
 * @returns how often facts were loaded
 */
async function loadsOf(ledger: MemoryLedger, block: ReturnType<typeof blockOf>, loaded?: Set<Kind>): Promise<number> {
  const view = new View({ isWhole: false });
  for (const offer of ledger.offers) view.book.put(offer);
  view.hasAllOffers = true;
  let loads = 0;
  const load = async (keys: readonly FactKey[]) => {
    if (keys.length > 0) loads += 1;
    for (const { kind, key } of keys) {
      loaded?.add(kind);
      const set = SETS.find((name) => name === kind);
      if (set) view.loadSet(set, key, ledger.view.get(set, key));
      else if (kind === 'offer') view.loadOffer(key, ledger.view.get('offer', key) ?? undefined);
      else view.load(kind, key, ledger.view.get(kind, key));
    }
  };
  const below = { hashes: ledger.hashes, times: ledger.times };
  const executed = await executeBlocks({ view, rules: RULES, load }, [block], below);
  assert.deepEqual(executed, [ledger.run(block)]);
  return loads;
}

const issues = (count: number) => [
  'ISSUE|0|TOKA|0|0|0||1000000',
  ...batches(repeat(count, (at) => `ISSUE|0|TOKA.${at}`))
];
const ticks = (count: number) => repeat(count, (at) => `TOKA.${at}`).join('|');

/** Blocks before, and the text of the block that is measured, by their number of parts. */
const CASES: Readonly<
  Record<
    string,
    {
      readonly before: (count: number) => readonly (readonly (string | readonly [string, string])[])[];
      readonly text: (count: number, ledger: MemoryLedger) => readonly (string | readonly [string, string])[];
    }
  >
> = {
  'AIRDROP to the holders of many tokens': {
    before: (count) => [issues(count), [`LIST|0|1||${ticks(count)}`]],
    text: (_, { lastAction }) => [`AIRDROP|0|TOKA|1|${lastAction}`]
  },
  'AIRDROP to many lists': {
    before: (count) => [['ISSUE|0|TOKA|0|0|0||1000000'], repeat(count, (at) => `LIST|0|2||C${at}`)],
    text: (count, { lastAction }) => [`AIRDROP|2${repeat(count, (at) => `|TOKA|1|${lastAction - at}`).join('')}`]
  },
  'DESTROY of many ids': {
    before: (count) => [issues(count)],
    text: (count) => [`DESTROY|1${repeat(count, (at) => `|^${at + 1}|0`).join('')}`]
  },
  'SEND of many ids': {
    before: (count) => [issues(count)],
    text: (count) => [`SEND|2${repeat(count, (at) => `|^${at + 1}|1|C${at}`).join('')}`]
  },
  'LIST of ids of tickers': {
    before: (count) => [issues(count)],
    text: (count) => [`LIST|0|1||${repeat(count, (at) => `^${at + 1}`).join('|')}`]
  },
  'LIST of ids of addresses': {
    before: (count) => [[`LIST|0|2||${repeat(count, (at) => `C${at}`).join('|')}`]],
    text: (count) => [`LIST|0|2||${repeat(count, (at) => `^${at + 1}`).join('|')}`]
  },
  'edit of a list of tickers': {
    before: (count) => [issues(count), [`LIST|0|1||${ticks(count)}`]],
    text: (_, { lastAction }) => [`LIST|1|1|${lastAction}||TOKA`]
  },
  'SWEEP of ownerships': { before: (count) => [issues(count)], text: () => ['SWEEP|0|B|0|1'] },
  'BATCH of MINTs': {
    before: (count) => [issues(count)],
    text: (count) => batches(repeat(Math.min(count, 250), (at) => `MINT|0|TOKA.${at}|1`))
  },
  'payments whose time is over': {
    before: (count) => [
      ['ISSUE|0|TOKA|0|0|0||1000000'],
      batches(repeat(count, () => 'ORDER|0|BTC|TOKA|1|0|BTC||1')),
      batches(repeat(count, () => 'ORDER|0|BTC||1|0|BTC|TOKA|1')).map((data) => ['B', data] as const)
    ],
    text: (_, ledger) => {
      ledger.time += 10_000;
      ledger.run(blockOf(ledger, []));
      ledger.times.fill(ledger.time);
      return [];
    }
  },
  'tally of a poll': {
    before: (count) => [
      ['ISSUE|0|TOKA|0|0|0||1000000', `VOTE|0|TOKA|105|yes,no|1|approval|balance|0|0|0||which`],
      [`LIST|0|2||${repeat(count, (at) => `C${at}`).join('|')}`],
      ['AIRDROP|0|TOKA|1|3'],
      repeat(count, (at) => (at % 2 === 0 ? 'VOTE|1|2|0' : 'VOTE|3|TOKA|C0')).map(
        (data, at) => [`C${at}`, data] as const
      )
    ],
    text: (_, ledger) => {
      ledger.height = 105;
      return [];
    }
  }
};

for (const [name, { before, text }] of Object.entries(CASES))
  test(`${name}: facts of many parts are loaded together, not part by part`, async () => {
    const loads: number[] = [];
    for (const count of [FEW, MANY]) {
      const ledger = new MemoryLedger(100, RULES);
      for (const texts of before(count)) ledger.run(blockOf(ledger, texts));
      const texts = text(count, ledger);
      loads.push(await loadsOf(ledger, blockOf(ledger, texts)));
    }
    const [few, many] = loads;
    assert.ok(many! <= few! + 2 && many! <= 12, `${few} loads for ${FEW} parts, ${many} for ${MANY}`);
  });

test('a delegation that ended counts as no look at a vote, whether or not it is in memory', async () => {
  const ledger = new MemoryLedger(100, RULES);
  const voters = repeat(50, (at) => `C${at}`);
  ledger.run(blockOf(ledger, ['ISSUE|0|TOKA|0|0|0||1000', 'VOTE|0|TOKA|102|yes,no|1||flat']));
  ledger.run(
    blockOf(
      ledger,
      voters.map((voter) => [voter, 'VOTE|3|TOKA|A'] as const)
    )
  );
  assert.equal(ledger.view.get('delegators', 'toka').size, voters.length);
  ledger.run(
    blockOf(
      ledger,
      voters.map((voter) => [voter, 'VOTE|3|TOKA|'] as const)
    )
  );
  assert.equal(ledger.view.get('delegators', 'toka').size, 0);
});

test('an ISSUE that is refused for its name or its source reads no member of the lists that it names', async () => {
  const ledger = new MemoryLedger(100, RULES);
  ledger.run(blockOf(ledger, ['ISSUE|0|TOKA|0|0|0||1000', ...repeat(FEW, () => 'LIST|0|2||B')]));
  const loaded = new Set<Kind>();
  const issue = (name: string) => repeat(FEW, (at) => `ISSUE|5|${name}|${at + 2}|2`);
  await loadsOf(ledger, blockOf(ledger, batches([...issue('A.B'), ...issue('TOKA.')])), loaded);
  const ofOthers = blockOf(ledger, [['B', batches(issue('TOKA'))[0]!]]);
  await loadsOf(ledger, ofOthers, loaded);
  assert.ok(loaded.has('listRoot') && !loaded.has('list'), [...loaded].join());
  await loadsOf(ledger, blockOf(ledger, ['ISSUE|5|TOKA|2|3']), loaded);
  assert.ok(loaded.has('list'));
});
