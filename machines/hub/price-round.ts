import { setup } from 'xstate';
import { effect } from '../runtime/effect.ts';

/** Input of the machine. */
interface PriceRoundInput {
  /** Returns the milliseconds until the next round is due. */
  readonly untilDueMs: () => number;
}

/** Events of the machine. */
type PriceRoundEvent = { readonly type: 'stop.requested' };

const hasPrices = ({ event }: { event: { output: boolean } }): boolean => event.output;

const onError = {
  target: '#priceRound.waiting',
  actions: { type: 'tellFault', params: ({ event }: { event: { error: unknown } }) => ({ error: event.error }) }
} as const;

/**
 * Schedule of a standalone hub's price rounds: one at start, then one per round.
 *
 * The effect `fetch` returns whether any pair has a price. It does not fail when a source does not answer. A round
 * without a price is recorded as skipped.
 *
 * When `record` fails, the error is logged and the next round begins when it is due.
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
