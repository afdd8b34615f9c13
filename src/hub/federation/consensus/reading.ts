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
import { lengthOf, MOST_AHEAD, MOST_BATCH_LENGTH, MOST_OPERATIONS } from './rules.ts';

/** Returns whether a value has one shape. */
type Is<T> = (value: unknown) => value is T;

/** Members of a set, and so votes of a certificate. */
const MOST_MEMBERS = 256;

const isCount = ((value) => Number.isSafeInteger(value) && (value as number) >= 0) as Is<number>;
const isKey = textOf(/^[0-9a-f]{64}$/);
const isSignature = textOf(/^[0-9a-f]{128}$/);
/** SHA-256, or nothing where there is no batch before. */
const isDigest = textOf(/^(?:[0-9a-f]{64})?$/);
const isBody = ((value) => typeof value === 'string' && value.isWellFormed()) as Is<string>;

/** Returns whether a value of the network has the shape of an operation. Its signature is not checked. */
export const isOperation: Is<Operation> = objectOf<Operation>({
  submitter: isKey,
  number: isCount,
  body: isBody,
  sig: isSignature
});

const isOperations = listOf(isOperation, MOST_OPERATIONS);
const isBatch = objectOf<Batch>({
  seq: isCount,
  time: isCount,
  previous: isDigest,
  // A longer batch is prepared nowhere; as evidence it would be more than the database takes.
  operations: (value): value is readonly Operation[] => isOperations(value) && lengthOf(value) <= MOST_BATCH_LENGTH
});
const isPrePrepare = objectOf<PrePrepare>({
  kind: only('prePrepare'),
  view: isCount,
  seq: isCount,
  digest: isDigest,
  batch: isBatch
});
const isVote = either<Vote>(
  objectOf<Vote>({ kind: only('prepare', 'commit'), view: isCount, seq: isCount, digest: isDigest }),
  objectOf<Vote>({ kind: only('commit'), view: isCount, seq: isCount, digest: isDigest, statement: isSignature })
);
const isCheckpoint = objectOf<Checkpoint>({
  kind: only('checkpoint'),
  seq: isCount,
  digest: isDigest,
  state: isDigest
});
const isPrepared = objectOf<Prepared>({ proposal: signed(isPrePrepare), votes: listOf(signed(isVote), MOST_MEMBERS) });
/** Returns whether a value of the network has the shape of a batch with its commits. */
export const isCommittedBatch: Is<Committed> = objectOf<Committed>({
  batch: isBatch,
  votes: listOf(signed(isVote), MOST_MEMBERS)
});
/** Returns whether a value of the network has the shape of a stable checkpoint. */
export const isStableCheckpoint: Is<Stable> = objectOf<Stable>({
  seq: isCount,
  digest: isDigest,
  state: isDigest,
  votes: listOf(signed(isCheckpoint), MOST_MEMBERS)
});
const isViewChange = objectOf<ViewChange>({
  kind: only('viewChange'),
  view: isCount,
  stable: isStableCheckpoint,
  last: either<Committed>((value) => value === null, isCommittedBatch),
  places: listOf(isPrepared, MOST_AHEAD)
});
const isNewView = objectOf<NewView>({
  kind: only('newView'),
  view: isCount,
  changes: listOf(signed(isViewChange), MOST_MEMBERS)
});

/** Returns whether a value of the network has the shape of a signed message. Its signature is not checked. */
export const isSignedMessage: Is<Signed<Message>> = signed<Message>(
  either<Message>(isVote, isPrePrepare, isCheckpoint, isViewChange, isNewView)
);

function signed<M extends Message>(isMessage: Is<M>): Is<Signed<M>> {
  return objectOf<Signed<M>>({ sender: isKey, message: isMessage, sig: isSignature });
}

/** Returns a check for objects of exactly these fields: what is signed has no field that somebody added. */
function objectOf<T>(fields: { readonly [Name in keyof T]: Is<NonNullable<T[Name]>> }): Is<T> {
  const checks = Object.entries(fields) as [string, Is<unknown>][];
  return (value): value is T => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    if (Object.keys(value).length !== checks.length) return false;
    return checks.every(([name, is]) => Object.hasOwn(value, name) && is((value as Record<string, unknown>)[name]));
  };
}

function listOf<T>(is: Is<T>, most: number): Is<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.length <= most && value.every(is);
}

function either<T>(...kinds: readonly ((value: unknown) => boolean)[]): Is<T> {
  return (value): value is T => kinds.some((is) => is(value));
}

function only<T extends string>(...texts: readonly T[]): Is<T> {
  return (value): value is T => (texts as readonly unknown[]).includes(value);
}

function textOf(pattern: RegExp): Is<string> {
  return (value): value is string => typeof value === 'string' && pattern.test(value);
}
