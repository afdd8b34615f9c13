import { setup } from 'xstate';
import { effect } from '../runtime/effect.ts';

export interface PriceRoundInput {
  /** Milliseconds until the next round is due. */
  readonly untilDueMs: () => number;
}

export type PriceRoundEvent = { readonly type: 'stop.requested' };

const hasPrices = ({ event }: { event: { output: boolean } }): boolean => event.output;

const onError = {
  target: '#priceRound.waiting',
  actions: { type: 'tellFault', params: ({ event }: { event: { error: unknown } }) => ({ error: event.error }) }
} as const;

/**
 * When a standalone hub asks its price sources: once at its start, then once a round.
 *
 * `fetch` answers with whether any pair has a price, and never fails for a source that does not answer; such a round is kept
 * too, as skipped. A round that the database does not take is logged, and the next one begins when it is due.
 */
export const priceRoundMachine = setup({
  types: { input: {} as PriceRoundInput, context: {} as PriceRoundInput, events: {} as PriceRoundEvent },
  actors: { fetch: effect<boolean>('fetch'), record: effect<void>('record') },
  actions: { tellFault: (_, _fault: { readonly error: unknown }) => undefined },
  delays: { untilDue: ({ context }) => context.untilDueMs() }
}).createMachine({
  id: 'priceRound',
  context: ({ input }) => input,
  initial: 'fetching',
  on: { 'stop.requested': '.stopped' },
  states: {
    waiting: { after: { untilDue: 'fetching' } },
    fetching: {
      invoke: {
        src: 'fetch',
        onDone: [{ guard: hasPrices, target: 'recording' }, { target: 'skipping' }],
        onError
      }
    },
    recording: { invoke: { src: 'record', onDone: 'waiting', onError } },
    skipping: { invoke: { src: 'record', onDone: 'waiting', onError } },
    stopped: { type: 'final' }
  }
});
