import type { Rules } from '../rules/rules.ts';
import type { FactKey, View } from '../state/state.ts';
import { BlockExecution, type BlockHashes, type ChainBlock, type ExecutedBlock } from './block.ts';
import { medianTime } from './median-time.ts';

/** Puts facts into the view. It must bring every key that it is asked for. */
export type FactLoader = (keys: readonly FactKey[]) => Promise<void>;

/** What a block needs of those below it. */
export interface BlocksBelow {
  /** Of the block just below; undefined for the first block of a ledger. */
  readonly hashes: BlockHashes | undefined;
  /** Of as many as a median takes, oldest first, in epoch seconds. */
  readonly times: readonly number[];
}

/** Loads before the first action; what is then still missing is loaded when an action meets it. */
const SCOUTING_ROUNDS = 6;

/**
 * Carries out blocks that follow each other.
 *
 * What the actions of all of them read is loaded in a few rounds: each action is tried on the view, and what it lacks is
 * collected. Only then they run, in order.
 */
export async function executeBlocks(
  { view, rules, load }: { readonly view: View; readonly rules: Rules; readonly load: FactLoader },
  blocks: readonly ChainBlock[],
  { hashes: previous, times }: BlocksBelow
): Promise<ExecutedBlock[]> {
  const allTimes = [...times, ...blocks.map(({ time }) => time)];
  const executions = blocks.map((block, place) => {
    return new BlockExecution(view, rules, block, medianTime(allTimes.slice(0, times.length + place + 1)));
  });
  for (let round = 0; round < SCOUTING_ROUNDS; round++) {
    const missing = executions.flatMap((execution) => execution.scout());
    if (missing.length === 0) break;
    await load(withoutDoubles(missing));
  }
  const executed: ExecutedBlock[] = [];
  for (const execution of executions) {
    for (let missing = execution.advance(); missing !== null; missing = execution.advance()) {
      await load(withoutDoubles(missing));
    }
    executed.push(execution.finish(executed.at(-1)?.hashes ?? previous));
  }
  return executed;
}

function withoutDoubles(keys: readonly FactKey[]): FactKey[] {
  return [...new Map(keys.map((fact) => [`${fact.kind} ${fact.key}`, fact])).values()];
}
