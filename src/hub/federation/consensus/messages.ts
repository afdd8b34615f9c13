/** A write that some hub submitted. Its submitter numbers its operations 0, 1, 2 …; each number is applied once. */
export interface Operation {
  /** Key of the hub that submitted it, 64 hex digits. */
  readonly submitter: string;
  readonly number: number;
  /** The write itself, as canonical JSON. */
  readonly body: string;
  /** Signature of its submitter, over the other fields and the set. */
  readonly sig: string;
}

/** Operations that are applied together, at one place of the log. */
export interface Batch {
  /** Place in the log; the first batch is 1. */
  readonly seq: number;
  /** Clock of the log, epoch milliseconds; above that of the batch before. */
  readonly time: number;
  /** Digest of the batch before; empty for the first. */
  readonly previous: string;
  readonly operations: readonly Operation[];
}

/** A leader's word: at this place comes this batch. */
export interface PrePrepare {
  readonly kind: 'prePrepare';
  readonly view: number;
  readonly seq: number;
  readonly digest: string;
  readonly batch: Batch;
}

/** A hub's word that it saw the leader's proposal and none other, or that a quorum did. */
export interface Vote {
  readonly kind: 'prepare' | 'commit';
  readonly view: number;
  readonly seq: number;
  readonly digest: string;
  /** Logs of before have signatures of prices here, in commits alone; it changes no vote. */
  readonly statement?: string;
}

/** A hub's state after a batch. */
export interface Checkpoint {
  readonly kind: 'checkpoint';
  readonly seq: number;
  /** Digest of the batch at that place. */
  readonly digest: string;
  /** Digest of all replicated tables, the clock of the log and the numbers of submitters. */
  readonly state: string;
}

/** A message and who signed it. */
export interface Signed<M> {
  readonly sender: string;
  readonly message: M;
  /** Signature of the envelope; the core hands it on and never reads it. */
  readonly sig: string;
}

/** A place that a quorum has prepared: the leader's proposal, and the votes of others. */
export interface Prepared {
  readonly proposal: Signed<PrePrepare>;
  readonly votes: readonly Signed<Vote>[];
}

/** A batch and the commits of a quorum. */
export interface Committed {
  readonly batch: Batch;
  readonly votes: readonly Signed<Vote>[];
}

/** A checkpoint that a quorum signed; at place 0, without votes, the empty log. */
export interface Stable {
  readonly seq: number;
  readonly digest: string;
  readonly state: string;
  readonly votes: readonly Signed<Checkpoint>[];
}

/** A hub's wish for the leader of another view, with all that must not be lost. */
export interface ViewChange {
  readonly kind: 'viewChange';
  readonly view: number;
  readonly stable: Stable;
  /** Last place above the checkpoint up to which this hub has all that a quorum has committed; null: it has none. */
  readonly last: Committed | null;
  /** Places above both, without a gap, that a quorum has prepared. */
  readonly places: readonly Prepared[];
}

/** A new leader's proof that a quorum wishes its view. */
export interface NewView {
  readonly kind: 'newView';
  readonly view: number;
  readonly changes: readonly Signed<ViewChange>[];
}

export type Message = PrePrepare | Vote | Checkpoint | ViewChange | NewView;

/** Place of the log before its first batch. */
export const EMPTY_LOG: Stable = { seq: 0, digest: '', state: '', votes: [] };
