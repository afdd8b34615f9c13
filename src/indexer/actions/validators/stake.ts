import { formatAmount } from '../../../consensus/amount.ts';
import { readGas } from '../../fees/gas-places.ts';
import { type Check, defineAction, type Step } from '../../rules/action-definition.ts';
import { sourceSleeps } from '../../rules/checks.ts';
import {
  bitcoinOnly,
  KEY_CHECKS,
  type KeyField,
  namedKeySeen,
  noteKey,
  readKey,
  signerOf
} from '../../staking/checks.ts';
import { isDelegated, isStaked, openStakes, type Stake } from '../../state/signer.ts';

interface Staking {
  readonly amountText: string;
  readonly amount: bigint | null;
  readonly key: KeyField;
}

const NEW = 1;

function read(step: Step): Staking[] {
  const amountText = step.action.fields.get('AMOUNT');
  return [{ amountText, amount: readGas(amountText, step), key: readKey(step, 'SIGNING_PUBKEY') }];
}

/** Returns a check of one format. */
function ofFormat(format: number, [status, fails]: Check<Staking>): Check<Staking> {
  return [status, (leg, step) => step.action.format === format && fails(leg, step)];
}

const open = ({ key }: Staking, { action, ledger }: Step): readonly Stake[] =>
  openStakes(signerOf(key, ledger), action.block.height);

/** Locks units of the gas token behind a key, which then signs as a validator. */
export const STAKE = defineAction<Staking>({
  name: 'STAKE',
  table: 'stakes',
  formats: { [NEW]: 'AMOUNT|SIGNING_PUBKEY', 2: 'AMOUNT|SIGNING_PUBKEY' },
  read,
  checks: [
    bitcoinOnly,
    ['AMOUNT (format)', ({ amount }) => amount === null],
    ['AMOUNT (must be greater than 0)', ({ amount }) => amount === 0n],
    ...KEY_CHECKS,
    namedKeySeen,
    ofFormat(NEW, [
      'SIGNING_PUBKEY (already in use)',
      ({ key }, { action, ledger }) => isStaked(signerOf(key, ledger), action.block.height)
    ]),
    ofFormat(NEW, [
      'SIGNING_PUBKEY (already delegated)',
      ({ key }, { action, ledger }) => isDelegated(signerOf(key, ledger), action.block.height)
    ]),
    ofFormat(2, ['SIGNING_PUBKEY (no active stake to top up)', (leg, step) => open(leg, step).length === 0]),
    ofFormat(2, [
      'SOURCE (does not own this stake)',
      (leg, step) => open(leg, step).some(({ source }) => source !== step.action.source)
    ]),
    [
      'insufficient funds (STAKE)',
      ({ amount }, { action, ledger, rules }) => ledger.balance(rules.gasTick, action.source) < amount!
    ],
    sourceSleeps
  ],
  row: ({ amountText, amount, key }, { action, rules }) => ({
    source_id: action.source,
    version: action.format,
    signing_pubkey_id: key.pubkey,
    amount: amount === null ? amountText : formatAmount(amount),
    block_index: action.block.height,
    activation_block: action.block.height + rules.stakeDelay
  }),
  apply: ({ amount, key }, { action, ledger, rules }) => {
    const { source, index, block } = action;
    const gas = ledger.token(rules.gasTick)!;
    ledger.debit(gas, source, amount!);
    ledger.escrow(gas, source, amount!);
    const stake: Stake = { index, source, amount: amount!, from: block.height + rules.stakeDelay, to: null };
    const signer = signerOf(key, ledger);
    ledger.set('signer', key.pubkey!, { ...signer, stakes: [...signer.stakes, stake] });
    noteKey(key, ledger);
    const keys = ledger.get('keysOf', source);
    if (!keys.has(key.pubkey!)) ledger.set('keysOf', source, keys.with([key.pubkey!]));
  }
});
