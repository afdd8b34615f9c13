import { join } from 'node:path';
import type { SyncConfig } from '../../config/services/sync.ts';
import type { Logger } from '../../log.ts';
import type { DatabaseId } from '../../wire/data/database.ts';
import { Relay } from './relay.ts';

type RelayConfig = Pick<
  SyncConfig,
  | 'SYNC_MODE'
  | 'SYNC_NATS_URL'
  | 'SYNC_NATS_CREDS'
  | 'SYNC_NATS_TOKEN'
  | 'SYNC_NATS_REPLICAS'
  | 'SYNC_RELAY_KEEP'
  | 'SYNC_RELAY_MAX_BYTES'
  | 'SYNC_RELAY_BACKLOG_BYTES'
  | 'SYNC_STATE_DIR'
>;

/** Opens the relay that the configuration asks for; null where it asks for none. @param isFed tells whether a database's source runs */
export function openRelay(config: RelayConfig, log: Logger, isFed: (id: DatabaseId) => boolean): Relay | null {
  if (config.SYNC_MODE !== 'server' || !config.SYNC_NATS_URL?.length) return null;
  return new Relay({
    nats: { urls: config.SYNC_NATS_URL, creds: config.SYNC_NATS_CREDS, token: config.SYNC_NATS_TOKEN },
    limits: {
      replicas: config.SYNC_NATS_REPLICAS,
      keepMs: config.SYNC_RELAY_KEEP,
      maxBytes: config.SYNC_RELAY_MAX_BYTES
    },
    maxBacklogBytes: config.SYNC_RELAY_BACKLOG_BYTES,
    directory: join(config.SYNC_STATE_DIR, 'relay'),
    isFed,
    log
  });
}
