import { LATE_KINDS } from '../../test/support/tables-in-use/late-changes.ts';
import { type Case, DISTURBANCES, OPERATIONS, STEP_KINDS } from './plan.ts';
import { type Outcome, runCase } from './run.ts';

/** A case that fails, with what it found. */
interface Failing {
  readonly of: Case;
  readonly outcome: Outcome;
}

/** A kill does not fall on the same moment each time: a smaller case counts as good when it passes so often. */
const TRIES = 2;

/** Leaves out blocks, disturbances, kinds of steps, operations and tables while the case still fails. */
export async function shrink(of: Case, outcome: Outcome, tell: (line: string) => void): Promise<Failing> {
  let smallest: Failing = { of, outcome };
  const keeps = async (candidate: Case): Promise<boolean> => {
    for (let tried = 0; tried < TRIES; tried += 1) {
      const found = await runCase(candidate);
      if (!found.failure) continue;
      tell(
        `still fails with ${candidate.blocks} blocks without ${candidate.without.join(',') || 'nothing'}: ${found.failure.reason}`
      );
      smallest = { of: candidate, outcome: found };
      return true;
    }
    return false;
  };
  const fewerBlocks = async () => {
    for (let part = 2; smallest.of.blocks > 1 && part <= 8; ) {
      const blocks = Math.floor(smallest.of.blocks * (1 - 1 / part));
      if (!(await keeps({ ...smallest.of, blocks }))) part *= 2;
    }
  };
  await fewerBlocks();
  const kinds = STEP_KINDS.filter((kind) => kind !== 'settle' && kind !== 'blocks');
  await dropSome([...kinds, ...DISTURBANCES], smallest, keeps, () => smallest);
  if (of.schema === 'invented') await dropSome(outcome.tables, smallest, keeps, () => smallest);
  const operations = of.schema === 'invented' ? OPERATIONS : LATE_KINDS;
  await dropSome(operations, smallest, keeps, () => smallest);
  await fewerBlocks();
  return smallest;
}

/** Tries to leave out all names together, then halves of them, down to single ones. */
async function dropSome(
  names: readonly string[],
  start: Failing,
  keeps: (candidate: Case) => Promise<boolean>,
  current: () => Failing
): Promise<void> {
  const left = names.filter((name) => !start.of.without.includes(name));
  if (left.length === 0) return;
  const { of } = current();
  if (await keeps({ ...of, without: [...of.without, ...left] })) return;
  if (left.length === 1) return;
  const middle = Math.ceil(left.length / 2);
  await dropSome(left.slice(0, middle), current(), keeps, current);
  await dropSome(left.slice(middle), current(), keeps, current);
}
