import { type Check, defineAction, type Step, VALID } from '../../rules/action-definition.ts';
import { sourceSleeps } from '../../rules/checks.ts';
import {
  bitcoinOnly,
  hasStake,
  KEY_CHECKS,
  type KeyField,
  namedKeySeen,
  noteKey,
  ownKeysSeen,
  readKey,
  signerOf
} from '../../staking/checks.ts';
import { type Delegation, isDelegated, isStaked, type Signer } from '../../state/signer.ts';

interface Delegating {
  readonly key: KeyField;
}

/** Format that revokes a key. */
export const REVOKE_FORMAT = 2;

function read(step: Step): Delegating[] {
  return [{ key: readKey(step, step.action.format === REVOKE_FORMAT ? 'SIGNING_PUBKEY' : 'NEW_SIGNING_PUBKEY') }];
}

/** Returns a check of one of the two formats. */
function when(isRevoke: boolean, [status, fails]: Check<Delegating>): Check<Delegating> {
  return [status, (leg, step) => (step.action.format === REVOKE_FORMAT) === isRevoke && fails(leg, step)];
}

/** Returns the delegation of a key to a source, and the stakes of the source behind it. */
function ownOf(signer: Signer, source: string, height: number) {
  const isOwn = (row: Delegation) => row.source === source && (row.to === null || row.to > height);
  return { delegation: signer.delegations.findLast(isOwn), hasStakes: signer.stakes.some(isOwn) };
}

/** Gives a staker a second key, or revokes one: both sign until one is revoked. */
export const DELEGATE = defineAction<Delegating>({
  name: 'DELEGATE',
  table: 'delegations',
  formats: { 0: 'NEW_SIGNING_PUBKEY', [REVOKE_FORMAT]: 'SIGNING_PUBKEY' },
  read,
  checks: [
    bitcoinOnly,
    ...KEY_CHECKS,
    namedKeySeen,
    when(false, ownKeysSeen),
    when(false, ['no active stake', (_, { action, ledger }) => !hasStake(action.source, ledger, action.block.height)]),
    when(false, [
      'SIGNING_PUBKEY (already in use)',
      ({ key }, { action, ledger }) => {
        const signer = signerOf(key, ledger);
        return isStaked(signer, action.block.height) || isDelegated(signer, action.block.height);
      }
    ]),
    when(true, [
      'no active delegation or stake key for pubkey',
      ({ key }, { action, ledger }) => {
        const own = ownOf(signerOf(key, ledger), action.source, action.block.height);
        return own.delegation === undefined && !own.hasStakes;
      }
    ]),
    when(true, [
      'SIGNING_PUBKEY (already revoked)',
      ({ key }, { action, ledger }) => {
        const signer = signerOf(key, ledger);
        const { delegation } = ownOf(signer, action.source, action.block.height);
        return delegation ? delegation.to !== null : signer.revokedFrom !== null;
      }
    ]),
    sourceSleeps
  ],
  row: ({ key }, { action, rules }) => {
    const from = action.block.height + rules.stakeDelay;
    const isRevoke = action.format === REVOKE_FORMAT;
    return {
      source_id: action.source,
      signing_pubkey_id: key.pubkey,
      block_index: action.block.height,
      activation_block: from,
      deactivation_block: isRevoke ? from : null // a revoke's own row never counts
    };
  },
  apply: (leg, step) => (step.action.format === REVOKE_FORMAT ? revoke(leg, step) : delegate(leg, step))
});

function delegate({ key }: Delegating, { action, ledger, rules }: Step): void {
  const { index, source, block } = action;
  const signer = signerOf(key, ledger);
  const delegation: Delegation = { index, source, from: block.height + rules.stakeDelay, to: null };
  ledger.set('signer', key.pubkey!, { ...signer, delegations: [...signer.delegations, delegation] });
  noteKey(key, ledger);
}

function revoke({ key }: Delegating, { action, ledger, rules }: Step): void {
  const { index, source, block } = action;
  const to = block.height + rules.stakeDelay;
  const signer = signerOf(key, ledger);
  const { delegation } = ownOf(signer, source, block.height);
  if (delegation) {
    const delegations = signer.delegations.map((row) => (row === delegation ? { ...row, to } : row));
    ledger.change('delegations', delegation.index, { deactivation_block: to });
    ledger.set('signer', key.pubkey!, { ...signer, delegations });
    return;
  }
  ledger.record('stake_key_revocations', {
    action_index: index,
    source_id: source,
    signing_pubkey_id: key.pubkey,
    block_index: block.height,
    deactivation_block: to,
    status_id: VALID
  });
  ledger.set('signer', key.pubkey!, { ...signer, revokedFrom: to });
}
