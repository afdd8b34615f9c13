/** Kinds of matters that the log keeps. */
export type MatterKind = 'attestation' | 'swap' | 'reorg' | 'proposal';

/** Facts that every matter has. */
interface Begun {
  readonly id: string;
  /** Its place among the matters of its kind, from 1. */
  readonly number: number;
  /** Key of the hub that began it. */
  readonly submitter: string;
  /** Clock of the log, epoch milliseconds, as all times of matters. */
  readonly begunAt: number;
  /** Time at which it is over, whatever hubs say; null: it is decided, or has no end. */
  readonly endsAt: number | null;
  readonly decidedAt: number | null;
}

/** Place of an action in a chain. */
export interface ActionPlace {
  /** Name of the action, as the indexer has it. */
  readonly action: string;
  readonly height: number;
  /** Hash of its block. */
  readonly hash: string;
}

/** A hub's word about an action. */
export interface ActionWord {
  readonly hub: string;
  /** Place at which the hub found it; null: there is no such action. */
  readonly place: ActionPlace | null;
  /** Signature of the statement; null with no place. */
  readonly sig: string | null;
}

/** One chain's action that another chain is to know of. */
export interface Attestation extends Begun {
  readonly kind: 'attestation';
  readonly chain: string;
  readonly index: number;
  readonly destination: string;
  readonly status: 'pending' | 'attested' | 'rejected' | 'expired';
  /** Times it was begun: again after a reorg, or when it ended without an attestation. Words of an earlier turn do not count. */
  readonly turn: number;
  /** Hubs that may say something, as they qualified when it began. */
  readonly validators: readonly string[];
  readonly words: readonly ActionWord[];
  /** Reorg that took it back, whose id it is; null: none did. */
  readonly reorg: string | null;
}

/** A swap between two chains, as a hub told it: its source action is what is attested. */
export interface Swap extends Begun {
  readonly kind: 'swap';
  readonly chain: string;
  readonly index: number;
  readonly destination: string;
  readonly destinationIndex: number | null;
  readonly attestation: string | null;
  readonly status: 'initiated' | 'attested' | 'executed' | 'settled' | 'failed';
}

/** A hub's word about a reorg. */
interface ReorgWord {
  readonly hub: string;
  /** Whether its own coin node went from the one block to the other. */
  readonly isSeen: boolean;
  /** Signature of the statement; null where it was not seen. */
  readonly sig: string | null;
}

/** Report that a chain was reorganised. */
export interface Reorg extends Begun {
  readonly kind: 'reorg';
  readonly chain: string;
  readonly height: number;
  /** Epoch seconds, as its reporter said. */
  readonly timestamp: number;
  readonly oldHash: string;
  readonly newHash: string;
  readonly status: 'reported' | 'confirmed' | 'rejected' | 'expired';
  readonly validators: readonly string[];
  readonly words: readonly ReorgWord[];
  /** Chains that relied on an attestation from this one at its height or above, when it was confirmed. */
  readonly affected: readonly string[];
}

/** A hub's vote on a proposal. */
export interface Vote {
  readonly hub: string;
  readonly approves: boolean;
  /** Signature of the operation that has it. */
  readonly sig: string;
  readonly at: number;
}

/** Proposed change of a parameter. */
export interface Proposal extends Begun {
  readonly kind: 'proposal';
  readonly parameter: string;
  readonly currentValue: string | null;
  readonly proposedValue: string;
  readonly rationale: string | null;
  readonly status: 'voting' | 'passed' | 'failed' | 'expired';
  /** End of the voting, whether or not it is decided. */
  readonly votingEnd: number;
  /** Hubs that may vote. */
  readonly electorate: readonly string[];
  readonly votes: readonly Vote[];
}

export type Matter = Attestation | Swap | Reorg | Proposal;

/** Returns the name under which matters of a kind are found that may concern one another. */
export function topicOf(matter: Matter): string {
  return matter.kind === 'proposal' ? matter.parameter.toUpperCase() : matter.chain;
}

/** Returns whether hubs may still say something about a matter. */
export function isOpen({ endsAt }: Matter): boolean {
  return endsAt !== null;
}

/** Returns the id of an action's attestation for a chain. */
export function attestationId(chain: string, index: number, destination: string): string {
  return `${chain}:${index}:${destination}`;
}
