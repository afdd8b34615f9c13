import { workerData } from 'node:worker_threads';
import { foundPrices } from '../../src/hub/oracle/judge.ts';
import { type OracleSettings, startOracle } from '../../src/hub/oracle/oracle.ts';
import type { PricesNotices } from '../../src/hub/store/asks.ts';
import { openHubDatabase } from '../../src/hub/store/database.ts';
import { createLogger } from '../../src/log.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { actorKey } from '../../src/wire/state/actor.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';

/** Start data of a prices actor's thread. */
export interface PricesActorData {
  readonly database: DatabaseCoordinates;
  readonly settings: OracleSettings;
  readonly logLevel: string;
}

const data = workerData as PricesActorData;
const log = createLogger('hub', data.logLevel).child({
  database: actorKey({ kind: 'prices', chain: 'all', network: 'all' }),
  schema: data.database.name
});
const stopping = new AbortController();
let stopOracle: () => void = () => undefined;
const host = hostActor<Record<never, never>, Record<never, never>, PricesNotices>({
  handlers: {},
  stop: async () => {
    stopping.abort();
    stopOracle();
    await database.close();
  },
  log
});
const database = openHubDatabase(data.database, { log, inspect: host.observe('circuitBreaker') });

try {
  await database.prepare(stopping.signal);
  stopOracle = startOracle({
    settings: data.settings,
    log,
    inspect: host.observe('priceRound'),
    onState: (phase, outcome) => host.tell('pricing', { phase, ...outcome }),
    record: async (round) => {
      host.tell('found', { at: Date.now(), prices: foundPrices(round, round.rules) });
      const refused = await database.push('recordRound', round);
      if (refused === null) host.tell('priced', round.now);
      else log.info({ reason: refused }, 'the prices of this round were not kept: it has some already');
    }
  });
} catch (caught) {
  if (!stopping.signal.aborted) host.fail(caught);
}
