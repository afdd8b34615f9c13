import type { CircuitBreaker } from '../../../actors/runtime/thread/circuit.ts';
import { Effects } from '../../../actors/runtime/thread/effects.ts';
import { databaseError } from '../../db/connection.ts';
import type { Logger } from '../../log.ts';
import type { PollPace } from './feed/poll-pace.ts';
import type { Source } from './source.ts';

/** Codes of faults that open the circuit: nothing can be read. */
const OUTAGES: ReadonlySet<string> = new Set(['DATABASE_UNAVAILABLE', 'DATABASE_REFUSED']);

/** Dependencies of a source's effects. */
interface SourceEffectsOptions {
  readonly breaker: CircuitBreaker;
  readonly pace: PollPace;
  readonly log: Pick<Logger, 'warn'>;
  /** Called before a fault counts: ends what the failed attempt left open. */
  readonly letGo: () => void;
  /** Called with what an effect waits for, then with null. */
  readonly waiting: (on: string | null) => void;
  /** Called after each fault. */
  readonly faulted: () => void;
}

/** Returns the runner of a source's effects: each waits for the circuit breaker, and is tried again after a fault. */
export function sourceEffects({ breaker, pace, log, letGo, waiting, faulted }: SourceEffectsOptions): Effects {
  const effects: Effects = new Effects({
    admit: async (signal) => {
      if (breaker.refuses) {
        waiting('the circuit breaker');
        await breaker.admission(signal);
        waiting(null);
      }
      breaker.tell('call.started');
    },
    onSuccess: () => breaker.tell('call.succeeded'),
    toFault: (caught) => {
      letGo();
      return databaseError(caught);
    },
    onFault: (fault, effect) => {
      const pollErrorCount = effects.faultCount;
      log.warn({ err: fault, hint: fault.hint, effect, pollErrorCount }, fault.message);
      // Where a row or a setting is at fault, MariaDB answered: the reason is told, and nothing else fails fast.
      breaker.tell(OUTAGES.has(fault.code) ? 'call.failed' : 'call.succeeded');
      faulted();
    },
    isRetried: ({ policy }) => policy !== 'exit',
    pauseMs: (tookMs, fault) => Math.ceil(pace.pauseMs(tookMs, fault !== null))
  });
  return effects;
}

/** Returns the effects that a source's machine invokes, by name. */
export function sourceActors(effects: Effects, { feed, transparency }: Source, pace: PollPace) {
  return {
    start: effects.effect<void>('start', async () => {
      await transparency.prepare();
      return (await feed.start()) ? undefined : null;
    }),
    backfill: effects.effect('backfill', () => transparency.backfill()),
    poll: effects.effect('poll', async () => {
      pace.begin();
      await transparency.committed();
      const found = await feed.poll();
      if (found !== 'same') return found;
      await feed.rest();
      return null;
    }),
    broadcastGroup: effects.effect('broadcastGroup', () => feed.broadcastGroup()),
    broadcastReorg: effects.effect('broadcastReorg', () => feed.broadcastReorg())
  };
}
