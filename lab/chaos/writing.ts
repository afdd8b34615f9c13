import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { appendBacklog, appendBlocks, reorg } from '../../test/support/sync/generated-indexer.ts';
import { planWriting } from './plan.ts';

/** A source that is written to all the time; what fails because its database is away is tried again by the next step. */
export function keepWriting(source: DatabaseCoordinates, seed: string) {
  let ended = false;
  const written = { blocks: 0, reorgs: 0 };
  const loop = async () => {
    let step = 0;
    for (const next of planWriting(seed, source.name)) {
      if (ended) return;
      step += 1;
      const branch = `${seed} ${step}`;
      try {
        if (next.kind === 'reorg') {
          await reorg(source, next.depth, next.count, branch);
          written.reorgs += 1;
        } else if (next.count > 2) await appendBacklog(source, next.count, branch);
        else await appendBlocks(source, next.count, branch);
        written.blocks += next.count;
      } catch {
        await sleep(500);
      }
      await sleep(next.pauseMs);
    }
  };
  const running = loop();
  return {
    async end(): Promise<typeof written> {
      ended = true;
      await running;
      return written;
    }
  };
}
