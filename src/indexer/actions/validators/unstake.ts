import { formatAmount } from '../../../consensus/amount.ts';
import { readGas } from '../../fees/gas-places.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import { sourceSleeps } from '../../rules/checks.ts';
import {
  bitcoinOnly,
  isBeyondKeys,
  KEY_CHECKS,
  type KeyField,
  namedKeySeen,
  readKey,
  signerOf
} from '../../staking/checks.ts';
import { type Cooling, NO_SIGNER, openStakes, type Stake, sumOf } from '../../state/signer.ts';

interface Unstaking {
  readonly key: KeyField;
  readonly amountText: string;
  /** Amount; all of the stake where the text is empty, null for a badly formed one. */
  readonly amount: bigint | null;
  /** Stakes that it ends; none where the block has seen too much to look for them. */
  readonly open: readonly Stake[];
}

function read(step: Step): Unstaking[] {
  const { action, ledger } = step;
  const key = readKey(step, 'SIGNING_PUBKEY');
  const amountText = action.fields.get('AMOUNT');
  const signer = key.pubkey === null ? NO_SIGNER : signerOf(key, ledger);
  const open = isBeyondKeys(signer.stakes.length, step) ? [] : openStakes(signer, action.block.height);
  return [{ key, amountText, amount: amountText === '' ? sumOf(open) : readGas(amountText, step), open }];
}

/** Version of the row of a remaining stake, the same as that of an addition. */
const REST_VERSION = 2;

/** Ends a stake, or a part of it. Its units come back to the source after the cooldown. */
export const UNSTAKE = defineAction<Unstaking>({
  name: 'UNSTAKE',
  table: 'unstakes',
  formats: { 0: 'SIGNING_PUBKEY|AMOUNT' },
  read,
  checks: [
    bitcoinOnly,
    ...KEY_CHECKS,
    namedKeySeen,
    ['SIGNING_PUBKEY (no active stake or unstake already in progress)', ({ open }) => open.length === 0],
    ['SOURCE (does not own this stake)', ({ open }, { action }) => open[0]!.source !== action.source],
    sourceSleeps,
    ['AMOUNT (format)', ({ amount }) => amount === null],
    ['AMOUNT (must be greater than 0)', ({ amount }) => amount === 0n],
    ['AMOUNT (exceeds active stake)', ({ amount, open }) => amount! > sumOf(open)]
  ],
  row: ({ key, amountText, amount }, { action, rules }) => ({
    source_id: action.source,
    signing_pubkey_id: key.pubkey,
    cooldown_end_block: action.block.height + rules.unstakeCooldown,
    amount: amount === null ? amountText : formatAmount(amount),
    block_index: action.block.height
  }),
  apply: (unstaking, step) => {
    const { action, ledger, rules } = step;
    const until = action.block.height + rules.unstakeCooldown;
    const cooling: Cooling = { index: action.index, source: action.source, amount: unstaking.amount!, until };
    endStakes(unstaking, cooling, step);
    ledger.set('cooling', String(until), [...ledger.get('cooling', String(until)), cooling]);
  }
});

/** Ends the open stakes. The rest that an UNSTAKE leaves begins where they end. */
function endStakes({ key, amount, open }: Unstaking, cooling: Cooling, { action, ledger, rules }: Step): void {
  const { index, source, block } = action;
  const to = block.height + rules.stakeDelay;
  const signer = signerOf(key, ledger);
  const ending = new Set(open); // there may be tens of thousands
  const ended = signer.stakes.map((stake) => (ending.has(stake) ? { ...stake, to } : stake));
  const left = sumOf(open) - amount!;
  const rest: Stake[] = left === 0n ? [] : [{ index, source, amount: left, from: to, to: null }];
  for (const stake of open) ledger.change('stakes', stake.index, { deactivation_block: to });
  for (const stake of rest) {
    ledger.record('stakes', {
      action_index: index,
      source_id: source,
      version: REST_VERSION,
      signing_pubkey_id: key.pubkey,
      amount: formatAmount(stake.amount),
      block_index: block.height,
      activation_block: to,
      status_id: 'valid'
    });
  }
  ledger.set('signer', key.pubkey!, {
    ...signer,
    stakes: [...ended, ...rest],
    cooling: [...signer.cooling, cooling]
  });
}
