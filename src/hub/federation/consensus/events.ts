import type {
  Batch,
  Checkpoint,
  Committed,
  Message,
  NewView,
  Operation,
  Prepared,
  Signed,
  Stable,
  ViewChange
} from './messages.ts';
import type { Applied } from './state.ts';

/** All that happens to a hub. Messages come from hubs of the set, their signatures checked. */
export type ConsensusEvent =
  | { readonly type: 'operation.submitted'; readonly operation: Operation }
  | { readonly type: 'message.received'; readonly signed: Signed<Message> }
  /** An own message is signed and stored. */
  | { readonly type: 'vote.stored'; readonly signed: Signed<Message> }
  /**
   * A batch is in the database. @property state  digest of all replicated tables, the clock of the log and the numbers of submitters, where
   * a checkpoint is due
   */
  | { readonly type: 'batch.applied'; readonly seq: number; readonly state: string | null }
  /** Another hub says how far it is. */
  | { readonly type: 'peer.heard'; readonly from: string; readonly view: number; readonly seq: number }
  /** Batches of another hub's log, in order. */
  | { readonly type: 'log.fetched'; readonly entries: readonly Committed[] }
  /** The database can be replaced by the state of a stable checkpoint, whose digest covers what `applied` says. */
  | { readonly type: 'state.replaced'; readonly stable: Stable; readonly applied: Applied }
  /** @property now  epoch milliseconds, never below the value before */
  | { readonly type: 'clock.ticked'; readonly now: number };

/** All that a hub is to do, in order. */
export type Effect =
  /** Sign, store, send to all, then say `vote.stored`. A stored vote for the same place and another digest must be refused. */
  | { readonly type: 'vote'; readonly message: Message; readonly prepared: Prepared | null }
  /** Write to the database in one transaction, with its votes, then say `batch.applied`. */
  | { readonly type: 'apply'; readonly batch: Batch; readonly committed: Committed }
  | { readonly type: 'send'; readonly to: string; readonly signed: Signed<Message> }
  /** Send these to all once more, with the own operations that wait. */
  | { readonly type: 'sendAgain'; readonly messages: readonly Signed<Message>[] }
  /** Send operations to all, whoever submitted them. */
  | { readonly type: 'handOn'; readonly operations: readonly Operation[] }
  /** Tell a hub, or all, the last view that began here and the last place that is applied. */
  | { readonly type: 'tellStanding'; readonly to: string | null }
  /** Ask a hub for its log from a place on, or for a checkpoint's state where it has pruned that. */
  | { readonly type: 'fetch'; readonly from: string; readonly seq: number }
  /** Two different messages of one hub for one place. */
  | { readonly type: 'evidence'; readonly first: Signed<Message>; readonly second: Signed<Message> }
  /** A state after a batch that is not the one of this hub. */
  | { readonly type: 'differs'; readonly signed: Signed<Checkpoint> }
  /** The log of another hub has a commit of this one that it does not know of. */
  | { readonly type: 'forgotten'; readonly seq: number }
  /** A wish for a view, or the beginning of one, that its sender signed and that proves nothing. */
  | { readonly type: 'unproved'; readonly signed: Signed<ViewChange | NewView> }
  /** Its state differs from what a quorum signed. */
  | { readonly type: 'halt'; readonly seq: number; readonly state: string; readonly signed: string };
