import { formatAmount } from '../../consensus/amount.ts';
import { type HashPosition, stateHash } from '../../consensus/ledger-hashes.ts';
import type { Rules } from '../profile/rules.ts';
import type { FactTable } from '../state/fact-table.ts';
import { splitPair } from '../state/keys.ts';
import type { View } from '../state/view.ts';

/** Balances and tokens that the actions of one block changed. */
export class ChangedState {
  /** Keys of `balance` facts. */
  readonly #pairs = new Set<string>();
  /** Keys of `token` facts. */
  readonly #tokens = new Set<string>();

  add(changes: FactTable): void {
    for (const key of changes.of('balance').keys()) this.#pairs.add(key);
    for (const key of changes.of('token').keys()) this.#tokens.add(key);
  }

  /** Returns the changed balances as the block left them, by `pairKey`, in the order of their first changes. */
  balances(view: View): [pair: string, amount: bigint][] {
    return Array.from(this.#pairs, (pair) => [pair, view.get('balance', pair)]);
  }

  /** Returns the state hash of the block. @param view the state after the block */
  hash(view: View, position: HashPosition, { roles }: Pick<Rules, 'roles'>): string {
    const balances = [...this.#pairs].map((pair) => {
      const [tick, address] = splitPair(pair);
      return { address, tick: view.get('token', tick)!.tick, amount: formatAmount(view.get('balance', pair)) };
    });
    const tokens = [...this.#tokens].flatMap((key) => {
      const token = view.get('token', key);
      return token ? [{ tick: token.tick, owner: token.owner, supply: formatAmount(token.supply) }] : [];
    });
    return stateHash({ balances, tokens }, position, roles);
  }
}
