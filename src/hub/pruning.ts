import type { FastifyInstance } from 'fastify';
import type { HubConfig } from '../config/services/hub.ts';
import type { HubDatabase } from './store/database.ts';

/** Retention of what others pushed to the hub. */
export type PruningSettings = Pick<
  HubConfig,
  'TELEMETRY_RETENTION_DAYS' | 'HUB_UNTRUSTED_RETENTION_DAYS' | 'HUB_HISTORY_RETENTION_DAYS'
>;

const INTERVAL_MS = 24 * 3_600_000;
const RETRY_MS = 60_000;
const LOOK_MS = 1_000;

/** Deletes what is older than it may get, as soon as the database is there, then once a day; a batch at a time. */
export function keepPruned(app: FastifyInstance, database: HubDatabase, settings: PruningSettings): void {
  const retention = {
    untrustedDays: settings.HUB_UNTRUSTED_RETENTION_DAYS,
    historyDays: settings.HUB_HISTORY_RETENTION_DAYS
  };
  let dueAt = 0;
  const prune = async () => {
    if (performance.now() < dueAt || !database.isReady()) return;
    dueAt = performance.now() + INTERVAL_MS;
    try {
      while (await database.push('prunePings', settings.TELEMETRY_RETENTION_DAYS));
      while (await database.push('pruneOld', retention));
    } catch (caught) {
      dueAt = performance.now() + RETRY_MS;
      app.log.warn({ err: caught }, 'old rows could not be deleted; it is tried again in a minute');
    }
  };
  const timer = setInterval(prune, LOOK_MS).unref();
  app.addHook('onClose', async () => clearInterval(timer));
}
