import { assign, setup } from 'xstate';

interface AuditInput {
  /** Blocks of an epoch; a comparison is due at the end of each. */
  readonly epochSize: number;
}

export type AuditEvent =
  /** The source may be another one, and offer what the last one did not. */
  | { readonly type: 'source.renewed' }
  /** An event after which a comparison is needed. */
  | { readonly type: 'audit.requested' }
  /** No block waits to be applied. */
  | { readonly type: 'replica.rested'; readonly height: number }
  | { readonly type: 'comparison.begun'; readonly height: number }
  | ({ readonly type: 'comparison.concluded' | 'comparison.missed' | 'comparison.interrupted' } & Ended)
  | { readonly type: 'digests.refused' };

/** The replica's height at the end of a comparison, and the duration in milliseconds. */
interface Ended {
  readonly height: number;
  readonly tookMs: number;
}

interface AuditContext extends AuditInput {
  /** At this block a comparison is due. */
  readonly dueHeight: number;
  /** The comparison under way was begun below `dueHeight`: nothing is lost when blocks interrupt it. */
  readonly isEarly: boolean;
  /** Comparisons in a row that led to nothing. */
  readonly misses: number;
  /** The last comparison. */
  readonly last: Ended;
}

/** Misses in a row, each tried again after the next block or a pause, before the next epoch is waited for. */
export const MAX_MISSES = 10;
const MAX_PAUSE_MS = 60_000;
/**
 * Multiple of heights at which a replica at rest is compared between two epochs: then many replicas ask for the digests of one
 * block.
 */
const EVERY_BLOCKS = 10;
/** Rest after a comparison, as a multiple of its duration: comparisons take at most a fiftieth of the time. */
const SHARE = 50;

/**
 * Decides when a replica at rest is compared with its source: due -> comparing -> scheduled, or missed and soon due again.
 *
 * Pure policy: the caller compares where the tag `due` is set, and reports how it ended.
 */
export const auditMachine = setup({
  types: {
    input: {} as AuditInput,
    context: {} as AuditContext,
    events: {} as AuditEvent,
    tags: {} as 'due'
  },
  actions: {
    dueNow: assign({ dueHeight: 0, misses: 0 }),
    noteBegin: assign(({ context, event }) =>
      event.type === 'comparison.begun' ? { isEarly: event.height < context.dueHeight } : {}
    ),
    noteEnd: assign(({ event }) => ('tookMs' in event ? { last: { height: event.height, tookMs: event.tookMs } } : {})),
    dueAtNextBlock: assign(({ context, event }) =>
      'height' in event ? { misses: context.misses + 1, dueHeight: event.height + 1 } : {}
    ),
    dueAtNextEpoch: assign(({ context: { epochSize }, event }) =>
      'height' in event ? { misses: 0, dueHeight: (Math.floor(event.height / epochSize) + 1) * epochSize } : {}
    )
  },
  guards: {
    isReached: ({ context, event }) => 'height' in event && event.height >= context.dueHeight,
    isBetween: ({ context, event }) =>
      'height' in event && event.height % EVERY_BLOCKS === 0 && event.height > context.last.height,
    isEarly: ({ context }) => context.isEarly,
    isLastMiss: ({ context }) => context.misses + 1 >= MAX_MISSES
  },
  delays: {
    retry: ({ context }) => Math.min(MAX_PAUSE_MS, 500 * 2 ** context.misses),
    rest: ({ context }) => SHARE * context.last.tookMs
  }
}).createMachine({
  id: 'audit',
  context: ({ input }) => ({ ...input, dueHeight: 0, isEarly: false, misses: 0, last: { height: 0, tookMs: 0 } }),
  initial: 'due',
  on: {
    'source.renewed': { target: '.due', actions: 'dueNow' },
    'audit.requested': { target: '.due', actions: 'dueNow' },
    'comparison.begun': { target: '.comparing', actions: 'noteBegin' },
    'comparison.concluded': { target: '.scheduled', actions: ['noteEnd', 'dueAtNextEpoch'] },
    'comparison.missed': [
      { guard: 'isLastMiss', target: '.scheduled', actions: ['noteEnd', 'dueAtNextEpoch'] },
      { target: '.missed', actions: ['noteEnd', 'dueAtNextBlock'] }
    ],
    'comparison.interrupted': [
      { guard: 'isEarly', target: '.scheduled', actions: 'noteEnd' },
      { target: '.scheduled', actions: ['noteEnd', 'dueAtNextEpoch'] }
    ],
    'digests.refused': '.unavailable'
  },
  states: {
    due: { tags: 'due' },
    comparing: {},
    missed: { after: { retry: 'due' }, on: { 'replica.rested': { guard: 'isReached', target: 'due' } } },
    scheduled: {
      initial: 'resting',
      on: { 'replica.rested': { guard: 'isReached', target: 'due' } },
      states: {
        resting: { after: { rest: 'rested' } },
        rested: { on: { 'replica.rested': { guard: 'isBetween', target: '#audit.due' } } }
      }
    },
    /** The source offers no digests. */
    unavailable: { on: { 'audit.requested': undefined, 'comparison.begun': undefined } }
  }
});
