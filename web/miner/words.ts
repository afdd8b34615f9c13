import { duration } from '../dom.ts';

/** Result of the miner's method `health`. */
export interface MinerHealth {
  readonly status: 'healthy' | 'stalled';
  readonly reason: string | null;
  readonly mempool_size: number;
  readonly blocks_mined: number;
  /** ISO 8601 */
  readonly last_mine_at: string | null;
  readonly mining_paused: boolean;
  readonly idle_mine_interval_ms: number;
}

/** State of the miner as a sentence. */
interface Condition {
  readonly kind: 'good' | 'warn' | 'bad';
  readonly text: string;
}

/** Returns what the miner does, and what to do where it does nothing. */
export function conditionOf({ reason, mining_paused, idle_mine_interval_ms: idleMs }: MinerHealth): Condition {
  if (reason !== null) return { kind: 'bad', text: `It does not mine: ${reason}.` };
  if (mining_paused)
    return { kind: 'warn', text: 'Mining is paused: blocks come by the form below, or after continue_mining.' };
  const idle = idleMs === 0 ? '' : `, and after ${duration(idleMs)} without one`;
  return { kind: 'good', text: `It mines: a block comes when a payment waits${idle}.` };
}
