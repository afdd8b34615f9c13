import { setup } from 'xstate';

/**
 * Whether the answers of one network can be had and are fresh: unknown -> available, stale or unavailable.
 *
 * Pure policy: each look at the databases says how far ledger and decoder are apart and whether the ledger goes on, or that
 * it did not answer. A ledger whose age nobody knows is stale.
 */
export const availabilityMachine = setup({
  types: {
    /** `distanceBlocks` is null where the ledger's tip or the decoder's is not known. */
    events: {} as
      | { type: 'ledger.read'; readonly distanceBlocks: number | null; readonly isStopped: boolean }
      | { type: 'ledger.failed' }
  },
  guards: {
    isBehind: ({ event }) =>
      event.type === 'ledger.read' &&
      (event.isStopped || event.distanceBlocks === null || event.distanceBlocks > SYNCED_WITHIN_BLOCKS)
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
