import type {
  Batch,
  Checkpoint,
  Committed,
  Message,
  NewView,
  Operation,
  PrePrepare,
  Prepared,
  Signed,
  Stable,
  ViewChange,
  Vote
} from './messages.ts';
import { EMPTY_LOG } from './messages.ts';
import { RESEND_MS, ROUND_TIMEOUT_MS } from './rules.ts';

/** A place of the log that is not yet below a stable checkpoint. All but the last two fields are of the present view. */
export interface Slot {
  readonly seq: number;
  /** The leader's first proposal. */
  readonly proposal: Signed<PrePrepare> | null;
  /** Digest that this hub prepares or proposes; null before. */
  readonly accepted: string | null;
  /** Time at which it did, epoch milliseconds. */
  readonly since: number;
  /** Digest that this hub commits; null before. */
  readonly committing: string | null;
  /** By sender, the first of each. */
  readonly prepares: ReadonlyMap<string, Signed<Vote>>;
  readonly commits: ReadonlyMap<string, Signed<Vote>>;
  /** Certificate of the highest view in which this hub saw a quorum for the place. */
  readonly prepared: Prepared | null;
  readonly committed: Committed | null;
}

/** Position of this hub's database. */
export interface Applied {
  readonly seq: number;
  readonly digest: string;
  /** Clock of the log. */
  readonly time: number;
  /** By submitter, the number of its next operation. */
  readonly next: ReadonlyMap<string, number>;
}

/** An operation that waits, and since when: epoch milliseconds. */
export interface Pending {
  readonly operation: Operation;
  readonly since: number;
}

/** All that a hub knows of the log. Values are replaced, never changed. */
export interface ConsensusState {
  readonly now: number;
  readonly view: number;
  /** Whether it asks for `view`, which has not begun. */
  readonly isChanging: boolean;
  /** Time at which the view began or was asked for. */
  readonly viewSince: number;
  readonly timeoutMs: number;
  /** Time at which a batch was applied last. */
  readonly appliedAt: number;
  /** Batches applied since the view began. */
  readonly calmBatches: number;
  readonly stable: Stable;
  readonly applied: Applied;
  /** Last place of a log that was set aside: what is decided up to there comes from the others, and is voted on no second time. */
  readonly floor: number;
  /** The place that is being written to the database; null for none. */
  readonly applying: number | null;
  readonly slots: ReadonlyMap<number, Slot>;
  /** Batches that the view began with, by their places: only these may stand there. */
  readonly carried: ReadonlyMap<number, Batch>;
  /** Places up to here were decided before the view. */
  readonly carriedTo: number;
  /** By submitter and number. */
  readonly pending: ReadonlyMap<string, Pending>;
  /** By submitter, when an operation of it was applied. */
  readonly advanced: ReadonlyMap<string, number>;
  /** By operation, the view in which this hub handed it on; of the next ones of their submitters alone. */
  readonly handedOn: ReadonlyMap<string, number>;
  /** By hub, the last place that it says to have applied. */
  readonly heard: ReadonlyMap<string, number>;
  /** By sender, its wish for the highest view. */
  readonly changes: ReadonlyMap<string, Signed<ViewChange>>;
  /** By place and sender. */
  readonly checkpoints: ReadonlyMap<number, ReadonlyMap<string, Signed<Checkpoint>>>;
  /** Message that began the view; null for view 0, and after a restart until another hub sends it. */
  readonly newView: Signed<NewView> | null;
  /** Own votes of this view, those from before a restart included: a digest by kind and place. */
  readonly bound: ReadonlyMap<string, string>;
  /** Own messages that are signed and stored, by kind and place: they are sent again where nothing moves. */
  readonly own: ReadonlyMap<string, Signed<Message>>;
  /** Time at which they were last sent again, and the pause that follows. */
  readonly resentAt: number;
  readonly resendMs: number;
  /** Digest of the tables at the last checkpoint that this hub made. */
  readonly checkpointState: { readonly seq: number; readonly state: string } | null;
  readonly isHalted: boolean;
}

/** An own message as it is stored before it is sent. */
export interface StoredVote {
  readonly signed: Signed<Message>;
  /** Certificate that a commit rests on. */
  readonly prepared: Prepared | null;
}

/** State that a hub reads from its database at its start. */
export interface Restored {
  readonly now: number;
  readonly stable: Stable;
  readonly applied: Applied;
  /** @see ConsensusState.floor */
  readonly floor: number;
  /** Batches above the checkpoint that are applied. */
  readonly log: readonly Committed[];
  readonly votes: readonly StoredVote[];
  readonly pending: readonly Operation[];
  /** States after batches above the checkpoint, where one is due, in order: its votes on them may be stored, or not. */
  readonly checkpoints: readonly Checkpoint[];
}

