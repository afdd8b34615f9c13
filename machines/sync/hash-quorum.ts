import { assign, setup } from 'xstate';
import { type MarksOf, majorityOf } from '../../src/consensus/source-majority.ts';
import type { PlatformError } from '../../src/errors.ts';
import { effect } from '../runtime/effect.ts';

interface VerificationInput {
  /** Every configured source, reachable or not. */
  readonly sources: readonly string[];
  /**
   * Sources whose report does not hold a block up: they contradicted the majority before, and did not stand by it in time. Default:
   * none.
   */
  readonly doubted?: readonly string[];
  /** Returns marks by which sources are recognised as the same; default: none. */
  readonly marksOf?: MarksOf;
  /** Time for asking the sources again after a disagreement, in milliseconds. */
  readonly confirmTimeoutMs: number;
}

type Reports = Readonly<Record<string, string>>;

interface VerificationContext extends VerificationInput {
  /** Each source's last report of this height; after a disagreement, only later reports. */
  readonly reports: Reports;
  /** The hash that was agreed on; later reports do not move it. */
  readonly agreed: string | null;
  /** Reason why the sources cannot be asked any more. */
  readonly fault: PlatformError | null;
}

interface Reported {
  readonly type: 'hash.reported';
  readonly source: string;
  /** The block's identity as one text. */
  readonly hash: string;
}

type VerificationEvent = Reported | { readonly type: 'round.ended' };

/** Returns the hash that a strict majority of the configured sources names, else undefined. Silence is not consent. */
function majorityHash({ sources, reports, marksOf }: VerificationContext): string | undefined {
  return majorityOf(new Map(Object.entries(reports)), sources.length, marksOf);
}

/** Returns the sources that named another hash than the agreed one. */
export function dissenters({ sources, reports, agreed }: VerificationContext): string[] {
  return agreed === null ? [] : sources.filter((name) => (reports[name] ?? agreed) !== agreed);
}

function isDoubted({ doubted = [] }: VerificationInput, source: string): boolean {
  return doubted.includes(source);
}

function withReport({
  context,
  event
}: {
  context: VerificationContext;
  event: VerificationEvent;
}): VerificationContext {
  if (event.type !== 'hash.reported') return context;
  return { ...context, reports: { ...context.reports, [event.source]: event.hash } };
}

/**
 * Agreement of the sources on one height: gathering -> agreed, or at a disagreement contested -> agreed or unresolved.
 *
 * Tags: `apply` (the block may be applied), `hold` (it may not, yet), `halt` (no majority within the window). The caller provides
 * two effects, which report what they hear: `gather` ends when no majority will ever name the block; `askAgain` asks all sources
 * until it is left, because they pass through an ordinary reorg at different moments. It says when all that it asked have answered
 * or missed their time: no height is unresolved while answers are on their way.
 *
 * @see the specification, "Cross-source verification"
 */
export const hashQuorumMachine = setup({
  types: {
    input: {} as VerificationInput,
    context: {} as VerificationContext,
    events: {} as VerificationEvent,
    tags: {} as 'apply' | 'hold' | 'halt'
  },
  actors: { gather: effect<'unnamed'>('gather'), askAgain: effect<void>('askAgain') },
  actions: {
    keepFault: assign({ fault: ({ event }) => (event as unknown as { error: PlatformError }).error }),
    keepReport: assign(({ context, event }) => ({ reports: withReport({ context, event }).reports })),
    keepAgreed: assign({ agreed: ({ context }) => majorityHash(context) ?? null }),
    forgetReports: assign({ reports: {} }),
    tellContest: () => undefined
  },
  guards: {
    isStranger: ({ context, event }) => event.type === 'hash.reported' && !context.sources.includes(event.source),
    contradictsAnother: ({ context, event }) =>
      event.type === 'hash.reported' &&
      !isDoubted(context, event.source) &&
      Object.entries(context.reports).some(
        ([name, hash]) => name !== event.source && hash !== event.hash && !isDoubted(context, name)
      ),
    completesMajority: (now) => majorityHash(withReport(now)) !== undefined,
    completesRound: (now) => {
      const after = withReport(now);
      const isComplete = after.sources.every((name) => after.reports[name] !== undefined || isDoubted(after, name));
      return isComplete && majorityHash(after) !== undefined;
    },
    hasMajority: ({ context }) => majorityHash(context) !== undefined
  },
  delays: { confirmTimeout: ({ context }) => context.confirmTimeoutMs }
}).createMachine({
  id: 'hashQuorum',
  context: ({ input }) => ({ ...input, reports: {}, agreed: null, fault: null }),
  initial: 'gathering',
  states: {
    gathering: {
      tags: 'hold',
      invoke: {
        id: 'gather',
        src: 'gather',
        onDone: 'unnamed',
        onError: { target: 'failed', actions: 'keepFault' }
      },
      on: {
        'hash.reported': [
          { guard: 'isStranger' },
          { guard: 'contradictsAnother', target: 'contested' },
          { guard: 'completesMajority', target: 'agreed', actions: 'keepReport' },
          { actions: 'keepReport' }
        ]
      }
    },
    agreed: {
      tags: 'apply',
      entry: 'keepAgreed',
      on: { 'hash.reported': [{ guard: 'isStranger' }, { actions: 'keepReport' }] }
    },
    contested: {
      entry: ['forgetReports', 'tellContest'],
      invoke: { id: 'askAgain', src: 'askAgain', onError: { target: 'failed', actions: 'keepFault' } },
      initial: 'confirming',
      states: {
        confirming: {
          tags: 'hold',
          on: {
            'hash.reported': [
              { guard: 'isStranger' },
              { guard: 'completesRound', target: '#hashQuorum.agreed', actions: 'keepReport' },
              { actions: 'keepReport' }
            ]
          },
          after: {
            confirmTimeout: [{ guard: 'hasMajority', target: '#hashQuorum.agreed' }, { target: 'closing' }]
          }
        },
        closing: {
          tags: 'hold',
          on: {
            'hash.reported': [{ guard: 'isStranger' }, { actions: 'keepReport' }],
            'round.ended': [
              { guard: 'hasMajority', target: '#hashQuorum.agreed' },
              { target: '#hashQuorum.unresolved' }
            ]
          }
        }
      }
    },
    unnamed: {},
    unresolved: { tags: 'halt' },
    failed: {}
  }
});
