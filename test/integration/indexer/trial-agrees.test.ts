import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { GAS_RULES } from '../../../lab/reference/chain.ts';
import { Random } from '../../../lab/reference/random.ts';
import { ReferenceRun } from '../../../lab/reference/run.ts';
import { addressesOf, Writer } from '../../../lab/reference/texts.ts';
import { DEFAULT_LIMITS } from '../../../src/coin/limits.ts';
import { formatAmount } from '../../../src/consensus/amount.ts';
import type { KnownIds } from '../../../src/consensus/ids-by-text.ts';
import { MEDIAN_BLOCKS } from '../../../src/consensus/median-time.ts';
import { type Connection, connect } from '../../../src/db/connection.ts';
import type { ExecutedBlock } from '../../../src/indexer/block/block.ts';
import { executeBlocks } from '../../../src/indexer/block/execute.ts';
import { feeOf } from '../../../src/indexer/profile/gas.ts';
import { isRefusal, VALID } from '../../../src/indexer/rules/action-definition.ts';
import { View } from '../../../src/indexer/state/view.ts';
import { factLoader } from '../../../src/indexer/store/facts/loader.ts';
import { loadBooks } from '../../../src/indexer/store/facts/offers.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { type Trial, tryAction } from '../../../src/indexer/trial/trial.ts';
import { addAllBlocks } from '../../support/indexer-database.ts';
import { createDatabase } from '../../support/mariadb.ts';

/** Blocks of the chain after which actions are tried, and the number of actions after each. */
const TRIED_AFTER = [160, 220, 290];
const TRIES = 50;
/** Rules of the tried block, in which a BATCH comes to the end of the units and looks. */
const RULES = { ...GAS_RULES, limitsAt: () => ({ ...DEFAULT_LIMITS, blockUnits: 30 }) };
const SATOSHI = 10n ** 10n;
/** Names of actions that no text asks for. */
const FOLLOWING: ReadonlySet<string> = new Set(['ORDER_MATCH', 'SWAP_MATCH', 'DISPENSE', 'DISPENSER_CLOSE']);

/** Texts of `A` about what a view of one action alone does not know, by the number of the try. */
const SPECIAL: readonly ((season: number, last: number) => string)[] = [
  (season) => `SWEEP|0|D${season}|1|1|1|1|1`,
  (season, last) =>
    `BATCH|0|MINT|0|TOKA${season}|5;SEND|0|TOKA${season}|1|E77${last};DISPENSER|0|BTC|TOKA${season}|1||1|BTC||1|E77${last}`,
  (season) => `BATCH|0|MINT|0|TOKA${season}|9;ORDER|0|BTC|TOKA${season}|1|0|BTC||90;SWEEP|0|E${season}|1|0|1`
];

interface Tried {
  readonly source: string;
  readonly data: string;
  readonly feeSats: string | null;
}

/** Executes a block of one transaction on the state of a database, and writes nothing. */
async function blockOf(
  { source, data, feeSats }: Tried,
  run: ReferenceRun,
  { connection, tickers }: { readonly connection: Connection; readonly tickers: KnownIds }
): Promise<ExecutedBlock> {
  const view = new View({ isWhole: false });
  await loadBooks(connection, view);
  const address = GAS_RULES.fees.destination!;
  const outputs = feeSats === null ? [] : [{ vout: 0, address, amount: BigInt(feeSats) * SATOSHI }];
  const transactions = [{ hash: 'f'.repeat(64), source, fee: null, data, outputs }];
  const block = { height: run.chain.length, time: Math.floor(Date.now() / 1_000), hash: 'e'.repeat(64), transactions };
  const below = { hashes: run.hashes.at(-1), times: run.chain.slice(-MEDIAN_BLOCKS).map(({ time }) => time) };
  const load = factLoader([connection], view, { ids: tickers });
  return (await executeBlocks({ view, rules: RULES, load }, [block], below))[0]!;
}

interface Judged extends Pick<Trial, 'commands' | 'gas'> {
  /** Whether actions followed that no text asked for. */
  readonly hasFollowing: boolean;
}

