import { setImmediate as turn } from 'node:timers/promises';
import type { Rules } from '../rules/rules.ts';
import type { FactKey, Kind } from '../state/facts.ts';
import type { View } from '../state/view.ts';
import type { BlockHashes, ChainBlock, ExecutedBlock } from './block.ts';
import { BlockExecution } from './execution.ts';
import { medianTime } from './median-time.ts';

/** Puts facts into the view. It must bring every key that it is asked for, some more than once. */
export type FactLoader = (keys: readonly FactKey[]) => Promise<void>;

/** What a block needs of those below it. */
export interface BlocksBelow {
  /** Of the block just below; undefined for the first block of a ledger. */
  readonly hashes: BlockHashes | undefined;
  /** Of as many as a median takes, oldest first, in epoch seconds. */
  readonly times: readonly number[];
}

/** What is still lacking then is loaded when a block comes to it. */
const MAX_ROUNDS = 3;
/** A load of some statements, which takes about as long as to collect as many. */
const FACTS_PER_LOAD = 4_000;

/**
 * Carries out blocks that follow each other.
 *
 * What the actions of all of them read is loaded first: each action is tried on the view, and what it lacks is collected. Then
 * they run, in order; one that lacks a fact nevertheless has the rest of its block tried again, so that one load brings
 * what they all lack. Between two blocks other work of the thread has its turn: a database that has finished gets its next statements.
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
  await loadLacking(executions, load);
  const executed: ExecutedBlock[] = [];
  for (const execution of executions) {
    for (let missing = execution.advance(); missing !== null; missing = execution.advance()) {
      await load([...missing, ...execution.scout()]);
    }
    executed.push(execution.finish(executed.at(-1)?.hashes ?? previous));
    await turn();
  }
  return executed;
}

/** Loads what blocks lack, and what they then lack. */
async function loadLacking(executions: readonly BlockExecution[], load: FactLoader): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    if ((await loadInParts(executions, load)) === 0) return;
  }
}

/** Loads what blocks lack as the view is: one part while what further blocks lack is collected. @returns how many facts */
async function loadInParts(executions: readonly BlockExecution[], load: FactLoader): Promise<number> {
  const asked = new Map<Kind, Set<string>>();
  let part: FactKey[] = [];
  let count = 0;
  let loading = Promise.resolve();
  const begin = () => {
    const facts = part;
    part = [];
    count += facts.length;
    loading = loading.then(() => load(facts));
    loading.catch(() => undefined); // told when all are waited for
  };
  for (const execution of executions) {
    for (const fact of execution.scout()) {
      const keys = asked.get(fact.kind) ?? new Set();
      if (!keys.has(fact.key)) part.push(fact);
      asked.set(fact.kind, keys.add(fact.key));
    }
    if (part.length > FACTS_PER_LOAD) begin();
    await turn();
  }
  begin();
  await loading;
  return count;
}
