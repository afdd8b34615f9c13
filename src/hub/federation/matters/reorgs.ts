import { reorgReportMachine } from '../../../../machines/hub/reorg-report.ts';
import { pbftQuorum } from '../../../consensus/pbft-quorum.ts';
import { stateAfter } from '../../store/decide.ts';
import { takeBack } from './attestations.ts';
import { validatorsOf } from './electorate.ts';
import type { MatterStep } from './operations.ts';
import type { Matter, Reorg } from './records.ts';
import { type MatterFacts, type MatterRules, REORG_MS, REPORT_PAUSE_MS, reorgStatement } from './rules.ts';

type StepOf<T extends MatterStep['type']> = Extract<MatterStep, { type: T }>;

/** Digits of the hashes in an id: a hub that lies cannot take the id of another one's report. */
const NAME_DIGITS = 8;

/** Returns the id of a report. Hashes of blocks begin with zeros, so their ends name them. */
function reorgId({ chain, height, timestamp, oldHash, newHash }: Omit<StepOf<'reorg'>, 'type'>): string {
  return [chain, height, timestamp, `${oldHash.slice(-NAME_DIGITS)}${newHash.slice(-NAME_DIGITS)}`].join(':');
}

/**
 * Begins a report. The same again changes nothing, nor does one about the same blocks at another time while the first one counts: what was
 * attested since would be taken back once more, and swaps put off, for a reorg that is over.
 */
export function beginReorg(
  rules: MatterRules,
  facts: MatterFacts,
  submitter: string,
  { type: _, ...report }: StepOf<'reorg'>,
  time: number
): readonly Matter[] | string {
  const id = reorgId(report);
  const { chain, height, oldHash, newHash } = report;
  const known = facts.matters.filter((matter): matter is Reorg => matter.kind === 'reorg' && matter.chain === chain);
  const same = known.filter((one) => one.height === height && one.oldHash === oldHash && one.newHash === newHash);
  const counts = (one: Reorg) => one.status === 'reported' || (one.status === 'confirmed' && !isLeft(one, known));
  if (same.some(counts)) return [];
  const ended = same.find((one) => one.id === id);
  if (ended) return `the report ${id} is ${ended.status}: report it with another timestamp`;
  // Of this hub alone: one that lies holds up no report of another one.
  const last = known.reduce((most, one) => (one.submitter === submitter ? Math.max(most, one.begunAt) : most), 0);
  if (last > 0 && time < last + REPORT_PAUSE_MS)
    return `this hub reported a reorg of ${chain} less than ${REPORT_PAUSE_MS / 1_000} s ago`;
  const validators = validatorsOf(rules, facts);
  if (typeof validators === 'string') return validators;
  const begun: Reorg = {
    kind: 'reorg',
    id,
    number: facts.next,
    submitter,
    begunAt: time,
    endsAt: time + REORG_MS,
    decidedAt: null,
    ...report,
    status: 'reported',
    validators,
    words: [],
    affected: []
  };
  return [begun];
}

/** Returns whether a chain may have left the new block of a confirmed report and come back: another reorg was confirmed since. */
function isLeft({ height, newHash, decidedAt }: Reorg, reports: readonly Reorg[]): boolean {
  return reports.some(
    (other) =>
      other.status === 'confirmed' &&
      other.decidedAt! >= decidedAt! &&
      other.height <= height &&
      (other.height < height || other.newHash !== newHash)
  );
}

/** Counts a hub's word about a reorg, once. One that a quorum has seen takes attestations back. */
export function sayReorg(
  rules: MatterRules,
  facts: MatterFacts,
  hub: string,
  { id, isSeen, sig }: StepOf<'reorg-word'>,
  time: number
): readonly Matter[] | string {
  const known = facts.matters.find((matter): matter is Reorg => matter.kind === 'reorg' && matter.id === id);
  if (!known) return `no report has the id ${id}`;
  if (known.status !== 'reported') return `the report ${id} is ${known.status}`;
  if (!known.validators.includes(hub)) return `this hub did not qualify for cross_chain when ${id} began`;
  if (known.words.some((word) => word.hub === hub)) return `this hub has said something about ${id}`;
  if (isSeen && (sig === null || !rules.isSigned(reorgStatement(known), hub, sig)))
    return `the signature is none of the statement about ${id}`;
  const reported: Reorg = { ...known, words: [...known.words, { hub, isSeen, sig }] };
  const status = statusOf(reported);
  if (status === 'reported') return [reported];
  const settled: Reorg = { ...reported, status, endsAt: null, decidedAt: time };
  if (status !== 'confirmed') return [settled];
  const { chain, height } = known;
  const affected = affectedBy(facts, known);
  return [{ ...settled, affected }, ...takeBack(rules, facts, { chain, height, reorg: id }, time)];
}

/** Returns whether a hub's word may be the one that confirms a report. */
export function mayConfirm({ status, validators, words }: Reorg, hub: string): boolean {
  const seen = words.filter(({ isSeen }) => isSeen).length;
  const isNew = validators.includes(hub) && !words.some((word) => word.hub === hub);
  return status === 'reported' && isNew && seen + 1 >= pbftQuorum(validators.length);
}

/** Ends a report that too few hubs have said something about. */
export function expireReorg(reorg: Reorg, time: number): Reorg {
  return { ...reorg, status: statusOf(reorg, true), endsAt: null, decidedAt: time };
}

function statusOf({ validators, words }: Reorg, isOver = false): Reorg['status'] {
  const events = [
    ...words.map(({ isSeen }) => ({ type: isSeen ? 'confirmation.received' : 'denial.received' }) as const),
    ...(isOver ? [{ type: 'time.expired' } as const] : [])
  ];
  return stateAfter(reorgReportMachine, { validators: validators.length }, events) as Reorg['status'];
}

/** Returns the chains that rely on an attestation at a height of a chain or above. */
function affectedBy({ matters }: MatterFacts, { chain, height }: Pick<Reorg, 'chain' | 'height'>): readonly string[] {
  const found = matters.flatMap((matter) =>
    matter.kind === 'attestation' &&
    matter.chain === chain &&
    matter.status === 'attested' &&
    matter.words.some(({ place }) => place !== null && place.height >= height)
      ? [matter.destination]
      : []
  );
  return [...new Set(found)].toSorted();
}
