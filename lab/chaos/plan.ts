import { createRandom, type Random } from '../../src/devnet/random.ts';

/** Everything that may befall the system, and how often each is dealt beside the others. */
const WEIGHTS = {
  killSource: 10,
  killReplica: 12,
  killService: 8,
  killGuardian: 4,
  hang: 2,
  heapArray: 2,
  heapMap: 2,
  heapFill: 1,
  heapJson: 1,
  buffers: 2,
  cutLink: 14,
  resetLink: 10,
  stallLink: 8,
  slowLink: 6,
  killMariaDb: 3,
  stopMariaDb: 1,
  tooManyConnections: 2,
  lockWait: 5,
  emptyReplica: 3,
  clockJump: 4,
  fullDisk: 2,
  killHub: 4,
  slowSubscribers: 3,
  hostileSource: 8,
  killIndexer: 10,
  killIndexerService: 5,
  stallIndexer: 5,
  lockLedger: 5
} as const;

export type FaultKind = keyof typeof WEIGHTS;
export const FAULT_KINDS = Object.keys(WEIGHTS) as FaultKind[];

/** Faults of the indexer alone. */
export const INDEXER_FAULTS: readonly FaultKind[] = ['killIndexer', 'killIndexerService', 'stallIndexer', 'lockLedger'];

/** One fault of a schedule. */
export interface Planned {
  readonly number: number;
  readonly kind: FaultKind;
  /** Time to let pass before it, in milliseconds. */
  readonly pauseMs: number;
  /** The figures that decide on its target and its size. */
  readonly random: Random;
}

/** Act of a source: mostly a block, at times a burst or a reorg. */
type Writing =
  | { readonly kind: 'blocks'; readonly count: number }
  | { readonly kind: 'reorg'; readonly depth: number; readonly count: number };

/** The schedule of a seed, without an end. @param kinds those that this system can suffer */
export function* planFaults(seed: string, kinds: readonly FaultKind[]): Generator<Planned> {
  const deck = kinds.flatMap((kind) => Array.from({ length: WEIGHTS[kind] }, () => kind));
  for (let number = 1; ; number += 1) {
    const random = createRandom(`chaos ${seed} fault ${number}`);
    yield { number, kind: random.pick(deck as [FaultKind]), pauseMs: random.between(100, 2_200), random };
  }
}

/** Returns the acts of one source, without an end. */
export function* planWriting(seed: string, source: string): Generator<Writing & { readonly pauseMs: number }> {
  for (let number = 1; ; number += 1) {
    const random = createRandom(`chaos ${seed} ${source} ${number}`);
    const pauseMs = random.between(100, 900);
    if (random.between(1, 12) > 1) yield { kind: 'blocks', count: random.pick([1, 1, 1, 2, 8]), pauseMs };
    else {
      const depth = random.pick([1, 1, 2, 3, 6, 12]);
      yield { kind: 'reorg', depth, count: depth + random.between(0, 2), pauseMs };
    }
  }
}