/** Returns the commands of the block's transaction with their verdicts, and the gas that they cost. */
function judgedBy({ rows, refusals }: ExecutedBlock): Judged {
  const acts = rows.flatMap(({ table, columns }) =>
    table === 'actions' && columns['tx_index'] !== null ? [columns] : []
  );
  // A SWEEP records an ISSUE for each ownership that it moves.
  const isSwept = acts.map((_, at) => acts.slice(0, at).some(({ action_id: name }) => name === 'SWEEP'));
  const asked = acts.filter(
    ({ action_id: name }, at) => !FOLLOWING.has(String(name)) && !(name === 'ISSUE' && isSwept[at])
  );
  const commands = asked.map(({ action_index: index, action_id: action }) => {
    const own = rows.flatMap(({ table, columns }) =>
      columns['action_index'] === index && 'status_id' in columns && table !== 'fees' && !table.endsWith('_statuses')
        ? [String(columns['status_id'])]
        : []
    );
    const statuses = [...refusals.flatMap((each) => (each.actionIndex === index ? [each.status] : [])), ...own];
    return { action: String(action), status: statuses.find(isRefusal) ?? VALID };
  });
  const gas = rows.reduce(
    (sum, { table, columns }) => sum + (table === 'fees' ? Number(columns['gas_cost'] ?? 0) : 0),
    0
  );
  return { commands, gas, hasFollowing: acts.some(({ action_id: name }) => FOLLOWING.has(String(name))) };
}

/** Returns whether the commands of a text can be told from what the block records besides. */
const isPlain = (data: string) => !data.includes('COINPAY') && !(data.includes('SWEEP') && data.includes('ISSUE'));

test('a trial gives the verdict, gas and fee that the next block gives, for actions of every kind', async () => {
  const database = await createDatabase('indexer');
  const store = await IndexerStore.open(database, GAS_RULES, 120);
  const connection = await connect(database);
  const run = new ReferenceRun(3, GAS_RULES);
  const random = new Random(7);
  const charged = new Set<string>();
  for (const blocks of TRIED_AFTER) {
    const chain = Array.from({ length: blocks - run.chain.length }, () => run.extend());
    await addAllBlocks(store, chain);
    const season = Math.floor((run.chain.length - 1) / 120);
    const { height, time } = run.chain.at(-1)!;
    mock.timers.reset();
    mock.timers.enable({ apis: ['Date'], now: 1_000 * (time + 600) });
    const writer = new Writer({ random, season, height, time, recent: run.recent });
    for (let at = 0; at < TRIES; at++) {
      const special = SPECIAL[at % 10];
      const source = special ? `A${season}` : random.one(addressesOf(season));
      const data = special?.(season, run.actions) ?? writer.text(source);
      if (!isPlain(data)) continue;
      const tried = { source, data, feeSats: random.one([null, null, '1000000000']) };
      const trial = await tryAction(tried, { connection, rules: RULES, tickers: store.tickers, rounds: undefined });
      const block = judgedBy(await blockOf(tried, run, { connection, tickers: store.tickers }));
      // Actions that follow are not tried: what they change is unknown to the commands after them.
      const count = block.hasFollowing ? 1 : trial.commands.length;
      const statusesOf = ({ commands }: Pick<Trial, 'commands'>) =>
        commands.slice(0, count).map(({ status }) => status);
      assert.deepEqual(statusesOf(trial), statusesOf(block), JSON.stringify(tried));
      if (block.hasFollowing) continue;
      assert.equal(trial.commands.length, block.commands.length, JSON.stringify(tried));
      assert.deepEqual([trial.gas, trial.fee], [block.gas, formatAmount(feeOf(block.gas, GAS_RULES.fees))], data);
      if (block.gas > 0) charged.add(data.split('|')[0]!);
    }
  }
  assert.ok(charged.has('SWEEP') && charged.has('BATCH'), [...charged].join());
  mock.timers.reset();
  let isDone = false;
  const discarding = store.discard().finally(() => {
    isDone = true;
  });
  for (; !isDone; await turn()) assert.ok(store.tickers.size > 0, 'a trial beside a reorg knows every token');
  await discarding;
  await connection.end();
  store.close();
});
