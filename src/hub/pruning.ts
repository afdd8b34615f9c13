import type { FastifyInstance } from 'fastify';
import type { HubConfig } from '../config/services/hub.ts';
import type { HubDatabase } from './store/database.ts';

/** Retention of what others pushed to the hub. */
export type PruningSettings = Pick<
  HubConfig,
  'TELEMETRY_RETENTION_DAYS' | 'HUB_UNTRUSTED_RETENTION_DAYS' | 'HUB_HISTORY_RETENTION_DAYS'
>;

const DAY_MS = 24 * 3_600_000;
/** Strangers add thousands of rows in a minute. */
const MINUTE_MS = 60_000;
const RETRY_MS = 60_000;
const LOOK_MS = 1_000;

/**
 * Deletes what is older than it may get, as soon as the database is there, then once a day; and each minute what is more than may
 * be. A batch at a time.
 */
export function keepPruned(app: FastifyInstance, database: HubDatabase, settings: PruningSettings): void {
  const retention = {
    untrustedDays: settings.HUB_UNTRUSTED_RETENTION_DAYS,
    historyDays: settings.HUB_HISTORY_RETENTION_DAYS
  };
  /** Returns a function that does works where they are due, each again until nothing is left of it. */
  const every = (intervalMs: number, ...works: readonly (() => Promise<boolean>)[]) => {
    let dueAt = 0;
    return async () => {
      if (performance.now() < dueAt || !database.isReady()) return;
      dueAt = performance.now() + intervalMs;
      try {
        for (const work of works) while (await work());
      } catch (caught) {
        dueAt = performance.now() + RETRY_MS;
        app.log.warn({ err: caught }, 'old rows could not be deleted; the next attempt is in a minute');
      }
    };
  };
  const prunes = [
    every(
      DAY_MS,
      () => database.push('prunePings', settings.TELEMETRY_RETENTION_DAYS),
      () => database.push('pruneOld', retention)
    ),
    every(MINUTE_MS, () => database.push('pruneSurplus'))
  ];
  const timer = setInterval(() => {
    for (const prune of prunes) void prune();
  }, LOOK_MS).unref();
  app.addHook('onClose', async () => clearInterval(timer));
}
