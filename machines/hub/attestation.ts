import { assign, setup } from 'xstate';
import { pbftQuorum } from '../../src/consensus/pbft-quorum.ts';

/** Input of the machine. */
interface AttestationInput {
  /** Number of validators that may sign; at least 1. */
  readonly validators: number;
}

/**
 * Attestation of one chain's fact by validators, for another chain: pending -> attested, rejected or expired.
 *
 * A PBFT quorum of signatures attests it. It is rejected as soon as refusals make a quorum impossible.
 *
 * Pure: the caller counts each validator once and sends `time.expired`.
 */
export const attestationMachine = setup({
  types: {
    input: {} as AttestationInput,
    context: {} as AttestationInput & { readonly signatures: number; readonly refusals: number },
    events: {} as { type: 'signature.received' } | { type: 'refusal.received' } | { type: 'time.expired' }
  },
  actions: {
    countSignature: assign({ signatures: ({ context }) => context.signatures + 1 }),
    countRefusal: assign({ refusals: ({ context }) => context.refusals + 1 })
  },
  guards: {
    quorumSigned: ({ context }) => context.signatures >= pbftQuorum(context.validators),
    quorumOutOfReach: ({ context }) => context.validators - context.refusals < pbftQuorum(context.validators)
  }
}).createMachine({
  id: 'attestation',
  context: ({ input }) => ({ ...input, signatures: 0, refusals: 0 }),
  initial: 'pending',
  states: {
    pending: {
      always: [
        { guard: 'quorumSigned', target: 'attested' },
        { guard: 'quorumOutOfReach', target: 'rejected' }
      ],
      on: {
        'signature.received': { actions: 'countSignature' },
        'refusal.received': { actions: 'countRefusal' },
        'time.expired': 'expired'
      }
    },
    attested: { type: 'final' },
    rejected: { type: 'final' },
    expired: { type: 'final' }
  }
});
