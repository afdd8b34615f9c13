import { createHash, sign } from 'node:crypto';
import type { SigningKey } from '../../../consensus/auth-signature.ts';
import { canonicalJson } from '../../../consensus/canonical-json.ts';
import { isSigned } from '../../../consensus/ed25519.ts';
import { byzantineQuorum, pbftQuorum } from '../../../consensus/pbft-quorum.ts';
import type { Batch, Message, Operation, Signed } from '../consensus/messages.ts';
import type { Rules } from '../consensus/rules.ts';
import type { MatterRules, Statement } from '../matters/rules.ts';
import { FIRST_BOUNDS } from '../rounds/decide.ts';
import type { RoundRules, Seen, Submission } from '../rounds/statements.ts';

/** Facts that all hubs of a set agree on before they begin. */
export interface HubSet {
  /** Ed25519, 64 hex digits each, in ascending order. */
  readonly keys: readonly string[];
  /** Votes that decide: as the specification says, or so many that two quorums share an honest hub. */
  readonly quorum: 'specified' | 'byzantine';
  /** Times of rounds of prices; absent: the set makes none. */
  readonly rounds?: RoundTimes;
  /** Time for which proposals can be voted on, in milliseconds; absent: a week. */
  readonly votingPeriodMs?: number;
  /** Number of the log, absent for the first: what was signed in an earlier log of the same hubs counts in no later one. */
  readonly log?: number;
}

type RoundTimes = Pick<RoundRules, 'epochStartMs' | 'intervalMs' | 'windowMs' | 'minSubmissions'>;

/** @see HubSet.votingPeriodMs */
const VOTING_PERIOD_MS = 604_800_000;

/** Hex digits of a submission's name: a round of 64 hubs fits into one operation. */
const NAME_DIGITS = 40;

/** Returns the id of a set, 64 hex digits: sets that differ in a key, the quorum, a time or the number of the log have different ones. */
export function setIdOf({ keys, quorum, rounds, votingPeriodMs = VOTING_PERIOD_MS, log }: HubSet): string {
  const period = votingPeriodMs === VOTING_PERIOD_MS ? {} : { votingPeriodMs };
  const number = log === undefined ? {} : { log };
  return sha256(canonicalJson({ keys: keys.toSorted(), quorum, ...(rounds && { rounds }), ...period, ...number }));
}

/** Returns a message with its signature, which counts in this set alone. */
export function signMessage<M extends Message>(set: string, message: M, { pubkey, secret }: SigningKey): Signed<M> {
  return { sender: pubkey, message, sig: sign(null, textOf('message', set, message), secret).toString('hex') };
}

/** Returns an operation with its submitter's signature, which counts in this set alone. */
export function signOperation(set: string, number: number, body: string, { pubkey, secret }: SigningKey): Operation {
  const unsigned = { submitter: pubkey, number, body };
  return { ...unsigned, sig: sign(null, textOf('operation', set, unsigned), secret).toString('hex') };
}

/** Returns prices for a round with their hub's signature, which counts in this set alone. */
export function signSubmission(
  set: string,
  prices: Omit<Submission, 'submitter' | 'sig'>,
  key: SigningKey
): Submission {
  const unsigned = { ...prices, submitter: key.pubkey };
  return { ...unsigned, sig: sign(null, textOf('submission', set, unsigned), key.secret).toString('hex') };
}

/** Returns a list of submissions with its hub's signature, which counts in this set alone. */
export function signSeen(set: string, list: Omit<Seen, 'hub' | 'sig'>, key: SigningKey): Seen {
  const unsigned = { ...list, hub: key.pubkey };
  return { ...unsigned, sig: sign(null, textOf('seen', set, unsigned), key.secret).toString('hex') };
}

/** Returns the signature of what is not for this set alone. @param statement  bytes as their readers know them */
export function signStatement(statement: Uint8Array, { secret }: SigningKey): string {
  return sign(null, statement, secret).toString('hex');
}

/** Returns whether a hub signed what is not for its set alone. */
export function isStatement(statement: Uint8Array, pubkey: string, sig: string): boolean {
  return isSigned(statement, pubkey, sig);
}

