import { once } from 'node:events';
import type { FrameConfig } from '../../config/service.ts';
import { createLogger, type Logger } from '../../log.ts';
import { nameGrace } from '../../process/guardian.ts';

/** A service that has started. */
export interface RunningService {
  /** Rejects when the service cannot continue; it must still be stopped then. Absent when nothing ends the service. */
  readonly ended?: Promise<void>;
  /** Stops it gracefully, within SHUTDOWN_GRACE_MS. */
  stop(): Promise<void>;
}

/**
 * Runs a service until SIGTERM, SIGINT or SIGHUP, or until it cannot continue.
 *
 * @param name name in log lines
 * @param start its signal ends waits before the service has started
 * @returns the exit code 0
 * @throws the error that prevented the start or ended the service
 */
export async function runService<C extends Pick<FrameConfig, 'LOG_LEVEL' | 'SHUTDOWN_GRACE_MS'>>(
  name: string,
  { values, warnings }: { readonly values: C; readonly warnings: readonly string[] },
  start: (config: C, log: Logger, signal: AbortSignal) => Promise<RunningService>
): Promise<number> {
  const log = createLogger(name, values.LOG_LEVEL);
  for (const warning of warnings) log.warn(warning);
  nameGrace(values.SHUTDOWN_GRACE_MS);
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop);
  let service: RunningService;
  try {
    service = await start(values, log, stopping.signal);
  } catch (caught) {
    if (stopping.signal.aborted) return 0; // a signal ended the wait
    throw caught;
  }
  const stopped = stopping.signal.aborted ? undefined : once(stopping.signal, 'abort');
  try {
    await Promise.race([...(service.ended ? [service.ended] : []), stopped]);
  } finally {
    log.info('stopping');
    await service.stop();
  }
  log.info('stopped');
  return 0;
}
