import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { ConfigTree, HubClient } from './client.ts';
import { AnswerDoubt } from './doubt.ts';

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 15_000;
/** Pause after an answer that is doubted. */
const DOUBT_RETRY_MS = 10_000;

export interface HubWatch {
  readonly hub: Pick<HubClient, 'fetchConfigs'>;
  readonly repollMs: number;
  /** Longest wait for the first answer before giving up, in milliseconds. */
  readonly maxWaitMs: number;
  readonly log: Pick<Logger, 'error'>;
  readonly signal: AbortSignal;
  /** Returns the names that the caller uses of a configuration: an answer that removes most of them is doubted. */
  readonly namesOf: (configs: ConfigTree) => ReadonlySet<string>;
  /** Time for which it is doubted, in milliseconds; default 5 minutes. */
  readonly doubtMs?: number;
  /** Called after each request with whether the hub gave an answer that counts. */
  readonly onAnswer?: (answered: boolean) => void;
  /** Called with the hub's configuration, after the first answer and after each later one. */
  readonly onConfigs: (configs: ConfigTree) => Promise<void>;
  /** Called while no first answer came. @returns true where the caller goes on without one */
  readonly onSilence?: () => Promise<boolean>;
}

/**
 * Asks the hub for its configuration until the signal ends it. If the hub is away after the first answer, or names hardly anything any
 * more, the last one counts.
 *
 * @throws {PlatformError} HUB_UNREACHABLE when no first answer came in `maxWaitMs`; what `onConfigs` finds final
 */
export async function watchHub({
  hub,
  repollMs,
  maxWaitMs,
  log,
  signal,
  namesOf,
  doubtMs,
  onAnswer,
  onConfigs,
  onSilence
}: HubWatch): Promise<void> {
  const deadline = performance.now() + maxWaitMs;
  let retryMs = FIRST_RETRY_MS;
  let hasAnswered = false;
  let isKnown = false;
  const doubts = new AnswerDoubt(doubtMs);
  while (!signal.aborted) {
    let isDoubted = false;
    try {
      const configs = await hub.fetchConfigs(signal);
      const doubt = doubts.judge(namesOf(configs), performance.now());
      isDoubted = doubt !== null;
      onAnswer?.(!isDoubted);
      if (isDoubted) log.error({ hint: 'restart this service if the answer is right' }, doubt!);
      else await onConfigs(configs);
      hasAnswered = isKnown = true;
    } catch (caught) {
      if (signal.aborted) return;
      const error = PlatformError.from(caught, 'HUB_UNREACHABLE');
      onAnswer?.(false);
      if (error.policy === 'exit') throw error;
      log.error({ err: error.message, hint: error.hint }, 'error connecting to the hub');
      if (!isKnown) isKnown = (await onSilence?.()) ?? false;
      if (!isKnown && performance.now() + retryMs > deadline) throw error;
    }
    const waitMs = hasAnswered ? Math.min(repollMs, isDoubted ? DOUBT_RETRY_MS : repollMs) : retryMs;
    retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Logs sentences as warnings, and the same ones only once. */
export function warnOfChanges(log: Pick<Logger, 'warn'>): (sentences: readonly string[]) => void {
  let lastLine = '';
  return (sentences) => {
    if (sentences.join() !== lastLine) for (const sentence of sentences) log.warn(sentence);
    lastLine = sentences.join();
  };
}
