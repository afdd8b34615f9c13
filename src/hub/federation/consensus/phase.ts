import { LONGEST_TIMEOUT_MS, leaderOf, MOST_IN_FLIGHT, type Rules } from './rules.ts';
import type { ConsensusState, Slot } from './state.ts';

/** States of the machine `validator`. */
export type HubPhase = 'following' | 'leading' | 'changingView' | 'catchingUp' | 'halted';
/** States of the machine `logPlace`. */
export type PlacePhase = 'empty' | 'prePrepared' | 'prepared' | 'committed' | 'applied';

/** Returns what a hub does. */
export function phaseOf(state: ConsensusState, rules: Pick<Rules, 'keys' | 'self' | 'faulty'>): HubPhase {
  if (state.isHalted) return 'halted';
  if (isBehind(state, rules)) return 'catchingUp';
  if (state.isChanging) return 'changingView';
  return leaderOf(rules, state.view) === rules.self ? 'leading' : 'following';
}

/** Returns whether more is decided than a leader proposes ahead: places show it, more hubs than may lie say so, or its former log did. */
export function isBehind({ heard, applied, floor, slots }: ConsensusState, { faulty }: Pick<Rules, 'faulty'>): boolean {
  if (applied.seq < floor) return true;
  // Without a gap: views may begin with the commits of places alone, whose log only a hub that lies has.
  const next = Array.from({ length: MOST_IN_FLIGHT + 1 }, (_, at) => applied.seq + 1 + at);
  if (next.every((seq) => slots.get(seq)?.committed)) return true;
  return [...heard.values()].filter((seq) => seq > applied.seq + MOST_IN_FLIGHT).length > faulty;
}

/**
 * Returns the last place of a log that was set aside and that no hub has, as far as is heard; null where this one has it or can fetch more.
 * Hubs that may lie are believed for a minute without a batch: one of them would hide for ever why this hub does not vote.
 */
export function lostPlaceOf(state: ConsensusState, { faulty }: Pick<Rules, 'faulty'>): number | null {
  const { now, applied, appliedAt, floor, heard } = state;
  const further = [...heard.values()].filter((seq) => seq > applied.seq).length;
  const mayCome = further > faulty || (further > 0 && now < appliedAt + LONGEST_TIMEOUT_MS);
  return applied.seq >= floor || mayCome ? null : floor;
}

/** Different states that hubs have signed after one batch; none of them is stable. */
export interface Split {
  readonly seq: number;
  /** Keys of those who signed each state. */
  readonly signers: readonly (readonly string[])[];
}

/** Returns the first place after which hubs have signed different states; null where all that have signed agree. */
export function splitOf({ checkpoints }: ConsensusState): Split | null {
  for (const seq of [...checkpoints.keys()].sort((a, b) => a - b)) {
    const signers = new Map<string, string[]>();
    for (const [key, { message }] of checkpoints.get(seq)!) {
      const state = `${message.digest} ${message.state}`;
      signers.set(state, [...(signers.get(state) ?? []), key]);
    }
    if (signers.size > 1) return { seq, signers: [...signers.values()] };
  }
  return null;
}

/** Returns whether something waits to be decided: else nothing has a time limit of less than seconds. */
export function isDeciding({ isChanging, pending, slots, applied }: ConsensusState): boolean {
  if (isChanging || pending.size > 0) return true;
  return [...slots.values()].some(({ seq, accepted }) => seq > applied.seq && accepted !== null);
}

/** Returns how far a place is at a hub. */
export function placePhaseOf({ applied, stable, slots }: ConsensusState, seq: number): PlacePhase {
  if (seq <= applied.seq) return 'applied';
  const slot: Slot | undefined = slots.get(seq);
  if (slot?.committed) return 'committed';
  if (!slot || seq <= stable.seq) return 'empty';
  if (slot.committing !== null) return 'prepared';
  return slot.accepted === null ? 'empty' : 'prePrepared';
}
