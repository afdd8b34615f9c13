import { setup } from 'xstate';

/**
 * Swap between two chains: initiated -> attested -> executed -> settled, or failed.
 *
 * It follows the attestation of the source action, then that of the destination's. It is settled when both have stood for a while.
 */
export const swapMachine = setup({
  types: {
    events: {} as
      | { type: 'attestation.attested' }
      | { type: 'attestation.refused' }
      | { type: 'action.executed' }
      | { type: 'action.failed' }
      | { type: 'swap.settled' }
  }
}).createMachine({
  id: 'swap',
  initial: 'initiated',
  states: {
    initiated: { on: { 'attestation.attested': 'attested', 'attestation.refused': 'failed' } },
    attested: { on: { 'action.executed': 'executed', 'action.failed': 'failed' } },
    executed: { on: { 'swap.settled': 'settled', 'action.failed': 'failed' } },
    settled: { type: 'final' },
    failed: { type: 'final' }
  }
});
