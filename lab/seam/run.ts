import assert from 'node:assert/strict';
import { toBaseUnits } from '../../src/coin/amount.ts';
import { DEFAULT_PROFILE } from '../../src/coin/profile.ts';
import { markOf } from '../../src/coin/script/script-marks.ts';
import { medianTime } from '../../src/consensus/median-time.ts';
import { BlockFeed, type WatchedRange } from '../../src/decoder/block-feed.ts';
import { type ScanRules, scanBlock } from '../../src/decoder/block-scan.ts';
import { resolveSources } from '../../src/decoder/sources.ts';
import { openDecoderStore } from '../../src/decoder/store.ts';
import type { ExecutedBlock, SettledPrices } from '../../src/indexer/block/block.ts';
import { DecoderSource } from '../../src/indexer/loop/decoder-source.ts';
import { rulesOf } from '../../src/indexer/profile/rules.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { query, scanRules } from '../../test/support/decoder/loop.ts';
import { MemoryLedger } from '../../test/support/indexer-ledger.ts';
import { Random } from '../reference/random.ts';
import {
  type ChainBlockBytes,
  MAGIC,
  NETWORK,
  NOBODIES,
  OWNERS,
  type Party,
  RawChainMaker,
  type Said
} from './chain.ts';
import { PRICES, SeamTexts } from './texts.ts';

const PROFILE = { ...DEFAULT_PROFILE, activations: { ...DEFAULT_PROFILE.activations, FIAT_DISPENSERS: 0 } };
const LEDGER_RULES = rulesOf(PROFILE, NETWORK, 'SEAM');
/** Price of the coin in all blocks, so that payments are cents. */
const PRICED: SettledPrices = {
  at: null,
  rounds: [{ round: 1, timestamp: 4_000_000_000, pairs: [{ pair: 'LTC/USD', price: '1000' }] }]
};
const RULES = scanRules(NETWORK, MAGIC);
const ALL_SCRIPTS = new Set(OWNERS.map(({ script }) => markOf(script)));
const PER_BASE_UNIT = 10n ** 10n;
const START = 1_750_000_000;
const HOUR_S = 3_600;
const AMOUNTS = [...PRICES.map(toBaseUnits), 999n, 2_000n, 50_000n];

/** Figures of a run. */
interface SeamFigures {
  readonly actions: number;
  readonly dispenses: number;
  readonly coinpays: number;
  /** Payments alone of the chain, and those that the decoder stored. */
  readonly payments: number;
  readonly stored: number;
}

/**
 * Makes a chain of raw blocks and carries it out twice: by a ledger that is shown every output of every transaction, and by one that
 * reads what a decoder stored. Both must have the same rows, and nothing may be watched in the end.
 *
 * @param alwaysHops  whether the decoder runs with SOURCE_HOP=always; payers of dispensers are the same
 * @throws {AssertionError} where they differ
 */