/** Returns a hub's signature of what it says about a chain, which counts in this set alone. */
export function signFact(set: string, statement: Statement, { secret }: SigningKey): string {
  return sign(null, textOf('statement', set, statement), secret).toString('hex');
}

/** Returns the rules of a set's attestations, reorgs and proposals. */
export function matterRulesOf(set: HubSet): MatterRules {
  const id = setIdOf(set);
  const { keys, faulty } = countsOf(set);
  const { rounds, votingPeriodMs = VOTING_PERIOD_MS } = set;
  const settings = {
    GOV_VOTING_PERIOD: votingPeriodMs,
    SLASH_MISSED_ROUNDS_THRESHOLD: FIRST_BOUNDS.missed,
    SLASH_DEVIATION_THRESHOLD: FIRST_BOUNDS.offPercent,
    ...(rounds && {
      ORACLE_ROUND_INTERVAL: rounds.intervalMs,
      ORACLE_SUBMISSION_WINDOW: rounds.windowMs,
      ORACLE_MIN_SUBMISSIONS: rounds.minSubmissions
    })
  };
  return {
    keys,
    faulty,
    votingPeriodMs,
    settings: new Map(Object.entries(settings).map(([name, value]) => [name, String(value)])),
    isSigned: (statement, pubkey, sig) => isSigned(textOf('statement', id, statement), pubkey, sig)
  };
}

/** Returns the rules of a set's rounds of prices; null where it makes none. */
export function roundRulesOf(set: HubSet): RoundRules | null {
  if (!set.rounds) return null;
  const id = setIdOf(set);
  const { keys, quorum, faulty } = countsOf(set);
  return {
    ...set.rounds,
    keys,
    quorum,
    faulty,
    hashOf: remembered((submission: Submission) => sha256(canonicalJson(submission)).slice(0, NAME_DIGITS)),
    isSigned: remembered((statement: Submission | Seen) => {
      const { sig, ...unsigned } = statement;
      return 'hub' in unsigned
        ? isSigned(textOf('seen', id, unsigned), unsigned.hub, sig)
        : isSigned(textOf('submission', id, unsigned), unsigned.submitter, sig);
    })
  };
}

/** Returns the digest of a batch: SHA-256 over its canonical JSON, 64 hex digits. */
export function digestOf(batch: Batch): string {
  return sha256(canonicalJson(batch));
}

/**
 * Returns the rules of a set for one of its hubs. What they found of an object is remembered with it, so a message that stands in several
 * certificates is checked once.
 *
 * @param isWellFormed  whether all hubs can carry out an operation's body
 */
export function rulesOf(set: HubSet, self: string, isWellFormed: (body: string) => boolean): Rules {
  const id = setIdOf(set);
  return {
    self,
    ...countsOf(set),
    isSigned: remembered(({ sender, message, sig }: Signed<Message>) =>
      isSigned(textOf('message', id, message), sender, sig)
    ),
    digestOf: remembered(digestOf),
    isSubmitted: remembered(
      ({ submitter, number, body, sig }: Operation) =>
        isWellFormed(body) && isSigned(textOf('operation', id, { submitter, number, body }), submitter, sig)
    )
  };
}

/** Returns the keys of a set in order, the votes that decide, and the hubs that may lie. */
function countsOf({ keys, quorum }: HubSet): Pick<Rules, 'keys' | 'quorum' | 'faulty'> {
  return {
    keys: keys.toSorted(),
    quorum: quorum === 'specified' ? pbftQuorum(keys.length) : byzantineQuorum(keys.length),
    faulty: Math.floor((keys.length - 1) / 3)
  };
}

/** Returns the signed bytes: kind and set stand first, so no signature counts for another kind or set. */
function textOf(
  kind: 'message' | 'operation' | 'submission' | 'seen' | 'statement',
  set: string,
  value: unknown
): Uint8Array {
  return Buffer.from(`platform-hub ${kind}\n${set}\n${canonicalJson(value)}`);
}

function remembered<K extends object, V>(find: (key: K) => V): (key: K) => V {
  const found = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = found.get(key);
    if (known) return known.value;
    const value = find(key);
    found.set(key, { value });
    return value;
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
