import { setTimeout as sleep } from 'node:timers/promises';
import { IndexerStore } from '../../../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { candidateOf, preparation, WORST_RULES, type Worst } from './worst.ts';

const STATEMENT_LIMIT_S = 600;
const IDLE_MS = 500;
const MIB = 2 ** 20;

/** What a block costs an indexer with its database. */
export interface Written {
  readonly seconds: number;
  readonly mebibytes: number;
}

/** Indexes what earlier blocks hold, then the costliest block. */
export async function writeWorst({ pieces, isBatched }: Worst, database: DatabaseCoordinates): Promise<Written> {
  const store = await IndexerStore.open(database, WORST_RULES, STATEMENT_LIMIT_S);
  try {
    const { blocks, prepared } = preparation();
    for (const block of blocks) await store.addBlocks([block]);
    const { block } = candidateOf(pieces, isBatched, blocks.length, prepared);
    globalThis.gc?.();
    await sleep(IDLE_MS);
    const before = process.memoryUsage.rss();
    const began = performance.now();
    await store.addBlocks([block]);
    const seconds = (performance.now() - began) / 1_000;
    const peak = process.resourceUsage().maxRSS * 1_024;
    return { seconds, mebibytes: Math.max(0, peak - before) / MIB };
  } finally {
    store.close();
  }
}
