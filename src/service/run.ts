import { once } from 'node:events';
import type { FrameConfig } from '../config/service.ts';
import { createLogger, type Logger } from '../log.ts';
import { nameGrace } from '../process/guardian.ts';
import type { RunningService } from './define.ts';

/** A service to run: its name, settings and start. */
interface Run {
  /** Name in log lines. */
  readonly name: string;
  readonly config: Pick<FrameConfig, 'LOG_LEVEL' | 'SHUTDOWN_GRACE_MS'>;
  readonly warnings: readonly string[];
  /** @param signal ends waits before the service has started */
  readonly start: (log: Logger, signal: AbortSignal) => Promise<RunningService>;
}

/**
 * Runs a service until SIGTERM, SIGINT or SIGHUP, or until it cannot continue.
 *
 * @returns the exit code 0
 * @throws the error that prevented the start or ended the service
 */
export async function runService({ name, config, warnings, start }: Run): Promise<number> {
  const log = createLogger(name, config.LOG_LEVEL);
  for (const warning of warnings) log.warn(warning);
  nameGrace(config.SHUTDOWN_GRACE_MS);
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop);
  let service: RunningService;
  try {
    service = await start(log, stopping.signal);
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
