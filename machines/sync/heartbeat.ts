import { assign, setup } from 'xstate';

interface HeartbeatInput {
  /** Lifetime of an entry after its last heartbeat, in milliseconds. */
  readonly ttlMs: number;
}

/** A validator's statement about its replica; `at` is its time in Unix milliseconds. */
export interface Heartbeat {
  readonly appliedHeight: number;
  readonly appliedBlockTime: number | null;
  readonly at: number;
}

/** One validator's entry: absent -> present -> evicted. It is listed while it has the tag `listed`; a return is a new entry. */
export const heartbeatMachine = setup({
  types: {
    input: {} as HeartbeatInput,
    context: {} as HeartbeatInput & { readonly last: Heartbeat | null },
    events: {} as { readonly type: 'heartbeat.received' } & Heartbeat,
    tags: {} as 'listed'
  },
  actions: {
    keepLast: assign({
      last: ({ event: { appliedHeight, appliedBlockTime, at } }) => ({ appliedHeight, appliedBlockTime, at })
    })
  },
  delays: { ttl: ({ context }) => context.ttlMs }
}).createMachine({
  id: 'heartbeat',
  context: ({ input }) => ({ ...input, last: null }),
  initial: 'absent',
  states: {
    absent: { on: { 'heartbeat.received': { target: 'present', actions: 'keepLast' } } },
    present: {
      tags: 'listed',
      on: { 'heartbeat.received': { target: 'present', reenter: true, actions: 'keepLast' } },
      after: { ttl: 'evicted' }
    },
    evicted: { type: 'final' }
  }
});
