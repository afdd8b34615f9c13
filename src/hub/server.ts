import type { BreakerInput } from '../../machines/runtime/circuit-breaker.ts';
import { findNetwork } from '../coin/find-network.ts';
import { databaseOf } from '../config/database.ts';
import type { HubConfig } from '../config/hub.ts';
import type { Logger } from '../log.ts';
import { createMetrics } from '../observe/metrics/metrics.ts';
import { openServiceBase } from '../service/base.ts';
import { listen } from '../service/ingress/listen.ts';
import { createHubApp } from './app.ts';
import { startOracle } from './oracle/oracle.ts';
import { openHubDatabase } from './store/database.ts';
import type { RemovedRows } from './store/prices.ts';
import { PriceStream } from './stream/price-stream.ts';
import { openPlaces } from './telemetry/places.ts';

export interface HubOptions {
  /** HUB_PORT=0 takes a free one. */
  readonly config: HubConfig;
  readonly log: Logger;
  /** When the database is taken for down, default after 10 failures for 30 seconds. */
  readonly breaker?: BreakerInput;
}

/** A running hub. */
export interface Hub {
  readonly port: number;
  /** Finishes the requests in flight, ends the others after SHUTDOWN_GRACE_MS, closes the database. */
  stop(): Promise<void>;
}

/**
 * Starts a standalone hub. It listens at once and says 503 in `health` until its database is there.
 *
 * @param signal ends the waiting for the database; a hub that has started is ended with `stop`
 * @returns when its database is ready
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID (the address, TELEMETRY_GEO_DB), DATABASE_REFUSED
 */
export async function startHub(
  { config, log, breaker }: HubOptions,
  signal = new AbortController().signal
): Promise<Hub> {
  const placeOf = await openPlaces(config.TELEMETRY_GEO_DB);
  const database = openHubDatabase(databaseOf(config, 'HUB'), log, breaker);
  const metrics = createMetrics({ service: 'hub', actors: () => [] });
  const base = await openServiceBase('hub', config.OTEL_EXPORTER_OTLP_ENDPOINT, metrics);
  const serves = (code: string) => findNetwork(code)?.code === code.toUpperCase();
  const limits = { sends: config.WS_BACKPRESSURE_LIMIT, bytes: config.WS_BACKPRESSURE_MAX_BYTES };
  const stream = new PriceStream(database, log, limits);
  const app = createHubApp({ ...base, config, log, database, stream, serves, placeOf });
  let stopOracle: (() => void) | undefined;
  const stop = async () => {
    stopOracle?.();
    await app.close();
    await database.close();
    await base.close();
  };
  try {
    const port = await listen(app, {
      service: 'hub',
      host: config.HUB_HOST,
      port: config.HUB_PORT,
      variables: { host: 'HUB_HOST', port: 'HUB_PORT', key: 'HUB_API_KEY' },
      log,
      hasKey: config.HUB_API_KEY !== undefined,
      exposure: 'ANYONE who reaches this port can change the configuration, and read its database passwords'
    });
    await database.prepare(signal);
    const onChange = (removed: readonly RemovedRows[]) => stream.changed('price_snapshots', removed);
    if (config.PRICE_SOURCES?.length) stopOracle = startOracle({ settings: config, database, log, onChange });
    log.info({ host: config.HUB_HOST, port, database: config.HUB_DB_NAME }, `hub ready on ${config.HUB_HOST}:${port}`);
    return { port, stop };
  } catch (caught) {
    await stop();
    throw caught;
  }
}
