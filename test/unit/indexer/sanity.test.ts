import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAmount } from '../../../src/consensus/amount.ts';
import { hasCode } from '../../../src/errors.ts';
import { pairKey } from '../../../src/indexer/state/keys.ts';
import type { TickSums } from '../../../src/indexer/state/movements.ts';
import { checkChanges } from '../../../src/indexer/store/sanity.ts';
import { MemoryLedger } from '../../support/indexer-ledger.ts';

/** Returns the changes of a ledger by some actions of A, who holds ten units of a token. */
function afterActions(...texts: readonly string[]) {
  const ledger = new MemoryLedger();
  ledger.give('TOKA', 0, 'A', { A: '10' });
  ledger.view.takeChanged();
  ledger.act(...texts.map((text) => ['A', text] as const));
  const sums = ledger.blocks.map((block) => block.sums.get('toka'));
  return { view: ledger.view, changed: ledger.view.takeChanged(), sums };
}

const added = (held: string, escrowed: string, rows: number): TickSums => ({
  held: parseAmount(held.replace('-', ''))! * (held.startsWith('-') ? -1n : 1n),
  escrowed: parseAmount(escrowed)!,
  rows
});

test('sums of what an action moved: a SEND adds nothing, a DESTROY takes away, an ORDER holds', () => {
  assert.deepEqual(afterActions('SEND|0|TOKA|4|B').sums, [added('0', '0', 2)]);
  assert.deepEqual(afterActions('DESTROY|0|TOKA|4').sums, [added('-4', '0', 1)]);
  assert.deepEqual(afterActions('ORDER|0|BTC|TOKA|4|0|BTC||1').sums, [added('-4', '4', 2)]);
});

test('LEDGER_INSANE: balances or a supply that changed by other sums than were moved', () => {
  const { view, changed, sums } = afterActions('DESTROY|0|TOKA|4');
  checkChanges(changed, new Map([['toka', sums[0]!]]), view);
  const refused = (moved: ReadonlyMap<string, TickSums>, reason: RegExp, of = changed) =>
    assert.throws(
      () => checkChanges(of, moved, view),
      (error) => hasCode(error, 'LEDGER_INSANE') && reason.test(error.message)
    );
  refused(new Map(), /SANITY CHECK FAILED: the change of the supply of toka is -4, the ledger 0/);
  refused(new Map([['toka', added('-3', '0', 1)]]), /is -4, the ledger -3/);
  const pairs = new Map([[pairKey('TOKA', 'A'), parseAmount('9')!]]);
  refused(new Map([['toka', sums[0]!]]), /is -4, balances and escrows -3/, { ...changed, pairs });
});

test('a token that was only moved is not written anew', () => {
  assert.deepEqual([...afterActions('SEND|0|TOKA|4|B').changed.tokens], []);
  assert.deepEqual([...afterActions('DESTROY|0|TOKA|4').changed.tokens.keys()], ['toka']);
});
