import { setImmediate as turn } from 'node:timers/promises';
import type { Rules } from '../profile/rules.ts';
import { FactKeys } from '../state/fact-keys.ts';
import type { FactKey } from '../state/facts.ts';
import type { View } from '../state/view.ts';
import type { BlockHashes, ChainBlock, ExecutedBlock } from './block.ts';
import { BlockExecution, timesOf } from './execution.ts';
import type { Progress } from './progress.ts';

/** Puts facts into the view. It must load every key that it is given; a key may be given more than once. */
export type FactLoader = (keys: readonly FactKey[]) => Promise<void>;

/** State that a block needs of those below it. */
export interface BlocksBelow {
  /** Hashes of the block just below; undefined for the first block of a ledger. */
  readonly hashes: BlockHashes | undefined;
  /** Times of as many blocks as a median takes, oldest first, in epoch seconds. */
  readonly times: readonly number[];
}

/** View, rules and limits for the execution of blocks. */
interface ExecutionParts {
  readonly view: View;
  readonly rules: Rules;
  readonly load: FactLoader;
  /** Callback that observes the work. */
  readonly progress?: Progress | undefined;
  /** Rows and time after which the rest of a group is left for the next group. */
  readonly most?: { readonly rows: number; readonly ms: number };
}

/** Limits of a group, so that it is written long before a watchdog ends it. */
const MOST_OF_GROUP = { rows: 200_000, ms: 20_000 };
/** Rounds of loading before the blocks run. A fact that is still missing then is loaded when a block needs it. */
const MAX_ROUNDS = 3;
/** Longest time between two turns of the thread's other work. A turn comes between two actions, or two legs of one. */
const TURN_AFTER_MS = 100;
/** Facts of one load. Some statements load them, in about the time in which as many more are collected. */
const FACTS_PER_LOAD = 4_000;

/**
 * Executes blocks that follow each other.
 *
 * First it loads what the actions of all blocks read: it tries each action on the view, and collects the facts that it
 * lacks. Then the actions run, in order. If one lacks a fact nevertheless, the rest of its block is tried again, so
 * that one load brings what they all lack. Between two blocks other work of the thread has its turn: a database that
 * has finished gets its next statements.
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
      if (missing.size > 0) {
        execution.scout(missing);
        await load([...missing]);
      }
      await turn(); // a load may find everything in memory and never wait
    }
    const done = execution.finish(executed.at(-1)?.hashes ?? previous);
    executed.push(done);
    made += done.rows.length;
    progress?.blockDone(done.block.height);
    await turn();
  }
  return executed;
}

function advance(execution: BlockExecution): FactKeys | null {
  return execution.advance(performance.now() + TURN_AFTER_MS);
}

/** Loads the facts that blocks lack, and those that they lack after that. */
async function loadLacking(executions: readonly BlockExecution[], load: FactLoader): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    if ((await loadInParts(executions, load)) === 0) return;
  }
}

/**
 * Loads the facts that blocks lack on the present view, one part while the next is collected. @returns the number of
 * facts
 */
async function loadInParts(executions: readonly BlockExecution[], load: FactLoader): Promise<number> {
  const asked = new FactKeys();
  let part: FactKey[] = [];
  let count = 0;
  let loading = Promise.resolve();
  const begin = () => {
    const facts = part;
    part = [];
    count += facts.length;
    loading = loading.then(() => load(facts));
    loading.catch(() => undefined); // reported when all are awaited
  };
  for (const execution of executions) {
    const lacking = new FactKeys();
    execution.scout(lacking);
    for (const fact of lacking) if (!asked.has(fact)) part.push(fact);
    asked.addAll(lacking);
    if (part.length > FACTS_PER_LOAD) begin();
    await turn();
  }
  begin();
  await loading;
  return count;
}
