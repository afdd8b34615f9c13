import { workerData } from 'node:worker_threads';
import type { BreakerInput } from '../../machines/runtime/circuit-breaker.ts';
import { hasCode } from '../../src/errors.ts';
import type { HubAsks, HubNotices } from '../../src/hub/store/asks.ts';
import { openHubDatabase } from '../../src/hub/store/database.ts';
import type { RowPage } from '../../src/hub/store/row-page.ts';
import type { RunStatement } from '../../src/hub/store/statements.ts';
import { createLogger } from '../../src/log.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { actorKey } from '../../src/wire/state/actor.ts';
import { Transferred } from '../runtime/channel.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';

/** Start data of a hub actor's thread. */
export interface HubActorData {
  readonly database: DatabaseCoordinates;
  readonly breaker: BreakerInput | undefined;
  /** False where an earlier thread of this process had the database ready. */
  readonly isFirst: boolean;
  readonly logLevel: string;
}

/** As many as statements may wait for a connection, and some. */
const MAILBOX_LIMIT = 300;

const data = workerData as HubActorData;
const log = createLogger('hub', data.logLevel).child({
  database: actorKey({ kind: 'hub', chain: 'all', network: 'all' }),
  schema: data.database.name
});
const stopping = new AbortController();
const host = hostActor<HubAsks, Record<never, never>, HubNotices>({
  handlers: {
    statement: ({ way, name, given }) =>
      (database[way] as (...asked: unknown[]) => ReturnType<RunStatement>)(name, ...given),
    page: async ({ name, given }) => {
      const page = await (database.page as (...asked: unknown[]) => Promise<RowPage>)(name, ...given);
      return new Transferred(page, [page.json.buffer]);
    },
    probe: () => database.probe()
  },
  stop: async () => {
    stopping.abort();
    await database.close();
  },
  log,
  mailboxLimit: MAILBOX_LIMIT,
  urgent: ['probe'] // a full mailbox is no database that is away
});
const database = openHubDatabase(data.database, {
  log,
  breaker: data.breaker,
  inspect: host.observe('circuitBreaker'),
  onChange: () => tellState()
});

function tellState(): void {
  host.tell('state', { isReady: database.isReady(), circuit: database.circuit(), takesWrites: database.takesWrites() });
}

tellState();
try {
  await database.prepare(stopping.signal);
  tellState();
} catch (caught) {
  if (!stopping.signal.aborted) {
    // The process ends with it at its start; later on the front door goes on without a database.
    if (data.isFirst && hasCode(caught, 'DATABASE_REFUSED')) host.tell('refused', caught.toWire());
    else host.fail(caught);
  }
}
