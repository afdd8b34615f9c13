import { beginAttestation, expireAttestation, sayAction } from './attestations.ts';
import type { MatterStep } from './operations.ts';
import { beginProposal, castVote, endVoting } from './proposals.ts';
import { attestationId, isOpen, type Matter, type MatterKind } from './records.ts';
import { beginReorg, expireReorg, mayConfirm, sayReorg } from './reorgs.ts';
import { BOUNDS, type MatterFacts, type MatterRules } from './rules.ts';
import { noteSwap } from './swaps.ts';

/** A step, and the hub that made it by an operation. */
export interface SubmittedStep {
  readonly submitter: string;
  /** Signature of its operation. */
  readonly sig: string;
  readonly step: MatterStep;
}

/** Matters that a step is decided by: some by their ids, and all that share a topic. */
interface Wanted {
  readonly ids: readonly (readonly [kind: MatterKind, id: string])[];
  readonly topics: readonly (readonly [kind: MatterKind, topic: string])[];
  /** Whether the topics are needed where these are the matters with the ids: a step that is refused anyway costs no long reading. */
  isWorth?(found: readonly Matter[]): boolean;
}

/** Returns the kind of matter that a step begins or belongs to; null for one that belongs to all. */
export function kindOf({ type }: MatterStep): MatterKind | null {
  switch (type) {
    case 'attest':
    case 'action-word':
      return 'attestation';
    case 'swap':
      return 'swap';
    case 'reorg':
    case 'reorg-word':
      return 'reorg';
    case 'propose':
    case 'vote':
      return 'proposal';
    case 'close':
      return null;
  }
}

/** Returns which matters must be known for a step. */
export function wantedBy(step: MatterStep, submitter: string): Wanted {
  switch (step.type) {
    case 'attest': {
      const { chain, index, destination } = step;
      return { ids: [['attestation', attestationId(chain, index, destination)]], topics: [] };
    }
    case 'swap': {
      const { chain, index, destination, destinationIndex } = step;
      const ofDestination =
        destinationIndex === null
          ? []
          : ([['attestation', attestationId(destination, destinationIndex, chain)]] as const);
      return {
        ids: [
          ['swap', `${chain}:${index}`],
          ['attestation', attestationId(chain, index, destination)],
          ...ofDestination
        ],
        topics: []
      };
    }
    case 'action-word': {
      const swap = step.id.slice(0, Math.max(0, step.id.lastIndexOf(':')));
      return {
        ids: [
          ['attestation', step.id],
          ['swap', swap]
        ],
        topics: []
      };
    }
    case 'reorg':
      return { ids: [], topics: [['reorg', step.chain]] };
    case 'reorg-word': {
      const chain = step.id.slice(0, Math.max(0, step.id.indexOf(':')));
      return {
        ids: [['reorg', step.id]],
        topics: [['attestation', chain]],
        isWorth: ([reorg]) => step.isSeen && reorg?.kind === 'reorg' && mayConfirm(reorg, submitter)
      };
    }
    case 'propose':
      return { ids: [], topics: [['proposal', step.parameter.toUpperCase()]] };
    case 'vote':
      return { ids: [['proposal', step.id]], topics: [] };
    case 'close':
      return { ids: [], topics: [] };
  }
}

/**
 * Returns the matters that a step changes, or why it changes none: the same at every hub, since it depends on its arguments alone. What is
 * over by the clock of the log was closed before.
 *
 * @param time  clock of the log, epoch milliseconds
 */
export function decideMatter(
  rules: MatterRules,
  facts: MatterFacts,
  { submitter, sig, step }: SubmittedStep,
  time: number
): readonly Matter[] | string {
  if (!rules.keys.includes(submitter)) return 'its submitter is not of the set';
  const changed = changedBy(rules, facts, { submitter, sig, step }, time);
  if (typeof changed === 'string') return changed;
  const kind = kindOf(step);
  const isNew = changed.some((one) => one.kind === kind && one.number === facts.next && one.begunAt === time);
  if (kind === null || !isNew) return changed;
  const { open, lately, withinMs } = BOUNDS[kind];
  if (facts.open >= open) return `${facts.open} of ${open} matters of this kind that this hub began are open`;
  if (facts.lately >= lately)
    return `this hub began ${facts.lately} matters of this kind within ${withinMs / 60_000} minutes`;
  return changed;
}

/** Returns open matters as they are when they are over. */
export function closeMatters(open: readonly Matter[], time: number): readonly Matter[] {
  return open.filter((matter) => isOpen(matter) && matter.endsAt! <= time).map((matter) => closed(matter, time));
}

function closed(matter: Matter, time: number): Matter {
  switch (matter.kind) {
    case 'attestation':
      return expireAttestation(matter, time);
    case 'reorg':
      return expireReorg(matter, time);
    case 'proposal':
      return endVoting(matter, time);
    case 'swap':
      return matter; // it has no end
  }
}

function changedBy(
  rules: MatterRules,
  facts: MatterFacts,
  { submitter, sig, step }: SubmittedStep,
  time: number
): readonly Matter[] | string {
  switch (step.type) {
    case 'attest':
      return beginAttestation(rules, facts, submitter, step, time);
    case 'action-word':
      return sayAction(rules, facts, submitter, step, time);
    case 'swap':
      return noteSwap(facts, submitter, step, time);
    case 'reorg':
      return beginReorg(rules, facts, submitter, step, time);
    case 'reorg-word':
      return sayReorg(rules, facts, submitter, step, time);
    case 'propose':
      return beginProposal(rules, facts, submitter, step, time);
    case 'vote':
      return castVote(facts, { submitter, sig }, step, time);
    case 'close':
      return step.endsAt <= time ? [] : 'the clock of the log is not there yet';
  }
}
