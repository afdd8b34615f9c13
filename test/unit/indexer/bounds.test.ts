import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_LIMITS, type Limits, NO_LIMITS } from '../../../src/coin/limits.ts';
import type { ExecutedBlock } from '../../../src/indexer/block/block.ts';
import { BlockExecution, timesOf } from '../../../src/indexer/block/execution.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

function rulesWith(limits: Partial<Limits> = {}, base = DEFAULT_LIMITS) {
  return {
    ...TEST_RULES,
    readAddress: (text: string) => (/^[A-Z]\d*$/.test(text) ? text : undefined),
    limitsAt: () => ({ ...base, ...limits })
  };
}

const ledgerWith = (limits: Partial<Limits> = {}, base = DEFAULT_LIMITS) =>
  new MemoryLedger(100, rulesWith(limits, base));

/** One block of one transaction for each text. */
function blockOf({ height, time, blocks }: MemoryLedger, source: string, texts: readonly string[]) {
  const transactions = texts.map((data, place) => ({ hash: `${blocks.length} ${place}`, source, fee: null, data }));
  return { height, time, hash: String(blocks.length), transactions };
}

const block = (ledger: MemoryLedger, source: string, ...texts: readonly string[]): ExecutedBlock =>
  ledger.run(blockOf(ledger, source, texts));

const countOf = ({ rows }: ExecutedBlock, table: string) => rows.filter((row) => row.table === table).length;
const statusesOf = ({ rows }: ExecutedBlock, table: string) =>
  rows.flatMap((row) => (row.table === table ? [String(row.columns['status_id'])] : []));
const repeat = (count: number, text: (place: number) => string) => Array.from({ length: count }, (_, at) => text(at));

/** A ledger with a list, and a token that nobody on it may have. */
function barring(members: number, limits: Partial<Limits>, base = DEFAULT_LIMITS) {
  const ledger = ledgerWith(limits, base);
  ledger.give('TOKA', 0, 'A', { A: '100' });
  block(ledger, 'B', `LIST|0|2||${repeat(members, (at) => `C${at}`).join('|')}`);
  const list = ledger.lastAction;
  block(ledger, 'A', `ISSUE|5|TOKA||${list}`);
  return { ledger, airdrop: (legs: number) => `AIRDROP|1|${list}|${repeat(legs, () => 'TOKA|1').join('|')}` };
}

test('AIRDROP looks at each address that it names, whether or not the token bars it', () => {
  const { ledger, airdrop } = barring(300, { blockUnits: 90 });
  const statuses = statusesOf(block(ledger, 'A', airdrop(10)), 'airdrops');
  assert.deepEqual(statuses.slice(3), ['valid', ...repeat(6, () => 'invalid: RECIPIENTS (block limit)')]);
});

test('an action of many legs gives the thread its turn between two of them, and does the same', () => {
  const { ledger, airdrop } = barring(2_000, {}, NO_LIMITS);
  const asked = blockOf(ledger, 'A', [airdrop(700), 'SEND|0|TOKA|1|B']);
  const execution = new BlockExecution(ledger.view, rulesWith({}, NO_LIMITS), asked, timesOf([0]));
  let turns = 0;
  while (execution.advance(performance.now() + 1) !== null) turns++;
  const executed = execution.finish(undefined);
  assert.ok(turns > 1, `${turns} turns`);
  assert.deepEqual([...new Set(statusesOf(executed, 'airdrops'))], ['valid']);
  assert.deepEqual(
    [countOf(executed, 'airdrops'), countOf(executed, 'sends'), countOf(executed, 'actions')],
    [700, 1, 2]
  );
});