export async function runSeam(
  seed: number,
  blockCount: number,
  database: DatabaseCoordinates,
  alwaysHops = false
): Promise<SeamFigures> {
  const rules = { ...RULES, alwaysHops };
  const random = new Random(seed);
  const chain = new RawChainMaker(random);
  const shown = new MemoryLedger(0, LEDGER_RULES);
  const rows: ExecutedBlock['rows'][] = [];
  /** Branches that lose, by their first block. */
  const rivals = new Map<number, RawChainMaker>();
  let payments = 0;
  let time = START;
  const texts = new SeamTexts(random, shown);
  const add = async (payloads: readonly Said[], payout: Said['payments'] = []) => {
    const block = chain.add(time, payloads, payout);
    const outputs = await outputsOf(block, chain, rules);
    payments += outputs.filter(({ data }) => data === '').flatMap((one) => one.outputs).length;
    rows.push(shown.run({ ...block, transactions: outputs, prices: PRICED }).rows);
  };
  const [issuer] = OWNERS as [Party];
  const gifts = OWNERS.slice(1).map(({ address }) => `100|${address}`);
  await add(
    ['TOKA', 'TOKB'].flatMap((tick) => [
      say(issuer, `ISSUE|0|${tick}|0|0|0||1000`),
      say(issuer, `SEND|1|${tick}|${gifts.join('|')}`)
    ])
  );
  for (let height = 1; height < blockCount; height++) {
    const now = medianTime(shown.times);
    // A block's time is above the median below it, and may be hours ahead.
    time = random.below(3) === 0 ? now + 1 + random.below(2 * HOUR_S) : Math.max(now + 1, time + random.below(900));
    const makePayloads = () =>
      Array.from({ length: random.below(9) }, () => {
        const from = random.below(6) === 0 ? random.one(NOBODIES) : random.one(OWNERS);
        const action = random.below(2) === 0 ? '' : texts.action(now);
        return { from, action, payments: action.includes('COINPAY') ? PAY_ALL : paymentsBy(random) };
      });
    const payout = () => (random.below(4) === 0 ? paymentsBy(random) : []);
    if (random.below(5) === 0) {
      const rival = chain.fork();
      for (let above = random.below(4); above >= 0; above--)
        rival.add(time - random.below(2), makePayloads(), payout());
      rivals.set(height, rival);
    }
    await add(makePayloads(), payout());
  }
  // All that was opened ends: 90 days, and an hour from the first median above them.
  const jumps = new Map([
    [0, 120 * 24 * HOUR_S],
    [12, 2 * HOUR_S]
  ]);
  for (let height = 0; height < LAST_BLOCKS; height++) {
    time += jumps.get(height) ?? 1;
    await add(
      height === LAST_BLOCKS - 1 ? OWNERS.map((from) => ({ ...say(from, ''), payments: paymentsBy(random) })) : []
    );
  }
  await decode(chain, rivals, random, database, rules);
  const read = await carryOut(database, chain.blocks.length);
  assert.deepEqual(read.map(comparable), rows.map(comparable), `seed ${seed}`);
  return { ...(await assertBounded(database, chain)), ...countsOf(rows), payments };
}

/** Blocks at the end of a chain, in which all ends and is forgotten. */
const LAST_BLOCKS = 300;
const PAY_ALL: Said['payments'] = OWNERS.map((to) => ({ to, amount: 50_000n }));
const say = (from: Party, action: string): Said => ({ from, action, payments: [] });

function paymentsBy(random: Random): Said['payments'] {
  return Array.from({ length: random.below(4) }, () => ({ to: random.one(OWNERS), amount: random.one(AMOUNTS) }));
}

/** The transactions of a block with all their outputs. */
async function outputsOf(block: ChainBlockBytes, chain: RawChainMaker, rules: ScanRules) {
  const scanned = scanBlock(block.bytes, block, RULES, ALL_SCRIPTS);
  const read = async (txids: readonly string[]) => txids.map((id) => chain.transaction(id));
  const resolve = async (by: ScanRules) => (await resolveSources([scanned], read, new Map(), by))[0]!.transactions;
  const payers = new Map((await resolve(RULES)).map(({ hash, source }) => [hash, source]));
  return (await resolve(rules)).map(({ hash, source, data, outputs }) => ({
    hash,
    source: data === '' ? payers.get(hash)! : source,
    data,
    fee: 0,
    outputs: outputs.map(({ vout, address, amount }) => ({ vout, address, amount: amount * PER_BASE_UNIT }))
  }));
}

