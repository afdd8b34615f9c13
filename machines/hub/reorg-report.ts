import { assign, setup } from 'xstate';
import { pbftQuorum } from '../../src/consensus/pbft-quorum.ts';

/** Input of the machine. */
interface ReorgReportInput {
  /** Number of validators that may confirm it; at least 1. */
  readonly validators: number;
}

/**
 * Report that a chain was reorganised: reported -> confirmed, rejected or expired.
 *
 * A PBFT quorum that saw the same reorg confirms it. Pure: the caller sends `time.expired`.
 */
export const reorgReportMachine = setup({
  types: {
    input: {} as ReorgReportInput,
    context: {} as ReorgReportInput & { readonly confirmations: number; readonly denials: number },
    events: {} as { type: 'confirmation.received' } | { type: 'denial.received' } | { type: 'time.expired' }
  },
  actions: {
    countConfirmation: assign({ confirmations: ({ context }) => context.confirmations + 1 }),
    countDenial: assign({ denials: ({ context }) => context.denials + 1 })
  },
  guards: {
    quorumConfirms: ({ context }) => context.confirmations >= pbftQuorum(context.validators),
    quorumOutOfReach: ({ context }) => context.validators - context.denials < pbftQuorum(context.validators)
  }
}).createMachine({
  id: 'reorgReport',
  context: ({ input }) => ({ ...input, confirmations: 0, denials: 0 }),
  initial: 'reported',
  states: {
    reported: {
      always: [
        { guard: 'quorumConfirms', target: 'confirmed' },
        { guard: 'quorumOutOfReach', target: 'rejected' }
      ],
      on: {
        'confirmation.received': { actions: 'countConfirmation' },
        'denial.received': { actions: 'countDenial' },
        'time.expired': 'expired'
      }
    },
    confirmed: { type: 'final' },
    rejected: { type: 'final' },
    expired: { type: 'final' }
  }
});
