import assert from 'node:assert/strict';
import { formatAmount } from '../../src/consensus/amount.ts';
import type { ExecutedBlock } from '../../src/indexer/block/block.ts';
import { pairKey, splitPair } from '../../src/indexer/state/keys.ts';
import type { MemoryLedger } from '../../test/support/indexer-ledger.ts';
import type { ReferenceOutput } from './ledger/terms.ts';
import type { ReferenceLedger } from './ledger.ts';

const MOVEMENTS: ReadonlySet<string> = new Set(['credits', 'debits', 'escrows']);

/**
 * Runs a block in the reference, and compares statuses, movements, balances, supplies, owners and hashes with the indexer's.
 *
 * @throws {AssertionError} with the block and what differs
 */
export function compareWithReference(indexer: MemoryLedger, executed: ExecutedBlock, reference: ReferenceLedger): void {
  const { block, hashes } = executed;
  const expected = reference.run(block);
  const texts = block.transactions.map(({ source, data }) => `${source} ${data}`).join('\n');
  const actual = outputOf(indexer, executed);
  const where = `block ${block.height}, indexer against reference:\n${texts}\n`;
  for (const part of ['verdicts', 'movements'] as const)
    assert.deepEqual(
      [...actual[part]].sort(),
      [...expected[part]].sort(),
      `${where}${differences(actual[part], expected[part])}`
    );
  assert.deepEqual(
    { ledger: hashes.ledger, actions: hashes.actions },
    { ledger: expected.ledger, actions: expected.actions },
    where
  );
  assert.deepEqual(wrongSums(indexer, reference), [], where);
}

function differences(actual: readonly string[], wanted: readonly string[]): string {
  const lines = (sign: string, all: readonly string[], others: readonly string[]) =>
    all.filter((line) => !others.includes(line)).map((line) => `${sign} ${line}`);
  return [...lines('+', actual, wanted), ...lines('-', wanted, actual)].join('\n');
}

function outputOf(
  { view }: MemoryLedger,
  { rows, refusals }: ExecutedBlock
): Pick<ReferenceOutput, 'verdicts' | 'movements'> {
  const verdicts = refusals.map(({ actionIndex, table, status }) => `${actionIndex} ${table} ${status}`);
  const movements: string[] = [];
  for (const { table, columns } of rows) {
    const { action_index: index, status_id: status } = columns;
    if (typeof status === 'string') verdicts.push(`${index} ${table} ${status}`);
    if (table === 'fees') {
      const { gas_cost: gas, amount, native_coin_amount: coins, oracle_round: round } = columns;
      movements.push(`fees ${index} ${gas} ${amount} ${coins} ${round}`);
    }
    if (!MOVEMENTS.has(table)) continue;
    const address = view.get('address', String(columns['address_id']));
    const tick = view.get('tick', String(columns['tick_id']));
    movements.push(`${table} ${index} ${address} ${tick} ${columns['amount']}`);
  }
  return { verdicts, movements };
}

/** Balances, owners and supplies that the block changed and that the reference has otherwise. */
function wrongSums({ view }: MemoryLedger, reference: ReferenceLedger): string[] {
  const { pairs, tokens } = view.takeChanged();
  const balances = [...pairs.keys()].flatMap((pair) => {
    const [tick, address] = splitPair(pair);
    const [actual, wanted] = [view.get('balance', pair), reference.held(tick, address)];
    return actual === wanted ? [] : `${pair}: ${formatAmount(actual)}, not ${formatAmount(wanted)}`;
  });
  const changed = [...tokens.keys()].flatMap((key) => {
    const [actual, wanted] = [view.get('token', key)!, reference.token(key)];
    const isEqual = actual.owner === wanted?.owner && actual.supply === wanted.supply;
    return isEqual
      ? []
      : `${key}: ${actual.owner} ${formatAmount(actual.supply)}, not ${wanted?.owner} ${wanted?.supply}`;
  });
  return [...balances, ...changed];
}

/** @throws {AssertionError} for what somebody holds in the reference and not in the ledger in memory */
export function compareHoldings({ view }: MemoryLedger, reference: ReferenceLedger): void {
  for (const { tick, address, amount } of reference.holdings)
    assert.equal(view.get('balance', pairKey(tick, address)), amount, `${tick} of ${address}`);
}
