import { assign, setup } from 'xstate';
import { effect, hasErrorCode } from '../runtime/effect.ts';

interface BalanceTreeInput {
  /** Pause before another build after one that failed, in milliseconds. */
  readonly retryMs: number;
  /** Pause after a refusal, before the database is looked at again, in milliseconds. */
  readonly refusalMs: number;
}

/** Reason why there is no tree: its leaves cannot be computed, the tables do not fit, or nobody needs one. */
export type TreeRefusal = 'failed' | 'unsupported' | 'off';

export type BalanceTreeEvent =
  /** The database stands at this block, and a snapshot of it is open. */
  | { readonly type: 'build.requested'; readonly height: number }
  /** The tree no longer matches the database. */
  | { readonly type: 'tree.discarded' }
  | { readonly type: 'tree.refused'; readonly refusal: TreeRefusal; readonly reason: string };

const refusalIs = (refusal: TreeRefusal) =>
  ({ [refusal]: ({ event }: { event: BalanceTreeEvent }) => 'refusal' in event && event.refusal === refusal })[
    refusal
  ]!;

const refused = {
  initial: 'resting',
  exit: 'forgetReason',
  states: { resting: { after: { refusal: 'due' } }, due: { tags: 'due' } }
} as const;

/**
 * The balance tree of one database: waiting -> building -> ready, and back to waiting when it no longer matches.
 *
 * The caller provides the effect `build` and requests it where the tag `due` is set. Groups are followed where `following` is.
 */
export const balanceTreeMachine = setup({
  types: {
    input: {} as BalanceTreeInput,
    context: {} as BalanceTreeInput & { readonly reason: string | null },
    events: {} as BalanceTreeEvent,
    tags: {} as 'due' | 'following'
  },
  actors: { build: effect<void>('build') },
  actions: {
    keepReason: assign({ reason: ({ event }) => ('reason' in event ? event.reason : null) }),
    keepFault: assign({ reason: ({ event }) => (event as unknown as { error: Error }).error.message }),
    forgetReason: assign({ reason: null })
  },
  delays: { retry: ({ context }) => context.retryMs, refusal: ({ context }) => context.refusalMs }
}).createMachine({
  id: 'balanceTree',
  context: ({ input }) => ({ ...input, reason: null }),
  initial: 'waiting',
  on: {
    'build.requested': '.building',
    'tree.refused': [
      { guard: refusalIs('failed'), target: '.failed', actions: 'keepReason' },
      { guard: refusalIs('unsupported'), target: '.unsupported', actions: 'keepReason' },
      { guard: refusalIs('off'), target: '.off', actions: 'keepReason' }
    ]
  },
  states: {
    waiting: {
      initial: 'due',
      states: { due: { tags: 'due' }, resting: { after: { retry: 'due' } } }
    },
    building: {
      tags: 'following',
      invoke: {
        id: 'build',
        src: 'build',
        onDone: 'ready',
        onError: [
          { guard: hasErrorCode('STATE_UNENCODABLE'), target: 'failed', actions: 'keepFault' },
          { target: 'waiting.resting' }
        ]
      },
      on: { 'tree.discarded': 'waiting' }
    },
    ready: { tags: 'following', on: { 'tree.discarded': 'waiting' } },
    failed: refused,
    unsupported: refused,
    off: refused
  }
});