/** The same blocks through the decoder's feed and store, in groups; on the way other branches win for a while. */
async function decode(
  chain: RawChainMaker,
  rivals: ReadonlyMap<number, RawChainMaker>,
  random: Random,
  database: DatabaseCoordinates,
  rules: ScanRules
): Promise<void> {
  let winning = chain;
  const scan = async ({ from, count, wanted }: WatchedRange) => {
    const blocks = winning.blocks
      .slice(from, from + count)
      .map((block) => scanBlock(block.bytes, block, rules, new Set(wanted)));
    const read = async (txids: readonly string[]) => txids.map((id) => chain.transaction(id));
    return { blocks: await resolveSources(blocks, read, new Map(), rules), sizeBytes: 1_000 };
  };
  const feed = new BlockFeed({ versions: NETWORK.addresses, parallelism: 2, scan });
  const store = await openDecoderStore(database, { dispenserLimitHeight: 0 });
  const { signal } = new AbortController();
  let next = 0;
  const follow = async (branch: RawChainMaker, tip: number) => {
    winning = branch;
    feed.clear();
    while (next <= tip) {
      const blocks = await feed.take(next, tip, await store.paymentMarks(NETWORK.addresses), signal);
      await store.writeBlocks(blocks);
      next += blocks.length;
    }
  };
  const rollBackTo = async (height: number) => {
    for (; next > height; next--) await store.rollBackTip();
  };
  for (const [height, rival] of rivals) {
    await follow(chain, height - 1);
    await follow(rival, rival.blocks.length - 1);
    // Sometimes further down, to blocks that both branches have.
    await rollBackTo(Math.max(1, height - (random.below(2) === 0 ? random.below(5) : 0)));
  }
  await follow(chain, chain.blocks.length - 1);
  await store.database.close();
}

async function carryOut(database: DatabaseCoordinates, count: number): Promise<ExecutedBlock['rows'][]> {
  const source = await DecoderSource.open(database, { ...NETWORK, genesisHash: (await firstHash(database))! }, 60);
  const ledger = new MemoryLedger(0, LEDGER_RULES);
  const rows: ExecutedBlock['rows'][] = [];
  while (rows.length < count) {
    const group = await source.readBlocks(rows.length, 100);
    for (const block of group!.blocks) rows.push(ledger.run({ ...block, prices: PRICED }).rows);
  }
  source.close();
  return rows;
}

async function firstHash(database: DatabaseCoordinates): Promise<string | undefined> {
  const sql = 'SELECT hash FROM blocks JOIN index_transactions ON id = block_hash_id WHERE block_index = 0';
  return (await query(database, sql))[0]?.['hash'] as string | undefined;
}

/** Rows of a block without the numbers of its transactions: a decoder leaves out those that do nothing. */
function comparable(rows: ExecutedBlock['rows']) {
  return rows
    .filter(({ table }) => table !== 'transactions')
    .map(({ table, columns }) => {
      const { tx_index: _, ...rest } = columns;
      return { table, ...rest };
    });
}

function countsOf(rows: readonly ExecutedBlock['rows'][]) {
  const all = rows.flat();
  const count = (name: string) => all.filter(({ table }) => table === name).length;
  return { actions: count('actions'), dispenses: count('dispenses'), coinpays: count('coinpays') };
}

/** Nothing is stored for nobody, and no address is watched when all offers are over. */
async function assertBounded(database: DatabaseCoordinates, chain: RawChainMaker): Promise<{ stored: number }> {
  const stored = await query(
    database,
    `SELECT t.source_id, t.block_index, o.amount FROM transaction_outputs o JOIN transactions t USING (tx_index) WHERE data = ''`
  );
  for (const { source_id: source, block_index: height, amount } of stored) {
    assert.notEqual(source, 1, 'nobody has a row');
    assert.ok(Number(amount) > 0);
    assert.ok(Number(height) < chain.blocks.length - 1, 'all offers were over');
  }
  for (const table of [
    'dispensers',
    'dispenser_tills',
    'dispenser_holds',
    'dispenser_watches',
    'dispenser_payments',
    'dispenser_extensions',
    'dispenser_extension_drops'
  ])
    assert.deepEqual(await query(database, `SELECT * FROM ${table}`), [], table);
  return { stored: stored.length };
}
