import { setup } from 'xstate';

/**
 * Whether the answers of one network can be had and are fresh: unknown -> available, stale or unavailable.
 *
 * Pure policy: each look at the database says how many blocks the ledger is behind and whether it goes on, or that it did not answer.
 */
export const availabilityMachine = setup({
  types: {
    /** `lagBlocks` is null where the decoder's tip is not known. */
    events: {} as
      | { type: 'ledger.read'; readonly lagBlocks: number | null; readonly isStopped: boolean }
      | { type: 'ledger.failed' }
  },
  guards: {
    isBehind: ({ event }) =>
      event.type === 'ledger.read' && (event.isStopped || (event.lagBlocks ?? 0) > SYNCED_WITHIN_BLOCKS)
  }
}).createMachine({
  id: 'availability',
  initial: 'unknown',
  on: {
    'ledger.read': [{ guard: 'isBehind', target: '.stale' }, { target: '.available' }],
    'ledger.failed': '.unavailable'
  },
  states: { unknown: {}, available: {}, stale: {}, unavailable: {} }
});

/** A ledger so few blocks behind its decoder is at the tip. */
const SYNCED_WITHIN_BLOCKS = 3;
