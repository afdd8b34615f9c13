import { setImmediate as turn } from 'node:timers/promises';
import type { Rules } from '../rules/rules.ts';
import type { FactKey, Kind } from '../state/facts.ts';
import type { View } from '../state/view.ts';
import type { BlockHashes, ChainBlock, ExecutedBlock } from './block.ts';
import { BlockExecution, timesOf } from './execution.ts';
import type { Progress } from './progress.ts';

/** Puts facts into the view. It must bring every key that it is asked for, some more than once. */
export type FactLoader = (keys: readonly FactKey[]) => Promise<void>;

/** What a block needs of those below it. */
export interface BlocksBelow {
  /** Of the block just below; undefined for the first block of a ledger. */
  readonly hashes: BlockHashes | undefined;
  /** Of as many as a median takes, oldest first, in epoch seconds. */
  readonly times: readonly number[];
}

/** What blocks are carried out with. */
interface ExecutionParts {
  readonly view: View;
  readonly rules: Rules;
  readonly load: FactLoader;
  /** Follows the work, for who watches it. */
  readonly progress?: Progress | undefined;
  /** What blocks come to before the rest of a group is left for the next one. */
  readonly most?: { readonly rows: number; readonly ms: number };
}

/** What a group may come to, so that it is written long before a watchdog ends it. */
const MOST_OF_GROUP = { rows: 200_000, ms: 20_000 };
/** What is still lacking then is loaded when a block comes to it. */
const MAX_ROUNDS = 3;
/** Other work of the thread has its turn at least so often: between two actions. */
const TURN_AFTER_MS = 100;
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
  { view, rules, load, progress, most = MOST_OF_GROUP }: ExecutionParts,
  blocks: readonly ChainBlock[],
  { hashes: previous, times }: BlocksBelow
): Promise<ExecutedBlock[]> {
  const allTimes = [...times, ...blocks.map(({ time }) => time)];
  const executions = blocks.map((block, place) => {
    return new BlockExecution(view, rules, block, timesOf(allTimes.slice(0, times.length + place + 1)), progress);
  });
  const begun = performance.now();
  await loadLacking(executions, load);
  const executed: ExecutedBlock[] = [];
  let made = 0;
  for (const execution of executions) {
    if (executed.length > 0 && (made > most.rows || performance.now() - begun > most.ms)) break;
    for (let missing = advance(execution); missing !== null; missing = advance(execution)) {
      if (missing.length > 0) await load([...missing, ...execution.scout()]);
      await turn(); // a load may find all in memory
    }
    const done = execution.finish(executed.at(-1)?.hashes ?? previous);
    executed.push(done);
    made += done.rows.length;
    progress?.blockDone(done.block.height);
    await turn();
  }
  return executed;
}

function advance(execution: BlockExecution): readonly FactKey[] | null {
  return execution.advance(performance.now() + TURN_AFTER_MS);
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
