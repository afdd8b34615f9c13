import { parseAmount } from '../../consensus/amount.ts';
import { findChangeFault } from '../../consensus/parameter-change.ts';

/** A change that somebody proposes. */
interface ProposedChange {
  readonly parameter: string;
  /** Value that the proposer takes for the present one; null: it names none. */
  readonly currentValue: string | null;
  readonly proposedValue: string;
  /** Epoch milliseconds, as the times below. */
  readonly at: number;
}

/** An earlier proposal for the same parameter. */
interface EarlierProposal {
  readonly id: string;
  readonly status: 'voting' | 'passed' | 'failed' | 'expired';
  readonly votingEnd: number;
  readonly decidedAt: number | null;
}

const COOLDOWN_MS = 14 * 24 * 3_600_000;

/**
 * Returns why a change cannot be proposed now; null when it can.
 *
 * @param earlier  newest first
 * @param inForce  present value of the parameter; undefined where nobody knows it
 * @see the section "Limits" of the specification
 */
export function findProposalFault(
  { parameter, currentValue, proposedValue, at }: ProposedChange,
  earlier: readonly EarlierProposal[],
  inForce: string | undefined
): string | null {
  const dateOf = (ms: number) => new Date(ms).toISOString();
  const open = earlier.find(({ status }) => status === 'voting');
  if (open) return `${parameter} has an open proposal ${open.id}, until ${dateOf(open.votingEnd)}`;
  const rejected = earlier.find(({ status }) => status === 'failed')?.decidedAt;
  if (rejected && at < rejected + COOLDOWN_MS)
    return `${parameter} was rejected; it can be proposed again from ${dateOf(rejected + COOLDOWN_MS)}`;
  if (inForce !== undefined && currentValue !== null && !isSame(currentValue, inForce))
    return `current_value of ${parameter} is ${inForce}, not ${currentValue}`;
  const from = inForce ?? currentValue;
  return from === null ? null : findChangeFault(parameter, from, proposedValue);
}

/** Returns whether two texts are one value: 1.50 is 1.5. */
function isSame(a: string, b: string): boolean {
  const [first, second] = [parseAmount(a), parseAmount(b)];
  return a === b || (first !== null && first === second);
}
