import { formatAmount, parseAmount } from '../../../consensus/amount.ts';
import { floorGas } from '../../fees/gas-places.ts';
import { type Check, defineAction, type Step } from '../../rules/action-definition.ts';
import { sourceSleeps } from '../../rules/checks.ts';
import { type Bond, bondOf, cutBond } from '../../staking/bond.ts';
import { bitcoinOnly, type KeyField, keysSeen, readKey, signerOf } from '../../staking/checks.ts';
import { isSignedBy, isSlashable, readSlotMessage, type SlotMessage } from '../../staking/equivocation.ts';
import { isCapability, keysBehind, leastWeight, validatorOf } from '../../staking/validators.ts';

/** Two messages of one slot by one key. */
interface Proof {
  readonly capability: string;
  readonly key: KeyField;
  /** First message; null for a text that is no message of a slot. */
  readonly a: SlotMessage | null;
  readonly b: SlotMessage | null;
  readonly sigA: string;
  readonly sigB: string;
  /** Returns what the key loses if the proof is good. It is counted once. */
  readonly bond: () => Bond;
}

const SIGNATURE = /^[0-9a-f]{128}$/i;
/** Divisor of the bond that gives the submitter's bounty, within the two limits. */
const BOUNTY_PART = 20n;
const [LEAST_BOUNTY, MOST_BOUNTY] = [parseAmount('50')!, parseAmount('1000')!];

function read(step: Step): Proof[] {
  const { action, ledger } = step;
  const { get } = action.fields;
  const key = readKey(step, 'OFFENDER_PUBKEY');
  const [a, b] = [readSlotMessage(get('MSG_A')), readSlotMessage(get('MSG_B'))];
  let bond: Bond | undefined;
  return [
    {
      capability: get('CAPABILITY').toLowerCase(),
      key,
      a,
      b,
      sigA: get('SIG_A'),
      sigB: get('SIG_B'),
      bond: () => (bond ??= bondOf(key.pubkey!, [a!.height, b!.height], ledger, action.block.height))
    }
  ];
}

/** Returns the bounty of the submitter, which is never more than the bond. */
function bountyOf({ total }: Bond, step: Step): bigint {
  const part = floorGas(total / BOUNTY_PART, step);
  const wanted = part < LEAST_BOUNTY ? LEAST_BOUNTY : part > MOST_BOUNTY ? MOST_BOUNTY : part;
  return wanted < total ? wanted : total;
}

/** Returns whether the key had the capability at the height that a message names. */
function hadCapability(pubkey: string, message: SlotMessage, proof: Proof, { action, ledger }: Step): boolean {
  if (!isCapability(proof.capability) || message.height > action.block.height) return false;
  const validator = validatorOf(pubkey, ledger, message.height);
  return validator !== null && validator.weight >= leastWeight(proof.capability);
}

const signatureForm = (name: 'SIG_A' | 'SIG_B', of: (proof: Proof) => string): Check<Proof> => [
  `${name} (format)`,
  (proof) => !SIGNATURE.test(of(proof))
];

/** Takes the stakes behind a key that signed two messages for one slot, and bans the key for ever. */
export const SLASH = defineAction<Proof>({
  name: 'SLASH',
  table: 'capability_slash_events',
  keepsValidOnly: true,
  formats: { 0: 'CAPABILITY|OFFENDER_PUBKEY|MSG_A|SIG_A|MSG_B|SIG_B' },
  read,
  checks: [
    bitcoinOnly,
    ['CAPABILITY (unknown)', ({ capability }) => !isCapability(capability)],
    ['OFFENDER_PUBKEY (format)', ({ key }) => key.pubkey === null],
    ['MSG_A (format)', ({ a }) => a === null],
    signatureForm('SIG_A', ({ sigA }) => sigA),
    ['MSG_B (format)', ({ b }) => b === null],
    signatureForm('SIG_B', ({ sigB }) => sigB),
    sourceSleeps,
    ['ENGINE_TAG (not slashable)', ({ capability, a }) => isCapability(capability) && !isSlashable(a!, capability)],
    ['MSG_B (other slot)', ({ a, b }) => a!.header !== b!.header],
    ['MSG_B (same content)', ({ a, b }) => a!.content === b!.content],
    ['OFFENDER_PUBKEY (already slashed)', ({ key }, { ledger }) => signerOf(key, ledger).isBanned],
    keysSeen(({ key, a, b }, { ledger }) =>
      [a!, b!].flatMap(({ height }) => keysBehind([key.pubkey!], ledger, height))
    ),
    [
      'OFFENDER_PUBKEY (not in snapshot)',
      (proof, step) => ![proof.a!, proof.b!].every((message) => hadCapability(proof.key.pubkey!, message, proof, step))
    ],
    ['SIG_A (not signed)', ({ key, a, sigA }) => !isSignedBy(a!, key.pubkey!, sigA)],
    ['SIG_B (not signed)', ({ key, b, sigB }) => !isSignedBy(b!, key.pubkey!, sigB)]
  ],
  row: ({ capability, key, a, bond }, step) => {
    const { action, rules } = step;
    const [total, bounty] = [bond().total, bountyOf(bond(), step)];
    return {
      slash_action_index: action.index,
      signing_pubkey_id: key.pubkey,
      capability,
      equiv_key: a!.header,
      amount: formatAmount(total),
      bounty_amount: formatAmount(bounty),
      treasury_amount: formatAmount(rules.rewardPool === undefined ? 0n : total - bounty),
      submitter_id: action.source,
      destination_id: rules.rewardPool ?? null,
      block_index: action.block.height
    };
  },
  apply: ({ bond }, step) => {
    const { action, ledger, rules } = step;
    const { total } = bond();
    cutBond(bond(), action, ledger, rules.gasTick);
    const gas = ledger.token(rules.gasTick);
    if (gas === null || total === 0n) return;
    const bounty = bountyOf(bond(), step);
    ledger.credit(gas, action.source, bounty);
    // Without a pool the rest is burned: nobody holds it, and the supply falls.
    if (rules.rewardPool !== undefined && total > bounty) ledger.credit(gas, rules.rewardPool, total - bounty);
  }
});
