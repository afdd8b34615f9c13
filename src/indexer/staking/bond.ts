import { formatAmount } from '../../consensus/amount.ts';
import type { Action } from '../state/action.ts';
import type { Effects } from '../state/effects.ts';
import { type Cooling, isActive, type Stake, sumOf } from '../state/signer.ts';

/** Status of an UNSTAKE whose units a SLASH took. */
const SLASHED = 'slashed';

/** Rows of `stakes` and of `unstakes` of one key that a staker loses. */
interface BondPart {
  readonly pubkey: string;
  /** Stakes that count or will count. */
  readonly stakes: readonly Stake[];
  readonly cooling: readonly Cooling[];
}

/** Everything that is staked behind a key. */
export interface Bond {
  readonly pubkey: string;
  readonly parts: readonly BondPart[];
  /** Loss of the stakers, in counts of 10^-18. */
  readonly total: bigint;
}

/**
 * Returns everything that is behind a key: its stakes, and all stakes of a source that it was delegated to in one of
 * some blocks.
 *
 * @param slots heights of those blocks
 */
export function bondOf(pubkey: string, slots: readonly number[], ledger: Effects, height: number): Bond {
  const { delegations } = ledger.get('signer', pubkey);
  const sources = new Set(
    delegations.filter((one) => slots.some((slot) => isActive(one, slot))).map(({ source }) => source)
  );
  const keys = new Set([pubkey, ...[...sources].flatMap((source) => [...ledger.get('keysOf', source)])]);
  ledger.request([...keys].map((key) => ({ kind: 'signer', key })));
  const parts = [...keys].map((key): BondPart => {
    const { stakes, cooling } = ledger.get('signer', key);
    const isLost = ({ source, amount }: Pick<Stake, 'source' | 'amount'>) =>
      amount > 0n && (key === pubkey || sources.has(source));
    return {
      pubkey: key,
      stakes: stakes.filter((stake) => isLost(stake) && (stake.to === null || stake.to > height)),
      cooling: cooling.filter((one) => isLost(one) && one.until >= height)
    };
  });
  const ends = parts.flatMap((part) => part.cooling.map(({ until }) => String(until)));
  ledger.request(ends.map((key) => ({ kind: 'cooling', key })));
  return { pubkey, parts, total: parts.reduce((sum, part) => sum + sumOf(heldBy(part)), 0n) };
}

/**
 * Returns the rows whose units are still in escrow. The units of an ended stake are in its UNSTAKE and in the rest that
 * it left.
 */
function heldBy({ stakes, cooling }: BondPart): readonly Pick<Stake, 'source' | 'amount'>[] {
  return [...stakes.filter(({ to }) => to === null), ...cooling];
}

/** Cuts every row of a bond to 0, releases its units from the escrows of their stakers, and bans the key. */
export function cutBond({ pubkey, parts }: Bond, action: Action, ledger: Effects, gasTick: string): void {
  for (const part of parts) {
    const signer = ledger.get('signer', part.pubkey);
    const [lost, lostCooling] = [new Set(part.stakes), new Set(part.cooling)]; // there may be tens of thousands
    ledger.set('signer', part.pubkey, {
      ...signer,
      stakes: signer.stakes.map((stake) => (lost.has(stake) ? { ...stake, amount: 0n } : stake)),
      cooling: signer.cooling.filter((one) => !lostCooling.has(one))
    });
    for (const stake of part.stakes) {
      ledger.change('stakes', stake.index, { amount: '0' });
      recordCut(ledger, action, 'stakes', stake);
    }
    for (const [until, ended] of Map.groupBy(part.cooling, (one) => String(one.until))) {
      const gone = new Set(ended.map(({ index }) => index));
      ledger.set(
        'cooling',
        until,
        ledger.get('cooling', until).filter(({ index }) => !gone.has(index))
      );
    }
    for (const one of part.cooling) {
      ledger.change('unstakes', one.index, { amount: '0', status_id: SLASHED });
      recordCut(ledger, action, 'unstakes', one);
    }
    for (const { source, amount } of heldBy(part)) ledger.escrow(ledger.token(gasTick)!, source, -amount);
  }
  ledger.set('signer', pubkey, { ...ledger.get('signer', pubkey), isBanned: true });
}

function recordCut(
  ledger: Effects,
  action: Action,
  table: 'stakes' | 'unstakes',
  { index, amount }: Pick<Stake, 'index' | 'amount'>
): void {
  ledger.record('capability_slash_debits', {
    slash_action_index: action.index,
    target_table: table,
    stake_action_index: index,
    prev_amount: formatAmount(amount),
    amount: '0',
    block_index: action.block.height
  });
}
