import { assign, setup } from 'xstate';
import { pbftQuorum } from '../../src/consensus/pbft-quorum.ts';

export interface AttestationInput {
  /** How many may sign; at least 1. */
  readonly validators: number;
}

/**
 * A fact of one chain that validators attest for another: pending -> attested, rejected or expired.
 *
 * A PBFT quorum of signatures attests it; it is rejected as soon as refusals leave no quorum. Pure: who counts signatures
 * counts each validator once, and tells when the time is over.
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
