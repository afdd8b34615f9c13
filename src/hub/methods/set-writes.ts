import { isSigningKey } from '../../coin/signing-key.ts';
import { type ErrorCode, hasCode, PlatformError } from '../../errors.ts';
import type { RpcCaller, RpcMethod } from '../../service/rpc/method.ts';
import type { MatterStep } from '../federation/matters/operations.ts';
import type { HubSetMember } from '../remote-set.ts';
import type { HubDatabase } from '../store/database.ts';
import { checkTexts, success } from './common.ts';
import { isRegistration } from './validators.ts';

/** Codes of a write's refusals in validator mode. */
export const OF_THE_SET = ['NO_QUORUM', 'CONSENSUS_TIMEOUT', 'HUB_HALTED'] as const;

interface Registration {
  readonly signing_pubkey: string;
  readonly addr: string;
}

interface ActionParams {
  readonly source_chain: string;
  readonly source_action_index: number;
  readonly dest_chain: string;
}

/**
 * Returns the writes that the set of a validator's hub decides. Params and results are those of a standalone hub.
 *
 * @param methods  those of a standalone hub
 */
export function setWriteMethods(
  database: HubDatabase,
  set: HubSetMember,
  methods: Readonly<Record<string, RpcMethod>>
): Readonly<Record<string, RpcMethod>> {
  /** Has a step decided. @param refusal  code of what the set refuses */
  const decide = async (step: MatterStep, { aside }: RpcCaller, refusal?: ErrorCode): Promise<void> => {
    try {
      await aside(() => set.decide(step));
    } catch (caught) {
      if (refusal === undefined || !hasCode(caught, 'REQUEST_INVALID')) throw caught;
      throw new PlatformError(refusal, { reason: caught.detail['reason'] });
    }
  };
  const ordered = <P>(name: string, run: (params: P, caller: RpcCaller) => Promise<unknown>): [string, RpcMethod] => {
    const method = methods[name]!;
    const errors = [...(method.errors ?? []), ...OF_THE_SET];
    return [name, { ...method, errors, run: (params, caller) => run(params as P, caller) }];
  };
  return Object.fromEntries([
    ordered<Registration>('registervalidator', async ({ signing_pubkey, addr }, { aside }) => {
      if (!isSigningKey(signing_pubkey)) refuse('signing_pubkey is no key of Ed25519');
      await aside(() => set.list([{ pubkey: signing_pubkey.toLowerCase(), addr }]));
      return success;
    }),
    ordered<{ readonly addr: string; readonly new_signing_pubkey: string }>(
      'rotatevalidator',
      async ({ addr, new_signing_pubkey: pubkey }, { aside }) => {
        if (!isSigningKey(pubkey)) refuse('new_signing_pubkey is no key of Ed25519');
        if ((await database.read('keysAt', addr)).length === 0) unknown(`no active validator has the address ${addr}`);
        await aside(() => set.list([{ pubkey: pubkey.toLowerCase(), addr }]));
        return success;
      }
    ),
    ordered<{ readonly signing_pubkey?: string; readonly addr?: string }>(
      'deregistervalidator',
      async ({ signing_pubkey, addr }, { aside }) => {
        if ((signing_pubkey === undefined) === (addr === undefined)) refuse('send either signing_pubkey or addr');
        const named = signing_pubkey?.toLowerCase();
        const known = named === undefined ? undefined : await database.read('selectValidator', named);
        const keys =
          addr === undefined
            ? known?.status === 'active'
              ? [known.signing_pubkey]
              : []
            : await database.read('keysAt', addr);
        if (keys.length === 0) unknown(`no active validator has ${named ?? addr}`);
        await aside(() => set.list(keys.map((pubkey) => ({ pubkey, addr: null }))));
        return success;
      }
    ),
    ordered<{ readonly validators: readonly unknown[] }>('syncvalidators', async ({ validators }, { aside }) => {
      const usable = validators.filter(isRegistration);
      // Of two entries with one key the last one counts, as where they are written one by one.
      const changes = new Map(usable.map(({ signing_pubkey, addr }) => [signing_pubkey.toLowerCase(), addr]));
      await aside(() => set.list([...changes].map(([pubkey, addr]) => ({ pubkey, addr }))));
      return { ...success, skipped: validators.length - usable.length };
    }),
    ordered<ActionParams>('requestattestation', async (params, caller) => {
      const { chain, index, destination } = actionOf(params);
      await decide({ type: 'attest', chain, index, destination }, caller);
      return await database.read('selectAttestation', `${chain}:${index}:${destination}`);
    }),
    ordered<ActionParams & { readonly dest_action_index?: number }>('initiateswap', async (params, caller) => {
      const { dest_action_index: destinationIndex = null } = params;
      await decide({ type: 'swap', ...actionOf(params), destinationIndex }, caller, 'SWAP_DIFFERS');
      return success;
    }),
    ordered<{
      readonly chain: string;
      readonly reorg_height: number;
      readonly timestamp: number;
      readonly old_hash: string;
      readonly new_hash: string;
    }>('reportreorg', async ({ chain, reorg_height: height, timestamp, old_hash, new_hash }, caller) => {
      const [oldHash, newHash] = [old_hash.toLowerCase(), new_hash.toLowerCase()];
      if (oldHash === newHash) refuse('old_hash and new_hash are the same: nothing changed');
      await decide({ type: 'reorg', chain, height, timestamp, oldHash, newHash }, caller);
      return success;
    }),
    ordered<{
      readonly parameter: string;
      readonly current_value?: string;
      readonly proposed_value: string;
      readonly rationale?: string;
    }>('propose', async ({ parameter, current_value, proposed_value, rationale }, caller) => {
      checkTexts({ current_value, proposed_value, rationale });
      const more = { currentValue: current_value ?? null, proposedValue: proposed_value, rationale: rationale ?? null };
      await decide({ type: 'propose', parameter, ...more }, caller, 'PROPOSAL_REFUSED');
      const asked = { status: null, parameter, limit: 1, at: Date.now() };
      const [proposal] = await database.read('selectProposals', asked);
      if (!proposal) throw new PlatformError('RECORD_UNKNOWN', { reason: `no proposal is for ${parameter}` });
      const { proposal_id, status, voting_end, activation_block } = proposal;
      const end = new Date(voting_end).toISOString().slice(0, 19).replace('T', ' ');
      return { proposal_id, parameter, status, voting_end: end, activation_block };
    }),
    ordered<{ readonly proposal_id: string; readonly vote: 'approve' | 'reject' }>(
      'vote',
      async ({ proposal_id: id, vote }, caller) => {
        await database.read('selectProposal', id, Date.now());
        await decide({ type: 'vote', id, approves: vote === 'approve' }, caller, 'PROPOSAL_REFUSED');
        return { proposal_id: id, vote, voter_pubkey: set.self };
      }
    )
  ]);
}

function actionOf({ source_chain: chain, source_action_index: index, dest_chain: destination }: ActionParams) {
  if (chain === destination) refuse(`source_chain and dest_chain are both ${destination}`);
  return { chain, index, destination };
}

function refuse(reason: string): never {
  throw new PlatformError('REQUEST_INVALID', { reason });
}

function unknown(reason: string): never {
  throw new PlatformError('RECORD_UNKNOWN', { reason });
}
