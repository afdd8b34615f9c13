import type { Random } from '../../../src/devnet/random.ts';

/** Events of a block beside its ordinary changes, with their frequencies. */
const WEIGHTS = {
  none: 60,
  whole: 3,
  many: 1,
  truncate: 3,
  rename: 3,
  exchange: 3,
  xa: 4,
  late: 4,
  column: 2,
  revoke: 1,
  reorg: 5,
  cut: 3,
  killSource: 1,
  killReplica: 1,
  restartServer: 2,
  restartClient: 2
} as const;

export type SizedEvent = keyof typeof WEIGHTS;

export function drawEvent(random: Random, without: readonly string[]): SizedEvent {
  const all = Object.entries(WEIGHTS) as [SizedEvent, number][];
  let dice = random.between(
    1,
    all.reduce((sum, [, weight]) => sum + weight, 0)
  );
  for (const [event, weight] of all) {
    dice -= weight;
    if (dice <= 0) return without.includes(event) ? 'none' : event;
  }
  return 'none';
}
