import type { Step, SystemAction } from '../rules/action-definition.ts';
import type { Effects } from '../state/effects.ts';
import type { Cooling } from '../state/signer.ts';

/** Status of an UNSTAKE whose units are back. */
export const RELEASED = 'released';

/** Returns the releases of a block: one action for each UNSTAKE whose units come back, by the index of the UNSTAKE. */
export function dueReleases(ledger: Effects, height: number): SystemAction[] {
  return [...ledger.get('cooling', String(height))].sort((a, b) => a.index - b.index).map(release);
}

function release({ index, source, amount }: Cooling): SystemAction {
  return {
    name: 'UNSTAKE_RELEASE',
    source,
    run: ({ ledger, rules }: Step) => {
      const gas = ledger.token(rules.gasTick)!;
      ledger.escrow(gas, source, -amount);
      ledger.credit(gas, source, amount);
      ledger.change('unstakes', index, { status_id: RELEASED });
      return true;
    }
  };
}
