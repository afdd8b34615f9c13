import { PlatformError } from '../errors.ts';
import { bodyOf, MOST_BODY_BYTES, MOST_EDITS } from './federation/journal/config-state.ts';
import { type MatterStep, matterBodyOf } from './federation/matters/operations.ts';
import { type ListChange, listBodyOf } from './federation/matters/validator-list.ts';
import type { ValidatorState } from './federation/node/validator-asks.ts';
import type { SetTrouble } from './set-trouble.ts';
import type { ConfigEdit } from './store/configs.ts';

/** The set of hubs that a hub in validator mode is of, as its methods have it. */
export interface HubSetMember {
  /** Key of this hub. */
  readonly self: string;
  /** Keys of the set, in ascending order: that of the leader stands at the view modulo their number. */
  readonly keys: readonly string[];
  readonly quorum: 'specified' | 'byzantine';
  /** Votes that decide. */
  readonly votes: number;
  /** Whether two quorums share more hubs than may lie. */
  readonly isSafe: boolean;
  state(): ValidatorState;
  /** Returns why it decides nothing; null where it does. */
  trouble(): SetTrouble | null;
  /**
   * Writes entries of the configuration at all hubs, all or none.
   *
   * @throws {PlatformError} REQUEST_INVALID, NO_QUORUM, HUB_HALTED
   * @throws {PlatformError} CONSENSUS_TIMEOUT: it may still be written
   */
  write(edits: readonly ConfigEdit[]): Promise<void>;
  /** Has a step of a matter decided: attestations, swaps, reorgs, proposals. @throws {PlatformError} as above */
  decide(step: MatterStep): Promise<void>;
  /** Tells the set what the list of validators is to have. @throws {PlatformError} as above */
  list(changes: readonly ListChange[]): Promise<void>;
}

/** The way to the actor that votes. */
interface SetActor extends Omit<HubSetMember, 'write' | 'decide' | 'list'> {
  readonly writeTimeoutMs: number;
  submit(body: string, options: { readonly deadlineMs: number }): Promise<unknown>;
}

/** Time for a question beside the wait for the set. */
const PATIENCE_MS = 1_000;

/** Returns the set as the main thread has it: an actor submits and votes. */
export function remoteSet({ writeTimeoutMs, submit, ...member }: SetActor): HubSetMember {
  return {
    ...member,
    async write(edits) {
      if (edits.length === 0) return;
      const body = bodyOf(edits);
      if (edits.length > MOST_EDITS || Buffer.byteLength(body) > MOST_BODY_BYTES)
        throw new PlatformError('REQUEST_INVALID', {
          reason: `one write of a set of hubs has at most ${MOST_EDITS} entries and ${MOST_BODY_BYTES} bytes: send several`
        });
      await submit(body, { deadlineMs: writeTimeoutMs + PATIENCE_MS });
    },
    async decide(step) {
      await submit(matterBodyOf(step), { deadlineMs: writeTimeoutMs + PATIENCE_MS });
    },
    async list(changes) {
      if (changes.length > 0) await submit(listBodyOf(changes), { deadlineMs: writeTimeoutMs + PATIENCE_MS });
    }
  };
}
