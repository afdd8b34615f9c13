import { setup } from 'xstate';

/**
 * Availability of one network's answers: unknown -> available, stale or unavailable.
 *
 * Pure: the caller reads the databases and sends the distance between ledger and decoder, or the failure. A ledger of
 * unknown age is stale.
 */
export const availabilityMachine = setup({
  types: {
    /** `distanceBlocks` is null while the tip of ledger or decoder is unknown. */
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

/** Greatest distance in blocks between a ledger and its decoder at which the ledger counts as current. */
const SYNCED_WITHIN_BLOCKS = 3;
