import { createRandom, type Random } from '../../src/devnet/random.ts';
import type { DbType } from '../../src/wire/data/database.ts';

export const DISTURBANCES = ['killSource', 'killReplica', 'killServer', 'killClient', 'cutLink', 'holdLink'] as const;
export type Disturbance = (typeof DISTURBANCES)[number];

/** Operations on the rows of one table in one block. */
export const OPERATIONS = [
  'insert',
  'flood',
  'duplicate',
  'update',
  'hot',
  'rekey',
  'swap',
  'delete',
  'empty',
  'backdate',
  'past'
] as const;
export type Operation = (typeof OPERATIONS)[number];

export const STEP_KINDS = ['blocks', 'reorg', 'alter', 'disturb', 'pause', 'settle'] as const;

export type Step =
  /** Late: rows change once more when the blocks are there. Held: the blocks are written, and committed later. */
  | { readonly kind: 'blocks'; readonly count: number; readonly how: 'one' | 'staged' | 'late' | 'held' }
  | { readonly kind: 'reorg'; readonly depth: number; readonly count: number; readonly apart: boolean }
  | { readonly kind: 'alter'; readonly what: 'column' | 'table' | 'key' }
  | { readonly kind: 'disturb'; readonly what: Disturbance }
  | { readonly kind: 'pause'; readonly ms: number }
  | { readonly kind: 'settle' };

/** One case: the same case makes the same schema and history again. */
export interface Case {
  readonly seed: string;
  readonly dbType: DbType;
  /** Tables that are made up, those that databases in use have, or those that this project's indexer writes with real actions. */
  readonly schema: 'invented' | 'in-use' | 'ledger';
  /** Blocks that are written, those that a reorg takes back included. */
  readonly blocks: number;
  /** Tables, operations or kinds of late changes, kinds of steps and disturbances that are left out. */
  readonly without: readonly string[];
}

/** Blocks between two comparisons, roughly. */
const SETTLE_EVERY = 30;

/** The random figures of one place in a history; no other place's figures depend on them. */
export function randomAt({ seed }: Case, ...place: readonly (string | number)[]): Random {
  return createRandom(`torture ${seed} ${place.join(' ')}`);
}

/** The steps of a case, with the numbers that name them whatever is left out. */
export function* planSteps(of: Case): Generator<{ readonly number: number; readonly step: Step }> {
  let blocks = 0;
  let unsettled = 0;
  for (let number = 1; blocks < of.blocks; number += 1) {
    const step = inventStep(randomAt(of, 'step', number));
    const names = step.kind === 'disturb' || step.kind === 'alter' ? [step.kind, step.what] : [step.kind];
    if (step.kind === 'blocks') blocks += step.count;
    if (step.kind === 'reorg') blocks += step.count;
    if (!names.some((name) => of.without.includes(name))) {
      yield { number, step };
      if (step.kind === 'blocks' || step.kind === 'reorg') unsettled += step.count;
    }
    if (unsettled >= SETTLE_EVERY) {
      yield { number, step: { kind: 'settle' } };
      unsettled = 0;
    }
  }
}

function inventStep(random: Random): Step {
  const dice = random.between(1, 100);
  if (dice <= 62) {
    const count = random.between(1, 4) > 1 ? 1 : random.between(2, 12);
    return { kind: 'blocks', count, how: random.pick(['one', 'one', 'one', 'held', 'late', 'staged']) };
  }
  if (dice <= 74) {
    const depth = random.pick([1, 1, 2, 3, 5, 8, 20, 60, 150]);
    const count = Math.max(1, Math.min(depth + random.between(-3, 3), 25));
    return { kind: 'reorg', depth, count, apart: random.between(0, 1) === 1 };
  }
  if (dice <= 78) return { kind: 'alter', what: random.pick(['column', 'column', 'table', 'key']) };
  if (dice <= 84) return { kind: 'disturb', what: random.pick(DISTURBANCES) };
  return { kind: 'pause', ms: random.between(0, 250) };
}