/** State of a hub without a past. */
export const NOTHING_RESTORED: Restored = {
  now: 0,
  stable: EMPTY_LOG,
  applied: { seq: 0, digest: '', time: 0, next: new Map() },
  floor: 0,
  log: [],
  votes: [],
  pending: [],
  checkpoints: []
};

/** Returns the key of an operation among those that wait. */
export function operationKey({ submitter, number }: Pick<Operation, 'submitter' | 'number'>): string {
  return `${submitter}/${number}`;
}

/** Returns whether an operation waits at a hub already, or is over: it was checked when it came first. */
export function isKept({ applied, pending }: ConsensusState, { submitter, number, body, sig }: Operation): boolean {
  if (number < (applied.next.get(submitter) ?? 0)) return true;
  const kept = pending.get(operationKey({ submitter, number }))?.operation;
  return kept?.sig === sig && kept.body === body;
}

/** Returns an empty place. */
export function emptySlot(seq: number): Slot {
  return {
    seq,
    proposal: null,
    accepted: null,
    since: 0,
    committing: null,
    prepared: null,
    committed: null,
    prepares: new Map(),
    commits: new Map()
  };
}

/**
 * Returns the state of a hub that starts.
 *
 * It votes in no view below the highest one that it has voted in. It takes part in that view when another hub has sent what began it.
 */
export function restore(restored: Restored): ConsensusState {
  const { now, stable, applied, floor, log, votes, pending, checkpoints } = restored;
  const view = Math.max(0, ...votes.map(({ signed: { message } }) => ('view' in message ? message.view : 0)));
  const slots = new Map<number, Slot>();
  for (const committed of log) slots.set(committed.batch.seq, { ...emptySlot(committed.batch.seq), committed });
  const bound = new Map<string, string>();
  const own = new Map<string, Signed<Message>>();
  const changes = new Map<string, Signed<ViewChange>>();
  const signedStates = new Map<number, ReadonlyMap<string, Signed<Checkpoint>>>();
  for (const { signed, prepared } of votes) {
    const { message } = signed;
    if (prepared) {
      const { seq, view: at } = prepared.proposal.message;
      const slot = slots.get(seq) ?? emptySlot(seq);
      if (seq > stable.seq && at > (slot.prepared?.proposal.message.view ?? -1)) slots.set(seq, { ...slot, prepared });
    }
    if (message.kind === 'checkpoint') {
      own.set(`checkpoint/${message.seq}`, signed);
      // It counts here as well: the others may be no quorum without it.
      if (message.seq > stable.seq)
        signedStates.set(message.seq, new Map([[signed.sender, signed as Signed<Checkpoint>]]));
    }
    if (!('view' in message) || message.view !== view) continue;
    if (message.kind === 'viewChange') {
      own.set(message.kind, signed);
      changes.set(signed.sender, signed as Signed<ViewChange>);
    }
    if (!('seq' in message)) continue;
    bound.set(`${message.kind}/${message.seq}`, message.digest);
    own.set(`${message.kind}/${message.seq}`, signed);
    if (message.kind !== 'prePrepare') continue;
    const slot = slots.get(message.seq) ?? emptySlot(message.seq);
    slots.set(message.seq, { ...slot, proposal: signed as Signed<PrePrepare>, accepted: message.digest, since: now });
  }
  return {
    now,
    view,
    isChanging: view > 0,
    viewSince: now,
    timeoutMs: ROUND_TIMEOUT_MS,
    calmBatches: 0,
    appliedAt: now - RESEND_MS, // who starts is late: it asks the first hub that is further
    changes,
    stable,
    applied,
    floor,
    applying: null,
    slots,
    carried: new Map(),
    carriedTo: 0,
    bound,
    own,
    pending: new Map(pending.map((operation) => [operationKey(operation), { operation, since: now }])),
    advanced: new Map(),
    handedOn: new Map(),
    heard: new Map(),
    checkpoints: signedStates,
    newView: null,
    resentAt: now,
    resendMs: RESEND_MS,
    checkpointState: checkpoints.at(-1) ?? null,
    isHalted: false
  };
}

/** Returns the states that a hub has to sign at its start: it was killed between the writing of the batch and its vote. */
export function unsignedOf({ checkpoints, votes }: Pick<Restored, 'checkpoints' | 'votes'>): readonly Checkpoint[] {
  const isSigned = ({ seq }: Checkpoint) =>
    votes.some(({ signed: { message } }) => message.kind === 'checkpoint' && message.seq === seq);
  return checkpoints.filter((checkpoint) => !isSigned(checkpoint));
}
