import type { Target } from './target.ts';

/** Shorter times say nothing of how they grow. */
const SHORTEST_MS = 20;
const LONGEST_MS = 1_000;
const FIRST_LENGTH = 1_000;
const MAX_LENGTH = 1_000_000;
const TRIES = 3;
/** Four times the length: 4 where time is proportional, 16 where it is squared. */
const MAX_RATIO = 9;

/** Finds an input whose time grows more than proportionally with its length. @returns null when there is none */
export async function findGrowth({ check, growing = {} }: Target): Promise<string | null> {
  for (const [what, build] of Object.entries(growing)) {
    const times: number[] = [];
    for (let length = FIRST_LENGTH; length <= MAX_LENGTH; length *= 2) {
      const input = build(length);
      let best = Number.POSITIVE_INFINITY;
      for (let attempt = 0; attempt < TRIES && best > SHORTEST_MS / 4; attempt++) {
        const began = process.cpuUsage();
        await check(input);
        const { user, system } = process.cpuUsage(began);
        best = Math.min(best, (user + system) / 1000);
      }
      times.push(best);
      const before = times.at(-3) ?? 0;
      if (before > SHORTEST_MS && best / before > MAX_RATIO)
        return `${what} of length ${length / 4} take ${before.toFixed(0)} ms of the processor, of length ${length} ${best.toFixed(0)} ms`;
      if (best > LONGEST_MS) break;
    }
  }
  return null;
}
